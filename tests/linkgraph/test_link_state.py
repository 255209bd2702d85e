"""Objects enter a link in an order; its symbols are those that pyelftools finds in the objects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from sizeguard.linkgraph.inputs.link_inputs import Linker, LinkInputs
from sizeguard.linkgraph.inputs.link_state import (
    LAZY,
    STRONG,
    UNDEFINED,
    UNDEFINED_WEAK,
    WEAK,
    LinkState,
)
from tests.support.builds.recorded_builds import recorded_runtime


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    build = recorded_runtime(tmp_path_factory.mktemp("recorded")).build
    return [path for path in build.objects if path.suffix == ".o"]


def symbols_of(path: Path) -> list[tuple[str, str, bool, bool]]:
    """List the global symbols: name, section, is it weak, is its section in a group."""
    found = []
    with path.open("rb") as file:
        elf = ELFFile(file)
        grouped = set[int]()
        for section in elf.iter_sections("SHT_GROUP"):
            words = np.frombuffer(section.data(), "<u4")
            grouped.update(words[1:].tolist())
        for table in elf.iter_sections("SHT_SYMTAB"):
            assert isinstance(table, SymbolTableSection)
            for symbol in table.iter_symbols():
                binding = symbol["st_info"]["bind"]
                if binding in ("STB_GLOBAL", "STB_WEAK"):
                    place = symbol["st_shndx"]
                    found.append((symbol.name, place, binding == "STB_WEAK", place in grouped))
    return found


def entered(paths: Sequence[Path]) -> tuple[LinkState, list[set[str]]]:
    """Enter objects; return the state, and the names that each one asked for."""
    state = LinkState(LinkInputs((), "executable", Linker("bfd", ()), entry=""))
    asked = []
    for path in paths:
        found = state.read(path, "", np.fromfile(path, np.uint8))
        asked.append({name.decode() for name in state.enter(found)})
    return state, asked


def test_each_object_asks_for_what_it_and_the_earlier_ones_lack(objects: list[Path]) -> None:
    assert len(objects) > 4
    for order in (objects, objects[::-1]):
        state, asked = entered(order)
        defined = set[str]()
        for path, names in zip(order, asked, strict=True):
            symbols = symbols_of(path)
            wanted = {name for name, place, is_weak, _ in symbols if place == "SHN_UNDEF"
                      and not is_weak}  # fmt: skip
            assert names == wanted - defined
            defined |= {name for name, place, _, _ in symbols if place != "SHN_UNDEF"}
        every = {name for path in order for name, *_ in symbols_of(path)}
        assert {name.decode() for name in state.state} - {""} == every
        assert all((state.state[name.encode()] > LAZY) == (name in defined) for name in every)


def test_the_strongest_definition_of_an_object_counts(objects: list[Path]) -> None:
    for path in objects:
        state, _ = entered([path])
        for name, place, is_weak, _ in symbols_of(path):
            expected = (
                (UNDEFINED_WEAK if is_weak else UNDEFINED)
                if place == "SHN_UNDEF"
                else (WEAK if is_weak else STRONG)
            )
            assert state.state[name.encode()] == expected, name


def test_a_group_that_an_earlier_object_has_is_left_out(objects: list[Path]) -> None:
    """Of an object that enters twice, all groups are left out the second time."""
    with_groups = 0
    for path in objects:
        state, _ = entered([path, path])
        groups = {place for _, place, _, is_grouped in symbols_of(path) if is_grouped}
        assert state.discarded[0] == frozenset()
        assert groups <= state.discarded[1]
        with_groups += bool(groups)
        assert {name.decode() for name, found in state.state.items() if found == WEAK} == {
            name for name, place, is_weak, _ in symbols_of(path) if is_weak and place != "SHN_UNDEF"
        }
    assert with_groups
