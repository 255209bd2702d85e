"""Limits, references, creep and advice, tested with recorded measurements and without builds.

A store has recorded measurements for the commits of a real repository, so none is built.
"""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from sizeguard.builds.build_inputs import BuildInputs, content_hash, glob_hash
from sizeguard.builds.build_record import Build
from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import FAIL
from sizeguard.gate.advice import advised
from sizeguard.gate.causes.growth_causes import (
    causes_between,
    causes_by_operator,
    growth_by_operator,
)
from sizeguard.gate.causes.growth_result import Cause, SizeGrowth
from sizeguard.gate.causes.savings import savings
from sizeguard.gate.causes.source_lines import SourceLines
from sizeguard.gate.gate_result import AppResult, Check
from sizeguard.gate.policy.checks import CheckedApp, SizeReference, size_checks
from sizeguard.gate.policy.limits import GrowthLimit, Limit, parse_creep, parse_limit, parse_size
from sizeguard.gate.reference.base_growth import growth_since_base
from sizeguard.gate.reference.creep import creep_shares
from sizeguard.gate.reference.history import History
from sizeguard.gate.reference.moved_bytes import Moves
from sizeguard.gate.reference.reference import (
    MeasuredApp,
    creep_reference,
    growth_reference,
    keep_as_head,
    reviewed_reference,
)
from sizeguard.measurement.measured_analysis import measurement_of
from sizeguard.measurement.measurement import Measurement
from sizeguard.projects.pairs import recipe_of_commits
from sizeguard.projects.project import App, Target
from sizeguard.report.gate.findings.gate_findings import GateFinding
from sizeguard.report.gate.gate_words import headline
from sizeguard.runtimes.sizeguard.native_sources import NativeSources
from sizeguard.runtimes.sizeguard.runtime import RUNTIME
from sizeguard.snapshots.store import Store
from sizeguard.toolchains.environment import recorded_environment
from sizeguard.toolchains.recipe import ReadsElsewhereError
from sizeguard.toolchains.toolchain import Toolchain
from tests.support.builds.recorded_builds import recorded_analysis
from tests.support.histories.drawn_history import run_git
from tests.support.places import ROOT

TODAY = datetime.date(2026, 11, 21)
TARGET = Target("x86_64-linux", "x86_64-linux")
TOOLCHAIN = Toolchain("gcc", "bfd", "x86_64-linux", "gcc", "g++", "12.2.0", "2.40")
SELECTION = "native/apps/mlp/selected_operators.yaml"
BASELINE = "baselines/mlp.x86_64-linux.gcc-12.2-bfd-2.40-Os.yaml"
REVIEWED = """\
app: mlp
target: x86_64-linux
toolchain: gcc-12.2-bfd-2.40-Os
tools: gcc 12.2.0, bfd 2.40
load: 31000
ram: 900
file: 34000
page_slack: 400
operators:
  'aten::relu': 1500
"""


def measured(name: str) -> Measurement:
    """Return the sizes of a recorded build: core, mlp or mlp_and_erf."""
    return measurement_of(recorded_analysis(name), ["symbol/sg::kernels::*"])


def limit(metric: str, kind: str, text: str) -> Limit:
    if kind == "creep":
        return Limit(metric, kind, *parse_creep(text, "x"), place="sizeguard.yaml:1:1")
    amount = (
        GrowthLimit(text, 0, parse_size(text, "x"))
        if kind == "absolute"
        else parse_limit(text, "x")
    )
    return Limit(metric, kind, amount, place="sizeguard.yaml:1:1")


def test_a_measurement_is_what_was_recorded() -> None:
    core, mlp, more = map(measured, ("core", "mlp", "mlp_and_erf"))
    assert [each.sizes.load for each in (core, mlp, more)] == [21_650, 31_666, 32_057]
    assert [each.value("ram") for each in (core, mlp, more)] == [720, 936, 960]
    assert [each.value("operator/aten::erf") for each in (core, mlp, more)] == [0, 0, 311]
    assert [each.value("operator/aten::relu") for each in (mlp, more)] == [1_597, 356]
    assert [each.value("symbol/sg::kernels::*") for each in (core, mlp, more)] == [0, 2_856, 3_004]
    assert mlp.value("dtype/Float") == 1_139
    assert mlp.value("symbol/other") is None
    for each in (core, mlp, more):
        assert sum(each.tables["operator"].values()) == each.sizes.load


# Another operator adds 391 bytes, 311 of its own; it shares code that only aten::relu used before.
FROM_MLP = [
    ("load", "growth", "0", "fail", -391),
    ("load", "growth", "390 B", "fail", -1),
    ("load", "growth", "391 B", "pass", 0),
    ("load", "growth", "1%", "fail", -75),
    ("load", "growth", "max(1%, 512B)", "pass", 121),
    ("ram", "growth", "16 B", "fail", -8),
    ("file", "growth", "0", "pass", 0),
    ("operator/aten::erf", "growth", "300 B", "fail", -11),
    ("operator/aten::relu", "growth", "0", "pass", 1_241),
    ("operator/aten::linear", "growth", "0", "pass", 0),
    ("symbol/sg::kernels::*", "growth", "5%", "fail", -6),
    ("load", "absolute", "32,057 B", "pass", 0),
    ("load", "absolute", "31 KiB", "fail", -313),
    ("operator/aten::erf", "absolute", "0", "fail", -311),
    ("operator/aten::gelu", "absolute", "0", "pass", 0),
    ("load", "creep", "40% since v1", "fail", -1_747),
    ("load", "creep", "50% since v1", "pass", 418),
    ("operator/aten::relu", "creep", "400 B since v1", "pass", 44),
]


UNKNOWN = [
    ("symbol/sg::kernels::rellu", "absolute", "0", "inconclusive", "nearest is sg::kernels::relu"),
    ("symbol/sg::kernels::rellu", "growth", "0", "inconclusive", "nearest is sg::kernels::relu"),
    ("symbol/sg::kernels::relu(int)", "absolute", "9 MiB", "inconclusive", "nothing is called"),
    ("section/.rodat", "absolute", "0", "inconclusive", "nearest is .rodata"),
    ("symbol/nobody::*", "absolute", "0", "pass", "symbol/nobody::* matches nothing"),
    (
        "symbol/kernels::rel*",
        "absolute",
        "0",
        "inconclusive",
        "with more scopes it matches sg::kernels::relu(",
    ),
    ("symbol/nobody::*", "absolute", "1 B", "inconclusive", "matches nothing"),
    ("symbol/nobody::*", "growth", "1%", "inconclusive", "matches nothing"),
    ("symbol/sg::kernels::relu", "absolute", "9 MiB", "pass", ""),
    # Only in the base, or only in the full build
    ("symbol/sg::kernels::erf", "absolute", "0", "pass", ""),
    ("symbol/_ZN2sg7kernels3erfERNS_7ContextENS_6TensorE", "growth", "0", "pass", ""),
]


@pytest.mark.parametrize(("metric", "kind", "text", "verdict", "advice"), UNKNOWN)
@pytest.mark.parametrize("known_from", ["base", "full"])
def test_a_name_that_nothing_knows_proves_nothing(
    metric: str, kind: str, text: str, verdict: str, advice: str, known_from: str
) -> None:
    now, other = (
        measurement_of(recorded_analysis(name), [metric]) for name in ("mlp", "mlp_and_erf")
    )
    base, full = (other, None) if known_from == "base" else (now, other)
    subject = CheckedApp("mlp", "x86_64-linux", now, lambda metric: 0)
    rule = limit(metric, kind, text)
    (check,) = size_checks(subject, [rule], SizeReference("merge base", base), {}, full)
    assert check.verdict == verdict
    assert advice in check.advice
    allowed = replace(rule, unknown_ok=True)
    (check,) = size_checks(subject, [allowed], SizeReference("merge base", base), {}, full)
    assert (check.verdict, check.advice) == ("pass", "")


def test_an_unknown_operator_proves_nothing() -> None:
    subject = CheckedApp("mlp", "x86_64-linux", measured("mlp"), lambda metric: 0)
    growth = SizeReference("merge base", measured("core"))
    rule = replace(limit("operator/aten::reluu", "absolute", "0"), nearest="operator/aten::relu")
    (check,) = size_checks(subject, [rule], growth, {})
    assert check.verdict == "inconclusive"
    assert "nearest is operator/aten::relu" in check.advice
    # A name in the image is known, even if the sources do not have it
    (check,) = size_checks(subject, [replace(rule, metric="operator/aten::relu")], growth, {})
    assert check.verdict == "fail"


@pytest.mark.parametrize(("metric", "kind", "text", "verdict", "headroom"), FROM_MLP)
def test_limits_over_recorded_measurements(
    metric: str, kind: str, text: str, verdict: str, headroom: int
) -> None:
    growth = SizeReference("merge base 1234567", measured("mlp"))
    creep = {"v1": SizeReference("v1", measured("core"))}
    subject = CheckedApp("mlp", "x86_64-linux", measured("mlp_and_erf"), lambda metric: 0)
    (check,) = size_checks(subject, [limit(metric, kind, text)], growth, creep)
    assert (check.verdict, check.headroom) == (verdict, headroom)
    assert check.metric == metric
    base = {"absolute": None, "growth": measured("mlp"), "creep": measured("core")}[kind]
    assert check.base == (base.value(metric) if base else None)


def test_a_limit_of_each_operator_fails_those_that_grew() -> None:
    growth = SizeReference("merge base 1234567", measured("mlp"))
    subject = CheckedApp("mlp", "x86_64-linux", measured("mlp_and_erf"), lambda metric: 0)
    checks = size_checks(subject, [limit("operator/*", "growth", "64 B")], growth, {})
    assert {check.metric: check.verdict for check in checks if check.verdict != "pass"} == {
        "operator/(shared by operators)": "fail",
        "operator/aten::erf": "fail",
    }
    assert len(checks) == 10


def test_code_that_other_operators_share_now_is_no_growth() -> None:
    """The code that aten::erf shares with aten::relu used to belong only to aten::relu."""
    old, new = measured("mlp"), measured("mlp_and_erf")
    subject = CheckedApp("mlp", "x86_64-linux", new, lambda metric: 0, Moves(new).of)
    growth = SizeReference("merge base 1234567", old)
    checks = size_checks(subject, [limit("operator/*", "growth", "64 B")], growth, {})
    found = {check.metric: check for check in checks}
    assert {name for name, check in found.items() if check.verdict == "fail"} == {
        "operator/aten::erf"
    }
    shared = found["operator/(shared by operators)"]
    assert shared.moved == shared.actual - (shared.base or 0) - 64 == 1_177


def test_causes_and_savings_sum_to_the_change_of_the_load() -> None:
    mlp, more = recorded_analysis("mlp"), recorded_analysis("mlp_and_erf")
    causes = causes_between(mlp, more, SourceLines(ROOT))
    assert sum(cause.delta for cause in causes) == 391
    erf = [cause for cause in causes if cause.operator == "aten::erf"]
    assert {cause.cause for cause in erf} == {"added"}
    moved = [cause for cause in causes if cause.symbol == "elementwise"]
    assert [(cause.operator, cause.delta, cause.new, cause.origin) for cause in moved] == [
        ("(shared by operators)", 0, 492, "aten::relu")
    ]
    assert causes_between(mlp, mlp, SourceLines(ROOT)) == ()
    growth = growth_by_operator(measured("mlp"), measured("mlp_and_erf"))
    assert [(row.operator, row.new - row.old) for row in growth] == [
        ("(shared by operators)", 1_241),
        ("aten::erf", 311),
        ("(headers, tables, padding)", 42),
        ("(core)", 38),
        ("aten::relu", -1_241),
    ]
    by_operator = causes_by_operator(growth)
    assert [(cause.operator, cause.cause) for cause in by_operator[:3]] == [
        ("(shared by operators)", "grew"),
        ("aten::relu", "shrank"),
        ("aten::erf", "grew"),
    ]
    saved = savings(more_operators := measured("mlp_and_erf").tables["operator"], {})
    assert sum(row.saved for row in saved) == 32_057
    assert savings(more_operators, more_operators)[0].saved == 0


@dataclass(frozen=True)
class Project:
    """A repository whose commits are measured.

    v1 and `documents` have the sizes of core, `grown` has those of mlp, and HEAD has those of
    mlp_and_erf. `broken` does not build. main is at `grown`.
    """

    root: Path
    history: History
    commits: dict[str, str]
    more: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def subject(self, name: str = "mlp_and_erf") -> MeasuredApp:
        now = measured(name)
        place = self.root / "build" / "mlp"
        build = Build(
            "selective/mlp", "mlp", "x86_64-linux", "gcc-12.2-bfd-2.40", "s", place / "run_program",
            place / "run_program.stripped", place / "map", place / "log", (),
            place / "selected.yaml", None, "f", now.sizes, inputs=self.inputs(),
        )  # fmt: skip
        app = App("mlp", self.root / SELECTION, (), ())
        return MeasuredApp(
            app, "x86_64-linux", build, TOOLCHAIN, now, ("symbol/sg::kernels::*",),
            NativeSources(self.root, self.root),
            recipe_of_commits(RUNTIME, TOOLCHAIN, app, TARGET),
        )  # fmt: skip

    def inputs(self) -> BuildInputs:
        """Return a build's inputs: sources, selection, installed tools, generator if any."""
        generator = "sizeguard/runtimes/sizeguard/codegen/generate.py"
        names = ["native/runtime/a.cpp", SELECTION, *self.more]
        paths = [self.root / name for name in (*names, generator)]
        return BuildInputs(
            {str(path): content_hash(str(path)) for path in paths if path.is_file()},
            {"/usr/bin/env": content_hash("/usr/bin/env")},
            (str(self.root / "ctime"),),
            {f"{self.root}/native/runtime/*.cpp": glob_hash(f"{self.root}/native/runtime/*.cpp")},
            {**recorded_environment(), **self.environment},
        )

    def commit(self, message: str, files: dict[str, str]) -> str:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        run_git(self.root, "add", "-A")
        run_git(self.root, "commit", "-q", "-m", message)
        return run_git(self.root, "rev-parse", "HEAD")


def keep(project: Project, commit: str, name: str | None) -> None:
    recipe = project.subject().recipe
    assert recipe
    key = project.history.key(commit, recipe)
    if name is None:
        project.history.place.store.put(key, {"does_not_build": "x.cpp:1: error"})
    else:
        project.history.place.store.put(key, {"commit": commit}, recorded_analysis(name))


@pytest.fixture(scope="module")
def measured_once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Make the repository and the measurements that all tests begin with."""
    place = tmp_path_factory.mktemp("once")
    root = place / "tree"
    root.mkdir()
    run_git(root, "init", "-q", "-b", "main")
    project = Project(root, History(root, Store(place / "store")), {})
    first = {
        SELECTION: "operators: {}\n",
        BASELINE: REVIEWED,
        "native/runtime/a.cpp": "0",
        ".gitignore": "build/\n",
    }
    for name, files, what in (
        ("first", first, "core"),
        ("documents", {"README.md": "words"}, "core"),
        ("grown", {"native/runtime/a.cpp": "1"}, "mlp"),
        ("broken", {"native/runtime/a.cpp": "does not build"}, None),
        ("more", {"native/runtime/a.cpp": "2"}, "mlp_and_erf"),
    ):
        commit = project.commit(name, files)
        project.commits[name] = commit
        keep(project, commit, what)
    run_git(root, "tag", "v1", project.commits["first"])
    run_git(root, "checkout", "-q", "-b", "work")
    run_git(root, "branch", "-f", "main", project.commits["grown"])
    return project


@pytest.fixture
def project(tmp_path: Path, measured_once: Project) -> Project:
    """Copy the repository and its measurements."""
    shutil.copytree(measured_once.root.parent, tmp_path, dirs_exist_ok=True)
    root = tmp_path / "tree"
    history = History(root, Store(tmp_path / "store"))
    return Project(root, history, dict(measured_once.commits))


def reference_of(project: Project, base: str = "main") -> tuple[str, int | None, str]:
    """Return text, load and kind of the reference that growth is counted from."""
    history = History(project.root, project.history.place.store)
    found, source = growth_reference(project.root, history, history.base(base), project.subject())
    return found.text, found.measured.sizes.load if found.measured else None, source


def test_growth_is_counted_from_the_measured_merge_base(project: Project) -> None:
    short = project.commits["grown"][:7]
    assert reference_of(project) == (f"merge base {short}", 31_666, "merge base")


def since_base(project: Project) -> SizeGrowth | None:
    """Return the growth since the base, as the gate shows it."""
    history = History(project.root, project.history.place.store)
    base, subject = history.base("main"), project.subject()
    growth, source = growth_reference(project.root, history, base, subject)
    return growth_since_base(history, base, subject, growth, source)


def test_growth_since_the_merge_base_is_shown_whatever_decides(project: Project) -> None:
    now, then = (measured(name).sizes for name in ("mlp_and_erf", "mlp"))
    grown = SizeGrowth(now.load - then.load, now.ram - then.ram, now.file - then.file)
    assert grown.load > 0
    assert since_base(project) == grown
    # A baseline of the change becomes the reference, but does not hide the growth.
    project.commit("review", {BASELINE: REVIEWED.replace("load: 31000", "load: 99000")})
    assert reference_of(project)[2] == "baseline"
    assert since_base(project) == grown
    # A merge base that does not build has no sizes.
    run_git(project.root, "branch", "-f", "main", project.commits["broken"])
    assert since_base(project) is None


def test_growth_is_counted_from_a_baseline_that_the_change_brings(project: Project) -> None:
    project.commit("review", {BASELINE: REVIEWED.replace("load: 31000", "load: 32057")})
    assert reference_of(project) == ("baseline", 32_057, "baseline")


def test_growth_is_counted_from_the_baseline_if_the_generator_changes(project: Project) -> None:
    project.commit("generate", {"sizeguard/runtimes/sizeguard/codegen/generate.py": "new"})
    assert reference_of(project) == ("baseline", 31_000, "baseline")


def test_growth_is_counted_from_the_baseline_if_the_merge_base_is_broken(
    project: Project,
) -> None:
    assert reference_of(project, project.commits["broken"]) == ("baseline", 31_000, "baseline")


def test_a_change_of_documents_weighs_what_its_base_does(project: Project) -> None:
    project.commit("words", {"README.md": "more words"})
    short = project.commits["more"][:7]
    found = reference_of(project, project.commits["more"])
    assert found == (f"merge base {short}", 32_057, "merge base")
    # A commit that was never measured has the same size, since its build has the same inputs.
    project.history.place.store.folder = project.root.parent / "empty"
    assert reference_of(project, project.commits["more"]) == found


def test_the_base_itself_is_compared_with_its_first_parent(project: Project) -> None:
    run_git(project.root, "checkout", "-q", "-B", "main", project.commits["grown"])
    parent = project.commits["documents"][:7]
    assert reference_of(project, "HEAD") == (f"first parent {parent}", 21_650, "first parent")


def test_a_first_parent_that_does_not_build_leaves_the_baseline(project: Project) -> None:
    assert reference_of(project, "HEAD") == ("baseline", 31_000, "baseline")


def test_a_commit_without_a_parent_is_compared_with_the_baseline(project: Project) -> None:
    run_git(project.root, "checkout", "-q", "-B", "main", project.commits["first"])
    assert reference_of(project, "HEAD") == ("baseline", 31_000, "baseline")


def test_a_base_whose_parents_the_clone_lacks_proves_nothing(project: Project) -> None:
    """The reviewed baseline of the same commit may accept its growth."""
    run_git(project.root, "checkout", "-q", "-B", "main", project.commits["grown"])
    (project.root / ".git" / "shallow").write_text(f"{project.commits['grown']}\n")
    base = project.history.base("HEAD")
    found, source = growth_reference(project.root, project.history, base, project.subject())
    assert (found.measured, source, found.verdict) == (None, "", "inconclusive")
    assert "--unshallow" in found.why
    run_git(project.root, "checkout", "-q", "-B", "main", project.commits["first"])
    (project.root / ".git" / "shallow").write_text(f"{project.commits['first']}\n")
    assert reference_of(project, "HEAD") == ("baseline", 31_000, "baseline")  # it has no parents


def test_without_anything_before_growth_is_not_run(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Without git or an earlier commit, and without a baseline, only absolute limits decide."""
    run_git(project.root, "checkout", "-q", "-B", "main", project.commits["first"])
    history = History(project.root, project.history.place.store)
    (project.root / BASELINE).unlink()
    outside = History(tmp_path_factory.mktemp("no-git"), project.history.place.store)
    for each in (history, outside):
        base = each.base()
        found, source = growth_reference(project.root, each, base, project.subject())
        assert (found.measured, source) == (None, "")
        subject = CheckedApp("mlp", "x86_64-linux", measured("mlp"), lambda metric: 0)
        limits = [limit("load", "growth", "1%"), limit("load", "absolute", "31 KiB")]
        checks = size_checks(subject, limits, found, {})
        assert {check.kind: check.verdict for check in checks} == {
            "growth": "not_run",
            "absolute": "pass",
        }
        assert all("there is no baseline" in c.advice for c in checks if c.kind == "growth")
    # An earlier commit, if there is one, is the reference.
    run_git(project.root, "checkout", "-q", "-f", "-B", "main", project.commits["grown"])
    (project.root / BASELINE).unlink()
    base = history.base()
    found, _ = growth_reference(
        project.root, History(project.root, history.place.store), base, project.subject()
    )
    assert found.text.startswith("first parent ")
    assert found.measured


def edited(project: Project) -> None:
    (project.root / "native/runtime/a.cpp").write_text("2, and more")


def assumed_unchanged(project: Project) -> None:
    run_git(project.root, "update-index", "--assume-unchanged", "native/runtime/a.cpp")
    edited(project)


def left_out_of_the_worktree(project: Project) -> None:
    run_git(project.root, "update-index", "--skip-worktree", "native/runtime/a.cpp")
    edited(project)


def in_an_ignored_folder(project: Project) -> None:
    (project.root / "build").mkdir()
    (project.root / "build" / "more.h").write_text("more")
    project.more.append("build/more.h")


def untracked(project: Project) -> None:
    (project.root / "more.inc").write_text("more")
    project.more.append("more.inc")


def found_by_a_pattern(project: Project) -> None:
    (project.root / "native/runtime/b.cpp").write_text("more")


def behind_a_link(project: Project) -> None:
    outside = project.root.parent / "outside.cpp"
    outside.write_text("2")  # equal content, but git does not see its changes
    (project.root / "native/runtime/a.cpp").unlink()
    (project.root / "native/runtime/a.cpp").symlink_to(outside)


@pytest.mark.parametrize(
    "change",
    [
        edited,
        assumed_unchanged,
        left_out_of_the_worktree,
        in_an_ignored_folder,
        untracked,
        found_by_a_pattern,
        behind_a_link,
    ],
)
def test_a_measurement_is_not_its_own_reference(
    project: Project, change: Callable[[Project], None], tmp_path: Path
) -> None:
    """The worktree's load is 32,057; the reference is the merge base's 31,666, of another tree."""
    project.commit("words", {"README.md": "more words"})
    keep(project, project.commits["more"], "mlp")
    change(project)
    found = reference_of(project, project.commits["more"])
    assert found == (f"merge base {project.commits['more'][:7]}", 31_666, "merge base")
    keep_as_head(History(project.root, Store(tmp_path / "own")), project.subject())
    assert not (tmp_path / "own").exists()


def test_a_header_that_a_commit_has_where_one_was_looked_for_counts(project: Project) -> None:
    """The change removes a header that shadowed another one."""
    commit = project.commit("shadow", {"ctime": "more"})
    keep(project, commit, "mlp")
    run_git(project.root, "rm", "-q", "ctime")
    run_git(project.root, "commit", "-q", "-m", "no shadow")
    assert reference_of(project, commit) == (f"merge base {commit[:7]}", 31_666, "merge base")


@pytest.mark.parametrize("name", ["CXXFLAGS", "CPATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX"])
def test_with_variables_that_change_code_the_baseline_decides(project: Project, name: str) -> None:
    """The merge base is not used, since it would be built with the same variable."""
    project.environment[name] = "x"
    assert reference_of(project) == ("baseline", 31_000, "baseline")


@pytest.mark.parametrize("what", ["more.h", "bin/g++"])
def test_with_files_of_nobody_the_baseline_decides(project: Project, what: str) -> None:
    path = project.root.parent / what
    path.parent.mkdir(exist_ok=True)
    path.write_text("more")
    project.more.append(str(path))
    assert reference_of(project) == ("baseline", 31_000, "baseline")


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, f"there is no baseline {BASELINE}; review and keep this build's sizes: "),
        (
            {BASELINE.replace("12.2", "13.1"): REVIEWED},
            "the baselines are for gcc-13.1-bfd-2.40-Os, but this is gcc-12.2-bfd-2.40-Os; ",
        ),
        (
            {BASELINE: REVIEWED.replace("bfd 2.40", "bfd 2.40.1")},
            "the baseline is for gcc 12.2.0, bfd 2.40.1, but this is gcc 12.2.0, bfd 2.40: ",
        ),
    ],
)
def test_without_a_baseline_of_this_toolchain_the_merge_base_decides(
    project: Project, files: dict[str, str], why: str
) -> None:
    (project.root / BASELINE).unlink()
    for name, text in files.items():
        (project.root / name).write_text(text)
    found = reviewed_reference(project.root, project.subject())
    assert found.measured is None
    assert found.why.startswith(why)
    update = "sizeguard baseline update --app mlp --target x86_64-linux"
    assert found.why.endswith(update)
    text = f"merge base {project.commits['grown'][:7]} (no baseline for gcc-12.2-bfd-2.40-Os)"
    assert reference_of(project) == (text, 31_666, "merge base")
    # A merge base that does not build has no size, so there is no reference.
    run_git(project.root, "branch", "-f", "main", project.commits["broken"])
    assert reference_of(project) == ("baseline", None, "")


def test_creep_is_counted_from_a_release(project: Project) -> None:
    subject = project.subject()
    found = creep_reference(project.root, project.history, "v1", subject)
    assert (found.text, found.measured and found.measured.sizes.load) == ("v1", 21_650)
    missing = creep_reference(project.root, project.history, "v9", subject)
    assert missing.measured is None
    assert missing.why == (
        "this clone has no v9: fetch it with git fetch --tags --unshallow, or name another in mlp's"
        " limits"
    )
    broken = creep_reference(project.root, project.history, project.commits["broken"], subject)
    assert broken.text.startswith("baseline of ")
    assert broken.measured
    assert broken.measured.sizes.load == 31_000
    library = replace(subject.build, link="shared")
    for otherwise in (replace(TARGET, link="shared"), replace(TARGET, lto="full")):
        assert recipe_of_commits(RUNTIME, TOOLCHAIN, subject.app, otherwise) is None
    found = creep_reference(
        project.root, project.history, "v1", replace(subject, build=library, recipe=None)
    )
    assert found.why == (
        "v1 cannot be measured: other commits are built only as executables without LTO"
    )
    outside = History(project.root / "native", project.history.place.store)
    assert creep_reference(project.root, outside, "v1", subject).why == (
        "v1 cannot be measured: not the root of a git repository with a checked-out commit"
    )


def shares_of(project: Project, metric: str, base: int, actual: int) -> list[tuple[str, int]]:
    recipe = project.subject().recipe
    assert recipe
    shares = creep_shares(project.history, recipe, "v1", metric, base, actual)
    return [(share.subject, share.delta) for share in shares]


def test_creep_is_counted_from_the_baseline_of_a_release_that_reads_elsewhere(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(*_: object) -> None:
        raise ReadsElsewhereError("it reads extra/table.inc")

    monkeypatch.setattr(History, "measure", measure)
    release = project.commits["broken"]
    found = creep_reference(project.root, project.history, release, project.subject())
    assert found.measured
    assert found.measured.sizes.load == 31_000


def test_creep_is_shared_out_over_the_commits_that_moved_it(project: Project) -> None:
    """Commits of documents or of broken builds have no share; uncommitted changes come last."""
    assert shares_of(project, "load", 21_650, 32_057) == [("grown", 10_016), ("more", 391)]
    assert shares_of(project, "load", 21_650, 32_100) == [
        ("grown", 10_016),
        ("more", 391),
        ("uncommitted changes", 43),
    ]
    assert shares_of(project, "operator/aten::relu", 0, 356) == [("grown", 1_597), ("more", -1_241)]
    assert shares_of(project, "operator/aten::erf", 0, 311) == [("more", 311)]
    assert shares_of(project, "symbol/sg::kernels::*", 0, 3_004) == [
        ("grown", 2_856),
        ("more", 148),
    ]


def test_a_measurement_is_kept_for_the_commit_that_is_checked_out(
    project: Project, tmp_path: Path
) -> None:
    recipe = project.subject().recipe
    assert recipe
    history = History(project.root, Store(tmp_path / "empty"))
    key = history.key(project.commits["more"], recipe)
    (project.root / "native/runtime/a.cpp").write_text("not committed")
    keep_as_head(history, project.subject())
    assert history.place.store.facts(key) is None
    (project.root / "native/runtime/a.cpp").write_text("2")
    keep_as_head(history, project.subject())
    facts = history.place.store.facts(key)
    assert facts
    assert facts["commit"] == project.commits["more"]
    assert facts["sizes"] == {"load": 32_057, "ram": 960, "file": 35_008, "page_slack": 32}


@pytest.mark.parametrize("place", ["extra/table.inc", "table.inc", "native/models/x.inc"])
def test_a_measurement_is_not_kept_if_its_key_lacks_a_file(
    place: str, project: Project, tmp_path: Path
) -> None:
    """The merge base differs only in this file, so it would have the same key, and no growth."""
    commit = project.commit("a table", {place: "larger"})
    subject = project.subject()
    read = subject.build.inputs
    assert read
    files = {**read.files, str(project.root / place): content_hash(project.root / place)}
    history = History(project.root, Store(tmp_path / "empty"))
    recipe = subject.recipe
    assert recipe
    for inputs, is_kept in ((replace(read, files=files), False), (read, True)):
        build = replace(subject.build, inputs=inputs)
        keep_as_head(history, replace(subject, build=build))
        facts = history.place.store.facts(history.key(commit, recipe))
        assert (facts is not None) == is_kept


def result_of(
    *checks: Check, base: str = "merge base", causes: tuple[Cause, ...] = ()
) -> AppResult:
    sizes = Sizes(32_057, 960, 35_008, 32)
    return AppResult(
        "mlp", "x86_64-linux", "gcc-12.2-bfd-2.40-Os", "fail", sizes, None, checks, (), (), (),
        None, base=base, causes=causes, folder="build/mlp",
    )  # fmt: skip


def failing(metric: str, kind: str, beyond: int) -> Check:
    return Check(
        f"mlp/x86_64-linux/{metric}/{kind}", "mlp", "x86_64-linux", metric, 1000, 1000 + beyond,
        -beyond, "fail", "0", "", kind, place="sizeguard.yaml:9:3",
    )  # fmt: skip


WAIVE = (
    "sizeguard waive {} --app mlp --target x86_64-linux --bytes {} --owner YOU --reason '…'"
    " --expires 2027-02-19"
)


def test_advice_on_growth_names_its_cause_and_what_to_do() -> None:
    grown = Cause("aten::erf", "Float", "erf_body<float>", 0, 311, "symbol", "added")
    shown = advised(
        result_of(failing("load", "growth", 391), causes=(grown,)),
        "1234567", "store/base.snapshot", "run_program", TODAY,
    )  # fmt: skip
    assert [(each.label, each.text) for each in shown.commands] == [
        ("reproduce", "sizeguard gate --app mlp --target x86_64-linux --base 1234567"),
        ("see why", "sizeguard why build/mlp/run_program 'erf_body<float>'"),
        ("compare", "sizeguard diff store/base.snapshot build/mlp"),
        ("accept it", WAIVE.format("load", 391)),
        ("make it normal", "sizeguard baseline update --app mlp --target x86_64-linux"),
    ]
    assert shown.checks[0].advice == f"shrink it, or accept it: {WAIVE.format('load', 391)}"


def test_no_advice_to_follow_a_link_that_why_cannot_follow() -> None:
    grown = Cause("(core)", "", "erf", 0, 311, "symbol", "added")
    result = result_of(failing("load", "growth", 391), causes=(grown,))
    shown = advised(result, "1234567", "", None, TODAY)
    assert "sizeguard report build/mlp --by section,symbol" in [
        each.text for each in shown.commands
    ]
    assert not any("sizeguard why" in each.text for each in shown.commands)


def test_advice_without_a_cause_or_a_snapshot() -> None:
    shown = advised(
        result_of(failing("ram", "absolute", 5), base="baseline"), "1234567", "", "x", TODAY
    )
    assert [each.text for each in shown.commands] == [
        "sizeguard gate --app mlp --target x86_64-linux --base 1234567",
        "sizeguard report build/mlp --by operator,symbol",
        WAIVE.format("ram", 5),
        "raise it at sizeguard.yaml:9:3",
    ]
    creep = advised(result_of(failing("load", "creep", 5)), "", "", "x", TODAY)
    assert creep.commands[0].text == "sizeguard gate --app mlp --target x86_64-linux"
    assert creep.commands[3].text == "count from a later release at sizeguard.yaml:9:3"


def test_limits_of_one_metric_share_a_waiver_that_covers_the_largest_excess() -> None:
    checks = [failing("load", "growth", 391), failing("load", "absolute", 1204)]
    shown = advised(result_of(*checks), "", "", "x", TODAY)
    accepted = [each.text for each in shown.commands if each.label == "accept it"]
    assert accepted == [WAIVE.format("load", 1204)]
    assert all(c.advice.endswith(WAIVE.format("load", 1204)) for c in shown.checks)


def _headline(*checks: Check) -> str:
    found = [
        GateFinding("r", "mlp", "t", "n", check.id, FAIL, message="m", check=check)
        for check in checks
    ]
    return headline(result_of(*checks), found, "mlp")


def test_the_headline_says_a_metrics_largest_excess_once() -> None:
    grown, capped = failing("load", "growth", 391), failing("load", "absolute", 1204)
    said = "mlp loads 32,057 bytes: 1,204 more than `load` allows"
    assert _headline(grown, capped) == _headline(capped, grown) == said
    assert _headline(capped, replace(capped, id="other")) == said  # as large
    assert _headline(grown, failing("file", "growth", 5), failing("load", "creep", 9)) == (
        "mlp loads 32,057 bytes: 391 more than `load` allows; 5 more than `file` allows, and"
        " 1 more finding"
    )


def test_advice_offers_the_three_worst_and_nothing_where_all_passes() -> None:
    checks = [failing(f"operator/x::{i}", "growth", i) for i in (3, 9, 1, 7)]
    shown = advised(result_of(*checks), "", "", "x", TODAY)
    accepted = [each.text for each in shown.commands if each.label == "accept it"]
    assert accepted == [WAIVE.format(f"operator/x::{i}", i) for i in (9, 7, 3)]
    passing = result_of(replace(checks[0], verdict="pass"))
    assert advised(passing, "", "", "x", TODAY) == passing
    elimination = result_of(replace(checks[0], kind="elimination"))
    assert advised(elimination, "", "", "x", TODAY) == elimination
