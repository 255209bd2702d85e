"""Bytes with several names: one row for either name, exact sums, no growth from a new alias."""

from __future__ import annotations

import base64
import gzip
import json
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.attribution.group import group
from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.cli.main import cli
from sizeguard.linkgraph.chains import why
from sizeguard.linkgraph.inputs.link_inputs import expand
from sizeguard.linkgraph.macho.macho_graph import build_macho_graph
from sizeguard.linkgraph.subjects import find_subject
from sizeguard.measurement.metric import Metric, metric_value
from sizeguard.snapshots.snapshot import read_snapshot, write_snapshot
from tests.support.images.macho_samples import SOURCES

pytestmark = pytest.mark.native

SOURCE = """
struct S { S(int); virtual ~S(); int v; virtual int f(); };
S::S(int a) { v = a * 3; for (int i = 0; i < a; i++) v ^= i * v + 7; }
S::~S() { v = 0; }
int S::f() { return v; }
extern "C" int helper(int a) { int v = a; for (int i = 0; i < a; i++) v ^= i * v + 9; return v; }
#ifdef MORE
extern "C" int helper2(int) __attribute__((alias("helper")));
#endif
int main(int c, char**) { S s(c); return s.f() + helper(c); }
"""
C1, C2 = "_ZN1SC1Ei", "_ZN1SC2Ei"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("aliases")
    (folder / "a.cpp").write_text(SOURCE)
    for name, *flags in (("one",), ("two", "-DMORE")):
        subprocess.run(["g++", "-Os", *flags, "a.cpp", "-o", name], cwd=folder, check=True)
    return folder


PLATFORM = ("-platform_version", "macos", "13.0", "13.0")
MACHO = """
__attribute__((noinline)) int helper(int a) {
  int v = a; for (int i = 0; i < a; i++) v ^= i * v + 9; return v; }
extern int helper2(int);
asm(".globl _helper2\\n.set _helper2, _helper\\n");
int main(int c, char** v) { return helper(c) + helper2(c + 1); }
"""


@pytest.fixture(scope="module", params=["arm64", "x86_64"])
def macho(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("aliases_macho")
    arch = str(request.param)
    (folder / "a.c").write_text(MACHO)
    for words in (
        ("clang-19", f"--target={arch}-apple-macos13", "-Os", "-c", "a.c", "-o", "a.o"),
        (
            "ld64.lld-19",
            "-arch",
            arch,
            *PLATFORM,
            "a.o",
            str(SOURCES / "libSystem.tbd"),
            "-o",
            "two",
        ),
    ):
        subprocess.run(words, cwd=folder, check=True)
    return folder / "two"


def size_in(place: Path, name: str) -> int:
    lines = subprocess.run(
        ["nm", "-S", place], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return next(int(row[1], 16) for line in lines if (row := line.split())[-1] == name)


def rows_of(*words: str) -> list[dict[str, object]]:
    done = CliRunner().invoke(cli, ["report", *words, "--by", "symbol", "--format", "json"])
    assert done.exit_code == 0, done.output
    rows: list[dict[str, object]] = json.loads(done.output)["rows"]
    return rows


@pytest.mark.parametrize("names", [("helper", "helper2"), (C1, C2)])
def test_one_row_has_all_bytes(place: Path, names: tuple[str, str]) -> None:
    image = place / "two"
    size = size_in(image, names[0])
    loaded = [row for row in rows_of(str(image)) if row["symbol"] in names and row["load"]]
    assert len(loaded) == 1
    assert {loaded[0]["symbol"], *loaded[0]["aliases"]} == set(names)  # type: ignore[misc]
    code = rows_of(str(image), "--filter", "kind=code")
    assert [row["load"] for row in code if row["symbol"] in names] == [size]
    for name in names:
        found = rows_of(str(image), "--filter", f"symbol=={name}")
        assert sum(int(str(row["load"])) for row in found) == loaded[0]["load"]


@pytest.mark.parametrize("name", ["helper", "helper2", C1, C2, "S::S(int)"])
def test_metrics_mean_the_whole_by_either_name(place: Path, name: str) -> None:
    analysis = analysis_of(place / "two")
    size = size_in(place / "two", "helper" if name.startswith("helper") else C1)
    assert metric_value(analysis, Metric("symbol", name)) >= size
    other = C2 if "S" in name else "helper"
    assert metric_value(analysis, Metric("symbol", name)) == metric_value(
        analysis, Metric("symbol", other)
    )


def test_a_snapshot_has_the_same_rows(place: Path, tmp_path: Path) -> None:
    analysis = analysis_of(place / "two")
    write_snapshot(tmp_path / "snapshot", analysis)
    kept = read_snapshot(tmp_path / "snapshot")
    assert group(kept, ("symbol",)).rows == group(analysis, ("symbol",)).rows
    metric = Metric("symbol", "helper2")
    assert metric_value(kept, metric) == metric_value(analysis, metric)


def test_sums_stay_exact(place: Path) -> None:
    analysis = analysis_of(place / "two")
    for by in (("symbol",), ("section", "symbol"), ("operator", "symbol")):
        report = group(analysis, by)
        assert int(report.load.sum()) == analysis.image.load
        assert int(report.file.sum()) == analysis.image.file


@pytest.mark.parametrize("pair", [("one", "two"), ("two", "one")])
def test_a_further_name_is_no_growth(place: Path, pair: tuple[str, str]) -> None:
    old, new = (str(place / name) for name in pair)
    done = CliRunner().invoke(cli, ["diff", old, new, "--by", "symbol", "--format", "json"])
    assert json.loads(done.output)["rows"] == []


def test_every_format_names_the_aliases(place: Path) -> None:
    image = str(place / "two")
    given = ["report", image, "--by", "symbol", "--filter", "symbol==helper"]
    for format_, shown in (
        ("terminal", "helper (+1 alias)"),
        ("markdown", "(+1 alias)"),
        ("csv", ",helper2"),
    ):
        assert shown in CliRunner().invoke(cli, [*given, "--format", format_]).output


def shown_on_page(page: str) -> str:
    """Decompress a page's data, which contains all names."""
    found = re.findall(r"[A-Za-z0-9+/=]{200,}", page)
    return gzip.decompress(base64.b64decode(max(found, key=len))).decode("utf-8", "replace")


def test_a_page_names_the_aliases(place: Path) -> None:
    done = CliRunner().invoke(
        cli, ["report", str(place / "two"), "--by", "symbol", "--format", "html"]
    )
    names = shown_on_page(done.output)
    assert "helper (+1 alias: helper2)" in names
    assert "S::S(int) (+1 alias: S::S(int))" in names
    assert "main (+" not in names


def test_macho_has_one_row_with_aliases(macho: Path) -> None:
    loaded = [row for row in rows_of(str(macho)) if "helper" in str(row["symbol"]) and row["load"]]
    assert len(loaded) == 1
    names = {loaded[0]["symbol"], *loaded[0]["aliases"]}  # type: ignore[misc]
    assert names == {"_helper", "_helper2"}
    for name in sorted(map(str, names)):
        found = rows_of(str(macho), "--filter", f"symbol=={name}")
        assert sum(int(str(row["load"])) for row in found) == loaded[0]["load"]
    analysis = analysis_of(macho)
    assert int(group(analysis, ("symbol",)).load.sum()) == analysis.image.load


@pytest.mark.parametrize("name", ["helper", "helper2"])
def test_why_names_the_aliases(place: Path, name: str) -> None:
    flags = ("-Os", "-DMORE", "-ffunction-sections")
    subprocess.run(["g++", *flags, "-c", "a.cpp"], cwd=place, check=True)
    subprocess.run(
        ["g++", "-Wl,--gc-sections,-Map=why.map", "a.o", "-o", "why"], cwd=place, check=True
    )
    links = ["--objects", str(place / "a.o"), "--map", str(place / "why.map")]
    given = ["why", str(place / "why"), name, *links]
    found = json.loads(CliRunner().invoke(cli, [*given, "--format", "json"]).output)
    assert found["live"]
    assert {found["chain"][-1]["symbol"], *found["aliases"]} == {"helper", "helper2"}
    for format_ in ("terminal", "markdown"):
        told = CliRunner().invoke(cli, [*given, "--format", format_]).output
        assert "the same bytes are called helper" in told
    assert "the same bytes" not in CliRunner().invoke(cli, [*given[:2], "main", *links]).output


@pytest.mark.parametrize("name", ["helper", "helper2"])
def test_why_names_the_aliases_of_macho(macho: Path, name: str) -> None:
    graph = build_macho_graph(expand([macho.with_name("a.o")]), library=False)
    found = why(graph, find_subject(graph, name, lambda text: ""))
    assert found.live
    assert {found.chains[0].steps[-1].symbol, *found.aliases} == {"_helper", "_helper2"}
    assert why(graph, find_subject(graph, "main", lambda text: "")).aliases == ()
