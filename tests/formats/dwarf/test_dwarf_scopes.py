"""Check the scopes of inlined functions, as written in the source; gcc names local ones shortly."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.formats.dwarf import inline_frames
from sizeguard.names.demangle import demangle
from tests.support.links.map_links import run
from tests.support.places import DATA

pytestmark = pytest.mark.native

SOURCE = DATA / "dwarf" / "scopes.cpp"
# The functions of the source that are inlined, but for the lambda, and those outside of scopes.
LOCAL = {
    "outer::(anonymous namespace)::work()",
    "outer::(anonymous namespace)::inner::work()",
    "outer::(anonymous namespace)::Kept::work()",
    "outer::(anonymous namespace)::Kept::Deep::work()",
    "all()::Local::work()",
}
GLOBAL = {"outer::version::work()"}
PLAIN = {"main", "plain"}


def names_of(image: Path) -> set[str]:
    frames = inline_frames(image, scoped=True)
    return {frames.names[int(i)] for i in frames.frame}


@pytest.mark.parametrize(
    "flags",
    [("-gdwarf-4",), ("-gdwarf-5",), ("-gdwarf-5", "-flto"), ("-gdwarf-5", "-gno-column-info")],
)
def test_gccs_local_functions_have_the_scopes_of_the_source(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    run("g++", "-std=c++20", "-g", "-O2", *flags, SOURCE, "-o", "image", cwd=tmp_path)
    found = names_of(tmp_path / "image")
    assert found >= LOCAL | GLOBAL | PLAIN | {"work"}
    assert {name for name in found if "work" in name and not name.startswith("_Z")} == (
        LOCAL | GLOBAL | {"work"}
    )


def test_clangs_local_functions_have_linkage_names(tmp_path: Path) -> None:
    run("clang++-19", "-std=c++20", "-g", "-O2", SOURCE, "-o", "image", cwd=tmp_path)
    found = names_of(tmp_path / "image")
    assert "outer::(anonymous namespace)::work(int)" in {demangle(name) for name in found}
    assert not any(name.endswith("()") for name in found)


def test_names_stay_short_unless_scopes_are_wanted(tmp_path: Path) -> None:
    run("g++", "-std=c++20", "-g", "-O2", SOURCE, "-o", "image", cwd=tmp_path)
    frames = inline_frames(tmp_path / "image")
    names = {frames.names[int(i)] for i in frames.frame}
    assert "work" in names
    assert not any("::" in name for name in names)
