"""List the claims on a build of this runtime: everything that a selection keeps or leaves out."""

from __future__ import annotations

from collections.abc import Iterator

from sizeguard.claims.claim import (
    Claim,
    ClaimSet,
    DtypeBranch,
    Exported,
    FeatureCode,
    HiddenRemains,
    KernelCode,
    LostCode,
    NeverReturns,
    OtherBodies,
    Question,
    RegisteredName,
    SameSelection,
    StartUp,
    SwitchHandler,
    Vocabulary,
)
from sizeguard.claims.universe import Universe
from sizeguard.claims.verdict import ABSENT, PRESENT
from sizeguard.operators.dtypes import DTYPES
from sizeguard.runtimes.sizeguard.kernel_names import CLASS_REGISTRAR, HIDDEN_PREFIXES
from sizeguard.selection.selection import Selection

HANDLER = "dtype_not_selected"
WORDS = Vocabulary(
    hidden_prefixes=HIDDEN_PREFIXES,
    kernels="sg::kernels::",
    case="run_case",
    switch="SwitchNote",
    handler=HANDLER,
    handler_symbol=f"{len(HANDLER)}{HANDLER}",
    registering=("register_library", CLASS_REGISTRAR),
)

_ALL_KEPT = "the selection keeps everything"
_OF_CLASS = "a selected custom class makes its objects with it"
_NONE_LEFT_OUT = "the selection keeps all dtypes of the tag"
_PREPACKED = "prepacked"


def build_claims(universe: Universe, asked: Selection, built: Selection | None) -> ClaimSet:
    """List the claims of a resolved selection.

    built: the selection in the build's record; None if it has none
    """
    names = universe.names
    claims = [
        *_operators(universe, asked),
        *_kernels(universe, asked),
        *_named(universe, asked),
        *_dtypes(universe, asked),
        *_whole(universe, asked),
    ]
    if built is not None:
        claims += _same(universe, asked, built)
    return ClaimSet(
        claims=tuple(claims),
        vocabulary=WORDS,
        classes=names.classes,
        helpers=names.helpers,
        bodies=names.bodies,
        others=names.others,
        users=names.users,
        marks=names.features,
        handled=_handled(universe, asked),
    )


def _handled(universe: Universe, asked: Selection) -> frozenset[str]:
    """Return the classes that the schemas of selected operators name, without their scopes."""
    found: set[str] = set()
    for name, operator in universe.operators.items():
        if asked.is_operator_selected(name):
            found.update(each.type.name for each in operator.schema.arguments)
            found.update(each.type.name for each in operator.schema.returns)
    return frozenset(name.rpartition(".")[2] for name in found if "." in name)


def _expect(kept: bool) -> str:
    return PRESENT if kept else ABSENT


def _operators(universe: Universe, asked: Selection) -> Iterator[Claim]:
    for name in universe.operators:
        question = RegisteredName("operator", name)
        yield Claim("operator", name, _expect(asked.is_operator_selected(name)), question)


def _kernels(universe: Universe, asked: Selection) -> Iterator[Claim]:
    """Claim each kernel once; several operators may share it."""
    kept: dict[str, bool] = {}
    libraries: dict[str, str] = {}
    for name, operator in universe.operators.items():
        kernel = universe.kernel(name)
        kept[kernel] = kept.get(kernel, False) or asked.is_operator_selected(name)
        libraries.setdefault(kernel, operator.library)
    has_classes = any(asked.is_class_selected(name) for name in universe.classes)
    for kernel, is_kept in kept.items():
        of_class = has_classes and libraries[kernel] == _PREPACKED and not is_kept
        reason = _OF_CLASS if of_class else ""
        yield Claim("kernel", kernel, _expect(is_kept), KernelCode(kernel), reason)


def _named(universe: Universe, asked: Selection) -> Iterator[Claim]:
    for name in universe.classes:
        expect = _expect(asked.is_class_selected(name))
        yield Claim("class", name, expect, RegisteredName("class", name))
    for name in universe.features:
        yield Claim("feature", name, _expect(asked.is_feature_selected(name)), FeatureCode(name))


def _dtypes(universe: Universe, asked: Selection) -> Iterator[Claim]:
    """Claim every dtype of every tag, and the handler of deselected dtypes."""
    for tag in universe.tags:
        left_out = []
        for dtype in universe.dtypes[tag]:
            is_kept = asked.is_kernel_dtype_selected(tag, dtype)
            if not is_kept:
                left_out.append(dtype)
            yield Claim("dtype", f"{tag}:{dtype}", _expect(is_kept), DtypeBranch(tag, dtype))
        question = SwitchHandler(tag, tuple(left_out))
        reason = "" if left_out else _NONE_LEFT_OUT
        yield Claim("handler", f"{tag}:{HANDLER}", PRESENT, question, reason)
    yield Claim("dtype", "any other", ABSENT, OtherBodies())


def _whole(universe: Universe, asked: Selection) -> Iterator[Claim]:
    """List the claims on the whole image."""
    keeps_all = asked.all_operators_included
    has_left_out = any(
        not asked.is_kernel_dtype_selected(tag, dtype)
        for tag in universe.tags
        for dtype in universe.dtypes[tag]
    )
    rows: tuple[tuple[str, str, Question, bool], ...] = (
        ("handler", f"a way back from {HANDLER}", NeverReturns(), has_left_out),
        ("initializer", "anything but registrations before main", StartUp(), not keeps_all),
        ("export", "any definition", Exported(), not keeps_all),
        ("section", "anything without a way from the program", LostCode(), not keeps_all),
        ("section", "anything deselected in disguise", HiddenRemains(), not keeps_all),
    )
    for kind, name, question, applies in rows:
        yield Claim(kind, name, ABSENT, question, "" if applies else _ALL_KEPT)


def _same(universe: Universe, asked: Selection, built: Selection) -> list[Claim]:
    """Claim that the build keeps exactly its selection."""
    wider, lost = _differences(universe, asked, built)
    return [
        Claim("selection", "anything wider than the selection", ABSENT, SameSelection(wider)),
        Claim("selection", "everything of the selection", PRESENT, SameSelection(lost)),
    ]


def _differences(
    universe: Universe, asked: Selection, built: Selection
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """List parts that only the build keeps, and parts that only the selection keeps."""
    wider: list[str] = []
    lost: list[str] = []

    def compare(what: str, kept: bool, wanted: bool) -> None:
        if kept != wanted:
            (wider if kept else lost).append(what)

    for name in universe.operators:
        kept, wanted = built.is_operator_selected(name), asked.is_operator_selected(name)
        compare(f"operator {name}", kept, wanted)
    for tag in universe.tags:
        for dtype in DTYPES:
            kept = built.is_kernel_dtype_selected(tag, dtype)
            compare(f"dtype {tag}:{dtype}", kept, asked.is_kernel_dtype_selected(tag, dtype))
    for name in universe.classes:
        compare(f"class {name}", built.is_class_selected(name), asked.is_class_selected(name))
    for name in universe.features:
        compare(f"feature {name}", built.is_feature_selected(name), asked.is_feature_selected(name))
    return tuple(wider), tuple(lost)
