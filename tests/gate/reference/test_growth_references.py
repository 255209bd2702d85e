"""The measurement that growth is counted from, over made-up commits.

HEAD is h, the merge base b and its first parent p; a commit's analysis is a text.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.base.errors import BuildError, InputError
from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import INCONCLUSIVE
from sizeguard.gate.gate_result import MEASURED, NOT_RUN, PARENT, REVIEWED, Base
from sizeguard.gate.policy import baselines
from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.reference import reference
from sizeguard.gate.reference.reference import (
    MeasuredApp,
    counted_from,
    differs_from,
    growth_reference,
    keep_as_head,
    reviewed_reference,
)
from sizeguard.toolchains.recipe import DoesNotBuildError, ReadsElsewhereError
from tests.support.histories.made_up_commits import (
    BASE,
    COMMIT,
    HEAD,
    KNOWN,
    NO_BASELINE,
    NOW,
    ON_BASE,
    PARENT_OF_IT,
    REVIEWED_SIZES,
    World,
    any_build,
    subject_of,
)


def told(world: World, subject: MeasuredApp, base: Base | None = BASE) -> tuple[str, Any, str]:
    found, source = growth_reference(world.root, world.history, base, subject)
    return found.text, found.measured, source


BY_BASELINE = (REVIEWED, "baseline", REVIEWED)
BY_BASE = ("merge base bbbbbbb", "measured b", MEASURED)
BY_PARENT = ("first parent ppppppp", "measured p", PARENT)


@pytest.mark.parametrize("subject", [subject_of(), any_build()])
def test_growth_is_counted_from_the_merge_base_if_its_build_differs(
    world: World, subject: MeasuredApp
) -> None:
    history = world.history
    world.differing[COMMIT], history.keys[COMMIT] = ["a.cpp"], "other"
    assert told(world, subject) == BY_BASE
    # No baseline is needed, and its absence is said
    world.reviewed = NO_BASELINE
    text = "merge base bbbbbbb (no baseline for gcc)"
    assert told(world, subject) == (text, "measured b", MEASURED)
    # Another recipe at that commit is another build, too
    world.differing, world.reviewed = {}, KNOWN
    if not subject.head:
        assert told(world, subject) == ("merge base bbbbbbb", NOW, MEASURED)
        history.recipes[COMMIT] = "another"
        assert told(world, subject) == BY_BASE


@pytest.mark.parametrize("subject", [subject_of(), any_build()])
def test_equal_builds_are_measured_once(world: World, subject: MeasuredApp) -> None:
    assert told(world, subject) == ("merge base bbbbbbb", NOW, MEASURED)
    assert world.history.asked == []
    world.measured = {COMMIT}
    assert told(world, subject) == BY_BASE
    # A build at another path has other bytes, also if all inputs are equal
    world.measured = set()
    expected = (f"{BY_BASE[0]}, built at another path", *BY_BASE[1:])
    assert told(world, replace(subject, in_place=True)) == expected


@pytest.mark.parametrize("subject", [subject_of(), any_build()])
def test_the_base_itself_is_counted_from_its_first_parent(
    world: World, subject: MeasuredApp
) -> None:
    history = world.history
    history.texts[PARENT_OF_IT] = b"reviewed"
    history.keys[PARENT_OF_IT] = "other"
    world.differing[PARENT_OF_IT] = ["a.cpp"]
    assert told(world, subject, ON_BASE) == BY_PARENT
    # Edited files are the change itself
    if not subject.head:
        world.differing[HEAD] = ["a.cpp"]
        assert told(world, subject, ON_BASE) == ("merge base hhhhhhh", "measured h", MEASURED)


def test_a_baseline_of_the_change_decides(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    history = world.history
    world.differing[COMMIT] = ["a.cpp"]
    monkeypatch.setattr(reference, "parse_baseline", lambda text, path: text.strip())
    monkeypatch.setattr(reference, "read_baseline", lambda path: path.read_bytes().strip())
    for text, is_equal in ((b"reviewed", True), (b" reviewed ", True), (b"other", False)):
        history.texts[COMMIT] = text
        assert told(world, subject_of()) == (BY_BASE if is_equal else BY_BASELINE)
    del history.texts[COMMIT]  # the change brings the first one
    assert told(world, subject_of()) == BY_BASELINE

    def damaged(text: bytes, path: Path) -> object:
        raise InputError("damaged")

    monkeypatch.setattr(reference, "parse_baseline", damaged)
    history.texts[COMMIT] = b"{"
    assert told(world, subject_of()) == BY_BASELINE


@pytest.mark.parametrize(
    ("changed", "base"),
    [
        ({}, None),
        ({}, Base("", "")),
        ({"recipe": None}, BASE),
        ({"build": SimpleNamespace(inputs=None)}, BASE),  # nobody knows what the build read
    ],
)
def test_without_a_commit_to_build_the_baseline_decides(
    world: World, changed: dict[str, Any], base: Base | None
) -> None:
    world.differing[COMMIT] = ["a.cpp"]
    assert told(world, subject_of(**changed), base) == BY_BASELINE
    assert world.history.asked == []


def test_without_git_the_baseline_decides(world: World) -> None:
    world.history.head = None
    assert told(world, subject_of()) == BY_BASELINE
    assert counted_from(world.history, BASE, subject_of()) == ""


def test_a_clone_without_the_parents_of_the_base_proves_nothing(world: World) -> None:
    history = world.history
    history.is_cut, history.parents = True, {}
    found, source = growth_reference(world.root, history, ON_BASE, subject_of())
    why = "hhhhhhh is the base itself, and this clone lacks its parents; fetch"
    assert (found, source) == (SizeReference(PARENT, None, why), "")
    # Other commits, or an image that is not built, do not depend on these parents
    assert told(world, subject_of(recipe=None), ON_BASE) == BY_BASELINE
    assert told(world, subject_of(recipe=None), BASE) == BY_BASELINE
    assert told(world, subject_of(), Base("", "")) == BY_BASELINE
    assert told(world, subject_of(), None) == BY_BASELINE
    build: Any = SimpleNamespace(inputs=None)
    assert told(world, subject_of(build=build), BASE) == BY_BASELINE
    history.is_cut = False
    assert told(world, subject_of(), ON_BASE) == BY_BASELINE
    history.is_cut, history.head = True, None
    assert told(world, subject_of(), ON_BASE) == BY_BASELINE


@pytest.mark.parametrize("is_reviewed", [True, False])
@pytest.mark.parametrize(
    ("foreign", "differing", "named"),
    [(["/x.h"], [], "/x.h"), ([], ["code/x.h"], "code/x.h"), ([], ["a.cpp"], "")],
)
def test_a_base_that_reads_files_of_nobody_is_not_measured(
    world: World, is_reviewed: bool, foreign: list[str], differing: list[str], named: str
) -> None:
    world.foreign, world.differing[COMMIT] = foreign, differing
    world.reviewed = KNOWN if is_reviewed else NO_BASELINE
    found, source = growth_reference(world.root, world.history, BASE, subject_of())
    if not named:
        assert (found.measured, source) == ("measured b", MEASURED)
        return
    assert found.measured == (REVIEWED_SIZES if is_reviewed else None)
    assert source == (REVIEWED if is_reviewed else "")
    assert world.history.asked == []
    more = "" if is_reviewed else " (no baseline for gcc)"
    why = f"the merge base bbbbbbb{more} is not built as this is: the build reads {named}; "
    assert found.why == ("" if is_reviewed else f"{why}there is no baseline")
    # The files of other projects' builds are all in their commits
    for other in (any_build(), subject_of(tree=None)):
        world.history.keys[COMMIT] = "other"
        assert told(world, other)[1] == ("measured b" if differing or other.head else NOW)


@pytest.mark.parametrize(
    ("made", "expected", "why"),
    [
        (DoesNotBuildError("x.c:1"), "baseline", ""),
        (ReadsElsewhereError("x"), "baseline", ""),
        (BuildError("no disk"), None, "the merge base bbbbbbb could not be measured: no disk"),
        (None, None, "the merge base bbbbbbb could not be measured"),
    ],
)
def test_a_base_without_a_size(world: World, made: Any, expected: str | None, why: str) -> None:
    """A commit that does not build has no size; a failing machine says nothing of it."""
    world.differing[COMMIT] = ["a.cpp"]
    world.history.made[COMMIT] = made
    found, source = growth_reference(world.root, world.history, BASE, subject_of())
    assert (found.measured, found.why, bool(source)) == (expected, why, expected is not None)
    assert found.verdict == INCONCLUSIVE
    world.reviewed = NO_BASELINE
    found, source = growth_reference(world.root, world.history, BASE, subject_of())
    assert (found.measured, source, found.verdict) == (None, "", INCONCLUSIVE)
    if expected:
        text = "the merge base bbbbbbb (no baseline for gcc) has no size: "
        again = " (sizeguard gate --again builds it once more)"
        hint = again if isinstance(made, DoesNotBuildError) else ""
        assert found.why == f"{text}{made}{hint}; there is no baseline"
        world.history.without_app = True
        found, _ = growth_reference(world.root, world.history, BASE, subject_of())
        assert found.why == "the merge base bbbbbbb has no app a; there is no baseline"


@pytest.mark.parametrize(
    ("head", "base", "has_parent", "verdict"),
    [
        (None, None, False, NOT_RUN),
        (HEAD, ON_BASE, False, NOT_RUN),
        (HEAD, ON_BASE, True, INCONCLUSIVE),
        (HEAD, BASE, False, INCONCLUSIVE),
        (HEAD, None, False, INCONCLUSIVE),
    ],
)
def test_growth_is_not_run_if_nothing_was_before(
    world: World, head: str | None, base: Base | None, has_parent: bool, verdict: str
) -> None:
    """A baseline, an earlier commit or another toolchain's baseline could be compared with."""
    history = world.history
    history.head = head and SimpleNamespace(id=head)
    history.parents = {HEAD: PARENT_OF_IT} if has_parent else {}
    world.reviewed = NO_BASELINE
    (world.root / "a.yaml").unlink()
    found, source = growth_reference(world.root, history, base, subject_of(recipe=None))
    assert (found.measured, found.verdict, source) == (None, verdict, "")
    # The parent of an image as found is not built, but it is an earlier commit
    image = replace(any_build(head="", recipe=None), in_place=False)
    found, _ = growth_reference(world.root, history, base, image)
    assert found.verdict == verdict
    history.may_have_commits = head is None  # below the root of a repository
    found, _ = growth_reference(world.root, history, base, image)
    assert found.verdict == (INCONCLUSIVE if head is None else verdict)
    history.may_have_commits = False
    found, _ = growth_reference(world.root, history, base, subject_of(recipe=None))
    if verdict == NOT_RUN:
        what = "there is no earlier commit" if head else "there is no commit yet"
        assert found.why == f"{what}, and there is no baseline"
    world.others = ["clang"]
    found, _ = growth_reference(world.root, history, base, subject_of(recipe=None))
    assert found == NO_BASELINE
    world.others = []
    (world.root / "a.yaml").write_text("for other tools")
    found, _ = growth_reference(world.root, history, base, subject_of(recipe=None))
    assert found == NO_BASELINE


def test_builds_differ_by_key_recipe_or_files(world: World) -> None:
    history = world.history
    for subject in (subject_of(), any_build()):
        assert not differs_from(history, COMMIT, subject)
    assert differs_from(history, COMMIT, subject_of(build=SimpleNamespace(inputs=None)))
    history.keys[COMMIT] = "other"  # the key of a known runtime has more files than it reads
    assert differs_from(history, COMMIT, any_build())
    assert not differs_from(history, COMMIT, subject_of())
    assert not differs_from(history, COMMIT, subject_of(recipe=None))
    history.recipes[COMMIT] = "other"
    assert differs_from(history, COMMIT, subject_of())
    assert not differs_from(history, COMMIT, subject_of(recipe=None))
    world.differing[COMMIT] = ["a.cpp"]
    assert differs_from(history, COMMIT, subject_of(recipe=None))
    # An image that is measured as found has the recorded inputs only
    assert not differs_from(history, HEAD, any_build(recipe=None, build=subject_of().build))


@pytest.mark.parametrize(
    ("tools", "rules", "measured", "verdict"),
    [
        ("gcc 12", "", "gcc 12", ""),
        ("", "", "", ""),
        ("clang 19", "", None, "the baseline is for clang 19"),
        ("", "0123456789abcdef", None, "the baseline has names by other rules than the project's"),
    ],
)
def test_a_baseline_of_other_tools_or_rules_is_no_reference(
    world: World, monkeypatch: pytest.MonkeyPatch, tools: str, rules: str, measured: str | None,
    verdict: str,
) -> None:  # fmt: skip
    kept = SimpleNamespace(tools=tools, rules=rules)
    monkeypatch.setattr(reference, "read_baseline", lambda path: kept)
    monkeypatch.setattr(reference, "measurement_of_baseline", lambda baseline: baseline.tools)
    monkeypatch.setattr(baselines, "tools_text", lambda toolchain, build: "gcc 12")
    found = reviewed_reference(world.root, subject_of())
    assert (found.text, found.measured) == (REVIEWED, measured)
    assert found.why.startswith(verdict)
    (world.root / "a.yaml").unlink()
    found = reviewed_reference(world.root, subject_of())
    update = "review and keep this build's sizes: sizeguard baseline update --app a --target t"
    assert found == SizeReference(REVIEWED, None, f"there is no baseline a.yaml; {update}")
    world.has_baseline = False
    update = update.removesuffix(" --target t")
    found = reviewed_reference(world.root, subject_of())
    assert found == SizeReference(REVIEWED, None, f"a has no baseline; {update}")
    world.has_baseline, update = True, f"{update} --target t"
    world.others = ["clang", "icc"]
    why = f"the baselines are for clang, icc, but this is gcc; {update}"
    assert reviewed_reference(world.root, subject_of()) == SizeReference(REVIEWED, None, why)


def kept_by(world: World, subject: MeasuredApp) -> list[str]:
    """Return the commits whose measurement is kept."""
    history = world.history
    history.kept.clear()
    keep_as_head(history, subject)
    assert all(analysis == "rows" for _, _, analysis in history.kept)
    return [commit for commit, _, _ in history.kept]


def test_a_measurement_is_kept_for_head_if_nothing_else_was_read(world: World) -> None:
    history = world.history
    (world.root / "sizeguard.yaml").write_text("apps: {}")
    history.texts[f"{HEAD}:sizeguard.yaml"] = b"apps: {}"
    now: Any = SimpleNamespace(analysis="rows", sizes=Sizes(1, 2, 3, 4))
    subject, other = subject_of(now=now), any_build(now=now)
    for each in (subject, other):
        assert kept_by(world, each) == [HEAD]
        assert history.kept[0][1]["sizes"] == {"load": 1, "ram": 2, "file": 3, "page_slack": 4}
        assert kept_by(world, replace(each, in_place=True)) == []
        assert kept_by(world, replace(each, recipe=None)) == []
        nothing: Any = SimpleNamespace(analysis=None)
        assert kept_by(world, replace(each, now=nothing)) == []
        history.made["same"] = {"commit": HEAD}  # the store has it
        assert kept_by(world, each) == []
        del history.made["same"]
    unknown: Any = SimpleNamespace(inputs=None)
    assert kept_by(world, replace(subject, build=unknown)) == []
    world.foreign = ["/x.h"]
    assert (kept_by(world, subject), kept_by(world, other)) == ([], [HEAD])
    world.foreign, world.differing[HEAD] = [], ["a.cpp"]
    assert (kept_by(world, subject), kept_by(world, other)) == ([], [HEAD])
    world.differing, world.changed = {}, True
    assert (kept_by(world, subject), kept_by(world, other)) == ([], [HEAD])
    world.changed = False
    recipe: Any = SimpleNamespace(left_out=lambda *_: "x.h")
    assert kept_by(world, replace(subject, recipe=recipe)) == []
    history.texts[f"{HEAD}:sizeguard.yaml"] = b"apps: {b: }"
    assert kept_by(world, subject) == []
    history.texts[f"{HEAD}:sizeguard.yaml"] = b"apps: {}"
    assert kept_by(world, subject) == [HEAD]
    (world.root / "sizeguard.yaml").unlink()
    assert kept_by(world, subject) == []
    history.texts.clear()
    assert kept_by(world, subject) == [HEAD]  # a tree of sources without apps
    history.head = None
    assert (kept_by(world, subject), kept_by(world, other)) == ([], [])
