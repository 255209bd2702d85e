"""Files of a link that evidence is gathered from: missing ones, and those of another link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.formats import sniff
from sizeguard.formats.elf import ET_REL
from sizeguard.verify.evidence import gather_evidence, macho_placement
from sizeguard.verify.evidence.object_evidence import Objects

CODE_ROW = (".text", 0x1000, b"code", True)
DATA_ROW = (".data", 0x2000, b"data", True)
DEBUG_ROW = (".debug_info", 0, b"types", False)


def linked(*rows: tuple[str, int, bytes, bool], build_id: str = "", **more: Any) -> Any:
    sections = [
        SimpleNamespace(name=name, address=address, content=content, is_allocated=is_allocated)
        for name, address, content, is_allocated in rows
    ]
    known = {"path": "app", "machine": "x86_64", "type": 2, "is_stripped": False}
    return SimpleNamespace(
        **{**known, **more}, sections=sections, build_id=build_id, content=lambda row: row.content
    )


@pytest.mark.parametrize(
    ("twin", "message"),
    [
        (linked(CODE_ROW, DATA_ROW), ""),
        (linked(CODE_ROW, DATA_ROW, build_id="one"), ""),
        (linked(CODE_ROW, DATA_ROW, build_id="two"), r"another build \(id two…, app has one…\)"),
        (linked(DEBUG_ROW, CODE_ROW, DATA_ROW), ""),
        (linked(CODE_ROW, (".data", 0x2000, b"more", True)), "stripped: .data differs"),
        (linked((".text", 0x1010, b"code", True), DATA_ROW), "stripped: .text differs"),
        (linked(CODE_ROW), "stripped: they have other sections"),
        (linked(CODE_ROW, DATA_ROW, (".bss", 0x3000, b"", True)), "they have other sections"),
    ],
)
def test_a_stripped_file_has_the_loaded_bytes_of_its_image(twin: Any, message: str) -> None:
    image = linked(CODE_ROW, DATA_ROW, DEBUG_ROW, build_id="one")
    if not message:
        gather_evidence._check_twin(image, twin)
        return
    with pytest.raises(InconclusiveError, match=message):
        gather_evidence._check_twin(image, twin)


@pytest.mark.parametrize(
    ("lto", "made_by_lto", "own", "has_map", "more", "words"),
    [
        ((), (), 1, True, {}, []),
        ((), (), 0, True, {}, ["no objects"]),
        ((), (), 1, False, {}, ["no linker map"]),
        ((), (), 1, False, {"type": ET_REL}, []),
        (("a.o",), (0,), 1, True, {}, []),
        (("a.o",), (), 1, True, {}, ["1 LTO objects"]),
        (("a.o",), (0,), 0, True, {}, ["1 LTO objects"]),
        (("a.o", "b.o"), (0,), 1, False, {}, ["2 LTO objects", "no linker map"]),
        ((), (), 1, True, {"is_stripped": True}, ["the image is stripped"]),
    ],
)
def test_missing_parts_of_a_link_are_told(
    lto: tuple[str, ...], made_by_lto: tuple[int, ...], own: int, has_map: bool,
    more: dict[str, Any], words: list[str],
) -> None:  # fmt: skip
    objects: Any = SimpleNamespace(lto=lto, made_by_lto=made_by_lto)
    link_map: Any = SimpleNamespace() if has_map else None
    found = gather_evidence._missing(linked(**more), own, objects, link_map)
    assert [text.startswith(word) for text, word in zip(found, words, strict=True)] == [
        True for _ in words
    ]


def member(label: str, machine: str = "x86_64") -> Any:
    return SimpleNamespace(label=label, elf=SimpleNamespace(machine=machine))


def test_the_toolchain_s_objects_are_those_that_the_map_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Other members of its archives do not count, nor do objects for another machine."""
    named = ("/lib/libc.a(add.o)", "/lib/libc.a(lto.o)", "/lib/crt1.o", "font.bin")
    archive = [member("libc.a(add.o)"), member("libc.a(mul.o)"), member("libc.a(add.o)", "i386")]
    read = {
        "libc.a": SimpleNamespace(files=archive, lto=("libc.a(lto.o)", "libc.a(other.o)")),
        "crt1.o": SimpleNamespace(files=[member("crt1.o")], lto=()),
    }

    def objects_in(paths: Sequence[str]) -> Any:
        if paths[0] not in read:
            raise InputError("not an object")
        return read[paths[0]]

    given: Any = Objects((member("main.o"),), ("a.bc",))
    monkeypatch.setattr(gather_evidence, "missing_files", lambda *_: named)
    files = ["libc.a", "font.bin", "crt1.o"], ["/lib/gone.o"]
    monkeypatch.setattr(gather_evidence, "toolchain_files", lambda *_: files)
    monkeypatch.setattr(gather_evidence, "read_objects", objects_in)
    none: Any = None
    found, lost = gather_evidence._with_toolchain(given, linked(), none, Path())
    assert found.files == (*given.files, archive[0], read["crt1.o"].files[0])
    assert (found.lto, lost) == (("a.bc",), ["/lib/gone.o", "libc.a(lto.o)", "font.bin"])
    # Without a folder, no name leads to a file.
    assert gather_evidence._with_toolchain(given, linked(), none, None) == (given, [*named])
    monkeypatch.setattr(gather_evidence, "missing_files", lambda *_: ())
    assert gather_evidence._with_toolchain(given, linked(), none, Path()) == (given, [])


@dataclass
class Gathered:
    """The files of a link, whose readers are replaced."""

    monkeypatch: pytest.MonkeyPatch
    image: Any = field(default_factory=linked)
    twin: Any = None
    objects: Any = field(default_factory=lambda: Objects((member("a.o"),), ()))
    address: Mapping[tuple[int, int], int] = field(default_factory=lambda: {(0, 1): 0x1000})
    is_macho: bool = False
    has_map: bool = True

    def gather(self, **more: Any) -> Any:
        placed: Any = SimpleNamespace(address=self.address, missing=("b.o",))
        for name, value in {
            "_read_image": lambda path, _: self.image if path.name == "app" else self.twin,
            "_read_objects": lambda *_: self.objects,
            "read_link_map": lambda _: SimpleNamespace(),
            "read_removed": lambda *_: None,
            "as_macho": lambda image: image if self.is_macho else None,
            "_with_toolchain": lambda objects, *_: (objects, ["c.o"]),
            "place": lambda *_: placed,
        }.items():
            self.monkeypatch.setattr(gather_evidence, name, value)
        self.monkeypatch.setattr(macho_placement, "place_atoms", lambda *_: placed)
        self.monkeypatch.setattr(sniff, "image_format", lambda _: "")
        link_map = Path("app.map") if self.has_map else None
        known = {
            "image": Path("app"), "twin": None, "link_map": link_map, "folder": Path(),
            "objects": (Path("a.o"),), "gc_log": None, "link_record": None, "build": None,
        }  # fmt: skip
        files: Any = SimpleNamespace(**{**known, **more})
        return gather_evidence.gather(files)


def test_files_that_maps_name_are_missed_with_objects_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Gathered(monkeypatch)
    (gap,) = made.gather().gaps
    assert gap == "1 files that the map names were not given: c.o"
    made.is_macho = True
    (gap,) = made.gather().gaps
    assert gap == "1 files that the map names were not given: b.o"
    made.objects = Objects((), ())
    for made.is_macho in (False, True):
        (gap,) = made.gather().gaps
        assert gap.startswith("no objects were given")


def test_a_partial_link_is_inconclusive_without_a_map(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Gathered(monkeypatch, linked(type=ET_REL), address={}, has_map=False)
    found = made.gather()
    assert found.gaps == ("the image is a partial link (-r), from which nothing was removed yet",)
    assert not found.placement.has_map
    made.image = linked()
    with pytest.raises(InconclusiveError, match=r"a\.o: no object has code that is in app"):
        made.gather()
    made.objects = Objects((), ())
    assert len(made.gather().gaps) == 2


def test_files_of_another_link_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = Gathered(monkeypatch, objects=Objects((member("a.o", "aarch64"),), ()))
    with pytest.raises(InconclusiveError, match=r"^a\.o is for aarch64, app for x86_64"):
        made.gather()
    made.objects = Objects((member("a.o"),), ())
    twin = tmp_path / "app.stripped"
    with pytest.raises(InputError, match=r"app\.stripped: cannot read: No such file"):
        made.gather(twin=twin)
    twin.write_bytes(b"")
    made.twin = linked(CODE_ROW)
    with pytest.raises(InconclusiveError, match="they have other sections"):
        made.gather(twin=twin)
    made.image = linked(CODE_ROW)
    assert made.gather(twin=twin).twin is made.twin
    build = SimpleNamespace(lto_inputs=(Path("x.o"),))
    assert made.gather(build=build).lto_inputs == (Path("x.o"),)
    assert made.gather().lto_inputs is None


def test_a_debug_file_is_no_image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is refused as wrong input, or with a stripped twin as missing evidence."""
    monkeypatch.setattr(gather_evidence, "Elf", SimpleNamespace)
    made = Gathered(monkeypatch, linked(is_debug_file=True))
    with pytest.raises(InputError, match="app: a debug file, without the code of its image"):
        made.gather()
    (tmp_path / "app").write_bytes(b"")
    with pytest.raises(InconclusiveError, match="app: a debug file"):
        made.gather(twin=tmp_path / "app")
