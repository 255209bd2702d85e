"""A folder whose last build failed has a record of the build before, and files of both."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.base.errors import InconclusiveError
from sizeguard.builds import FULL, UNFINISHED
from sizeguard.builds.build_record import read_build, read_record
from sizeguard.cli.main import cli
from tests.support.builds.recorded_builds import recorded_runtime


def test_only_the_next_build_reads_the_record_of_an_unfinished_one(tmp_path: Path) -> None:
    folder = recorded_runtime(tmp_path).build.image.parent
    complete = read_build(folder)
    (folder / UNFINISHED).touch()
    assert read_record(folder) == complete
    for path in (folder, folder / "build.json"):
        with pytest.raises(InconclusiveError, match=f"^{folder}: its last build did not end"):
            read_build(path)


@pytest.mark.parametrize("unfinished", ["mlp", FULL])
def test_a_build_that_did_not_end_proves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unfinished: str
) -> None:
    """Neither as the subject of a verification nor as the full build beside it."""
    runtime = recorded_runtime(tmp_path)
    folder = runtime.build.image.parent
    monkeypatch.chdir(runtime.root)
    place = folder.parent / unfinished
    place.mkdir(exist_ok=True)
    (place / "build.json").touch()
    (place / UNFINISHED).touch()
    done = CliRunner().invoke(cli, ["verify", str(folder)])
    assert isinstance(done.exception, InconclusiveError), done.output
    assert str(done.exception).startswith(f"{place}: its last build did not end")
