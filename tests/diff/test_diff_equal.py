"""A diff of equal files: it reads one of them, and prints what a comparison of both prints."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.builds import LINK_SUFFIX
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import open_alike
from sizeguard.cli.main import _run, cli
from sizeguard.diff.compare import diff
from sizeguard.report.diff.render import diff_chunks
from sizeguard.report.writers.style import Style
from tests.support.builds.recorded_builds import recorded_runtime
from tests.support.links.read_images import read_images

pytestmark = pytest.mark.native

FORMATS = ("terminal", "json", "csv", "markdown")


@pytest.fixture
def copies(tmp_path: Path) -> tuple[Path, Path]:
    """Copy a bare image into two folders, under two names."""
    image = recorded_runtime(tmp_path / "recorded").build.image
    pair = tmp_path / "a" / "app", tmp_path / "b" / "renamed"
    for path in pair:
        path.parent.mkdir()
        shutil.copyfile(image, path)
    return pair


def printed(old: Path, new: Path, *more: str) -> str:
    result = CliRunner().invoke(cli, ["diff", str(old), str(new), *more], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout_bytes.decode()


@pytest.mark.parametrize("by", ["operator", "symbol,kind"])
@pytest.mark.parametrize("format_", FORMATS)
def test_equal_files_print_the_same_as_a_comparison(
    copies: tuple[Path, Path], by: str, format_: str
) -> None:
    old, new = copies
    for other in (new, old):
        compared = diff(analysis_of(old), analysis_of(other), by.split(","))
        assert printed(old, other, "--by", by, "--format", format_) == "".join(
            diff_chunks(compared, format_, 25, Style(full=True))
        )


def test_one_of_two_equal_files_is_read(
    copies: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = read_images(monkeypatch)
    printed(*copies)
    assert read == [copies[0]]
    printed(*copies, "--map", str(recorded_map(copies[0].parent)))
    assert len(read) == 3  # evidence of one side only: its rows may have other names


def recorded_map(folder: Path) -> Path:
    found = recorded_runtime(folder / "again").build.map
    assert found is not None
    return found


def test_copies_differ_by_a_byte_or_by_their_records(copies: tuple[Path, Path]) -> None:
    old, new = copies
    assert open_alike(old, new)
    assert open_alike(new, new)
    record = new.with_name(f"{new.name}{LINK_SUFFIX}")
    record.write_text("{}")
    assert not open_alike(old, new)
    record.unlink()
    content = bytearray(new.read_bytes())
    content[-1] ^= 1
    new.write_bytes(content)
    assert not open_alike(old, new)
    new.write_bytes(content[:-1])
    assert not open_alike(old, new)


def test_copies_in_other_formats_are_compared(tmp_path: Path) -> None:
    old, new = tmp_path / "a.snap", tmp_path / "b.snap"
    for path in (old, new):
        path.write_bytes(b"\xcf\xfa\xed\xfe" + bytes(60))  # Mach-O, whose dSYM is beside it
    assert not open_alike(old, new)
    assert not open_alike(tmp_path / "absent", old)


def test_a_regionless_image_is_refused_as_in_a_comparison(copies: tuple[Path, Path]) -> None:
    words = ["diff", *map(str, copies), "--by", "region"]
    result = CliRunner().invoke(cli, words)
    assert "no memory regions are known" in str(result.exception)


def test_different_evidence_of_operators_is_said(
    recorded_build: Build, capfd: pytest.CaptureFixture[str]
) -> None:
    image = recorded_build.image
    folder = image.parent
    said = "note: operators of OLD are read from its names, those of NEW from its link"
    assert _run(["diff", str(image), str(folder)]) == 0
    assert said in capfd.readouterr().err
    for more in ([str(image), str(image)], [str(image), str(folder), "--by", "symbol"]):
        assert _run(["diff", *more]) == 0
        assert capfd.readouterr().err == ""
