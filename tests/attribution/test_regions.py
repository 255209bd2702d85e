"""Memory regions from a recorded map of firmware, from linker scripts, and in linked programs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.base.errors import InputError
from sizeguard.bisect.whole_range import Question, buckets_hash, rows_of
from sizeguard.builds.link_record import LinkRecord, write_link_record
from sizeguard.builds.link_regions import recorded_regions
from sizeguard.builds.open_build import Files
from sizeguard.claims.verdict import FAIL, PASS
from sizeguard.formats.linkmap.linker_script import script_regions
from sizeguard.formats.linkmap.memory_region import MemoryRegion
from sizeguard.gate import changed_terms
from sizeguard.gate.fail_if import Judged
from sizeguard.gate.gate_result import AppResult, Base, GateResult
from sizeguard.gate.policy.terms_result import PolicyChange, RegionLimit
from sizeguard.measurement.metric import Metric, metric_value
from sizeguard.snapshots.snapshot import read_snapshot, write_snapshot
from tests.support.places import ROOT
from tests.support.tricks.any_project import AnyProject

DATA = ROOT / "tests" / "data" / "regions"
FIRMWARE, MAP, SCRIPT = DATA / "cortex-m3.elf", DATA / "cortex-m3.map", DATA / "script.ld"
# Output of arm-none-eabi-ld --print-memory-usage for the recorded link: name, used, size.
SAID = [("FLASH", 497, 16 << 10), ("RAM", 1161, 4 << 10)]


def by_region(project: AnyProject, *arguments: str) -> dict[str, Any]:
    done = project.run("report", *arguments, "--by", "region", "--format", "json")
    assert done.code == 0, done.err
    result: dict[str, Any] = json.loads(done.out)
    for column in ("file", "load", "ram"):
        assert sum(row[column] for row in result["rows"]) == result["totals"][column]
    return result


def used(result: dict[str, Any]) -> list[tuple[str, int, int]]:
    return [(each["name"], each["used"], each["size"]) for each in result["regions"]]


def test_initialized_data_counts_where_it_is_stored_and_where_it_runs(tmp_path: Path) -> None:
    project = AnyProject(tmp_path)
    result = by_region(project, str(FIRMWARE), "--map", str(MAP))
    assert used(result) == SAID
    flash, ram = result["regions"]
    assert (flash["stored"], ram["stored"]) == (497, 0)
    assert flash["run"] == 497 - 161 and ram["run"] == 1161  # .data has 161 bytes
    loads = {row["region"]: row["load"] for row in result["rows"]}
    assert loads == {"FLASH": 497, "RAM": 0, "": 0}
    script = by_region(project, str(FIRMWARE), "--linker-script", str(SCRIPT))
    assert (script["regions"], script["rows"]) == (result["regions"], result["rows"])
    for form, words in (("terminal", r"1,161 +4,096 +28.3%"), ("markdown", r"\| 1,161 \| 4,096 ")):
        told = ("--by", "region", "--format", form)
        text = project.run("report", str(FIRMWARE), "--map", str(MAP), *told).out
        assert re.search(words, text)
        assert ("stored: bytes written into the memory" in text) is (form == "terminal")


def test_what_names_no_region_is_said(tmp_path: Path) -> None:
    done = AnyProject(tmp_path).run("report", str(FIRMWARE), "--by", "region")
    assert done.code == 2 and "no memory regions are known" in done.err


def test_snapshots_keep_regions(tmp_path: Path) -> None:
    analysis = analysis_of(FIRMWARE, map_=MAP)
    write_snapshot(tmp_path / "kept", analysis)
    kept = read_snapshot(tmp_path / "kept")
    assert kept.image.regions == analysis.image.regions
    project = AnyProject(tmp_path)
    of_image = by_region(project, str(FIRMWARE), "--map", str(MAP))
    assert by_region(project, "kept")["rows"] == of_image["rows"]


@pytest.mark.parametrize(
    ("condition", "verdict"),
    [
        ("region/RAM > 28.4%", "pass"),
        ("region/RAM > 28.3%", "fail"),
        ("region/FLASH > 497B", "pass"),
        ("region/FLASH > 496B", "fail"),
        ("region/* > 20%", "fail"),
        ("region/FLASH > +0B", "pass"),
        ("region/ROM > 90%", "inconclusive"),
    ],
)
def test_conditions_on_regions(condition: str, verdict: str) -> None:
    judged = Judged([condition])
    for is_new in (False, True):
        judged.measure(analysis_of(FIRMWARE, map_=MAP), is_new=is_new)
    assert judged.verdict == verdict


@pytest.mark.parametrize("condition", ["region/RAM > 90%", "region/* > 90%", "region/* > 1MiB"])
def test_conditions_without_known_regions_are_undecided(condition: str) -> None:
    judged = Judged([condition])
    for is_new in (False, True):
        judged.measure(analysis_of(FIRMWARE), is_new=is_new)
    assert judged.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        ("MEMORY { A : ORIGIN = 0, LENGTH = 2M }", [("A", 0, 2 << 20)]),
        (
            "MEMORY { A (!rx) : org = 010, l = 0x10K B : o = 1,len=2 }",
            [("A", 8, 16384), ("B", 1, 2)],
        ),
        ("X = 4K; MEMORY { A : ORIGIN = X * 2 - 1, LENGTH = (X >> 1) | 1 }", [("A", 8191, 2049)]),
        (
            "MEMORY { A : ORIGIN = 8, LENGTH = 8; B : ORIGIN = ORIGIN(A) + LENGTH(A), LENGTH = 1 }",
            [("A", 8, 8), ("B", 16, 1)],
        ),
        (
            "S = DEFINED(S_) ? S_ : 3; /* } */ MEMORY { A : ORIGIN = 0, LENGTH = S }",
            [("A", 0, 3)],
        ),
        ("SECTIONS { .text : { *(.text*) } }", []),
    ],
)
def test_regions_of_a_script(
    tmp_path: Path, text: str, regions: list[tuple[str, int, int]]
) -> None:
    (tmp_path / "a.ld").write_text(text)
    assert script_regions([tmp_path / "a.ld"]) == tuple(MemoryRegion(*each) for each in regions)
    (tmp_path / "b.ld").write_text("\nINCLUDE a.ld\n")
    assert script_regions([tmp_path / "b.ld"]) == tuple(MemoryRegion(*each) for each in regions)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "\nMEMORY { A : ORIGIN = X, LENGTH = 1 }",
            "a.ld:2: cannot read the memory regions at 'X'",
        ),
        ("MEMORY { A : ORIGIN = 0, LENGTH = 1", "the MEMORY block has no end"),
        ("MEMORY { A : ORIGIN = 0 LENGTH = 1 }", "expected ','"),
        ("MEMORY { A : ORIGIN = 1 / 0, LENGTH = 1 }", "a division by 0"),
        ("X = Y; Y = X; MEMORY { A : ORIGIN = X, LENGTH = 1 }", "too deep"),
        (f"MEMORY {{ A : ORIGIN = {'(' * 500}1, LENGTH = 1 }}", "too deep"),
        ("MEMORY { A : ORIGIN = 1 << 60 << 60, LENGTH = 1 }", "above 64 bits"),
        ("INCLUDE gone.ld", "cannot find gone.ld, which INCLUDE names"),
    ],
)
def test_a_script_that_cannot_be_read_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.ld").write_text(text)
    with pytest.raises(InputError, match=re.escape(words)) as error:
        script_regions([tmp_path / "a.ld"])
    assert "\n" not in str(error.value)


CONFIG = """
apps:
  fw:
    build: sh build.sh
    image: fw.elf
    limits:
      region/RAM: 90%
      region/FLASH: {growth: 64B}
"""
BUILD = "gcc -ffreestanding -fno-pic -Os -fno-asynchronous-unwind-tables -c main.c -o main.o\n"
LINKERS = {"bfd": "ld", "lld": "ld.lld-19"}


@pytest.mark.native
@pytest.mark.parametrize("linker", LINKERS)
def test_the_gate_reads_the_script_of_the_link(
    tmp_path: Path, native_tools: None, linker: str
) -> None:
    project = AnyProject(tmp_path / "p")
    link = f"{LINKERS[linker]} -T script.ld main.o -o fw.elf --print-memory-usage"
    texts = {name: (DATA / name).read_text() for name in ("main.c", "script.ld")}
    texts["script.ld"] = texts["script.ld"].replace("0x20000000", "0x10000000")
    project.write({**texts, "build.sh": f"set -e\n{BUILD}{link}\n", "sizeguard.yaml": CONFIG})
    project.write({".gitignore": "*.o\n*.elf\nbuild/\n"})
    project.git("init", "--quiet", "--initial-branch=main")
    project.commit("Begin")
    project.git("checkout", "--quiet", "-b", "more")
    grown = texts["main.c"].replace("counters[40]", "counters[240]")
    project.write({"main.c": grown.replace("buffer[1000]", "buffer[2000]")})
    project.commit("Count more")
    done = project.run("gate", "--format", "json")
    assert done.code == 1, done.err
    result = json.loads(done.out)
    checks = {each["metric"]: each for each in result["checks"] if "region" in each["metric"]}
    said = subprocess.run(
        ["/bin/sh", "-ec", f"{BUILD}{link}"], cwd=project.root, check=True, capture_output=True,
        text=True,
    ).stdout  # fmt: skip
    sizes = {
        found[1]: int(found[2]) for found in re.finditer(r"(\w+): +(\d+) B", said)
    }  # the used bytes that the linker prints
    assert checks["region/RAM"]["verdict"] == "pass"
    assert checks["region/RAM"]["actual"] == sizes["RAM"]
    assert checks["region/RAM"]["limit"] == (4 << 10) * 90 // 100
    assert checks["region/FLASH"]["verdict"] == "fail"
    assert checks["region/FLASH"]["actual"] == sizes["FLASH"]
    assert checks["region/FLASH"]["base"] == sizes["FLASH"] - 800


LARGER = (("5K - STACK", "8K"), ("LENGTH = 16K", "LENGTH = 8K"))
SHARES = CONFIG.replace("region/FLASH: {growth: 64B}", "region/FLASH: 80%")


@pytest.mark.native
@pytest.mark.parametrize(("mode", "code"), [("note", 0), ("fail", 1)])
@pytest.mark.parametrize("is_reviewed", [False, True])
def test_a_region_of_another_size_is_a_changed_term(
    tmp_path: Path, native_tools: None, mode: str, code: int, is_reviewed: bool
) -> None:
    """The share in sizeguard.yaml is the same, but it allows more bytes, or fewer.

    A baseline may be the change's own, so they are compared with those of the merge base.
    """
    project = AnyProject(tmp_path / "p")
    texts = {name: (DATA / name).read_text() for name in ("main.c", "script.ld")}
    texts["script.ld"] = texts["script.ld"].replace("0x20000000", "0x10000000")
    link = f"set -e\n{BUILD}ld -T script.ld main.o -o fw.elf\n"
    config = f"policy_changes: {mode}\n{SHARES}"
    project.write({**texts, "build.sh": link, "sizeguard.yaml": config})
    project.write({".gitignore": "*.o\n*.elf\nbuild/\n"})
    project.git("init", "--quiet", "--initial-branch=main")
    project.commit("Begin")
    project.git("checkout", "--quiet", "-b", "more")
    script = texts["script.ld"]
    for old, new in LARGER:
        assert old in script
        script = script.replace(old, new)
    project.write({"script.ld": script})
    if is_reviewed:
        assert project.run("baseline", "update").code == 0
    project.commit("Enlarge the memory")
    for _ in range(2):
        done = project.run("gate", "--format", "json")
        assert done.code == code, done.out
        changes = {each["name"]: each for each in json.loads(done.out)["policy_changes"]}
        ram = changes["region/RAM maximum of fw for x86_64-linux"]
        assert (ram["what"], ram["loosens"]) == ("limit loosened", True)
        assert (ram["old"], ram["new"], ram["bytes"]) == ("90% = 3,686 B", "90% = 7,372 B", 3686)
        flash = changes["region/FLASH maximum of fw for x86_64-linux"]
        assert (flash["what"], flash["loosens"]) == ("limit tightened", False)
        assert (flash["old"], flash["new"]) == ("80% = 13,107 B", "80% = 6,553 B")
    for form in ("terminal", "markdown", "github", "junit", "sarif", "csv", "html"):
        assert "7,372" in project.run("gate", "--format", form).out, form


@pytest.mark.parametrize(("mode", "verdict"), [("note", PASS), ("fail", FAIL)])
def test_a_larger_region_of_one_app_counts_beside_apps_without_one(
    monkeypatch: pytest.MonkeyPatch, mode: str, verdict: str
) -> None:
    monkeypatch.setattr(changed_terms, "_mode", lambda request, base: mode)
    limits = [
        RegionLimit(f"region/{name}", "90%", 90, new, "")
        for name, new in (("FLASH", 45), ("RAM", 91))
    ]
    other = AppResult("b", "t", "gcc", PASS, None, None, (), (), (), (), None)
    app = replace(other, app="a", region_limits=tuple(limits))
    known = PolicyChange("app added", "c", "", "", False)
    request: Any = None
    # A project below the root of its repository has no base to measure
    for apps, base in (((app, other), Base("1", "main")), ((other, app), None)):
        result = GateResult(PASS, apps)
        found = changed_terms.with_region_limits(request, base, result, (known,))
        assert [(change.name, change.loosens, change.verdict) for change in found] == [
            ("region/RAM maximum of a for t", True, verdict),
            ("region/FLASH maximum of a for t", False, PASS),
            ("c", False, PASS),
        ]


FOUND = """policy_changes: fail
apps:
  fw: {image: fw.elf, map: fw.map, strip: false, limits: {region/FLASH: 90%}}
"""


@pytest.mark.parametrize("folder", [".", "lib"])
def test_a_larger_region_of_an_image_as_found_is_a_changed_term(
    tmp_path: Path, folder: str
) -> None:
    """No commit can be measured, so its region had no size, and a larger share passed."""
    map_ = (DATA / "cortex-m3.map").read_text()
    whole, project = AnyProject(tmp_path), AnyProject(tmp_path / folder)
    project.root.mkdir(exist_ok=True)
    shutil.copy(DATA / "cortex-m3.elf", project.root / "fw.elf")
    project.write({"sizeguard.yaml": FOUND, "fw.map": map_})
    whole.write({".gitignore": "*.elf\n*.map\n.sizeguard\n"})
    whole.git("init", "--quiet", "--initial-branch=main")
    assert project.run("baseline", "update").code == 0
    whole.commit("Begin")
    whole.git("checkout", "--quiet", "-b", "more")
    whole.git("commit", "--quiet", "--allow-empty", "-m", "Words")
    assert project.run("gate").code == 0
    project.write({"fw.map": map_.replace("0x00004000", "0x00008000", 1)})
    done = project.run("gate", "--format", "json")
    assert [each["name"] for each in json.loads(done.out)["policy_changes"]] == [
        "region/FLASH maximum of fw for x86_64-linux"
    ]
    assert done.code == 1
    assert project.run("baseline", "update").code == 0
    whole.commit("Enlarge the memory")
    done = project.run("gate", "--format", "json")
    (change,) = json.loads(done.out)["policy_changes"]
    assert (change["what"], change["loosens"], done.code) == ("baseline replaced", True, 1)
    assert change["new"].endswith("region_length/FLASH 32,768")


MEMORY = """MEMORY { FLASH (rx): ORIGIN = 0x8000000, LENGTH = 64K
RAM (rw): ORIGIN = 0x20000000, LENGTH = 64K }
SECTIONS { .text : { *(.text*) } > FLASH
.data : { *(.data*) } > RAM AT> FLASH
.bss : { *(.bss*) } > RAM
/DISCARD/ : { *(.comment) *(.eh_frame*) *(.note*) } }
ENTRY(start)
"""


@pytest.mark.native
def test_rows_of_a_culprit_sum_to_a_region(tmp_path: Path) -> None:
    """A bisect ended in an error about a filter if the region stores no section."""
    (tmp_path / "a.ld").write_text(MEMORY)
    options = ["-Os", "-nostdlib", "-static", "-fno-pic", "-no-pie", "-mcmodel=large"]

    def linked(data: int, zeros: int) -> Analysis:
        image = tmp_path / f"{data}-{zeros}"
        code = f"char d[{data}] = {{1}};\n" + f"char z[{zeros}];\n" * bool(zeros)
        (tmp_path / "a.c").write_text(code + "int start(void) { return d[0]; }\n")
        command = ["gcc", *options, "a.c", "-Wl,-T,a.ld,-Map,a.map", "-o", image]
        subprocess.run(command, cwd=tmp_path, check=True)
        return analysis_of(image, map_=tmp_path / "a.map")

    ram = Metric("region", "RAM")
    for before, after, expected in (
        ((64, 64), (64, 1024), {"z": 960}),
        ((64, 64), (512, 1024), {"z": 960, "": 448}),
        ((64, 0), (512, 0), {"": 448}),
        ((64, 0), (64, 0), {}),
    ):
        old, new = linked(*before), linked(*after)
        rows = rows_of(old, new, ram)
        assert {row.keys[2]: row.delta for row in rows} == expected
        assert sum(expected.values()) == metric_value(new, ram) - metric_value(old, ram)
        hashes = {
            buckets_hash(each, Question(("a", "b"), ("a", "b"), ram, narrow=True))
            for each in (old, new)
        }
        assert len(hashes) == 1 + bool(expected)


@pytest.mark.parametrize(
    ("option", "size"),
    [("SIZE=64K", 65_536), ("SIZE=0x1000", 4096), ("SIZE=010", 8), ("SIZE = 1m", 1 << 20)],
)
def test_an_option_of_the_link_sizes_a_region(tmp_path: Path, option: str, size: int) -> None:
    (tmp_path / "script.ld").write_text("MEMORY { RAM : ORIGIN = 0, LENGTH = SIZE }\n")
    record = LinkRecord("GNU ld", ("-T", "script.ld", "--defsym", option), tmp_path)
    write_link_record(tmp_path / "app.link.json", record)
    files = Files(tmp_path / "app", link_record=tmp_path / "app.link.json")
    assert [(each.name, each.length) for each in recorded_regions(files)] == [("RAM", size)]
