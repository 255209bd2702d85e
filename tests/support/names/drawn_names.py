"""Mangled names drawn from pieces, and rules that match some of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import strategies as st

from sizeguard.names.labels import NameLabels
from sizeguard.names.operator_words import OperatorNames
from sizeguard.names.rules import MANGLED_ANONYMOUS, Rule, Rules

PIECES = (
    *("_ZN2at6native", "_ZN2at", "_Z", "plain_", "NS_", "N", "E", "_", "L", "3c10", "St", "_13add"),
    *(
        "12_GLOBAL__N_1",
        "S5_12_GLOBAL__N_1",
        "10add_kernel",
        "10mul_kernel",
        "12general_c2r_",
        "13general_c2r_",
    ),
    *("IfE", "IlE", "IxfdE", "IlfEE", "UlffE_", "UlllE0_", "UlvE17_", "ULlE", "I3addE", "ILb1EfE"),
    *("4Half", "8BFloat16", "N3c104HalfE", "7complexIfE", "7complexIN3c104HalfEE", "4Halff"),
    *("5ArrayIfE", "6vectorIlE", "SaIlE", "SB_IlE", "S_IfE", "clIllEEDaT_T0_", "clIfE", "4loopI"),
    *("10ScalarTypeE6E", "10ScalarTypeE66E", "10ScalarTypeE", "8internalILi4EfLb0EdE", "8internal"),
    *(
        "ILi6EfE",
        "7IsEmpty",
        "16native_layernorm",
        "6memory",
        "4dnnl",
        "_fE",
        "0",
        "12",
        "I",
        "l",
        "d",
    ),
)
NAMES = st.lists(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join), min_size=1, max_size=5
)
# Pieces of names: members of namespaces, and other words that rules match.
MEMBERS = (
    *("_ZN2at6native", "_ZN2at", "_ZNSt", "plain_", "N2at", "NS_6native", "6native", "S5_", "E"),
    *("12_GLOBAL__N_1", "S5_12_GLOBAL__N_1", "NS3_", "10add_kernel", "10mul_kernel", "L7add_one"),
    *("12general_c2r_", "7IsEmpty", "6memory", "4dnnl", "IfE", "3max", "16native_layernorm"),
)
OF_MEMBERS = st.lists(
    st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=7).map("".join), min_size=1, max_size=5
)
_BEGINNINGS = (
    *(b"_ZN", b"_ZN", b"_ZNK", b"_Z", b"_ZNSt", b"_ZSt", b"_ZThn16_N", b"_ZTv0_N", b"_ZTch0_N"),
    *(b"_ZTh", b"", b"", b"N", b"plain_", b"_ZN2at6native", b"_ZN16native_layernorm2at"),
)
_SCOPES = (
    *(b"2at", b"2at", b"6native", b"6native", b"12_GLOBAL__N_1", b"5torch", b"3jit", b"6detail"),
    *(b"16native_layernorm", b"3c1012general_c2r_", b"S0_", b"NS1_", b"S_", b"SB_", b"L", b"E"),
    *(b"03max", b"3max", b"7_kernel", b"10add_kernel", b"L13mul_kernel_abc", b"12mul_kernel_a"),
    *(b"S1_10add_kernel", b"S1_7_kernel", b"S0_3max", b"S_L3max", b"_13add", b"S1_999add_kernel"),
)
_TYPES = (
    *(b"If", b"Ilf", b"IfE", b"IxfdE", b"IidjyE", b"IlE", b"Ull", b"UllllfE", b"Ulfdab", b"clIlf"),
    *(b"clIllE", b"IL", b"ILi6EfE", b"Li123Ed", b"Li1234Ed", b"Li12345Ed", b"Lb1Ed", b"E", b"I"),
    *(b"8internal", b"8internal", b"4loop", b"7complex", b"7complexIdE", b"7complexIN4HalfE"),
    *(b"7complexIN3c104HalfE", b"7complexIN5abc104Half", b"7complexIN6abc_104Half", b"4HalfEfd"),
    *(b"8BFloat16ElE", b"5Array", b"SaIlE", b"SB_IdE", b"SSS_IdE", b"SAS_IhE", b"SBBB_IaE"),
    *(b"10ScalarTypeE6E", b"10ScalarTypeE15E", b"10ScalarTypeE43E", b"10ScalarTypeE115E", b"_Z"),
    *(b"_N_13addIdE", b"N_13aIdE", b"x13aIdE", b"12a2r_IdE", b"12general_c2r_IhE", b"8aIsEvent"),
    *(b"12ab3cdefghijkIhE", b"05addIhE", b"UlvE17_", b"UlvE999_Ib", b"UlvE1234_Ib", b"T0_IhE"),
)
# What damaged names have
_ODD = (
    *(b"0", b"999", b"1000at", b"4294967298at", b"18446744073709551618at", b"99native", b"_"),
    *(b"120" + b"a" * 120, b"\xff", b"\xc3\xa9", b"I\xff", b"4\xc3\xa9ab", b"\0", b"Ul", b"clI"),
    *(b"16nativeIfEIlE_abc", b"10ScalarTypeE6", b"10ScalarTypeE", b"7complexIN", b"S12_", b"T"),
)
_MIXED = st.sampled_from(
    [*_SCOPES, *_TYPES, *_ODD, *(piece.encode() for piece in (*PIECES, *MEMBERS))]
)


def _cut(beginning: bytes, pieces: list[bytes], front: int, back: int) -> bytes:
    raw = beginning + b"".join(pieces)
    return raw[front : max(len(raw) - back, 0)]


# Any bytes: damaged names, with an end in the middle of anything, and empty ones.
ANY_NAMES = st.lists(
    st.builds(
        _cut,
        st.sampled_from(_BEGINNINGS),
        st.one_of(
            st.lists(st.sampled_from(_SCOPES), min_size=1, max_size=8),
            st.lists(st.sampled_from(_TYPES), min_size=1, max_size=6),
            st.lists(_MIXED | st.binary(max_size=3), max_size=8),
        ),
        st.just(0) | st.integers(0, 5),
        st.just(0) | st.integers(0, 12),
    ),
    max_size=5,
)
RULES = Rules(
    names=OperatorNames(
        ["aten::add Tensor", "aten::mul -", "aten::max -"], last_words=["kernel", "impl"]
    ),
    transparent=(MANGLED_ANONYMOUS, "native"),
    drivers=("loop",),
    helpers=("memory",),
    marks=("_kernel",),
    containers=("Array",),
    indexed=("internal",),
    cases=(),
    case_types=(),
    libraries=(),
    dtypes=(("Half", "Half"), ("BFloat16", "BFloat16")),
    absent=("UInt32",),
    rules=(
        Rule("", within=("at",), operator="{operator}", kernel="{name}", component="kernels"),
        Rule("", within=("at",), identifier="IsEmpty", component="tests", dtype="Bool"),
        Rule("", within=("at",), kernel="{name}"),
        Rule("", within=("at", "native"), operator="{operator}", component="native"),
        Rule("", identifier="general_c2r_", operator="aten::max", component="fft"),
        Rule("", namespace=("at",), component="ATen"),
        Rule("", namespace=("dnnl",), component="oneDNN"),
        Rule("", namespace=("std",), component="standard library", weak=True, mentions=False),
        Rule("", prefix="plain_", component="C", operator="aten::mul", dtype="Byte"),
    ),
)
_PATHS = (
    *(("at",), ("at", "native"), ("native",), ("at", "native", "detail"), ("torch", "jit")),
    *(("torch",), ("jit", "native"), ("c10", "general_c2r_"), ("native_layernorm", "at")),
    *(("at", MANGLED_ANONYMOUS), ("nativeIfEIlE_abc",), ("std",), ("at", "long" * 15, "end" * 20)),
)
_WORDS = ("native", "general_c2r_", "native_layernorm", "Half", "nativeIfEIlE_abc", "max")
_PREFIXES = ("p", "plain_", "_", "_a", "I", "plain_" + "long" * 30)
_CONDITIONS = (
    *(Rule("", within=path) for path in _PATHS),
    *(Rule("", namespace=path, mentions=i % 2 == 0) for i, path in enumerate(_PATHS * 2)),
    *(Rule("", identifier=word) for word in _WORDS),
    *(Rule("", prefix=prefix) for prefix in _PREFIXES),
)


def _with(
    rules: list[Rule],
    transparent: tuple[str, ...],
    marks: tuple[str, ...],
    drivers: tuple[str, ...],
) -> Rules:
    return replace(RULES, rules=tuple(rules), transparent=transparent, marks=marks, drivers=drivers)


def all_rules(transparent: Iterable[str], marks: Iterable[str]) -> Rules:
    """Return rules with all conditions that are drawn, and with these words."""
    return _with(list(_CONDITIONS), tuple(transparent), tuple(marks), ("loop",))


# Rules with the words of RULES, and other conditions, some or all of them in any order.
DRAWN_RULES = st.builds(
    _with,
    st.lists(st.sampled_from(_CONDITIONS), max_size=9) | st.permutations(_CONDITIONS),
    st.sampled_from([(MANGLED_ANONYMOUS, "native"), (), ("native", "detail"), ("at",)]),
    st.sampled_from([("_kernel",), (), ("e", "x", "a_suffix_mul_kernel"), ("add_kernel",)]),
    st.sampled_from([("loop",), ()]),
)


def rows_of(labels: NameLabels) -> list[tuple[str, ...]]:
    """Return operator, kernel, dtype and component of each name."""
    columns = (labels.operator, labels.kernel, labels.dtype, labels.component)
    return list(zip(*([each.texts[i] for i in each.ids] for each in columns), strict=True))
