"""Presence of code in an image, and objects of another link."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sizeguard.base.errors import InconclusiveError
from sizeguard.verify.evidence import image_presence
from sizeguard.verify.evidence.image_presence import (
    check_not_merged,
    check_one_link,
    check_presence,
    is_present,
    merged_with,
)

PLACED, EMPTY, REMOVED, UNKNOWN = range(4)


@pytest.mark.parametrize(
    "nodes, has_map, expected",
    [
        ([PLACED], True, True),
        ([PLACED], False, True),
        ([REMOVED, UNKNOWN, PLACED], True, True),
        ([REMOVED], True, False),
        ([REMOVED], False, None),
        ([REMOVED, REMOVED], True, False),
        ([EMPTY], True, None),
        ([UNKNOWN], True, None),
        ([REMOVED, UNKNOWN], True, None),
        ([EMPTY, REMOVED], True, None),
    ],
)
@pytest.mark.parametrize("is_live", [True, False])
def test_presence_is_known_by_places(
    monkeypatch: pytest.MonkeyPatch,
    nodes: list[int],
    has_map: bool,
    expected: bool | None,
    is_live: bool,
) -> None:
    sizes = {(0, PLACED): 8, (0, EMPTY): 0, (0, REMOVED): 8}
    placement = SimpleNamespace(
        address={(0, PLACED): 0x1000},
        section=lambda node: SimpleNamespace(size=sizes[node]),
        has_map=has_map,
    )
    image = SimpleNamespace(path="program")
    evidence: Any = SimpleNamespace(placement=placement, image=image, record=None)
    graph: Any = SimpleNamespace(section_of=lambda node: node)
    monkeypatch.setattr(
        image_presence, "_section", lambda _, __, n: None if n == UNKNOWN else (0, n)
    )
    assert is_present(evidence, graph, nodes) is expected
    monkeypatch.setattr(image_presence, "live", lambda _: np.array([is_live] * 4))
    subject: Any = SimpleNamespace(nodes=frozenset(nodes), name="f")
    if expected in (None, is_live):
        check_presence(evidence, graph, subject)
        return
    told = "is in program, but .* remove it" if expected else "is not in program, but .* keep it"
    option = ", or an option that is not recorded keeps it" if expected else ""
    message = rf"^f {told}: they belong to another link{option}$"
    with pytest.raises(InconclusiveError, match=message):
        check_presence(evidence, graph, subject)


@pytest.mark.parametrize(
    "changed, expected",
    [
        ({}, 1),
        ({"has_map": False}, None),
        ({"placed": [0, 1]}, None),  # both are in the image
        ({"placed": []}, None),
        ({"live": [True, False]}, None),  # the linker removed the other one
        ({"live": [False, True]}, None),
        ({"is_exec": [False, False]}, None),
        ({"size": [4, 8]}, None),
        ({"size": [0, 0]}, None),
        ({"contents": [b"code", b"more"]}, None),
    ],
)
@pytest.mark.parametrize("kept", [0, 1])
def test_a_linker_merged_equal_code_if_one_of_two_live_sections_is_there(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], expected: int | None, kept: int
) -> None:
    values: dict[str, Any] = {
        "has_map": True, "placed": [kept], "live": [True, True], "is_exec": [True, True],
        "size": [4, 4], "contents": [b"code", b"code"],
    } | changed  # fmt: skip
    elf = SimpleNamespace(content=lambda number: values["contents"][number])
    placement = SimpleNamespace(
        address={(0, number): 0x1000 for number in values["placed"]},
        section=lambda node: node[1],
        has_map=values["has_map"],
    )
    evidence: Any = SimpleNamespace(
        placement=placement, objects=SimpleNamespace(files=[SimpleNamespace(elf=elf)])
    )
    nodes = SimpleNamespace(
        sections=2, is_exec=np.array(values["is_exec"]), size=np.array(values["size"])
    )
    graph: Any = SimpleNamespace(
        nodes=nodes, section_of=lambda node: node, symbol_of=lambda node: f"f{node}"
    )
    monkeypatch.setattr(image_presence, "_section", lambda _, __, node: (0, node))
    monkeypatch.setattr(image_presence, "live", lambda _: np.array(values["live"]))
    assert merged_with(evidence, graph, 0, np.array(values["live"])) == expected
    subject: Any = SimpleNamespace(nodes=frozenset([0]), name="f0")
    if expected is None:
        check_not_merged(evidence, graph, subject)
        return
    with pytest.raises(InconclusiveError, match=r"^f0 has the same code as f1, and the linker"):
        check_not_merged(evidence, graph, subject)


def object_of(label: str, *symbols: tuple[str, int]) -> Any:
    """Return an object whose definitions have a name and a section each."""
    section = SimpleNamespace(is_executable=True, size=8)
    return SimpleNamespace(
        label=label,
        definitions=[SimpleNamespace(symbol=name, section=index) for name, index in symbols],
        elf=SimpleNamespace(sections=[section] * 8),
    )


FILES = [
    object_of("/b/one/k.o", ("f0", 3), ("f1", 4)),
    object_of("/b/two/k.o", ("f0", 5), ("f2", 6)),
    object_of("/b/libk.a(m.o)", ("f3", 7)),
]


@pytest.mark.parametrize(
    ("label", "node", "linker", "expected"),
    [
        ("one/k.o", 0, "bfd", (0, 3)),
        ("two/k.o", 0, "bfd", (1, 5)),  # of two files of this name, the one in this folder
        ("one/k.o", 1, "bfd", (0, 4)),
        ("one/k.o", 2, "bfd", (1, 6)),  # or the only one with this function
        ("two/k.o", 1, "bfd", (0, 4)),
        ("libk.a(m.o)", 3, "bfd", (2, 7)),
        ("one/k.o", 3, "bfd", None),
        ("n.o", 0, "bfd", None),
        ("one/k.o", 4, "bfd", (0, 2)),  # without a symbol, by its number
        ("two/k.o", 4, "lld", (1, 2)),
        ("one/k.o", 4, "ld64.lld", None),  # nodes of Mach-O are parts of sections
        ("one/k.o", -1, "bfd", None),
        ("one/k.o", 5, "bfd", None),  # an import
    ],
)
def test_a_node_is_a_section_of_the_object_with_its_label(
    label: str, node: int, linker: str, expected: tuple[int, int] | None
) -> None:
    objects = np.array([0, 0, 0, 0, 0, -1])
    for prefix in ("", "_") if linker == "ld64.lld" or node < 4 else ("",):
        graph: Any = SimpleNamespace(
            nodes=SimpleNamespace(object=objects, index=np.full(6, 2)),
            objects=(label,),
            symbol_of=lambda node, prefix=prefix: f"{prefix}f{node}" if node < 4 else "",
            linker=linker,
        )
        found: Any = SimpleNamespace(objects=SimpleNamespace(files=FILES))
        assert image_presence._section(found, graph, node) == expected


@pytest.mark.parametrize(
    ("placed", "symbols", "flags", "other"),
    [
        ([(0, 3), (0, 4), (1, 6), (2, 7)], ["f0", "f1", "f2", "f3"], {}, ""),
        ([(1, 5), (0, 4)], ["f0", "f1"], {}, ""),  # one of two definitions is enough
        ([(0, 4)], ["f1"], {}, ""),  # what the image lacks may have been removed
        ([], ["f1"], {}, "/b/one/k.o is of another build: its f1 differs"),
        ([(0, 3)], ["f0", "f2"], {}, "/b/two/k.o is of another build: its f2 differs"),
        ([(0, 4)], ["f1", "f3"], {}, ""),  # of the toolchain
        ([], ["f1"], {"is_executable": False}, ""),
        ([], ["f1"], {"size": 0}, ""),
        ([], [], {}, ""),
    ],
)
def test_without_a_map_functions_of_the_image_have_the_bytes_of_an_object(
    monkeypatch: pytest.MonkeyPatch,
    placed: list[tuple[int, int]],
    symbols: list[str],
    flags: dict[str, Any],
    other: str,
) -> None:
    for file in FILES:
        for name, value in {"is_executable": True, "size": 8, **flags}.items():
            monkeypatch.setattr(file.elf.sections[0], name, value)
    for link_map, has_lto, is_checked in ((None, False, True), ("map", False, False),
                                          (None, True, False)):  # fmt: skip
        found = SimpleNamespace(
            placement=SimpleNamespace(address=dict.fromkeys(placed, 64)), link_map=link_map,
            symbols=dict.fromkeys(symbols), own_files=lambda: FILES[:2], has_lto=has_lto,
            image=SimpleNamespace(path="program"),
        )  # fmt: skip
        monkeypatch.setattr(image_presence, "gather", lambda files, found=found: found)
        files: Any = None
        if not (other and is_checked):
            assert check_one_link(files) is found
            continue
        with pytest.raises(InconclusiveError, match=other):
            check_one_link(files)
