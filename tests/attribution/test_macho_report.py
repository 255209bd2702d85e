"""`sizeguard report` on Mach-O files: thin, fat, stripped, with a dSYM, with a map."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sizeguard.attribution.group import group
from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.formats.macho import read_macho
from sizeguard.names.demangle import demangle
from sizeguard.names.short import bare_name
from tests.support.images.macho_samples import MachoSamples
from tests.support.tools import tool


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "sizeguard.cli.main",
        "report",
        *(str(argument) for argument in arguments),
    ]
    return subprocess.run(command, capture_output=True, text=True)


def report(*arguments: str | Path) -> dict[str, Any]:
    done = run(*arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    for column in ("file", "load", "ram"):
        assert sum(row[column] for row in found["rows"]) == found["totals"][column]
    return found


@pytest.mark.parametrize("name", ["app-arm64", "lib-stripped-x86_64", "opcodes-arm64"])
def test_sections_are_those_of_llvm_size(macho: MachoSamples, name: str) -> None:
    found = report(macho.path(name), "--by", "section")
    sizes = dict(
        re.findall(r"\tSection (\S+): (\d+)", tool("llvm-size-19", "-m", macho.path(name)))
    )
    loads = {row["section"].rpartition(",")[2]: row["load"] for row in found["rows"] if row["load"]}
    assert loads["__text"] == int(sizes["__text"]) and loads["__stubs"] == int(sizes["__stubs"])
    assert found["totals"]["file"] == macho.path(name).stat().st_size
    assert (found["image"]["format"], found["image"]["arch"]) == ("macho", name.rpartition("-")[2])
    assert found["image"]["id"] == read_macho(macho.path(name)).uuid


def test_a_fat_file_has_a_row_for_each_image_and_one_image_can_be_chosen(
    macho: MachoSamples,
) -> None:
    rows = {row["image"]: row for row in report(macho.path("fat"))["rows"]}
    for arch in ("arm64", "x86_64"):
        thin = report(macho.path(f"app-{arch}"))["totals"]
        assert {key: rows[arch][key] for key in thin} == thin
    whole = macho.path("fat").stat().st_size
    assert sum(row["file"] for row in rows.values()) == whole
    chosen = report(macho.path("fat"), "--arch", "arm64", "--by", "symbol")
    alone = report(macho.path("app-arm64"), "--by", "symbol")
    assert chosen["rows"] == alone["rows"] and chosen["totals"] == alone["totals"]
    for arguments, message in (
        (("fat", "--arch", "ppc"), "no image for ppc; --arch takes one of x86_64, arm64"),
        (("fat", "--map", macho.path("app-arm64.map")), "name one of its images"),
    ):
        done = run(macho.path(str(arguments[0])), *arguments[1:])
        assert done.returncode == 2 and message in done.stderr
    assert run("/bin/true", "--arch", "arm64").returncode == 2


def test_a_stripped_image_with_its_dsym_or_map(macho: MachoSamples) -> None:
    stripped = macho.path("app-S-arm64")
    named = report(stripped, "--by", "symbol", "--debug-file", macho.path("app-g-arm64.dSYM"))
    assert any("total" in row["symbol"] for row in named["rows"])
    objects = {
        row["object"]
        for row in report(
            macho.path("app-stripped-arm64"), "--by", "object", "--map", macho.path("app-arm64.map")
        )["rows"]
    }
    assert {"shapes-arm64.o", "main-arm64.o"} <= {name.rpartition("/")[2] for name in objects}

    done = run(stripped, "--debug-file", macho.path("app-g-x86_64.dSYM"))
    ours, theirs = read_macho(stripped).uuid, read_macho(macho.path("app-g-x86_64")).uuid
    assert (
        done.returncode == 3
        and ours in done.stderr
        and theirs in done.stderr
        and done.stderr.count("\n") == 1
    )


@pytest.mark.parametrize(
    ("image", "other"),
    [
        ("app-stripped-arm64", "app-x86_64"),
        ("app-arm64", "lib-arm64"),
        ("lib-arm64", "app-g-arm64"),
    ],
)
def test_a_map_of_another_build_is_refused(macho: MachoSamples, image: str, other: str) -> None:
    done = run(macho.path(image), "--map", macho.path(f"{other}.map"))
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert re.search(
        rf"{other}\.map is a map of another build: \S+ is at 0x\w+ with \d+ bytes there, at 0x\w+"
        r" with \d+ in ",
        done.stderr,
    )


def test_code_without_names_is_unattributed(macho: MachoSamples) -> None:
    rows = {
        row["operator"]: row["load"]
        for row in report(macho.path("app-stripped-arm64"), "--by", "operator")["rows"]
    }
    text = next(
        section
        for section in read_macho(macho.path("app-stripped-arm64")).sections
        if section.name == "__text"
    )
    assert rows.get("unattributed", 0) >= 0.9 * text.size


SOURCE = """
namespace util { int first(int x) { return x + 1; } namespace deep { int second() { return 2; } } }
namespace loud { int third(int x) { return x * 3; } }
namespace util { int fourth(int (*f)(int)) { return f(4); } }
extern "C" { int zz_copy(int x) { return x; } int other_copy(int x) { return x; } }
extern "C" { int _zz_own(int x) { return x; } }
"""
RULES = """
rules:
  - {namespace: "util", component: weak utilities, weak: true}
  - {namespace: "util::deep", component: deep, mentions: false}
  - {namespace: "loud", component: loud}
  - {prefix: zz_, component: copies}
  - {prefix: _zz_, component: own copies}
"""


@pytest.mark.native
def test_rules_fit_names_as_in_elf(tmp_path: Path) -> None:
    """Rules of weak namespaces, nested namespaces and prefixes find the same functions in both.

    A prefix does not contain the underscore that Mach-O adds to names.
    """
    (tmp_path / "a.cpp").write_text(SOURCE)
    (tmp_path / "rules.yaml").write_text(RULES)
    found = {}
    for target in ("x86_64-linux-gnu", "x86_64-apple-macos13", "arm64-apple-macos13"):
        made = tmp_path / f"{target}.o"
        tool("clang++-19", "-target", target, "-O1", "-c", tmp_path / "a.cpp", "-o", made)
        analysis = analysis_of(made, rules=tmp_path / "rules.yaml")
        rows = group(analysis, ["symbol", "component"]).rows
        found[target] = {
            bare_name(demangle(symbol)).lstrip("_"): component
            for symbol, component in (row.keys for row in rows)
            if component
        }
    expected = {
        "first": "weak utilities",
        "second": "deep",
        "third": "loud",
        "fourth": "weak utilities",
        "zz_copy": "copies",
        "zz_own": "own copies",
    }
    for components in found.values():
        assert {name: components.get(name) for name in expected} == expected
        assert "other_copy" not in components
