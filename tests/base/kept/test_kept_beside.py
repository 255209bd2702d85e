"""Test that a text kept beside a build is used only while its inputs are unchanged."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sizeguard.base.kept import beside
from sizeguard.base.kept.beside import KeptInputs, kept_beside
from tests.support.tricks.kept_files import settle


@dataclass
class Kept:
    """A text that is kept beside the files of a folder; each call makes another text.

    more: files that are named when the text is made
    """

    folder: Path
    files: list[Path]
    more: Iterable[Path] | None = ()
    said: object = None
    rooms: tuple[str, ...] = ("base",)
    made: list[str] = field(default_factory=list)

    @property
    def place(self) -> Path:
        return self.folder / ".kept.json"

    def read(self) -> str:
        def make() -> tuple[str, Iterable[Path] | None]:
            self.made.append(f"text {len(self.made)}")
            return self.made[-1], self.more

        return kept_beside(self.place, KeptInputs(self.said, self.files, self.rooms), make)

    def entry(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.place.read_text())
        return found


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    files = [tmp_path / name for name in ("image", "other.o")]
    for path in files:
        path.write_text(path.name)
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "inner" / "debug").write_text("debug")
    settle()
    return Kept(tmp_path, [files[0], tmp_path / "folder"], [files[1]])


def rewrite(path: Path) -> None:
    """Change a byte, but keep the size and the time of the content."""
    before = path.stat()
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_it_is_made_once(kept: Kept) -> None:
    assert [kept.read(), kept.read()] == ["text 0", "text 0"]
    assert kept.entry()["state"] is not None


@pytest.mark.parametrize("changed", ["image", "other.o", "folder/inner/debug"])
def test_another_byte_of_any_file_makes_it_again(kept: Kept, changed: str) -> None:
    kept.read()
    rewrite(kept.folder / changed)
    assert kept.read() == "text 1"


@pytest.mark.parametrize("change", ["new file", "absent", "absent read", "said", "rooms"])
def test_other_inputs_make_it_again(kept: Kept, change: str) -> None:
    kept.read()
    if change == "new file":
        (kept.folder / "folder" / "inner" / "new").write_text("new")
    elif change.startswith("absent"):
        (kept.folder / ("image" if change == "absent" else "other.o")).unlink()
    elif change == "said":
        kept.said = {"words": "other"}
    else:
        kept.rooms = ("base", "columns")
    assert kept.read() == "text 1"


def test_a_result_that_somebody_commits_is_not_believed(kept: Kept) -> None:
    """Its author knows the contents of all files, but not the states that they will have."""
    kept.read()
    for name in ("image", "other.o"):
        path = kept.folder / name
        content = path.read_bytes()
        path.unlink()
        path.write_bytes(content)
        settle()
        made = len(kept.made)
        kept.read()
        assert len(kept.made) == made + 1


def test_files_that_are_new_keep_nothing(kept: Kept) -> None:
    (kept.folder / "image").touch()
    kept.read()
    assert not kept.place.exists()


def test_a_link_to_a_folder_keeps_nothing(kept: Kept, tmp_path_factory: Any) -> None:
    other = tmp_path_factory.mktemp("other")
    (kept.folder / "folder" / "link").symlink_to(other)
    settle()
    kept.read()
    assert not kept.place.exists()


def test_a_file_that_changes_while_it_is_read_keeps_nothing(kept: Kept) -> None:
    def read_while_it_changes(changed: str) -> Iterator[Path]:
        rewrite(kept.folder / changed)
        yield kept.folder / "other.o"

    for changed in ("image", "other.o"):
        kept.more = read_while_it_changes(changed)
        kept.read()
        assert not kept.place.exists(), changed


def test_unknown_files_keep_nothing(kept: Kept) -> None:
    kept.more = None
    assert [kept.read(), kept.read()] == ["text 0", "text 1"]


@pytest.mark.parametrize("part", ["version", "check", "state", "read", "text"])
def test_a_damaged_entry_is_not_believed(kept: Kept, part: str) -> None:
    kept.read()
    entry = kept.entry()
    without = {name: value for name, value in entry.items() if name != part}
    for number, damaged in enumerate(({**entry, part: "x"}, without, [entry]), 1):
        kept.place.write_text(json.dumps(damaged))
        assert kept.read() == f"text {number}"
    hostile = {"state": entry["state"], "read": None, "text": "x"}
    hostile |= {"version": entry["version"], "check": beside._check(hostile)}
    kept.place.write_text(json.dumps(hostile))
    assert kept.read() == "text 4"
    for number, text in enumerate((b"[" * 100_000, b"\xff{"), 5):
        kept.place.write_bytes(text)
        assert kept.read() == f"text {number}"


def test_a_place_that_cannot_be_written_keeps_nothing(kept: Kept) -> None:
    kept.place.mkdir()
    assert [kept.read(), kept.read()] == ["text 0", "text 1"]


def test_errors_are_passed_on_and_keep_nothing(kept: Kept) -> None:
    def make() -> tuple[str, None]:
        raise ValueError

    with pytest.raises(ValueError):
        kept_beside(kept.place, KeptInputs(None, kept.files), make)
    assert not kept.place.exists()
