"""Files in a build's folder: made by its tools, or put there by a user."""

from __future__ import annotations

from pathlib import Path

from sizeguard.builds.build_inputs import content_hash
from sizeguard.runtimes.sizeguard.building.made_files import read_made, temporary_folder


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return str(folder / name)


def test_a_file_is_made_if_a_build_wrote_it(tmp_path: Path) -> None:
    folder = tmp_path / "build"
    folder.mkdir()
    foreign, old = write(folder, "selected/ctime", "one"), write(folder, "old.o", "one")
    outside = write(tmp_path, "context.h", "one")
    made = read_made(folder).began()
    new = write(folder, "run.ltrans0.ltrans.o", "two")
    write(folder, "old.o", "another")
    assert new in made
    assert old in made
    assert f"{folder}/./selected/../old.o" in made
    assert f"{folder}/gone.res" in made  # a temporary file
    assert foreign not in made
    assert f"{folder}/selected/../selected/ctime" not in made  # as depfiles spell it
    assert outside not in made
    assert f"{tmp_path}/gone.res" not in made
    made.save([new, old, foreign, outside], content_hash)
    # They still count as made if the next build does not write them again.
    again = read_made(folder).began()
    assert new in again
    assert old in again
    assert foreign not in again
    assert set(again.outputs) == {"run.ltrans0.ltrans.o", "old.o"}


def test_an_output_that_somebody_else_changed_is_not_the_builds(tmp_path: Path) -> None:
    made = read_made(tmp_path).began()
    paths = [write(tmp_path, name, "one") for name in ("a.o", "b.o", "c.o")]
    made.save(paths, content_hash)
    write(tmp_path, "b.o", "two")
    (tmp_path / "c.o").unlink()  # ninja rebuilds it
    found = read_made(tmp_path)
    assert found.changed_outputs(content_hash) == ("b.o",)
    left = found.without(["b.o"]).began()
    assert [path in left for path in paths] == [True, False, True]


def test_a_damaged_record_is_none(tmp_path: Path) -> None:
    path = write(tmp_path, "a.o", "one")
    for text in ("", "[]", "{}", '{"version": 1}', '{"version": 2, "made": [], "outputs": {}}'):
        (tmp_path / ".made.json").write_text(text)
        assert path not in read_made(tmp_path).began()


def test_temporary_files_of_an_earlier_build_are_removed(tmp_path: Path) -> None:
    first = temporary_folder(tmp_path)
    write(first, "cc.s", "one")
    assert list(temporary_folder(tmp_path).iterdir()) == []
    assert str(first / "cc.s") in read_made(tmp_path).began()
