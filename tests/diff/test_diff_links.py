"""Diffs of real links: renamed clones, folded functions, a COMDAT from another object."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.attribution.group import group
from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.cli.main import cli
from sizeguard.diff.compare import diff
from sizeguard.diff.diff_result import CAUSES, Diff
from sizeguard.snapshots.snapshot import Snapshot, snapshot_bytes
from tests.support.places import LLD
from tests.support.tools import tool

pytestmark = pytest.mark.native

COMMON = """
#include <cstdio>
#include <cstdlib>
template <typename T> __attribute__((noinline)) T twice(T value) {
  std::printf("%d\\n", int(value));
  return value + value;
}
"""
# -O2 clones f for the constant, and splits off its cold part.
CLONES = """
static __attribute__((noinline)) int f(int value, int way) {
  if (value < 0) { std::puts("negative"); std::puts("very"); std::abort(); }
  for (int i = 0; i < value; i++) std::printf("%d\\n", i * way);
  return value + way;
}
int main(int argc, char**) { return f(argc, 3) + f(argc * 2, 3); }
"""
FOLDED = """
__attribute__((noinline)) int first(int value) {
  std::printf("%d\\n", value);
  return value * 17 + 3;
}
__attribute__((noinline)) int second(int value) {
  std::printf("%d\\n", value);
  return value * 17 + 3;
}
int main(int argc, char**) { return first(argc) + second(argc); }
"""


def link(
    folder: Path, sources: dict[str, str], *flags: str, order: list[str] | None = None
) -> Path:
    """Link an executable from the sources, with a map. flags: options of the link"""
    folder.mkdir()
    for name, text in sources.items():
        (folder / f"{name}.cpp").write_text(COMMON + text)
        tool(
            "g++",
            "-O2",
            "-ffunction-sections",
            "-c",
            folder / f"{name}.cpp",
            "-o",
            folder / f"{name}.o",
        )
    objects = [folder / f"{name}.o" for name in order or sources]
    tool("g++", *objects, "-o", folder / "app", f"-Wl,-Map={folder / 'app.map'}", *flags)
    return folder / "app"


def of(path: Path, *by: str, old: Path, metric: str = "load") -> Diff:
    with_map = [analysis_of(each, map_=each.with_suffix(".map")) for each in (old, path)]
    return diff(*with_map, by, metric=metric)


def causes(found: Diff) -> dict[tuple[str, ...], str]:
    return {found.keys(i): CAUSES[found.cause[i]] for i in range(len(found))}


def symbols(path: Path) -> set[str]:
    return {line.split()[-1] for line in tool("nm", path).splitlines()}


def test_a_link_against_itself_and_its_snapshot(tmp_path: Path) -> None:
    app = link(tmp_path / "a", {"main": CLONES})
    analysis = analysis_of(app)
    assert len(diff(analysis, analysis_of(app), ["symbol"])) == 0
    snapshot = Snapshot(app, snapshot_bytes(analysis))
    for metric in ("load", "file", "ram"):
        assert len(diff(analysis, snapshot, ["section", "symbol"], metric=metric)) == 0
    for by in (["symbol"], ["operator", "dtype"], ["kind", "section"]):
        assert group(snapshot, by).rows == group(analysis, by).rows
        assert int(group(snapshot, by).file.sum()) == app.stat().st_size
    names = symbols(app)
    assert any(".constprop" in name or ".isra" in name or ".cold" in name for name in names), names


def test_renamed_clones_do_not_come_and_go(tmp_path: Path) -> None:
    """The new object has the same code with other clone suffixes, as from another compiler."""
    old = link(tmp_path / "old", {"main": CLONES})
    clones = [
        name
        for name in symbols(tmp_path / "old" / "main.o")
        if "." in name and not name.startswith(".")
    ]
    assert clones
    new = tmp_path / "new"
    new.mkdir()
    renames = [
        f"--redefine-sym={name}={name.replace('.0', '.7').replace('.constprop', '.isra')}"
        for name in clones
    ]
    tool("objcopy", *renames, tmp_path / "old" / "main.o", new / "main.o")
    tool("g++", new / "main.o", "-o", new / "app", f"-Wl,-Map={new / 'app.map'}")
    assert {name for name in symbols(new / "app") if ".isra.7" in name or ".cold" in name}
    found = of(new / "app", "symbol", old=old)
    assert not {"added", "removed"} & set(causes(found).values())
    assert int(found.delta.sum()) == found.total("load")


@pytest.mark.parametrize("other", ["fold", "unfold"])
def test_folded_functions_do_not_come_and_go(tmp_path: Path, other: str) -> None:
    plain = link(tmp_path / "plain", {"main": FOLDED}, *LLD)
    folded = link(tmp_path / "folded", {"main": FOLDED}, *LLD, "-Wl,--icf=all")
    places = {
        line.split()[-1]: line.split()[0]
        for line in tool("nm", folded).splitlines()
        if len(line.split()) == 3
    }
    assert places["_Z5firsti"] == places["_Z6secondi"]
    old, new = (plain, folded) if other == "fold" else (folded, plain)
    found = of(new, "symbol", old=old)
    key = next(keys for keys in causes(found) if keys[0] in ("_Z5firsti", "_Z6secondi"))
    assert causes(found)[key] == ("fewer_instances" if other == "fold" else "more_instances")
    assert sum(keys[0] in ("_Z5firsti", "_Z6secondi") for keys in causes(found)) == 1
    assert int(found.delta.sum()) == found.total("load")


def test_a_comdat_that_another_object_brings_in_has_moved(tmp_path: Path) -> None:
    sources = {
        "main": (
            "int helper(int); int main(int argc, char**) { return helper(argc) + twice(argc); }"
        ),
        "helper": "int helper(int value) { return twice(value) + 1; }",
    }
    old = link(tmp_path / "old", sources)
    new = link(tmp_path / "new", sources, order=["helper", "main"])
    # Give the objects equal paths, like builds in one folder
    for path in (tmp_path / "old", tmp_path / "new"):
        text = (path / "app.map").read_text().replace(str(path), "build")
        (path / "app.map").write_text(text)
    found = of(new, "object", "symbol", old=old)
    by_symbol = {
        keys: cause for keys, cause in causes(found).items() if keys[1] == "_Z5twiceIiET_S0_"
    }
    assert {keys[0].rpartition("/")[2] for keys in by_symbol} == {"main.o", "helper.o"}
    assert set(by_symbol.values()) == {"moved"}
    assert not any(keys[0] == "_Z5twiceIiET_S0_" for keys in causes(of(new, "symbol", old=old)))
    assert int(found.delta.sum()) == found.total("load")


def test_a_diff_has_the_levels_of_a_report_unless_some_are_given(tmp_path: Path) -> None:
    for name, count in (("old", 5), ("new", 9)):
        text = f"namespace app {{ int more[{count}] = {{1}}; }}{CLONES}"
        source = tmp_path / f"{name}.cpp"
        source.write_text(COMMON + text)
        subprocess.run(["g++", "-O2", source, "-o", tmp_path / name], check=True)
    old, new = tmp_path / "old", tmp_path / "new"
    kept = tmp_path / "old.snapshot"
    kept.write_bytes(snapshot_bytes(analysis_of(old)))
    for first, second in ((old, new), (kept, new), (old, old)):
        words = ["diff", str(first), str(second), "--format", "json"]
        result = json.loads(CliRunner().invoke(cli, words, catch_exceptions=False).stdout)
        assert result["by"] == ["namespace", "symbol"]
        changed = {row["namespace"] for row in result["rows"]}
        assert (changed >= {"app"}) == (first != second)
        by_operator = CliRunner().invoke(cli, [*words, "--by", "operator"], catch_exceptions=False)
        assert json.loads(by_operator.stdout)["by"] == ["operator"]
