"""Test full gate runs on a recorded image, without a build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import Files
from sizeguard.formats.elf import SHT_NOBITS, SHT_STRTAB, SHT_SYMTAB
from sizeguard.gate.elimination import run_checks
from sizeguard.gate.verified_builds import verify_symbols
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.projects.head_builds import HeadBuild
from sizeguard.projects.project import App, BuildSteps
from tests.support.images.made_elf import Form, MadeSection, MadeSymbol, make_elf
from tests.support.tricks.found_image import gated, project_of

pytestmark = pytest.mark.native

A = "a: {image: out/app, strip: false}"


def checks(result: dict[str, Any], kind: str) -> list[tuple[str, str]]:
    return [(each["app"], each["verdict"]) for each in result["checks"] if each["kind"] == kind]


@pytest.mark.parametrize(("limit", "code"), [("1 MiB", 0), ("1 KiB", 1)])
def test_an_image_is_judged_by_its_limit(
    tmp_path: Path, recorded_build: Build, limit: str, code: int
) -> None:
    project = project_of(tmp_path, recorded_build, f"{{{A}}}", f"limits: {{load: {limit}}}\n")
    found, result = gated(project)
    assert (found, [each["message"] for each in result["problems"]]) == (code, [])
    assert checks(result, "absolute") == [("a", "fail" if code else "pass")]
    assert checks(result, "elimination") == []  # nothing is claimed


def test_a_debug_file_is_no_image(tmp_path: Path, recorded_build: Build) -> None:
    """It loads 100 bytes, and passed every limit."""
    project = project_of(tmp_path, recorded_build, f"{{{A}}}")
    image = project.root / "out" / "app"
    image.write_bytes(debug_file())
    ended = project.run("gate")
    assert ended.code == 2 and "a debug file" in ended.err
    with pytest.raises(InputError, match="need the whole unstripped image"):
        verify_symbols(Files(image), [], ["main"])
    with pytest.raises(InconclusiveError, match="need the whole unstripped image"):
        verify_symbols(Files(image, twin=recorded_build.image), [], ["main"])


def debug_file() -> bytes:
    """Make a program whose code has a place and no bytes, as objcopy --only-keep-debug does."""
    symbols, texts = Form().symbols([MadeSymbol("main", 0x1000, 8, section=1)])
    sections = [
        MadeSection(".text", SHT_NOBITS, flags=6, address=0x1000, size=8),
        MadeSection(".symtab", SHT_SYMTAB, content=symbols, link=3, info=1, entry_size=24),
        MadeSection(".strtab", SHT_STRTAB, content=texts),
    ]
    return make_elf(Form(), sections)


@pytest.mark.parametrize(
    ("claims", "code", "verdict"),
    [
        ("present: [main]", 0, "pass"),
        ("absent: [main]", 1, "fail"),
        ("absent: [no_function_of_that_name]", 3, "inconclusive"),
        ("present: [main], absent: [main]", 1, "fail"),
    ],
)
def test_claims_of_the_configuration_decide(
    tmp_path: Path, recorded_build: Build, claims: str, code: int, verdict: str
) -> None:
    project = project_of(
        tmp_path, recorded_build, f"{{a: {{image: out/app, strip: false, {claims}}}}}"
    )
    found, result = gated(project)
    assert (found, result["verdict"]) == (code, verdict)
    assert checks(result, "elimination") == [("a", verdict)]


def test_an_image_that_is_missing_fails_and_the_others_are_judged(
    tmp_path: Path, recorded_build: Build
) -> None:
    project = project_of(tmp_path, recorded_build, f"{{{A}, b: {{image: out/gone, strip: false}}}}")
    code, result = gated(project)
    assert (code != 0, result["verdict"]) == (True, "fail")
    assert [problem["app"] for problem in result["problems"]] == ["b"]
    assert checks(result, "absolute") == [("a", "pass")]
    assert gated(project, "--app", "a")[0] == 0


def test_a_trailer_that_cannot_be_read_fails_the_change_that_has_it(
    tmp_path: Path, recorded_build: Build
) -> None:
    project = project_of(tmp_path, recorded_build, f"{{{A}}}")
    assert gated(project, "--base", "main")[0] == 0
    project.write({"x.txt": "1"})
    commit = project.commit("Grow\n\nSize-Waiver: as much as it likes")
    code, result = gated(project, "--base", "main")
    assert (code, result["verdict"]) == (1, "fail")
    (problem,) = result["problems"]
    assert commit[:10] in problem["advice"] and "rebase" in problem["advice"]
    assert checks(result, "absolute") == [("a", "pass")]
    # The next change passes, since the trailer is on its base.
    project.git("branch", "--force", "main", "HEAD")
    project.write({"x.txt": "2"})
    project.commit("Go on")
    assert gated(project, "--base", "main")[0] == 0


@pytest.mark.parametrize(
    ("command", "failed", "has_recipe", "in_place", "expected"),
    [
        ("./app", "", True, False, ["pass"]),
        ("./app", "ended with 3", True, False, ["fail"]),
        ("", "", True, False, []),
        ("./app", "", False, False, []),  # measured as found
        ("./app", "ended with 3", True, True, []),
    ],
)
def test_the_command_after_the_build_decides(
    recorded_build: Build,
    command: str,
    failed: str,
    has_recipe: bool,
    in_place: bool,
    expected: list[str],
) -> None:
    steps = BuildSteps({}, build="make", run=command)
    app = App("a", None, (), ("t",), steps={"t": steps})
    recipe = AnyBuildRecipe("a", "t", steps) if has_recipe else None
    head = HeadBuild(recorded_build, recipe, "", failed, in_place)
    found = run_checks(app, "t", head)
    assert [check.verdict for check in found] == expected
    for check in found:
        assert (check.actual, check.limit) == (int(bool(failed)), 0)
        assert check.headroom == -check.actual
        assert check.advice == (f"{command}: {failed}" if failed else "")
