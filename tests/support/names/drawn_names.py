"""Mangled names drawn from pieces, and rules that match some of them."""

from __future__ import annotations

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


def rows_of(labels: NameLabels) -> list[tuple[str, ...]]:
    """Return operator, kernel, dtype and component of each name."""
    columns = (labels.operator, labels.kernel, labels.dtype, labels.component)
    return list(zip(*([each.texts[i] for i in each.ids] for each in columns), strict=True))
