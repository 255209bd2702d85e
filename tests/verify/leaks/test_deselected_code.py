"""The search for code that a selection leaves out, on made-up functions and a recorded build."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sizeguard.builds.build_record import RECORD
from sizeguard.verify.evidence.code_search import Pattern
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.leaks import deselected_code
from sizeguard.verify.leaks.deselected_code import (
    UNLOADED,
    DeselectedCode,
    FoundCopy,
    LinkedFunction,
)
from sizeguard.verify.leaks.full_objects import full_build, read_full
from tests.support.builds.recorded_builds import recorded_runtime

Changes = Mapping[str, object]


@pytest.mark.parametrize(
    "changes, is_found",
    [
        ({}, True),
        ({"variant": "full", "app": ""}, True),
        ({"target": "aarch64-linux"}, False),
        ({"toolchain": "gcc-13.1-bfd-2.40"}, False),
        ({"optimize": "2"}, False),
        ({"lto": "full"}, False),
        ({"objects": ["/nowhere/a.o"]}, False),
        ({"objects": [__file__, "/nowhere/a.o"]}, False),
        ({"objects": 3}, False),  # damaged
    ],
)
def test_the_full_build_is_beside_and_of_the_same_tools(
    tmp_path: Path, changes: Changes, is_found: bool
) -> None:
    build = recorded_runtime(tmp_path).build
    evidence: Any = SimpleNamespace(image=SimpleNamespace(path=build.image), full=None)
    assert read_full(evidence) is None
    own = build.image.parent / RECORD
    beside = own.parent.parent / "full" / RECORD
    beside.parent.mkdir()
    beside.write_text(json.dumps(json.loads(own.read_text()) | changes))
    assert (full_build(evidence) is not None) == is_found
    full: Any = SimpleNamespace(
        image=SimpleNamespace(path=beside.parent / "run_program"), full=None
    )
    assert full_build(full) is None  # it is not beside itself
    elsewhere = tmp_path / "elsewhere"
    beside.parent.rename(elsewhere)
    assert full_build(evidence) is None
    evidence.full = replace(build, image=elsewhere / "run_program")
    assert full_build(evidence) is evidence.full
    own.unlink()
    assert full_build(evidence) is None


def code(seed: int, size: int = 40) -> bytes:
    return random.Random(seed).randbytes(size)


def function(name: str, data: bytes, number: int = 0, section: int = 1) -> LinkedFunction:
    pattern = Pattern(np.frombuffer(data, np.uint8), np.ones(len(data), np.bool_))
    return LinkedFunction(name, NamedPiece(number, section, 0, len(data), name), pattern)


LOADED = 0x1000


def searched(
    loaded: bytes,
    *,
    behind: bytes = b"",
    full: Sequence[LinkedFunction] = (),
    placed: Sequence[LinkedFunction] = (),
    nodes: Mapping[tuple[int, int], tuple[int, int]] = {},
    files: Sequence[str] = ("a.o",),
    **section: bool,
) -> list[FoundCopy]:
    """Find copies of g, of 40 bytes. nodes: address and size of input sections."""
    row = {"is_allocated": True, "file_size": len(loaded)} | section
    shipped = SimpleNamespace(
        sections=[SimpleNamespace(name=".data", address=LOADED, **row)],
        content=lambda _: loaded,
    )

    def owner(address: int) -> tuple[int, int] | None:
        found = [n for n, (start, size) in nodes.items() if start <= address < start + size]
        return found[0] if found else None

    placement = SimpleNamespace(
        address={node: start for node, (start, _) in nodes.items()},
        section=lambda node: SimpleNamespace(size=nodes[node][1], is_executable=True),
        owner=owner,
        where=lambda piece: 0x2000,
        objects=SimpleNamespace(label=lambda piece: files[piece.object]),
    )
    evidence: Any = SimpleNamespace(
        shipped=shipped,
        shipped_bytes=SimpleNamespace(outside=np.frombuffer(behind, np.uint8)),
        placement=placement,
        objects=SimpleNamespace(files=[SimpleNamespace(path=Path(path)) for path in files]),
        own=1,
        reasons=SimpleNamespace(symbol_at=lambda node, offset: f"host+{offset}"),
        short=lambda symbol: symbol,
    )
    given: Any = object()
    found = DeselectedCode(evidence, given if full or placed else None)
    kept = frozenset(each.name for each in placed)
    found.__dict__.update(
        gone=[function("g", code(1))],
        placed=list(placed),
        known=frozenset(each.name for each in (*full, *placed)),
        _of_full=list(full),
        _in_image=kept,
    )
    return found.copies()


def outside(count: int, address: int = LOADED, where: str = ".data") -> FoundCopy:
    return FoundCopy("g", count, address, where)


@pytest.mark.parametrize(
    "loaded, expected",
    [
        (code(1), [outside(40)]),
        (code(1)[:32], [outside(32)]),
        (code(1)[:31], []),
        (code(1)[8:], [outside(32)]),
        (b"\0" * 16 + code(1), [outside(40, LOADED + 16)]),
        # In two parts, that are near to each other; and far away
        (code(1)[:20] + b"\0" * 10 + code(1)[20:], [outside(40)]),
        (code(1)[:20] + b"\0" * 90 + code(1)[20:], []),
        (code(2), []),
        (b"", []),
    ],
)
def test_copies_of_32_bytes_are_found(loaded: bytes, expected: list[FoundCopy]) -> None:
    assert searched(loaded) == expected


def test_copies_count_in_the_whole_file() -> None:
    assert searched(b"", behind=code(1)) == [outside(40, 0, UNLOADED)]
    assert searched(b"", behind=b"\0" * 8 + code(1)[:32]) == [outside(32, 8, UNLOADED)]
    assert searched(b"", behind=code(1)[:31]) == []
    assert searched(code(1), is_allocated=False) == []  # those bytes are in the rest of the file
    assert searched(code(1), behind=code(1)) == [outside(40), outside(40, 0, UNLOADED)]


def test_bytes_that_a_kept_function_has_too_are_no_copy() -> None:
    kept = function("k", code(1))
    assert searched(code(1), placed=[kept]) == []
    assert searched(code(1), full=[kept]) == [outside(40)]  # it is not in the image
    assert searched(code(1), full=[function("k", code(2))], placed=[kept]) == []


TOOLCHAIN = "/usr/lib/libgcc.a"


@pytest.mark.parametrize(
    "start, size, file, number, is_found",
    [
        (LOADED, 40, TOOLCHAIN, 1, False),
        (LOADED, 29, TOOLCHAIN, 1, False),  # all windows begin there
        (LOADED, 8, TOOLCHAIN, 1, True),  # 32 bytes are left
        (LOADED, 9, TOOLCHAIN, 1, False),
        (LOADED + 20, 8, TOOLCHAIN, 1, True),
        (LOADED - 40, 40, TOOLCHAIN, 1, True),
        (LOADED + 40, 40, TOOLCHAIN, 1, True),
        (LOADED, 40, "/home/me/libgcc.a", 1, True),
        (LOADED, 40, TOOLCHAIN, 0, True),  # given as an object of the build
    ],
)
def test_code_of_the_toolchain_is_no_copy(
    start: int, size: int, file: str, number: int, is_found: bool
) -> None:
    files = [TOOLCHAIN if number == 0 else "a.o", file]
    assert bool(searched(code(1), nodes={(number, 3): (start, size)}, files=files)) == is_found


def test_a_copy_inside_of_an_input_names_it() -> None:
    (found,) = searched(b"\0" * 16 + code(1), nodes={(0, 3): (LOADED + 8, 60)})
    assert (found.address, found.where) == (LOADED + 16, "host+8 of a.o")
    assert found.piece == NamedPiece(0, 3, 8, 40, "host+8")


LONG = code(3, 200)  # of a left-out function


@pytest.mark.parametrize(
    "host, expected",
    [
        (code(4, 60) + LONG, [200]),
        (code(4, 60) + LONG[:128], [128]),
        (code(4, 60) + LONG[:127], []),
        (code(4, 60), []),
    ],
)
@pytest.mark.parametrize("size, fewest", [(200, 120), (213, 128), (214, 129)])
def test_copies_in_functions_of_the_full_build_are_larger(
    host: bytes, expected: list[int], size: int, fewest: int
) -> None:
    """A copy in a known function has 128 bytes, and 60 % of the function."""
    left_out = function("long", LONG + code(5, size - len(LONG)))
    known = function("known", host)
    placement = SimpleNamespace(where=lambda piece: 0x2000)
    evidence: Any = SimpleNamespace(placement=placement, short=lambda symbol: symbol)
    everything: Any = object()
    found = DeselectedCode(evidence, everything)
    other = function("other", host)  # the full build lacks it: another search finds those
    found.__dict__.update(
        gone=[left_out],
        placed=[other, known],
        known=frozenset({"known"}),
        _of_full=[],
        _in_image=frozenset({"known"}),
    )
    copies = [*found._in_known()]
    wanted = [count for count in expected if count >= fewest]
    assert [copy.bytes for copy in copies] == wanted
    assert all((c.where, c.address, c.piece) == ("known", 0x2000, known.piece) for c in copies)
    # Code that the full build's kept functions also have is no copy.
    found.__dict__.update(_of_full=[known])
    del found.__dict__["_kept"]
    assert not [*found._in_known()]
    assert not [*replace(found, full=None)._in_known()]


@pytest.mark.parametrize(
    ("host_of_full", "gone_of_full", "is_copy"),
    [
        (code(6, 100), code(6, 100), False),  # minimum and maximum: alike in the full build, too
        (code(6, 79) + code(7, 21), code(6, 79) + code(8, 21), True),
        (code(6, 80) + code(7, 20), code(6, 80) + code(8, 20), False),
        (code(6, 100) + code(7, 60), code(6, 100), True),  # the host has a copy inside
        (code(7, 100), code(6, 100), True),
        (b"", code(6, 100), True),
        (code(6, 100), b"", True),
    ],
    ids=["equal", "79 %", "80 %", "copy inside", "unlike", "no host", "no function"],
)
def test_functions_that_are_alike_in_the_full_build_are_no_copies(
    host_of_full: bytes, gone_of_full: bytes, is_copy: bool
) -> None:
    """With few dtypes, both differ from what they are in the full build, and are alike again."""
    full = [function("known", host_of_full), function("long", gone_of_full)]
    found = copies_in(function("known", LONG), [function("long", LONG)], full)
    assert [copy.function for copy in found] == ["long"] * is_copy


def test_a_copy_beside_what_is_alike_is_found() -> None:
    """A function that is like its host does not hide a smaller copy of another one."""
    other = code(9, 130)
    full = [function("known", code(6, 100)), function("long", code(6, 100))]
    gone = [function("long", LONG), function("short", other)]
    assert not copies_in(function("known", LONG), gone, full)
    (found,) = copies_in(function("known", LONG + other), gone, full)
    assert (found.function, found.bytes) == ("short", 130)
    # The bytes of the alike function are no copy of a third one that has them, too.
    third = function("third", LONG[:150])
    assert not copies_in(function("known", LONG), [*gone, third], full)


def copies_in(
    host: LinkedFunction, gone: Sequence[LinkedFunction], full: Sequence[LinkedFunction]
) -> list[FoundCopy]:
    placement = SimpleNamespace(where=lambda piece: 0x2000)
    evidence: Any = SimpleNamespace(placement=placement, short=lambda symbol: symbol)
    everything: Any = object()
    found = DeselectedCode(evidence, everything)
    found.__dict__.update(
        gone=[*gone],
        placed=[host],
        known=frozenset({host.name}),
        _of_full=[*full],
        _in_image=frozenset({host.name}),
    )
    return [*found._in_known()]


CALLED = "_ZN2sg10empty_likeERNS_7ContextENS_6TensorE"
DEBUGGED = "_ZN2sg6shapes5totalEv"


@pytest.mark.parametrize(
    "symbol, is_inlined, expected",
    [
        (CALLED, False, True),
        (f"{CALLED}.isra.0", False, True),
        ("_ZN2my10empty_likeEv", False, False),
        (DEBUGGED, False, True),
        (DEBUGGED[:-1], False, False),  # a part of a string
        ("plain", True, True),
        ("plain", False, False),
        ("scope::local()", True, True),
        ("scope::local()", False, False),
        ("other", True, False),
    ],
)
def test_the_full_build_knows_definitions_and_inlined_functions(
    runtime: Evidence,
    monkeypatch: pytest.MonkeyPatch,
    symbol: str,
    is_inlined: bool,
    expected: bool,
) -> None:
    texts: Callable[[object], tuple[bytes, ...]] = lambda elf: (DEBUGGED.encode() + b"\0x\0",)  # noqa: E731
    monkeypatch.setattr(deselected_code, "strings", texts)
    found = DeselectedCode(runtime, runtime.objects)
    found.__dict__.update(
        inlined_in_full=frozenset({"plain"}), _scoped_in_full=frozenset({"scope::local()"})
    )
    assert found.is_known(symbol, 0, is_inlined=is_inlined) == expected
    alone = DeselectedCode(runtime, None)
    assert alone.is_known(symbol, 0, is_inlined=is_inlined) == symbol.startswith(CALLED)


def test_local_functions_are_known_in_their_own_object(
    runtime: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = "_ZN12_GLOBAL__N_15totalEv"
    files = runtime.objects.files
    texts = {id(file.elf): (local.encode() + b"\0",) for file in files[:1]}
    monkeypatch.setattr(deselected_code, "strings", lambda elf: texts.get(id(elf), ()))
    found = DeselectedCode(runtime, runtime.objects)
    assert found.is_known(local, 0, is_inlined=True)
    assert not found.is_known(local, 1, is_inlined=True)


def test_functions_of_the_build_are_in_the_image_or_left_out(runtime: Evidence) -> None:
    found = DeselectedCode(runtime, runtime.objects)
    placed, gone = ({c.name for c in codes} for codes in (found.placed, found.gone))
    assert CALLED in placed
    assert not placed & gone
    assert not gone & {found.key(name, 0) for name in runtime.inlined}
    assert {c.name for c in DeselectedCode(runtime, None).gone} <= gone
    assert all(len(c.pattern.data) >= 12 for c in (*found.placed, *found.gone))
    # A program's own functions, which the full build lacks, are not claimed.
    nothing = replace(found, full=replace(runtime.objects, files=()))
    nothing.__dict__["_of_full"] = [function("x", code(1))]
    assert [c.name for c in nothing.gone] == ["x"]


def test_only_functions_of_the_full_build_are_known(runtime: Evidence) -> None:
    """One of a source that only the app compiles is not, however it is called."""
    (piece,) = runtime.objects.find(CALLED)
    others = tuple(f for n, f in enumerate(runtime.objects.files) if n != piece.object)
    found = DeselectedCode(runtime, replace(runtime.objects, files=others))
    assert CALLED in found._in_image
    assert CALLED not in found.known
    assert CALLED in DeselectedCode(runtime, None).known


def test_offsets_are_of_the_full_build_in_the_same_object(runtime: Evidence) -> None:
    (piece,) = runtime.objects.find(CALLED)
    node = (piece.object, piece.section)
    found = DeselectedCode(runtime, runtime.objects)
    assert found.is_of_full(node, piece.offset)
    assert DeselectedCode(runtime, None).is_of_full(node, piece.offset)
    others = tuple(f for n, f in enumerate(runtime.objects.files) if n != piece.object)
    moved = replace(found, full=replace(runtime.objects, files=others))
    moved.__dict__["known"] = frozenset({CALLED})
    assert not moved.is_of_full(node, piece.offset)
    unknown = replace(found)
    unknown.__dict__["known"] = frozenset({"x"})
    assert not unknown.is_of_full(node, piece.offset)
    data = next(n for n in runtime.placement.address if not _is_code(runtime, n))
    assert not DeselectedCode(runtime, None).is_of_full(data, 0)


def _is_code(evidence: Evidence, node: tuple[int, int]) -> bool:
    return evidence.placement.section(node).is_executable


def test_an_object_of_thinlto_has_another_place_in_the_full_builds_archive(
    runtime: Evidence,
) -> None:
    (piece,) = runtime.objects.find(CALLED)
    node = (piece.object, piece.section)

    def at(path: str) -> Any:
        files = list(runtime.objects.files)
        files[piece.object] = replace(files[piece.object], path=Path(path))
        return replace(runtime.objects, files=tuple(files))

    image = replace(runtime, objects=at("app.lto.libk.a(matrix.cpp.o at 642292).o"))
    for path, expected in (
        ("x/app.lto.libk.a(matrix.cpp.o at 946100).o", True),
        ("app.lto.libk.a(softmax.cpp.o at 642292).o", False),
        ("app.lto.libk.a(matrix.cpp.o).o", True),
    ):
        assert DeselectedCode(image, at(path)).is_of_full(node, piece.offset) == expected, path
