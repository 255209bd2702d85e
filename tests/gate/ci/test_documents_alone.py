"""Test that a pull request of only documents is recognized before the installation."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ci.action.documents import are_documents
from ci.github.size_comment import main
from sizeguard.claims.verdict import PASS
from sizeguard.gate.gate_result import Base, GateResult
from sizeguard.gate.reference.ci_event import VARIABLES
from sizeguard.report.gate.render import gate_text
from tests.support.places import ROOT
from tests.support.services.local_hub import BASE, MERGE, LocalHub, served, zipped
from tests.support.services.workflow_steps import ACTION, Runner
from tests.support.tricks.any_project import AnyProject, made_project

pytestmark = pytest.mark.native

PATTERNS = "*.md docs/**"
# files that a change writes → whether it is recognized as a change of documents
CHANGES: dict[str, tuple[dict[str, str], bool]] = {
    "a page": ({"README.md": "x"}, True),
    "pages below": ({"docs/a/b.md": "x", "docs/c.txt": "x", "src/a.md": "x"}, True),
    "a source, too": ({"README.md": "x", "src/main.cpp": "int x;"}, False),
    "a source in another folder": ({"my/docs/a.cpp": "x"}, False),
    "policy": ({"sizeguard.yaml": "apps: {}", "README.md": "x"}, False),
    "a name like a page": ({"a.md.cpp": "x"}, False),
    "a waiver called a page": ({"baselines/a.md": "x"}, False),
}


def acting(project: AnyProject, home: Path, **more: str) -> Runner:
    """Run the steps that precede the installation, with a Python without packages."""
    given = {name: str(entry["default"]) for name, entry in ACTION["inputs"].items()}
    given |= {"documents": PATTERNS, "store": "false"}
    runner = Runner(home, {f"inputs.{name}": value for name, value in given.items()})
    plain = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    steps = [step for step in ACTION["runs"]["steps"] if step.get("id") in ("check", "documents")]
    runner.failed = bool(runner.run(steps, {
        **plain, "PATH": f"{sys.base_prefix}/bin:{os.environ['PATH']}", "HOME": str(home),
        "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_WORKSPACE": str(project.root),
        "GITHUB_EVENT_NAME": "pull_request", "GITHUB_BASE_REF": "main", **more,
    }))  # fmt: skip
    return runner


@pytest.mark.parametrize("case", CHANGES)
def test_documents_alone_are_known(case: str, tmp_path: Path) -> None:
    files, is_known = CHANGES[case]
    project = made_project(tmp_path / "work")
    project.git("update-ref", "refs/remotes/origin/main", "main")
    project.git("checkout", "--quiet", "-b", "change")
    project.write(files)
    head = project.commit("Change")
    runner = acting(project, tmp_path)
    assert not runner.failed, runner.log
    assert (runner.expressions.get("steps.documents.outputs.only") == "true") == is_known
    result = project.root / "sizeguard-results" / "gate.json"
    assert result.exists() == is_known
    if is_known:
        kept = json.loads(result.read_text())
        assert (kept["verdict"], kept["head"], kept["exit_code"]) == ("pass", head, 0)
        assert project.git("status", "--porcelain") == ""


@pytest.mark.parametrize("rules", ["docs/rules.txt", "link"])
def test_rules_are_no_document(rules: str, tmp_path: Path) -> None:
    """They decide what a limit of a component counts, also behind a link."""
    project = made_project(tmp_path / "work")
    config = (project.root / "sizeguard.yaml").read_text()
    project.write({"sizeguard.yaml": f"rules: {rules}\n{config}", "docs/rules.txt": "[]\n"})
    (project.root / "link").symlink_to("docs/rules.txt")
    project.commit("Rules")
    project.git("update-ref", "refs/remotes/origin/main", "main")
    project.git("checkout", "--quiet", "-b", "change")
    project.write({"docs/rules.txt": "[{object: '*', component: all}]\n"})
    project.commit("Change")
    runner = acting(project, tmp_path)
    assert not runner.failed, runner.log
    assert "steps.documents.outputs.only" not in runner.expressions


MODEL = "apps: {a: {models: [docs/m/model.pt2], inputs: ['docs/**']}}\n"


# the configuration, and a file beside its model or elsewhere
@pytest.mark.parametrize(
    ("config", "file", "is_known"),
    [
        (MODEL, "docs/m/input.txt", False),
        (MODEL, "docs/input.txt", True),
        (MODEL.replace("/m/", "/./m//./"), "docs/m/input.txt", False),
        (MODEL.replace("docs/m", "link"), "docs/m/input.txt", False),
        (MODEL.replace("docs/m", "link"), "docs/m/a/input.txt", False),
        (MODEL.replace("docs/m", "link"), "docs/input.txt", True),
        (MODEL.encode("utf-16"), "docs/m/input.txt", False),
        ('rules: "docs/my\\ rules.txt"\n', "docs/my rules.txt", False),
        ("rules: docs/my\n  rules.txt\n", "docs/my rules.txt", False),
    ],
)
def test_inputs_beside_a_named_model_are_no_documents(
    tmp_path: Path, config: str | bytes, file: str, *, is_known: bool
) -> None:
    project = made_project(tmp_path / "work")
    text = config if isinstance(config, bytes) else config.encode()
    (project.root / "sizeguard.yaml").write_bytes(text)
    (project.root / "link").symlink_to("docs/m")
    project.commit("A model")
    project.git("update-ref", "refs/remotes/origin/main", "main")
    project.git("checkout", "--quiet", "-b", "change")
    project.write({file: "x"})
    project.commit("Change")
    runner = acting(project, tmp_path)
    assert not runner.failed, runner.log
    assert ("steps.documents.outputs.only" in runner.expressions) is is_known


def test_a_submodule_that_git_ignores_is_no_document(tmp_path: Path) -> None:
    part = made_project(tmp_path / "part", "", {"lib.cpp": "int x;"})
    project = made_project(tmp_path / "work")
    allow = ("-c", "protocol.file.allow=always")
    project.git(*allow, "submodule", "--quiet", "add", str(part.root), "lib")
    project.git("config", "--file", ".gitmodules", "submodule.lib.ignore", "all")
    project.commit("Add lib")
    project.git("update-ref", "refs/remotes/origin/main", "main")
    project.git("checkout", "--quiet", "-b", "change")
    part.write({"lib.cpp": "int y[100];"})
    entry = f"160000,{part.commit('Grow')},lib"
    project.git("update-index", "--cacheinfo", entry)
    project.write({"README.md": "x"})
    project.git("add", "README.md")
    project.git("commit", "--quiet", "-m", "Change")
    runner = acting(project, tmp_path)
    assert not runner.failed, runner.log
    assert "steps.documents.outputs.only" not in runner.expressions


def test_what_cannot_be_told_is_measured(tmp_path: Path) -> None:
    project = made_project(tmp_path / "work")
    project.git("update-ref", "refs/remotes/origin/main", "main")
    for more in (
        {"GITHUB_EVENT_NAME": "push", "GITHUB_BASE_REF": ""},
        {"GITHUB_BASE_REF": "gone"},
        {},  # nothing changed
    ):
        runner = acting(project, tmp_path, **more)
        assert not runner.failed, runner.log
        assert "steps.documents.outputs.only" not in runner.expressions
    (project.root / "link.md").symlink_to("README.md")
    project.commit("A link")
    assert "steps.documents.outputs.only" not in acting(project, tmp_path).expressions


def test_patterns_of_everything_are_no_policy() -> None:
    assert are_documents(["a.cpp"], ["*"])
    assert not are_documents(["baselines/x.yaml"], ["*"])
    assert not are_documents(["sizeguard.yaml"], ["*"])
    assert not are_documents(["libs/x/sizeguard.yaml"], ["*"])
    assert not are_documents(["libs/x/baselines/x.yaml"], ["*"])
    assert not are_documents([], ["*"])
    assert not are_documents(["a.md"], [])
    assert not are_documents(["a.md", ""], ["*"])


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with served(LocalHub()) as found:
        skipped = GateResult(
            PASS, (), base=Base(BASE, "origin/main"), head=MERGE, skipped="documents"
        )
        found.archive = zipped({"gate.json": gate_text(skipped, "json"), "pull-request": "7\n"})
        yield found


def test_github_says_what_changed(hub: LocalHub) -> None:
    hub.files = ["README.md", "docs/page.txt"]
    assert main(hub.environment(DOCUMENTS=PATTERNS)) == 0
    assert hub.statuses[-1]["state"] == "success"
    for files, patterns in (
        (["README.md", "src/main.cpp"], PATTERNS),
        (["README.md"], ""),
        ([], PATTERNS),
        (["sizeguard.yaml"], "*"),
    ):
        hub.files = files
        assert main(hub.environment(DOCUMENTS=patterns)) == 0
        assert hub.statuses[-1]["state"] == "error", files
        assert "✅" not in hub.comments[-1]["body"]
