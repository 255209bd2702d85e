"""Code without an input: found next to inputs, stubs of the linker and the toolchain's code."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.base.errors import InputError
from sizeguard.claims.verdict import ABSENT, FAIL, INCONCLUSIVE, PASS
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.leaks import explained_bytes, toolchain_files
from sizeguard.verify.leaks.explained_bytes import (
    FRAGMENTS,
    STRANGERS,
    UNEXPLAINED,
    judge_explained,
)
from tests.support.builds.recorded_evidence import Opener
from tests.support.verdicts.made_verdicts import shown


def byte_by_byte(code: bytes, start: int, ranges: Sequence[tuple[int, int]]) -> list[Any]:
    """Return the runs of bytes that are in no range: address and size."""
    runs: list[list[int]] = []
    for address in range(start, start + len(code)):
        if any(low <= address < high for low, high in ranges):
            continue
        if runs and sum(runs[-1]) == address:
            runs[-1][1] += 1
        else:
            runs.append([address, 1])
    return [tuple(run) for run in runs]


@pytest.mark.parametrize("seed", range(40))
def test_unexplained_code_is_what_no_input_stub_or_toolchain_has(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw = random.Random(seed)
    start, size = 0x1000, 48
    code = b"\x01" * size  # no padding
    drawn = [(draw.randint(start - 20, start + size + 20), draw.randint(1, 30)) for _ in range(3)]
    inputs = {(0, i): place for i, place in enumerate(drawn[: draw.randint(0, 3)])}
    stubs, unlisted = ([drawn[i]] if draw.random() < 0.6 else [] for i in (1, 2))
    # Each section of an input starts inside the section of the image.
    inputs = {node: place for node, place in inputs.items() if start <= place[0] < start + size}
    section: Any = SimpleNamespace(name=".text", address=start, file_size=size)
    found: Any = SimpleNamespace(
        shipped=SimpleNamespace(content=lambda section: code),
        placement=SimpleNamespace(
            address={node: address for node, (address, _) in inputs.items()},
            section=lambda node: SimpleNamespace(size=inputs[node][1]),
        ),
    )
    ends = [(address, address + length) for address, length in stubs]
    monkeypatch.setattr(explained_bytes, "_stubs", lambda _: ends)
    monkeypatch.setattr(explained_bytes, "_unlisted", lambda _: unlisted)
    known = [(address, address + length) for address, length in (*inputs.values(), *unlisted)]
    expected = byte_by_byte(code, start, [*known, *ends])
    assert [*explained_bytes._unexplained(found, section)] == expected


@pytest.mark.parametrize(
    ("own", "more"),
    [("libk.so.1", {"libk.so.1"}), ("", set()), (InputError("a linker script"), set())],
)
def test_a_library_is_needed_by_its_own_name_or_its_files(
    monkeypatch: pytest.MonkeyPatch, own: Any, more: set[str]
) -> None:
    def read(path: Path) -> Any:
        if isinstance(own, InputError):
            raise own
        return SimpleNamespace(sections=[SimpleNamespace(is_executable=True, size=8)])

    monkeypatch.setattr(explained_bytes, "read_elf", read)
    monkeypatch.setattr(explained_bytes, "library_name", lambda _: own)
    path = Path("/home/me/libk.so")
    names = {"libk.so", "libk.so.1", "libother.so"}
    expected = {"libk.so"} | more
    assert {name for name in names if explained_bytes._is_needed(path, {name})} == expected


def explained(evidence: Evidence) -> dict[str, tuple[str, int]]:
    found = [*judge_explained(evidence)]
    assert all(verdict.expect == ABSENT for verdict in found)
    return {verdict.name: shown(verdict) for verdict in found}


def placed(evidence: Evidence, *without: tuple[int, int], **changed: Any) -> Evidence:
    """Return evidence without some places, and with others."""
    address = {n: a for n, a in evidence.placement.address.items() if n not in without}
    address |= changed.pop("moved", {})
    placement = replace(evidence.placement, address=address, _starts=[], _nodes=[], **changed)
    return replace(evidence, placement=placement)


CRTBEGIN, START, MAIN = (4, 1), (1, 3), (0, 6)  # sections with code of program 00
FINE = {UNEXPLAINED: (PASS, 0), FRAGMENTS: (PASS, 0), STRANGERS: (PASS, 0)}


@pytest.mark.parametrize(
    "without, bytes_",
    [
        ([], 0),
        # 185 bytes at 0x1080, and 14 of padding before them.
        ([CRTBEGIN], 199),
        # 3 bytes at 0x1040 and 13 of padding behind them.
        ([MAIN], 16),
        ([MAIN, CRTBEGIN], 215),
        # .fini of crti.o and of crtn.o, 9 bytes in one piece.
        ([(2, 6), (3, 5)], 9),
    ],
)
def test_code_without_an_input_fails_with_its_bytes(
    opened: Opener, without: list[tuple[int, int]], bytes_: int
) -> None:
    evidence = placed(opened("00"), *without)
    assert explained(evidence) == FINE | {UNEXPLAINED: (FAIL if bytes_ else PASS, bytes_)}
    # It may be that of an object that was not given.
    lost = replace(evidence, placement=replace(evidence.placement, missing=("b.o",)))
    undecided = (INCONCLUSIVE, 0) if bytes_ else (PASS, 0)
    assert explained(lost) == FINE | {UNEXPLAINED: undecided}
    assert explained(replace(lost, lto_inputs=()))[UNEXPLAINED][1] == bytes_  # a build's record


@pytest.mark.parametrize(
    "file, address, size, left",
    [
        ("linker stubs", 0x1072, 199, 0),
        ("<internal>", 0x1072, 199, 0),
        ("linker stubs", 0x1080, 185, 0),  # what is left is padding
        ("linker stubs", 0x1072, 100, 99),
        ("linker stubs", 0x1100, 1000, 142),
        ("linker stubs", 0x0, 0x1100, 57),
        ("other.o", 0x1072, 199, 199),
    ],
)
def test_stubs_of_the_linker_explain_their_range(
    opened: Opener, file: str, address: int, size: int, left: int
) -> None:
    evidence = placed(opened("00"), CRTBEGIN)
    rows = (SimpleNamespace(file=file, address=address, size=size),)
    link_map: Any = SimpleNamespace(linker="bfd", placed=rows)
    found = explained(replace(evidence, link_map=link_map))
    assert found[UNEXPLAINED] == (FAIL if left else PASS, left)


@pytest.mark.parametrize("linker, verdict", [("gold", PASS), ("bfd", FAIL), (None, FAIL)])
def test_maps_of_gold_lack_an_address_of_the_toolchains_code(
    opened: Opener, linker: str | None, verdict: str
) -> None:
    link_map: Any = linker and SimpleNamespace(linker=linker, placed=(), discarded=())
    evidence = replace(placed(opened("00"), CRTBEGIN), link_map=link_map)
    assert explained(evidence)[UNEXPLAINED][0] == verdict
    # The program's own code needs an address.
    evidence = replace(placed(opened("13"), (0, 4)), link_map=link_map)
    assert explained(evidence)[UNEXPLAINED][0] == FAIL


@pytest.mark.parametrize(
    "moved, bytes_",
    [
        ({MAIN: 0x1000}, 3),  # an object of the build in .init
        ({MAIN: 0x113C}, 3),  # and in .fini
        ({MAIN: 0x1144}, 3),
        ({MAIN: 0x1145}, 0),  # behind .fini
        ({CRTBEGIN: 0x1000}, 185),  # of the toolchain, but neither crti.o nor crtn.o
        ({CRTBEGIN: 0x1000, MAIN: 0x1001}, 188),
    ],
)
def test_code_in_init_and_fini_is_that_of_crti_and_crtn(
    opened: Opener, moved: dict[tuple[int, int], int], bytes_: int
) -> None:
    found = explained(placed(opened("00"), moved=moved))
    assert found[FRAGMENTS] == (FAIL if bytes_ else PASS, bytes_)


def renamed(evidence: Evidence, number: int, path: str) -> Evidence:
    files = list(evidence.objects.files)
    files[number] = replace(files[number], path=Path(path))
    objects = replace(evidence.objects, files=tuple(files))
    return replace(placed(evidence, objects=objects), objects=objects)


@pytest.mark.parametrize(
    "number, path, expected",
    [
        (4, "/home/me/kernels.o", (FAIL, 210)),  # 8 + 8 + 8 + 1 + 185
        (4, "/home/me/crtbegin.o", (PASS, 0)),
        (4, "/usr/lib/kernels.o", (FAIL, 210)),
        (0, "/home/me/other.o", (PASS, 0)),
    ],
)
def test_an_input_besides_record_and_toolchain_fails_with_its_bytes(
    opened: Opener, number: int, path: str, expected: tuple[str, int]
) -> None:
    assert explained(renamed(opened("00"), number, path))[STRANGERS] == expected


def test_a_large_start_up_file_outside_the_system_is_an_input(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = renamed(opened("00"), 4, "/home/me/crtbegin.o")
    assert explained(evidence)[STRANGERS] == (PASS, 0)
    monkeypatch.setattr(toolchain_files, "MOST_START_CODE", 184)
    assert explained(evidence)[STRANGERS] == (FAIL, 210)
    assert explained(renamed(evidence, 4, "/usr/lib/crtbegin.o"))[STRANGERS] == (PASS, 0)


def test_doubts_about_the_link_leave_the_inputs_undecided(opened: Opener) -> None:
    evidence = opened("00")
    evidence.__dict__["_recorded"] = (None, "a linker script")
    assert explained(evidence) == FINE | {STRANGERS: (INCONCLUSIVE, 0)}
    evidence = renamed(evidence, 4, "/home/me/kernels.o")
    evidence.__dict__["_recorded"] = (None, "a linker script")
    assert explained(evidence)[STRANGERS] == (FAIL, 210)


@pytest.mark.parametrize(
    "library, needed, verdict",
    [
        ("/home/me/libkernels.so", ["libkernels.so"], INCONCLUSIVE),
        ("/home/me/libkernels.so", ["/home/me/libkernels.so"], INCONCLUSIVE),
        ("/home/me/libkernels.so", ["libc.so.6"], PASS),  # the linker read it in vain
        ("/usr/lib/libkernels.so", ["libkernels.so"], PASS),
        ("/home/me/libc.so.6", ["libc.so.6"], PASS),
    ],
)
def test_a_needed_library_of_others_leaves_the_inputs_undecided(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, library: str, needed: list[str], verdict: str
) -> None:
    evidence = opened("00")
    evidence.__dict__["linked"] = SimpleNamespace(libraries=(Path(library),), folder=None)
    monkeypatch.setattr(explained_bytes, "needed_libraries", lambda image: needed)
    assert explained(evidence) == FINE | {STRANGERS: (verdict, 0)}


def test_without_a_map_no_code_is_explained(opened: Opener) -> None:
    undecided = {UNEXPLAINED: (INCONCLUSIVE, 0), STRANGERS: (INCONCLUSIVE, 0)}
    assert explained(placed(opened("00"), has_map=False)) == undecided
    assert explained(replace(opened("00"), own=0)) == {}
    assert explained(opened("partial-link")) == {}
