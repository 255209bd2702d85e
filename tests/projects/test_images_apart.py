"""An image and its base leave out the same libraries: images with sizes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.projects.any_build import recipe_of_app
from sizeguard.projects.reader import read_config
from sizeguard.snapshots.store import content_key
from sizeguard.toolchains import native_code
from tests.support.tricks.any_project import made_project

HOST = "x86_64-linux"
TWINS = """apps:
  a: {{build: {build}, image: app}}
  b: {{build: {build}, image: libf.so}}
"""
ALONE = "apps:\n  a: {{build: {build}, image: app}}\n"
GROUP = "apps:\n  a: {{build: {build}, images: {{main: app, lib: libf.so}}}}\n"
MAIN = "apps:\n  a: {{build: {build}, images: {{main: app}}}}\n"
NONE = "apps:\n  other: {{build: {build}, image: other}}\n"


@pytest.mark.parametrize(
    ("name", "base", "head", "apart"),
    [
        ("a", TWINS, TWINS, True),
        ("a", ALONE, TWINS, False),  # the change makes it an image of its own
        ("a", NONE, TWINS, True),  # the base does not name the app
        ("a.main", GROUP, GROUP, True),
        ("a.main", MAIN, GROUP, False),
    ],
)
@pytest.mark.parametrize("build", ["make", "make -s"])
def test_the_base_leaves_out_what_both_leave_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    build: str,
    name: str,
    base: str,
    head: str,
    *,
    apart: bool,
) -> None:
    monkeypatch.setattr(native_code, "host_toolchain", str)  # starts compilers
    project = made_project(tmp_path / "p", base.format(build=build), {"a.c": ""})
    project.write({"sizeguard.yaml": head.format(build="make")})
    app = next(each for each in read_config(project.root).apps if each.name == name)
    recipe = recipe_of_app(app, HOST, None)
    assert recipe is not None
    at_base = recipe.at(project.root, "HEAD")
    assert recipe.apart == ("libf.so",)
    assert at_base.apart == (("libf.so",) if apart else ())
    for twin in recipe.twins:
        assert twin.apart == ("app",)
    keys = {content_key(each.key(project.root, "HEAD", 9)) for each in (recipe, at_base)}
    assert len(keys) == (1 if apart and (build == "make" or base is NONE) else 2)
