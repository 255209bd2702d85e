"""A gate that passed is skipped only if nothing that its verdict depends on has changed.

Documents are not among that.
"""

from __future__ import annotations

import datetime
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sizeguard.gate.cache.whole_run import earlier_result, earlier_run, inputs_key, keep_result
from sizeguard.gate.gate_result import Base, GateResult
from sizeguard.gate.policy.waivers import waivers_path
from sizeguard.gate.request import Request
from sizeguard.gate.run import all_waivers
from sizeguard.projects.reader import read_config
from sizeguard.snapshots.store import Store

POLICY = """
apps:
  vision:
    selection: native/apps/vision/selected_operators.yaml
    models: [native/models/mlp/model.pt2]
limits:
  load: {growth: 1%}
"""
TODAY = datetime.date(2026, 11, 21)


def git(folder: Path, *arguments: str) -> str:
    identity = [
        "-c",
        "user.name=Ann",
        "-c",
        "user.email=ann@example.org",
        "-c",
        "commit.gpgsign=false",
    ]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    folder = tmp_path_factory.mktemp("skip") / "tree"
    shutil.copytree(root / "native", folder / "native", ignore=shutil.ignore_patterns("models"))
    shutil.copytree(root / "native" / "models" / "mlp", folder / "native" / "models" / "mlp")
    shutil.copytree(root / "baselines", folder / "baselines")
    (folder / "sizeguard.yaml").write_text(POLICY)
    (folder / "README.md").write_text("one")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    return folder


@pytest.fixture
def tree(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path / "tree", symlinks=True)
    return tmp_path / "tree"


def key_of(
    tree: Path, today: datetime.date = TODAY, base: str = "", **more: tuple[str, ...]
) -> str | None:
    request = Request(tree, read_config(tree), base=base, today=today, **more)
    found = request.history.base(base)
    return inputs_key(request, found, all_waivers(request, found))


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
    CHANGES[what](tree)
    assert key_of(tree) != before


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
def test_documents_and_their_commits_do_not_count(tree: Path) -> None:
    before = key_of(tree)
    (tree / "README.md").write_text("two")
    (tree / "native" / "README.md").write_text("two")
    (tree / "docs").mkdir()
    (tree / "docs" / "page.md").write_text("two")
    assert key_of(tree) == before
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "two")
    assert key_of(tree) == before  # the base has moved, and reads the same


@pytest.mark.native
def test_a_branch_without_inputs_passes_as_its_base_did_and_one_with_inputs_does_not(
    tree: Path,
) -> None:
    store = Store(tree / "store")

    def earlier() -> GateResult | None:
        request = Request(tree, read_config(tree), today=TODAY)
        request.history.place.store.folder = store.folder
        return earlier_run(request, request.history.base(), ())[1]

    request = Request(tree, read_config(tree), today=TODAY)
    request.history.place.store.folder = store.folder
    base = request.history.base()
    keep_result(request, inputs_key(request, base, ()), GateResult("pass", ()))
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
        store.put(f"{i:0>64}", {"gate": value})
        assert earlier_result(request, f"{i:0>64}", base) is None
