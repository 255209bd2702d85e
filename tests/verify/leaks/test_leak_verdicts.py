"""Verdicts on left-out code, wherever an image has it, without a compiler.

The evidence is that of recorded programs, with one part changed. The linker removed subject<float>
of program 11: 60 bytes, 35 of them in stretches of 12 or more that no relocation changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.claims.verdict import ABSENT, FAIL, INCONCLUSIVE, PASS
from sizeguard.verify.branches.dtype_arguments import served_dtypes
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.leaks import hidden_code
from sizeguard.verify.leaks.deselected_code import UNLOADED, DeselectedCode, FoundCopy
from sizeguard.verify.leaks.hidden_code import judge_copies, judge_namesakes
from tests.support.builds.recorded_evidence import Opener
from tests.support.verdicts.made_verdicts import shown

SUBJECT = bytes.fromhex(
    "0f2f0500000000731ff3480f2cc048ba0101019eb3c71e5d4801d048890500000000c30f1f440000"
    "f30f5c0500000000f3480f2cc0480fbaf83febd2"
)
RELOCATIONS = 0x520  # address and offset of .rela.dyn, which no input section fills


@pytest.mark.parametrize(
    "added, at, expected, where",
    [
        (SUBJECT, None, (FAIL, 35), UNLOADED),
        (SUBJECT, RELOCATIONS, (FAIL, 35), ".rela.dyn"),
        (SUBJECT[:-1], RELOCATIONS, (PASS, 0), ""),
        (SUBJECT[:30], None, (PASS, 0), ""),
        (b"", None, (PASS, 0), ""),
    ],
)
def test_bytes_of_a_removed_function_fail_anywhere(
    opened: Opener, added: bytes, at: int | None, expected: tuple[str, int], where: str
) -> None:
    evidence = opened("11", added, at)
    found = judge_copies(DeselectedCode(evidence, None))
    assert shown(found) == expected
    assert where in found.cause
    # With the objects as those of a full build, too, whose record has none of the toolchain.
    full = replace(evidence.objects, files=evidence.objects.files[: evidence.own])
    assert shown(judge_copies(DeselectedCode(evidence, full))) == expected


@pytest.mark.parametrize(
    ("symbol", "dtypes"),
    [
        ("_Z3fooPKdPdl", {"Double"}),
        ("_Z3fooPKN2sg4HalfEl", {"Half"}),
        ("_ZN1a3fooESt4spanIKhLm18446744073709551615EE", {"Byte"}),
        ("_Z3food", {"Double"}),
        ("_Z3fooRA4_x", {"Long"}),
        ("_Z3fooRSt6vectorIdSaIdEE", {"Double"}),
        ("_Z3fooPKPKcl", set()),  # a table of texts, and a count
        ("_ZNK3fooclEPKdPdl.isra.0", {"Double"}),
        # A call operator with a template argument; a member of a local class
        ("_ZNK3fooclIdEEvlPKcl", {"Double"}),
        ("_ZZ3runPKcEN3foo3addEPKd", {"Double"}),
        ("_Z3foov", set()),
        ("foo", set()),
        # The arguments of scopes, and types and enumerators inside of arguments
        ("_ZN5OuterIdE3foo2goEPKc", {"Double"}),
        ("_ZN2my4LoopINS_3fooIdEEE2goEPKc", {"Double"}),
        ("_ZN3foo2goIL10ScalarType7EEEvPKc", {"Double"}),
        ("_ZN3foo2goIL10ScalarType99EEEvPKc", set()),
    ],
)
def test_a_function_serves_the_dtypes_of_its_parameters(symbol: str, dtypes: set[str]) -> None:
    assert served_dtypes(symbol) == dtypes


@pytest.mark.parametrize(
    "changed, verdict",
    [
        ({}, FAIL),
        ({"own": 0}, PASS),
        ({"own": 0, "gaps": ("no objects",)}, INCONCLUSIVE),
        ({"map": False, "gaps": ("no map",)}, INCONCLUSIVE),
        ({"lto": ("a.o",)}, PASS),
        ({"lto": ("a.o",), "made_by_lto": (0,)}, FAIL),
        ({"gaps": ("anything",)}, FAIL),
        ({"gaps": ("anything",), "missing": ("b.o",)}, INCONCLUSIVE),
        ({"gaps": ("anything",), "missing": ("b.o",), "lto_inputs": ()}, FAIL),  # of a build
    ],
)
def test_copies_count_if_the_place_of_all_code_is_known(
    opened: Opener, changed: dict[str, Any], verdict: str
) -> None:
    evidence = opened("11", SUBJECT)
    objects = replace(evidence.objects, lto=changed.pop("lto", ()))
    objects.__dict__["made_by_lto"] = changed.pop("made_by_lto", ())
    placement = replace(evidence.placement, has_map=changed.pop("map", True), _starts=[], _nodes=[])
    placement = replace(placement, missing=changed.pop("missing", ()))
    evidence = replace(evidence, objects=objects, placement=placement, **changed)
    assert judge_copies(DeselectedCode(evidence, None)).verdict == verdict


@pytest.mark.parametrize("count", [1, 8, 9, 11])
def test_eight_copies_are_shown_and_the_rest_is_counted(opened: Opener, count: int) -> None:
    code: Any = SimpleNamespace(
        evidence=opened("11"),
        copies=lambda: [FoundCopy(f"f{i}", 40 + i, 16 * i, ".data") for i in range(count)],
    )
    found = judge_copies(code)
    assert shown(found) == (FAIL, sum(range(40, 40 + count)))
    assert found.evidence[:1] == ("40 bytes of f0 are at 0x0, in .data",)
    more = (f"and {count - 8} more",) if count > 8 else ()
    assert (len(found.evidence[: min(count, 8)]), found.evidence[8:]) == (min(count, 8), more)
    assert (found.cause, found.chain) == ("copied: code of f0 in .data", ())


def test_a_copy_in_a_function_is_explained_by_that_function(opened: Opener) -> None:
    evidence = opened("13")
    (subject,) = evidence.objects.find("subject")
    copies = [
        FoundCopy("f", 40, 0, ".data"),
        FoundCopy("f", 40, 0x1150, "subject", subject),
    ]
    code: Any = SimpleNamespace(evidence=evidence, copies=lambda: copies)
    assert [step.symbol for step in judge_copies(code).chain][-1] == "subject"


# A full build has the kernel; the image has a function of its name in another scope.
KERNEL = "_ZN2sg7kernels4reluERNS_7ContextE"
SAME_ARGUMENTS = "_ZN2my4reluERN2sg7ContextE"
OTHER_ARGUMENTS = "_ZN2my4reluEi"
LOCAL = "_ZN12_GLOBAL__N_14reluERN2sg7ContextE"
LONGER = "_ZN2my9relu_backERN2sg7ContextE"
CALLED = "_ZN2my4reluclERN2sg7ContextE"
CONVERTED = "_ZN2my4relucvN2sg6TensorEEv"
DESTROYED = "_ZN2my4reluD2Ev"
# Functions of a class Linear, and of others.
TEMPLATE = "_Z6spreadIN2sg6LinearEElPT_"
MEMBER = "_ZN2sg6Linear3runEv"
OTHER_CLASS = "_Z6spreadIN2sg16LinearClassifierEElPT_"


def with_functions(
    evidence: Evidence, symbols: Iterable[str], *, full: bool, known: Iterable[str] = ()
) -> Any:
    """Return code with functions in the image, each of them at main()."""
    node = next(node for node in evidence.placement.address if node[0] == 0)
    pieces = [NamedPiece(*node, 0, 10 + i, symbol) for i, symbol in enumerate(symbols)]
    return SimpleNamespace(
        evidence=evidence,
        full=evidence.objects if full else None,
        placed=[SimpleNamespace(piece=piece) for piece in pieces],
        gone=[SimpleNamespace(piece=NamedPiece(*node, 0, 30, KERNEL))],
        is_known=lambda symbol, number, *, is_inlined: symbol in known and not is_inlined,
    )


@pytest.mark.parametrize(
    "symbols, full, known, expected",
    [
        ([SAME_ARGUMENTS], True, (), (FAIL, 10)),
        ([OTHER_ARGUMENTS], True, (), (FAIL, 10)),
        ([LOCAL], True, (), (FAIL, 10)),
        ([CALLED], True, (), (FAIL, 10)),
        ([CONVERTED], True, (), (FAIL, 10)),
        ([DESTROYED], True, (), (FAIL, 10)),
        ([SAME_ARGUMENTS, OTHER_ARGUMENTS], True, (), (FAIL, 21)),
        ([SAME_ARGUMENTS, OTHER_ARGUMENTS], True, (SAME_ARGUMENTS,), (FAIL, 11)),
        ([SAME_ARGUMENTS], True, (SAME_ARGUMENTS,), (PASS, 0)),
        ([LONGER], True, (), (PASS, 0)),
        # A kernel behind a point is no clone of a known function.
        (["main.relu", "_ZN2my3runEv.gelu"], True, ("main.relu", "_ZN2my3runEv.gelu"), (FAIL, 21)),
        (["main.isra.0"], True, ("main.isra.0",), (PASS, 0)),
        ([], True, (), (PASS, 0)),
        ([SAME_ARGUMENTS], False, (), (FAIL, 10)),
        ([OTHER_ARGUMENTS], False, (), (PASS, 0)),
        ([LOCAL], False, (), (PASS, 0)),
        ([CALLED], False, (), (PASS, 0)),
    ],
)
def test_a_function_of_a_kernels_name_fails_unless_the_full_build_has_it(
    opened: Opener, symbols: list[str], full: bool, known: tuple[str, ...], expected: Any
) -> None:
    code = with_functions(opened("11"), symbols, full=full, known=known)
    found = judge_namesakes(code, ["relu", "gelu"])
    assert shown(found) == expected
    assert judge_namesakes(code, []).verdict == PASS
    assert len(found.chain) > 0 if expected[0] == FAIL else not found.chain


@pytest.mark.parametrize(
    "symbols, known, expected",
    [
        ([TEMPLATE], (), (FAIL, 10)),
        ([TEMPLATE, MEMBER], (), (FAIL, 21)),
        ([TEMPLATE, MEMBER], (TEMPLATE,), (FAIL, 11)),
        ([MEMBER], (MEMBER,), (PASS, 0)),
        ([OTHER_CLASS, SAME_ARGUMENTS], (), (PASS, 0)),
        (["_ZN12_GLOBAL__N_16Linear3runEv"], (), (FAIL, 10)),
        (["Linear_free", "free_Linear", "app.Linear.free", "-[Linear free]"], (), (FAIL, 46)),
        (["Linearly_free", "myLinear", "Linear2"], (), (PASS, 0)),
    ],
)
def test_a_function_of_a_class_fails_unless_the_full_build_has_it(
    opened: Opener, symbols: list[str], known: tuple[str, ...], expected: Any
) -> None:
    code = with_functions(opened("11"), symbols, full=True, known=known)
    assert shown(judge_namesakes(code, ["gelu"], ["Linear"])) == expected
    assert judge_namesakes(code, ["gelu"]).verdict == PASS


@pytest.mark.parametrize(
    "full, handled, expected",
    [
        (False, ["Linear"], (PASS, 0)),
        (False, ["Linea", "LinearOp"], (FAIL, 10)),
        (False, [], (FAIL, 10)),
        (True, ["Linear"], (FAIL, 10)),
    ],
)
def test_a_class_of_selected_operators_is_judged_only_with_a_full_build(
    opened: Opener, full: bool, handled: list[str], expected: Any
) -> None:
    """An operator that returns an object makes it, whether its class is registered or not."""
    code = with_functions(opened("11"), [TEMPLATE], full=full)
    assert shown(judge_namesakes(code, [], ["Linear"], handled=handled)) == expected


def test_data_of_a_class_fails_unless_the_full_build_has_it(opened: Opener) -> None:
    """Type information, tables of functions, static members."""
    code = with_functions(opened("01"), [], full=True)
    assert shown(judge_namesakes(code, ["gelu"], ["sink"])) == (FAIL, 8)
    known = with_functions(opened("01"), [], full=True, known=("_ZN12_GLOBAL__N_14sinkE",))
    assert judge_namesakes(known, ["gelu"], ["sink"]).verdict == PASS


def test_a_function_that_makes_objects_of_a_class_fails(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The full build has it, and registers it for the class."""
    monkeypatch.setattr(hidden_code, "class_makers", lambda full, classes: {OTHER_CLASS})
    names = [OTHER_CLASS, f"{OTHER_CLASS}x"]
    code = with_functions(opened("11"), names, full=True, known=names)
    assert shown(judge_namesakes(code, ["gelu"], ["Linear"])) == (FAIL, 10)
    assert judge_namesakes(code, ["gelu"]).verdict == PASS
    alone = with_functions(opened("11"), names, full=False, known=names)
    assert judge_namesakes(alone, [], ["Linear"]).verdict == PASS


@pytest.mark.parametrize(
    "symbol, known, expected",
    [
        ("_ZN2my4sumsEPKdl", (), FAIL),
        ("_ZN2my4sumsEPKdl", ("_ZN2my4sumsEPKdl",), PASS),
        ("_ZN2my4sumsEPKfl", (), PASS),
        ("_ZNK4sumsclIdEEvPKc", (), FAIL),  # a class with a template as its call operator
        ("_ZN4sums3runIdEEvPKc", (), FAIL),
        ("_ZN4sums3runEPKd", (), FAIL),
        ("_ZZN2my3runEPKcEN4sums3addEPKd", (), FAIL),
        ("_ZN4sums3runIfEEvPKc", (), PASS),
        ("_ZN2my4sumsIdEEvPKc", (), PASS),  # a body, judged as such
        ("sums", (), FAIL),  # C does not show the parameters
        ("my__sums", (), FAIL),
        ("my.sums", (), FAIL),
        ("__rows_MOD_sums", (), FAIL),
        ("other_sums", (), PASS),
        # In a template's class, as its argument, and with the dtype in its name
        ("_ZN5OuterIdE4sums2goEPKc", (), FAIL),
        ("_ZN5OuterIfE4sums2goEPKc", (), PASS),
        ("_ZN2my4LoopINS_4sumsEdE2goEPKc", (), FAIL),
        ("sums_f64", (), FAIL),
        ("sums_f32", (), PASS),
        ("_ZN2my10doublesumsEPKc", (), FAIL),
        ("_ZN2my11sums_doubleEPKc", (), FAIL),
        ("_ZN2my11sums_doubleEPKc", ("_ZN2my11sums_doubleEPKc",), PASS),
        # Nothing tells a dtype
        ("_ZN2my4sumsEPKcl", (), INCONCLUSIVE),
        ("_ZN2my4sumsEPKcl", ("_ZN2my4sumsEPKcl",), PASS),
        ("_ZN4sums2goEPKc", (), INCONCLUSIVE),
        ("_ZN4sums2goILi7EEEvPKc", (), INCONCLUSIVE),
        ("_ZN3app4sums17h0123456789abcdefE", (), INCONCLUSIVE),  # of Rust
    ],
)
def test_a_function_named_like_a_body_passes_if_it_serves_selected_dtypes(
    opened: Opener, symbol: str, known: tuple[str, ...], expected: str
) -> None:
    code = with_functions(opened("11"), [symbol], full=True, known=known)
    bodies = {"sums": frozenset({"Double"}), "products": frozenset({"Float"})}
    assert judge_namesakes(code, [], bodies=bodies).verdict == expected
    alone = with_functions(opened("11"), [symbol], full=False)
    assert judge_namesakes(alone, [], bodies=bodies).verdict == PASS


@pytest.mark.parametrize(
    "symbol, full, expected",
    [
        ("_ZN2my4sumsIdLi4EEEvPKc", True, FAIL),
        ("_ZN2my4sumsIfdEEvPKc", True, FAIL),
        ("_ZN2my4sumsIfEEvPKc", True, PASS),
        ("_ZN2my4sumsIfLi4EEEvPKc", True, PASS),
        ("_ZN2my4sumsIdLi4EEEvPKc", False, PASS),
        # Nothing tells a dtype
        ("_ZN2my4sumsILm8EEEvPKc", True, INCONCLUSIVE),
        ("_ZN2my4sumsIDv2_dEEvPKc", True, INCONCLUSIVE),
        ("_ZN2my4sumsINS_4RealEEEvPKc", True, INCONCLUSIVE),
        ("_ZN2my4sumsILm8EEclEPKc", True, INCONCLUSIVE),
    ],
)
def test_an_inlined_template_named_like_a_body_counts_with_any_arguments(
    opened: Opener, symbol: str, full: bool, expected: str
) -> None:
    """Instances with code of their own are judged as bodies, whatever their arguments."""
    evidence = opened("11")
    part = SimpleNamespace(address=0x1040, bytes=7, host="main")
    evidence.__dict__["inlined"] = {symbol: part}
    code = with_functions(evidence, [], full=full)
    bodies = {"sums": frozenset({"Double"})}
    assert judge_namesakes(code, [], bodies=bodies).verdict == expected


IN_A_NAMESPACE = "_ZN2my4relu3runEi"
IN_A_CLASS = "_ZN2my4relu5Inner5applyEv"
IN_TWO_SCOPES = "_ZN4relu4more3runEv"
OF_AN_ARGUMENT = "_ZN2my3runINS_4reluEEEvv"
OF_AN_ENUMERATOR = "_ZN2my3runILNS_2OpE1EEEvv"  # its name is not mangled
OF_A_PARAMETER = "_ZN2my3runENS_4reluE"
OF_THE_LIBRARY = "_ZN2my3runISt4reluEEvv"


@pytest.mark.parametrize(
    "symbols, full, known, expected",
    [
        ([IN_A_NAMESPACE] * 3, True, (), INCONCLUSIVE),  # 33 bytes
        ([IN_A_NAMESPACE] * 2, True, (), PASS),  # 21 bytes
        ([IN_A_NAMESPACE, IN_A_CLASS, IN_TWO_SCOPES], True, (), INCONCLUSIVE),
        ([IN_A_NAMESPACE, IN_A_CLASS, IN_TWO_SCOPES], True, (IN_A_CLASS,), PASS),
        ([IN_A_NAMESPACE, IN_A_CLASS, IN_TWO_SCOPES], False, (), PASS),
        ([OF_AN_ARGUMENT] * 3, True, (), INCONCLUSIVE),
        ([OF_AN_ENUMERATOR, OF_A_PARAMETER, LONGER, OF_THE_LIBRARY], True, (), PASS),
        ([IN_A_NAMESPACE, IN_A_CLASS, SAME_ARGUMENTS], True, (), FAIL),
    ],
)
def test_code_in_a_scope_of_a_kernels_name_is_undecided(
    opened: Opener, symbols: list[str], full: bool, known: tuple[str, ...], expected: str
) -> None:
    """A namespace `log` need not have the kernel log."""
    code = with_functions(opened("11"), symbols, full=full, known=known)
    found = judge_namesakes(code, ["relu", "gelu"])
    assert (found.expect, found.verdict) == (ABSENT, expected)
    if expected == INCONCLUSIVE:
        assert ": 10 bytes at 0x" in found.evidence[0]
        assert found.evidence[-1].startswith("a scope or template argument has the name of a k")
    assert judge_namesakes(code, []).verdict == PASS


@pytest.mark.parametrize(("fewest", "expected"), [(33, INCONCLUSIVE), (34, PASS)])
def test_few_bytes_in_a_scope_of_a_kernels_name_pass(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, fewest: int, expected: str
) -> None:
    monkeypatch.setattr(hidden_code, "FEWEST_BYTES", fewest)
    code = with_functions(opened("11"), [IN_A_NAMESPACE] * 3, full=True)
    assert judge_namesakes(code, ["relu"]).verdict == expected


@pytest.mark.parametrize("full", [True, False])
def test_an_inlined_function_of_a_kernels_name_fails(opened: Opener, full: bool) -> None:
    evidence = opened("11")
    part = SimpleNamespace(address=0x1040, bytes=7, host="main")
    evidence.__dict__["inlined"] = {SAME_ARGUMENTS: part}
    code = with_functions(evidence, [], full=full, known=[SAME_ARGUMENTS])
    found = judge_namesakes(code, ["relu"])
    assert (shown(found), found.chain) == ((FAIL, 7), ())
    assert found.evidence[0].endswith("7 bytes at 0x1040, inside of main")
    assert found.cause.startswith("another scope: my::relu(")


def test_gaps_make_missing_names_of_kernels_inconclusive(opened: Opener) -> None:
    evidence = replace(opened("11"), gaps=("no map",))
    found = judge_namesakes(with_functions(evidence, [], full=True), ["relu"])
    assert (found.verdict, found.evidence) == (INCONCLUSIVE, ("no map",))
