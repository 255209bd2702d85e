"""Attribution of images by their linker maps."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.base.errors import InconclusiveError
from tests.support.links.map_links import (
    LINKERS,
    link,
    make_objects,
    run,
)

pytestmark = pytest.mark.native


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize(
    "flags", [(), ("-static",), ("-shared", "-fPIC")], ids=["executable", "static", "shared"]
)
def test_a_report_refuses_the_map_of_another_link(
    tmp_path: Path, linker: str, flags: tuple[str, ...]
) -> None:
    objects = make_objects(tmp_path, *(["-fPIC"] if flags else []))
    own = link(tmp_path, linker, objects, *flags)
    # A shared library keeps all its exports, so the other link omits objects.
    fewer = objects[:1] if "-shared" in flags else objects
    other = link(tmp_path, linker, fewer, *flags, "-Wl,--no-gc-sections", name="other")
    for image in (own, other):
        assert (
            int(analysis_of(image.image, map_=image.map).file.sum()) == image.image.stat().st_size
        )
        run("strip", image.image, cwd=tmp_path)
        analysis_of(image.image, map_=image.map)
    for image, map_ in ((own, other.map), (other, own.map)):
        with pytest.raises(
            InconclusiveError, match=r"is a map of another build.*pass the map made with this image"
        ):
            analysis_of(image.image, map_=map_)


@pytest.mark.parametrize("linker", ["bfd", "lld-19"])
def test_a_map_may_have_several_sections_of_one_name(tmp_path: Path, linker: str) -> None:
    """The map counted as one of another build."""
    linked = link(tmp_path, linker, make_objects(tmp_path), "-Wl,--unique")
    assert analysis_of(linked.image, map_=linked.map).image.file == linked.image.stat().st_size


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_temporary_objects_have_one_name_in_all_builds(tmp_path: Path, compiler: str) -> None:
    """A limit of object/* failed each build, as if all code was new."""
    (tmp_path / "one.c").write_text("int one(void) { return 1; }\n")
    (tmp_path / "main.c").write_text("int one(void);\nint main(void) { return one(); }\n")
    names = []
    for _ in range(2):
        command = [compiler, "main.c", "one.c", "-Wl,-Map,app.map", "-o", "app"]
        subprocess.run(command, cwd=tmp_path, check=True)
        label = analysis_of(tmp_path / "app", map_=tmp_path / "app.map").label("object")
        names.append({label.texts[i] for i in np.unique(label.ids).tolist()})
    assert names[0] == names[1]
    own = {"gcc": {"(temporary objects)"}, "clang-19": {"/tmp/main.o", "/tmp/one.o"}}
    assert own[compiler] <= names[0]


def test_objects_of_parallel_builds_have_one_name(tmp_path: Path) -> None:
    """With --jobs, all objects in another worktree were new."""
    names = []
    for number in ("00", "01"):
        tree = tmp_path / ".sizeguard" / "worktrees" / f"tree-{number}"
        tree.mkdir(parents=True)
        (tree / "main.c").write_text("int main(void) { return 0; }\n")
        subprocess.run(["gcc", "-c", "main.c"], cwd=tree, check=True)
        command = ["gcc", tree / "main.o", "-Wl,-Map,app.map", "-o", "app"]
        subprocess.run(command, cwd=tree, check=True)
        label = analysis_of(tree / "app", map_=tree / "app.map").label("object")
        names.append({label.texts[i] for i in np.unique(label.ids).tolist()})
    assert names[0] == names[1]
    assert str(tmp_path / ".sizeguard/worktrees/tree-00/main.o") in names[1]
