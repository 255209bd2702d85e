"""Code that the full build lacks, in builds with LTO, without a compiler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.base.errors import InputError
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.formats.archive import ObjectContent
from sizeguard.verify.evidence.evidence import Inlined
from sizeguard.verify.evidence.macho import MachoImage
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.leaks import foreign_code as module
from sizeguard.verify.leaks import full_objects
from sizeguard.verify.leaks.deselected_code import FoundCopy
from sizeguard.verify.leaks.foreign_code import (
    ForeignCode,
    KnownFunctions,
    foreign_code,
    function_bodies,
)
from sizeguard.verify.leaks.hidden_code import judge_copies
from tests.support.images.made_frames import frames_over

KERNEL, LOCAL = "_ZN2sg7kernels4reluEv", "_ZN2sg12_GLOBAL__N_15leaveEi"


@pytest.mark.parametrize(
    "symbol, is_known",
    [
        (KERNEL, True),
        (f"{KERNEL}.isra.0", True),
        ("sg::(anonymous namespace)::leave()", True),
        ("main", True),
        ("main.cold", True),
        ("_ZN2my4reluEv", False),
        ("my::leave()", False),
        ("leave", False),
    ],
)
def test_a_function_is_known_in_any_form(symbol: str, is_known: bool) -> None:
    known = KnownFunctions(
        frozenset({KERNEL, LOCAL, "main"}), frozenset({"sg::(anonymous namespace)::leave()"})
    )
    assert known.has(symbol) == is_known


def test_the_full_build_knows_compiled_inlined_described_and_dead_functions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "full_build", lambda _: SimpleNamespace(lto_inputs=(Path("a.o"),)))
    monkeypatch.setattr(module, "function_bodies", lambda _: frozenset({LOCAL}))
    code: Any = SimpleNamespace(
        evidence=None,
        known=frozenset({"main"}),
        inlined_in_full=frozenset({"a::b()"}),
        debug_texts_of_full=(b"leave\0_Z1fv\0", b"_Z1gv\0\xff"),
    )
    known = KnownFunctions.of(code)
    assert known.symbols == {"main", "a::b()", "_Z1fv", "_Z1gv", LOCAL}
    assert known.scoped == {"main()", "sg::(anonymous namespace)::leave()"}


def _objects(monkeypatch: pytest.MonkeyPatch, *objects: bytes) -> None:
    found = [ObjectContent(Path("a"), "a", "", data) for data in objects]
    monkeypatch.setattr(module, "contents", lambda *_: iter(found))


def test_functions_of_lto_objects_count_without_the_suffixes_of_clones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = {b"\x7fELF": {LOCAL, "f.part.0"}, b"BC\xc0\xde": {"main"}}
    monkeypatch.setattr(module, "functions_of", lambda data: frozenset(said[data]))
    _objects(monkeypatch, *said, b"\xcf\xfa\xed\xfe")  # Mach-O has machine code
    assert function_bodies(()) == {LOCAL, "f", "main"}


def test_objects_that_cannot_be_read_have_no_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object) -> object:
        raise InputError("a.o: damaged")

    monkeypatch.setattr(module, "contents", damaged)
    assert function_bodies((Path("a.o"),)) == frozenset()


@pytest.mark.parametrize("is_macho", [False, True])
def test_objects_of_the_full_build_are_read_in_the_format_of_the_image(
    monkeypatch: pytest.MonkeyPatch, is_macho: bool
) -> None:
    full = SimpleNamespace(objects=(Path("a.o"),), image=Path("full/app"))
    image = MachoImage.__new__(MachoImage) if is_macho else None
    evidence: Any = SimpleNamespace(image=image)
    for name in ("read_objects", "read_macho_objects"):
        monkeypatch.setattr(full_objects, name, lambda *given, name=name: (name, *given))
    monkeypatch.setattr(full_objects, "full_build", lambda _: full)
    name = "read_macho_objects" if is_macho else "read_objects"
    assert full_objects.read_full(evidence) == (name, full.objects, Path("full"))
    monkeypatch.setattr(full_objects, "full_build", lambda _: None)
    assert full_objects.read_full(evidence) is None


def function(symbol: str, size: int, offset: int = 0) -> Any:
    return SimpleNamespace(piece=NamedPiece(0, 1, offset, size, symbol))


def made_code(
    monkeypatch: pytest.MonkeyPatch,
    placed: Iterable[Any],
    ranges: Iterable[tuple[int, int, tuple[str, ...]]] = (),
    inlined: Mapping[str, Inlined] | None = None,
    has_lto: bool = True,
    **changes: Any,
) -> Any:
    """Return code of an image. ranges: start, end, and functions there, the innermost first."""
    known = KnownFunctions(frozenset({"main", KERNEL}), frozenset())
    monkeypatch.setattr(module.KnownFunctions, "of", lambda _: known)
    evidence = SimpleNamespace(
        has_lto=has_lto,
        placement=SimpleNamespace(where=lambda piece: 0x1000 + piece.offset, has_map=True),
        inlined=inlined or {},
        frames=frames_over(ranges),
        objects=SimpleNamespace(lto=()),
        own=1,
        gaps=(),
        is_complete=True,
        lacks_inputs=False,
        short=lambda symbol: symbol,
    )
    given = {"full": object(), "copies": list, "functions": SimpleNamespace(names=[])}
    return SimpleNamespace(evidence=evidence, placed=list(placed), **(given | changes))


def test_placed_code_counts_once_and_names_what_is_inlined_into_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inlined = {
        "small": Inlined(0x1001, 5, "_Z5sparev"),
        "large": Inlined(0x1002, 50, "_Z5sparev"),
        "middle": Inlined(0x1002, 20, "_Z5sparev"),
        "other": Inlined(0x1002, 99, "main"),
    }
    placed = [function("main", 300, 900), function("_Z5sparev", 70), function("alias", 70)]
    code = made_code(monkeypatch, placed, inlined=inlined)
    assert foreign_code(code) == (ForeignCode("_Z5sparev", 70, 0x1000, "", ("large", "middle")),)


def test_inlined_code_counts_as_the_outermost_foreign_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ranges = [
        (0, 10, ("inner", KERNEL, "outer", "main")),
        (10, 16, ("outer", "main")),
        (16, 40, (KERNEL, "main")),
        (40, 50, ("inner", "outer", "outer", "main")),
        (50, 99, ("inner", "spare")),  # counts as the placed function
        (99, 102, ("other", "main")),
    ]
    found = foreign_code(made_code(monkeypatch, (), ranges))
    assert found == (
        ForeignCode("outer", 26, 0, "main", ("inner",)),
        ForeignCode("other", 3, 99, "main"),
    )


def test_without_debug_information_no_inlined_code_is_foreign(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = made_code(monkeypatch, [function("spare", 40)])
    code.evidence.frames = None
    assert foreign_code(code) == (ForeignCode("spare", 40, 0x1000, ""),)


@pytest.mark.parametrize(
    "placed, changes, verdict",
    [
        ([function("main", 99)], {}, PASS),
        ([function("spare", 32)], {}, INCONCLUSIVE),
        ([function("spare", 31)], {}, PASS),
        ([function("spare", 16), function("more", 16, 16)], {}, INCONCLUSIVE),
        ([function("spare", 99)], {"full": None}, PASS),
        ([function("spare", 99)], {"has_lto": False}, PASS),
    ],
)
def test_much_code_that_the_full_build_lacks_is_inconclusive_with_lto(
    monkeypatch: pytest.MonkeyPatch, placed: list[Any], changes: dict[str, Any], verdict: str
) -> None:
    found = judge_copies(made_code(monkeypatch, placed, **changes))
    assert found.verdict == verdict
    named = "spare at 0x1000" in found.evidence[0]
    assert named == (verdict == INCONCLUSIVE)


def test_a_recognised_copy_fails_beside_foreign_code(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = [FoundCopy(KERNEL, 40, 16, ".data")]
    code = made_code(monkeypatch, [function("spare", 99)], copies=lambda: copies)
    assert judge_copies(code).verdict == FAIL
