"""Test that the CI file of `sizeguard init` is the pair's first workflow, or GitLab's template."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sizeguard.proposals.ci_files import GITHUB, GITLAB, ci_file
from tests.support.places import ROOT
from tests.support.services.documents import blocks_of, pages
from tests.support.services.workflow_steps import workflow
from tests.support.tricks.build_folders import project_of, put

PACKAGES = ("g++", "cmake")  # those of the examples
TEMPLATE = ROOT / "ci/gitlab/sizeguard.gitlab-ci.yml"
_USES = re.compile(r"\buses: (actions/[\w-]+)[\w/-]*@(.*)")


def written(root: Path, kind: str) -> Any:
    file = ci_file(root, kind, PACKAGES)
    assert file is not None
    return yaml.safe_load(file.text)


def example_at_the_head(file: Path) -> Any:
    """Parse the indented lines in the comment at the head of a file."""
    text = file.read_text(encoding="utf-8")
    return yaml.safe_load("\n".join(re.findall(r"^#     (.*)", text, re.M)))


@pytest.mark.parametrize(
    ("has", "path"),
    [
        (".github/x", ".github/workflows/size.yml"),
        (".gitlab-ci.yml", ".gitlab/sizeguard.gitlab-ci.yml"),
        ("README", ""),
    ],
)
def test_the_ci_file_is_that_of_the_repository(tmp_path: Path, has: str, path: str) -> None:
    root = project_of(tmp_path)
    put(root / has, "")
    file = ci_file(root, None, PACKAGES)
    assert (file.path if file else "") == path


def test_the_workflow_is_that_of_the_documentation(tmp_path: Path) -> None:
    content = written(tmp_path, GITHUB)
    [(name, job)] = content["jobs"].items()
    measure = workflow("measure.yml")
    # Everything that a job does, its pins and its cache are the reusable workflow's.
    assert job["uses"] == "sizeguard/sizeguard/.github/workflows/measure.yml@v1"
    assert job.keys() == {"uses", "permissions", "with"}
    assert job["permissions"] == measure["jobs"]["gate"]["permissions"]
    assert job["with"].keys() <= measure[True]["workflow_call"]["inputs"].keys()
    assert job["with"] == {"packages": "g++ cmake"}
    [block] = [
        block.text
        for block in blocks_of(ROOT / "docs/ci.md")
        if block.text.startswith("# .github/workflows/size.yml")
    ]
    assert yaml.safe_load(block.partition("# .github/workflows/size-comment.yml")[0]) == content
    header = example_at_the_head(ROOT / ".github/workflows/measure.yml")
    assert header[True] == content[True]
    assert {**header["jobs"][name], "with": job["with"]} == job
    own = workflow("size.yml")
    assert own["name"] == content["name"]  # which the workflow that comments waits for
    assert own[True]["pull_request"] == content[True]["pull_request"]
    assert own[True].keys() == content[True].keys()


def test_the_gitlab_file_includes_the_template(tmp_path: Path) -> None:
    content = written(tmp_path, GITLAB)
    jobs = yaml.safe_load(TEMPLATE.read_text())
    [included] = content["include"]
    assert included["remote"].endswith(f"/v1/{TEMPLATE.relative_to(ROOT)}")
    example = example_at_the_head(TEMPLATE)
    assert example["include"] == content["include"]
    assert content["size-gate"] == {"variables": example["variables"]}
    # GitLab lets a variable of a job win over one of the file, so the job must set none of them.
    for name, value in example["variables"].items():
        assert value == "g++ cmake"
        assert f"${name}" in "\n".join(jobs["size-gate"]["before_script"])
        assert name not in jobs["size-gate"]["variables"]


def test_actions_are_pinned_alike_everywhere() -> None:
    """Actions are pinned to a commit, with the version in a comment; in the documentation, too."""
    files = [*(ROOT / ".github").rglob("*.yml"), ROOT / "action.yml", *pages()]
    pins: dict[str, set[str]] = {}
    for file in files:
        for action, pin in _USES.findall(file.read_text(encoding="utf-8")):
            assert re.fullmatch(r"[0-9a-f]{40}  # v\d+\.\d+\.\d+", pin), f"{file}: {action}@{pin}"
            pins.setdefault(action, set()).add(pin)
    assert {action for action, found in pins.items() if len(found) > 1} == set()
    assert pins.keys() > {"actions/checkout", "actions/cache"}


def test_auditors_find_nothing_but_the_tag(tmp_path: Path) -> None:
    """The commit of a release is not known when the release is made."""
    root = project_of(tmp_path)
    for kind, schema in ((GITHUB, "github-workflows"), (GITLAB, "gitlab-ci")):
        file = ci_file(root, kind, PACKAGES)
        assert file is not None
        put(root / file.path, file.text)
        schema_check = ["--quiet", "--builtin-schema", f"vendor.{schema}", root / file.path]
        subprocess.run([tool("check-jsonschema"), *schema_check], check=True)
    audit = [tool("zizmor"), "--offline", "--quiet", "--persona", "auditor", "--format", "plain"]
    done = subprocess.run([*audit, root / ".github"], capture_output=True, text=True, check=False)
    assert re.findall(r"^(?:error|warning|info|help)\[(.*?)\]", done.stdout, re.M) == [
        "unpinned-uses"
    ]


def tool(name: str) -> Path:
    return Path(sys.executable).parent / name
