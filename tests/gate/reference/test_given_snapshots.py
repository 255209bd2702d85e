"""A given snapshot stands for the base only if the base's build would be the same.

The snapshots are recorded ones with made-up origins; the commits are those of a small repository.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.attribution.analysis import Analysis
from sizeguard.builds.image_tools import image_tools
from sizeguard.gate.gate_result import Base
from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.reference.given_snapshot import snapshot_reference
from sizeguard.gate.reference.history import History
from sizeguard.measurement.measured_analysis import measurement_of
from sizeguard.measurement.snapshot_origin import parts_of, rules_part
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.projects.project import BuildSteps, ImageFiles
from sizeguard.snapshots.origin import Origin
from sizeguard.snapshots.snapshot import write_snapshot
from sizeguard.toolchains import native_code
from tests.support.builds.recorded_builds import recorded_analysis, recorded_runtime
from tests.support.histories.drawn_history import run_git

TOOLS = "gcc 12.2.0, bfd 2.40"
STEPS = BuildSteps({"": ImageFiles("app")}, build="make")


@dataclass(frozen=True)
class Case:
    """A repository: the base, an equal commit, one with another source, and the change at HEAD."""

    root: Path
    base: str
    equal: str
    other: str
    recipe: AnyBuildRecipe
    analysis: Analysis

    @property
    def origin(self) -> Origin:
        return Origin(self.base, parts_of(self.recipe, self.root, self.base), TOOLS)

    def judged(self, origin: Origin | None, base: str | None = "", **values: Any) -> SizeReference:
        """Find the reference; values: of the measured app."""
        path = self.root.parent / "s.snapshot"
        write_snapshot(path, self.analysis, origin)
        return self.judged_file(path, base, **values)

    def judged_file(self, path: Path, base: str | None = "", **values: Any) -> SizeReference:
        subject: Any = SimpleNamespace(
            **{
                "app": SimpleNamespace(name="a", steps={}), "target": "t", "toolchain": None,
                "build": SimpleNamespace(image="i", shipped="i", tools=TOOLS, rules=""),
                "metrics": (), "tree": None,
                "recipe": self.recipe, "head": run_git(self.root, "rev-parse", "HEAD"),
                "now": measurement_of(self.analysis, ()), **values,
            }
        )  # fmt: skip
        found = None if base is None else Base(base or self.base, "main")
        return snapshot_reference(path, subject, History(self.root), found)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    root = tmp_path_factory.mktemp("given") / "project"
    root.mkdir()
    run_git(root, "init", "-q", "-b", "main")
    (root / "sizeguard.yaml").write_text("apps:\n  a: {build: make, image: app}\n")

    def commit(text: str) -> str:
        (root / "a.c").write_text(text)
        run_git(root, "add", "-A")
        run_git(root, "commit", "-q", "--allow-empty", "-m", text)
        return run_git(root, "rev-parse", "HEAD")

    base, equal, other = commit("one"), commit("one"), commit("two")
    commit("three")
    recipe = AnyBuildRecipe("a", "t", STEPS)
    return Case(root, base, equal, other, recipe, recorded_analysis("core"))


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unit tests start no compiler, not even for its version."""
    monkeypatch.setattr(native_code, "host_toolchain", lambda: {"cc": "gcc 12.2.0"})


def test_the_bases_own_snapshot_is_the_reference(case: Case) -> None:
    found = case.judged(case.origin)
    assert (found.text, found.why) == ("snapshot s.snapshot", "")
    assert found.measured is not None
    assert found.measured.sizes.load == case.analysis.image.load


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("commands", "was made by other commands than a for t has now"),
        ("build", "was made by other commands than a for t has now"),
        ("image", "was made by other image and its files than a for t has now"),
        ("lists", "was made by other objects and libraries than a for t has now"),
        ("environment", "was made by other environment variables than a for t has now"),
        ("toolchain", "was made by another compiler or linker than is here"),
    ],
)
@pytest.mark.parametrize("is_missing", [False, True])
def test_a_snapshot_made_in_another_way_is_none(
    case: Case, part: str, words: str, is_missing: bool
) -> None:
    parts = dict(case.origin.parts)
    del parts[part]
    origin = replace(case.origin, parts=parts if is_missing else {**parts, part: "0"})
    found = case.judged(origin)
    assert found.measured is None
    assert words in found.why
    assert "leave out --base-snapshot to build the base" in found.why


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("path_length",), ", built at another path"),
        (("packages",), ", built with other installed packages"),
        (
            ("packages", "path_length"),
            ", built at another path, built with other installed packages",
        ),
        (("package",), ""),  # another version of this program measured it
    ],
)
def test_what_differs_between_machines_is_said(
    case: Case, parts: tuple[str, ...], text: str
) -> None:
    changed = {**case.origin.parts, **dict.fromkeys(parts, "0")}
    found = case.judged(replace(case.origin, parts=changed))
    assert (found.text, found.why) == (f"snapshot s.snapshot{text}", "")
    assert found.measured is not None


def test_a_record_of_a_link_on_one_side_alone_is_said(case: Case) -> None:
    """Bytes seemed to move between operators that the image in place knows by names alone."""
    found = case.judged(case.origin, recipe=replace(case.recipe, with_links=False))
    words = "with the record of a link, which this image lacks, so bytes may seem to move"
    assert words in found.text and found.measured is not None
    assert words not in case.judged(case.origin).text


@pytest.mark.parametrize("part", ["tree", "scope"])
def test_a_snapshot_of_other_files_is_none(case: Case, part: str) -> None:
    for commit, is_same in (
        (case.base, True), (case.equal, True), (case.other, False), ("1" * 40, False),
    ):  # fmt: skip
        found = case.judged(Origin(commit, {**case.origin.parts, part: "0"}, TOOLS))
        assert (found.measured is not None) == is_same, commit
        if not is_same:
            assert f"is of {commit[:7]}, and growth is counted from {case.base[:7]}" in found.why


def test_equal_files_need_no_comparison_of_commits(case: Case) -> None:
    assert case.judged(replace(case.origin, commit="1" * 40)).measured is not None


@pytest.mark.parametrize("tools", ["gcc 13.1.0", TOOLS.upper()])
def test_a_snapshot_by_other_tools_is_none(case: Case, tools: str) -> None:
    for recipe in (case.recipe, None):
        found = case.judged(replace(case.origin, tools=tools), recipe=recipe)
        assert found.measured is None
        assert f"is by {tools}, but this is {TOOLS}" in found.why


def test_tools_that_are_not_known_do_not_differ(case: Case) -> None:
    unknown = SimpleNamespace(tools="", rules="")
    assert case.judged(replace(case.origin, tools="")).measured is not None
    assert case.judged(case.origin, build=unknown).measured is not None


@pytest.mark.parametrize(("rules", "is_known"), [("", False), ("one", True), ("two", False)])
def test_a_snapshot_by_other_rules_is_none(case: Case, rules: str, is_known: bool) -> None:
    """A component that loses a namespace by its rules would seem to shrink."""
    build, made = (
        SimpleNamespace(image="i", shipped="i", tools=TOOLS, rules=text) for text in ("one", rules)
    )
    commit = {**case.origin.parts, **rules_part(made)}
    for recipe, parts, instead in (
        (case.recipe, commit, "leave out --base-snapshot to build the base"),
        (None, rules_part(made), "give the base's image"),
    ):
        found = case.judged(replace(case.origin, parts=parts), recipe=recipe, build=build)
        assert (found.measured is not None) == is_known
        if not is_known:
            assert "was made by other rules than a for t has now" in found.why
            assert instead in found.why
    assert case.judged(None, recipe=None, build=build).measured is None


@pytest.mark.parametrize("origin", [None, Origin("", {"tree": "0"}, TOOLS), Origin()])
def test_a_snapshot_without_a_commit_is_none_for_a_build(case: Case, origin: Origin | None) -> None:
    found = case.judged(origin)
    assert found.measured is None
    assert "does not name its commit" in found.why
    # An image that is measured as found has no build to compare
    assert case.judged(origin, recipe=None).measured is not None


@pytest.mark.parametrize(
    ("origin", "note"),
    [
        (None, " (names no commit or inputs or toolchain)"),
        (Origin("", {"tree": "0"}), " (names no commit or toolchain)"),
        (Origin("", {}, TOOLS), " (names no commit or inputs)"),
        (Origin("0", {"tree": "0"}, TOOLS), ""),
    ],
)
def test_what_a_snapshot_does_not_name_is_said(
    case: Case, origin: Origin | None, note: str
) -> None:
    assert case.judged(origin, recipe=None).text == f"snapshot s.snapshot{note}"


def test_a_snapshot_needs_a_known_base(case: Case) -> None:
    found = case.judged(case.origin, None)
    assert found.measured is None
    assert "the base is not known: name it by --base" in found.why


def test_a_known_runtime_builds_its_base(case: Case) -> None:
    found = case.judged(case.origin, recipe=SimpleNamespace())
    assert found.measured is None
    assert "cannot stand for apps of a known runtime" in found.why


def test_a_snapshot_of_another_kind_of_image_is_none(case: Case) -> None:
    now = measurement_of(case.analysis, ())
    for change in ({"format": "Mach-O"}, {"arch": "aarch64"}):
        image = SimpleNamespace(
            **{"format": case.analysis.image.format, "arch": case.analysis.image.arch, **change}
        )
        other = replace(now, analysis=SimpleNamespace(image=image))
        for recipe in (case.recipe, None):
            found = case.judged(case.origin, now=other, recipe=recipe)
            assert found.measured is None
            assert "give a snapshot of its base" in found.why
    assert case.judged(case.origin, now=replace(now, analysis=None)).measured is not None


def test_an_image_stands_for_the_base_of_an_image_alone(case: Case, tmp_path: Path) -> None:
    image = recorded_runtime(tmp_path).build.image
    build = SimpleNamespace(image="i", shipped="i", tools=image_tools(image).text, rules="")
    found = case.judged_file(image, recipe=None, build=build)
    assert found.text == f"snapshot {image.name} (names no commit or inputs)"
    assert found.measured is not None
    assert case.judged_file(image).measured is None
    other = case.judged_file(image, recipe=None)
    assert (other.measured, TOOLS in other.why) == (None, True)
    build.rules = json.dumps({"rules": [{"namespace": "sg", "component": "mine"}]})
    found = case.judged_file(image, recipe=None, build=build)
    assert found.measured is not None
    assert found.measured.tables["component"]["mine"] > 0
