"""Test that a gate that passed is skipped only if nothing that affects its verdict has changed.

Documents do not affect it.
"""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from sizeguard.builds.build_inputs import BuildInputs, content_hash, glob_hash, placed
from sizeguard.claims.verdict import Verdict, Verification
from sizeguard.gate.cache.build_records import _key
from sizeguard.gate.cache.stored_result import facts_of, note_stored, result_of
from sizeguard.gate.cache.whole_run import (
    _pairs_with_tools,
    earlier_result,
    earlier_run,
    inputs_key,
    keep_result,
)
from sizeguard.gate.gate_result import Base, GateResult
from sizeguard.gate.policy.waivers import waivers_path
from sizeguard.gate.request import Request
from sizeguard.gate.run import all_waivers
from sizeguard.projects.reader import read_config
from sizeguard.snapshots.store import Store
from sizeguard.toolchains.environment import recorded_environment
from tests.support.histories.git_runs import git
from tests.support.results.gate_samples import passing

POLICY = """
apps:
  vision:
    selection: native/apps/vision/selected_operators.yaml
    models: [native/models/mlp/model.pt2]
limits:
  load: {growth: 1%}
"""
TODAY = datetime.date(2026, 11, 21)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    folder = tmp_path_factory.mktemp("skip") / "tree"
    shutil.copytree(root / "native", folder / "native", ignore=shutil.ignore_patterns("models"))
    shutil.copytree(root / "native" / "models" / "mlp", folder / "native" / "models" / "mlp")
    shutil.copytree(root / "baselines", folder / "baselines")
    (folder / "sizeguard.yaml").write_text(POLICY)
    (folder / "README.md").write_text("one")
    (folder / "docs").mkdir()
    (folder / "docs" / "page.md").write_text("one")
    (folder / "extra").mkdir()
    (folder / "extra" / "table.inc").write_text("one")
    (folder / ".gitignore").write_text(".sizeguard/\nstore/\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    git(folder, "commit", "-q", "--allow-empty", "-m", "its first parent reads the same")
    return folder


@pytest.fixture
def tree(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path / "tree", symlinks=True)
    return tmp_path / "tree"


def keep_reads(tree: Path, **more: tuple[str, ...]) -> None:
    """Keep a record of builds that read all sources and one header elsewhere."""
    request = Request(tree, read_config(tree), today=TODAY, **more)
    paths = [*(tree / "native").rglob("*.cpp"), *(tree / "native").rglob("*.h")]
    paths += [tree / "native/CMakeLists.txt", tree / "native/operators/operators.yaml"]
    paths += [tree / "native/apps/vision/selected_operators.yaml", tree / "extra/table.inc"]
    patterns = [f"{tree}/native/operators/kernels/*.cpp", f"{tree}/native/runtime/**/*.h"]
    inputs = BuildInputs(
        {str(path): content_hash(str(path)) for path in paths},
        {"/usr/bin/g++": "x"},
        (f"{tree}/vector", f"{tree}/native/runtime/selected"),
        {pattern: glob_hash(pattern) for pattern in patterns},
        recorded_environment(),
    )
    record = placed(inputs, str(tree), "$ROOT").to_json()
    key = _key(request, _pairs_with_tools(request))
    request.history.place.store.put(key, {"inputs": record})


def key_of(
    tree: Path, today: datetime.date = TODAY, base: str = "", **more: tuple[str, ...]
) -> str | None:
    keep_reads(tree, **more)
    request = Request(tree, read_config(tree), base=base, today=today, **more)
    found = request.history.base(base)
    return inputs_key(request, found, all_waivers(request, found)[0])


def appended(path: str) -> Callable[[Path], None]:
    def change(tree: Path) -> None:
        with (tree / path).open("ab") as file:
            file.write(b"\n# more\n")

    return change


def waive(expires: str) -> Callable[[Path], None]:
    text = f"- {{metric: load, bytes: 3, reason: x, owner: y, expires: {expires}}}\n"
    return lambda tree: waivers_path(tree).write_text(text) and None


CHANGES = {
    "source": appended("native/operators/kernels/convolution.cpp"),
    "generated from": appended("native/operators/operators.yaml"),
    "build": appended("native/CMakeLists.txt"),
    "selection": appended("native/apps/vision/selected_operators.yaml"),
    "policy": appended("sizeguard.yaml"),
    "model": appended("native/models/mlp/model.pt2"),
    "case": appended("native/models/mlp/case0_input0.npy"),
    "baseline": appended("baselines/vision.x86_64-linux.gcc-12.2-bfd-2.40-Os.yaml"),
    "waiver": waive("2027-01-31"),
    "no baseline": lambda tree: next((tree / "baselines").glob("vision*")).unlink(),
    "no source by its suffix": appended("extra/table.inc"),
    "a header before another": lambda tree: (tree / "vector").write_text("") and None,
    "a folder before another": (
        lambda tree: (tree / "native" / "runtime" / "selected").mkdir() and None
    ),
    "a header of a pattern": (
        lambda tree: (tree / "native" / "runtime" / "new.h").write_text("") and None
    ),
    "an assumption of git": lambda tree: (
        git(tree, "update-index", "--assume-unchanged", "native/runtime/context.cpp")
        + str(appended("native/runtime/context.cpp")(tree))
        and None
    ),
    "new source": (
        lambda tree: (tree / "native" / "operators" / "kernels" / "new.cpp").write_text("") and None
    ),
    "renamed source": (
        lambda tree: (
            (tree / "native" / "runtime" / "context.cpp").rename(
                tree / "native" / "runtime" / "texts.cpp"
            )
            and None
        )
    ),
}


@pytest.mark.native
@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_what_counts_is_another_key(tree: Path, what: str) -> None:
    before = key_of(tree)
    assert before
    assert key_of(tree) == before
    keep_reads(tree)
    CHANGES[what](tree)
    request = Request(tree, read_config(tree), today=TODAY)
    found = request.history.base()
    after = inputs_key(request, found, all_waivers(request, found)[0])
    assert after is None or after != before


@pytest.mark.native
def test_variables_and_days_count_where_they_matter(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = datetime.date(2027, 2, 1)
    assert key_of(tree) == key_of(tree, later)
    waive("2027-01-31")(tree)
    assert key_of(tree) != key_of(tree, later)
    before = key_of(tree)
    monkeypatch.setenv("CXXFLAGS", "-O0")
    assert key_of(tree) != before


@pytest.mark.native
def test_a_waiver_that_may_be_spent_counts_for_all_apps_or_some(tree: Path) -> None:
    """A run of one app passes with a waiver that nothing needs; a run of all apps fails."""
    assert key_of(tree) == key_of(tree, apps=("vision",))
    waive("2027-01-31")(tree)
    assert key_of(tree) != key_of(tree, apps=("vision",))


@pytest.mark.native
def test_trailers_count_even_if_they_are_expired_and_before_and_after_a_merge(tree: Path) -> None:
    before = key_of(tree)
    git(tree, "checkout", "-q", "-b", "change")
    text = "x\n\nSize-Waiver: load --bytes 3 --owner y --expires 2020-01-31 --reason x"
    git(tree, "commit", "-q", "--allow-empty", "-m", text)
    request = Request(tree, read_config(tree), today=TODAY)
    found = request.history.base()
    assert found is not None
    waivers, _ = all_waivers(request, found)
    keys = {inputs_key(request, replace(found, merged=each), waivers) for each in (False, True)}
    assert len(keys | {before}) == 3


@pytest.mark.native
def test_documents_and_their_commits_do_not_count(tree: Path) -> None:
    before = key_of(tree)
    (tree / "README.md").write_text("two")
    (tree / "native" / "README.md").write_text("two")
    (tree / "docs" / "page.md").write_text("two")
    (tree / "docs" / "other.md").write_text("two")
    assert key_of(tree) == before
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "two")
    assert key_of(tree) == before  # the base is another commit with the same inputs
    (tree / "vector").mkdir()  # builds look for names in the root
    (tree / "vector" / "page.md").write_text("two")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "three")
    assert key_of(tree) != before


@pytest.mark.native
def test_a_branch_without_inputs_passes_as_its_base_did_and_one_with_inputs_does_not(
    tree: Path,
) -> None:
    store = Store(tree / "store")

    def earlier() -> GateResult | None:
        request = Request(tree, read_config(tree), today=TODAY)
        request.history.place.store.folder = store.folder
        return earlier_run(request, request.history.base(), ())[1]

    shutil.rmtree(tree / ".sizeguard", ignore_errors=True)
    keep_reads(tree)
    shutil.copytree(tree / ".sizeguard" / "store", store.folder)
    request = Request(tree, read_config(tree), today=TODAY)
    request.history.place.store.folder = store.folder
    base = request.history.base()
    (one,) = passing().apps
    pairs = [(app.name, target.name) for app, target in request.pairs()]
    apps = tuple(replace(one, app=app, target=target) for app, target in pairs)
    keep_result(request, inputs_key(request, base, ()), GateResult("pass", apps))
    assert earlier()
    git(tree, "checkout", "-q", "-b", "work")
    (tree / "README.md").write_text("two")
    git(tree, "commit", "-q", "-a", "-m", "two")
    assert (found := earlier()) and found.skipped
    assert found.head == git(tree, "rev-parse", "work")
    CHANGES["source"](tree)
    assert earlier() is None


def test_only_what_passed_is_kept_and_damage_is_no_result(tree: Path) -> None:
    request = Request(tree, read_config(tree), today=TODAY)
    base = Base("", "")
    for verdict in ("fail", "inconclusive"):
        keep_result(request, f"{verdict:0<64}", GateResult(verdict, ()))
        assert earlier_result(request, f"{verdict:0<64}", base) is None
    store = request.history.place.store
    for i, value in enumerate(
        (
            None,
            {},
            {"verdict": "pass"},
            {"verdict": "fail", "apps": []},
            {"verdict": "pass", "apps": [{"app": 1}]},
        )
    ):
        store.put(f"{i:0>64}", {"gate": value, "apps": [], "claims": []})
        assert earlier_result(request, f"{i:0>64}", base) is None


def test_a_result_has_its_claims_by_the_entry_that_the_store_has(tmp_path: Path) -> None:
    """All claims together have more values than decode() takes."""
    store, (one,) = Store(tmp_path), passing().apps
    claim = Verdict("operator", "aten::add", "absent", "pass", "not_generated", 0, ("no entry",))
    claims = [Verification(f"app{i}", "a.yaml", (claim,) * 3000, (), "ok", ()) for i in range(9)]
    for number, each in enumerate(claims[1:]):
        store.put(f"{number:0>64}", asdict(each))
        note_stored(f"{number:0>64}", each)
    result = GateResult("pass", tuple(replace(one, verification=each) for each in claims))
    facts = json.loads(json.dumps(facts_of(result)))
    assert [app["verification"] for app in facts["apps"][1:]] == [None] * 8
    assert result_of(facts, store) == result
    store.put(f"{0:0>64}", {"subject": 1})
    assert result_of(facts, store) is None
    assert result_of({"gate": facts["gate"]}, store) is None
