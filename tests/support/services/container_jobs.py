"""Jobs of GitHub workflows in a container: steps from the YAML itself, `uses:` included.

What `uses:` names is done as its documentation says: checkouts by git from a bare repository of the
container, a cache whose entries belong to a branch, artifacts without hidden files. An action of
this repository has its own checkout, and its steps run.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.soak.suites.clean_container import Container
from tests.support.services.local_hub import TOKEN
from tests.support.services.workflow_expressions import Context

HOME = "/root"  # of the container's user
REMOTES, WORK, ACTIONS, TEMP = "/srv/remotes", "/srv/work", "/srv/actions", "/srv/temp"
OWN = "sizeguard/sizeguard"
_HOME_CACHE = f"{HOME}/.cache/sizeguard"
CACHE = f"{_HOME_CACHE}/store"
Steps = Sequence[Mapping[str, Any]]
CHECKOUT = """
set -eu
git config --global --unset-all safe.directory || :
rm -rf "$WORKSPACE"; mkdir -p "$WORKSPACE"; cd "$WORKSPACE"
git init -q -b none; git remote add origin "$REMOTE"
if [ "$DEPTH" = 0 ]; then
  git -c protocol.file.allow=always fetch -q --prune origin '+refs/heads/*:refs/remotes/origin/*' \
    '+refs/tags/*:refs/tags/*' "+$REF:refs/remotes/at/it"
else
  git fetch -q --no-tags --prune --depth="$DEPTH" origin "+$REF:refs/remotes/at/it"
fi
git checkout -q --detach refs/remotes/at/it
chown -R 1001:1001 "$WORKSPACE"
"""


@dataclass(frozen=True)
class Event:
    """The event of a run.

    head, merge: the pushed commit of a pull request, and GitHub's merge of it, which is measured
    """

    name: str
    ref: str
    sha: str
    base_ref: str = ""
    head: str = ""
    content: Mapping[str, Any] = field(default_factory=dict)
    default: str = "main"

    @property
    def values(self) -> dict[str, str]:
        """What expressions see of it."""
        number = self.content.get("number", "")
        return {
            "github.event_name": self.name,
            "github.ref": self.ref,
            "github.sha": self.sha,
            "github.base_ref": self.base_ref,
            "github.event.repository.default_branch": self.default,
            "github.event.pull_request.number": str(number),
            "github.run_attempt": "1",
        }


@dataclass
class Ended:
    """What a job left.

    code:     exit code of the first failing step
    outputs:  outputs of all steps, by steps.ID.outputs.NAME
    archive:  the artifact
    used:     what `uses:` did, in order
    """

    code: int = 0
    outputs: dict[str, str] = field(default_factory=dict)
    archive: bytes | None = None
    used: list[str] = field(default_factory=list)
    log: str = ""

    @property
    def files(self) -> dict[str, bytes]:
        """The files of the artifact."""
        if self.archive is None:
            return {}
        with zipfile.ZipFile(io.BytesIO(self.archive)) as packed:
            return {each: packed.read(each) for each in packed.namelist()}


@dataclass
class Jobs:
    """A machine that runs jobs, in a container.

    caches: key → the branch that saved it and the packed folder
    kill:   id of a step → the seconds after which it is killed
    asked:  inputs of the action that stand instead of the workflow's, to gate less
    """

    container: Container
    caches: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    runs: int = 0
    kill: dict[str, int] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)

    def place(self, path: str) -> Path:
        """Return the place of a path of the container on this machine."""
        return self.container.root / path.lstrip("/")

    def add_remote(self, repository: str, source: Path) -> None:
        """Copy a repository with all its refs, so that jobs can check it out."""
        bare = self.place(f"{REMOTES}/{repository}.git")
        shutil.rmtree(bare, ignore_errors=True)
        bare.parent.mkdir(parents=True, exist_ok=True)
        mirror = ["git", "clone", "--quiet", "--mirror", "--no-local", source, bare]
        subprocess.run(mirror, check=True)
        allow = ["git", "-C", bare, "config", "uploadpack.allowAnySHA1InWant", "true"]
        subprocess.run(allow, check=True)

    def add_action(self, name: str) -> None:
        """Check out an action's repository, as the runner does before a job's first step."""
        place = self.place(f"{ACTIONS}/{name}")
        shutil.rmtree(place, ignore_errors=True)
        bare = self.place(f"{REMOTES}/{name}.git")
        subprocess.run(["git", "clone", "--quiet", "--no-local", bare, place], check=True)

    def run(
        self,
        repository: str,
        steps: Steps,
        event: Event,
        inputs: Mapping[str, str] | None = None,
        more: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run the steps of a job; more: variables, those of the API."""
        self.runs += 1
        shutil.rmtree(self.place(_HOME_CACHE), ignore_errors=True)
        values = {**event.values, "github.run_id": str(self.runs),
                  "github.token": TOKEN, "github.event.workflow_run.id": "42",
                  **{f"inputs.{name}": text for name, text in (inputs or {}).items()}}  # fmt: skip
        job = _Job(self, repository, event, values, dict(more or {}))
        job.steps(steps)
        return job.ended


@dataclass
class _Job:
    jobs: Jobs
    repository: str
    event: Event
    values: dict[str, str]
    more: dict[str, str]
    action: str = ""
    is_failed: bool = False
    ended: Ended = field(default_factory=Ended)

    @property
    def workspace(self) -> str:
        return f"{WORK}/{self.repository.rpartition('/')[2]}"

    def steps(self, steps: Steps) -> None:
        for step in steps:
            context = Context({**self.values, **self.ended.outputs}, self.is_failed)
            if not context.holds(str(step.get("if", ""))):
                continue
            given = {name: context.text(text) for name, text in step.get("with", {}).items()}
            try:
                if "uses" in step:
                    code = self.use(step["uses"].partition("@")[0], given)
                else:
                    code = self.bash(step, context)
            except subprocess.CalledProcessError as error:
                code = error.returncode
            if code:
                self.is_failed = True
                self.ended.code = self.ended.code or code

    def use(self, name: str, given: Mapping[str, str]) -> int:
        if name in ("./", OWN):
            outer, action = self.values, self.action
            self.action = self.workspace if name == "./" else f"{ACTIONS}/{OWN}"
            content = yaml.safe_load((self.jobs.place(self.action) / "action.yml").read_text())
            known = {key: str(each["default"]) for key, each in content["inputs"].items()}
            inputs = {f"inputs.{key}": text for key, text in {**known, **given}.items()}
            self.values = {**outer, **inputs, **self.jobs.asked}
            self.steps(content["runs"]["steps"])
            self.values, self.action = outer, action
            return 0  # its failed steps counted
        does = {
            "actions/checkout": self.checkout,
            "actions/cache/restore": self.restore,
            "actions/cache/save": self.save,
            "actions/upload-artifact": self.upload,
        }
        self.ended.used.append(name)
        return does[name](given)

    def checkout(self, given: Mapping[str, str]) -> int:
        repository = given.get("repository", self.repository)
        ref = given.get("ref", "") or self.event.sha
        done = self.jobs.container.inside(
            f"checkout {repository} {ref[:12]} depth {given.get('fetch-depth', '1')}",
            CHECKOUT,
            {
                "WORKSPACE": self.workspace,
                "REMOTE": f"file://{REMOTES}/{repository}.git",
                "DEPTH": given.get("fetch-depth", "1"),
                "REF": ref,
            },
        )
        return done.code

    def restore(self, given: Mapping[str, str]) -> int:
        begins = [given["key"], *given.get("restore-keys", "").split()]
        branches = (self.event.default, self.event.base_ref)
        mine = {self.event.ref, *(f"refs/heads/{name}" for name in branches)}
        for begin in begins:
            for key in reversed(self.jobs.caches):
                branch, packed = self.jobs.caches[key]
                if key.startswith(begin) and branch in mine:
                    into = self.jobs.place(CACHE)
                    into.mkdir(parents=True, exist_ok=True)
                    subprocess.run(["tar", "-xf", "-", "-C", into], input=packed, check=True)
                    self.ended.used.append(f"restored {key}")
                    return 0
        return 0

    def save(self, given: Mapping[str, str]) -> int:
        folder = self.jobs.place(CACHE)
        if folder.is_dir() and given["key"] not in self.jobs.caches:
            tar = ["tar", "-cf", "-", "-C", folder, "."]
            packed = subprocess.run(tar, capture_output=True, check=True).stdout
            self.jobs.caches[given["key"]] = (self.event.ref, packed)
            self.ended.used.append(f"saved {given['key']}")
        return 0

    def upload(self, given: Mapping[str, str]) -> int:
        path = given["path"]
        folder = self.jobs.place(path if path[0] == "/" else f"{self.workspace}/{path}")
        files = [
            path for path in folder.rglob("*")
            if path.is_file() and not any(part[0] == "." for part in path.relative_to(folder).parts)
        ]  # fmt: skip
        if not files:
            return 1 if given.get("if-no-files-found") == "error" else 0
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files:
                archive.write(path, path.relative_to(folder))
        if given["name"].startswith("sizeguard-results"):
            self.ended.archive = content.getvalue()
        else:
            self.ended.used.append(f"uploaded {given['name']}: {len(files)}")
        return 0

    def bash(self, step: Mapping[str, Any], context: Context) -> int:
        script, output = self.jobs.place(f"{TEMP}/step.sh"), self.jobs.place(f"{TEMP}/output")
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(context.text(step["run"]))
        output.write_text("")
        event = {"repository": {"default_branch": self.event.default}, **self.event.content}
        self.jobs.place(f"{TEMP}/event.json").write_text(json.dumps(event))
        variables = {
            "CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": self.repository,
            "GITHUB_EVENT_NAME": self.event.name, "GITHUB_EVENT_PATH": f"{TEMP}/event.json",
            "GITHUB_REF": self.event.ref, "GITHUB_SHA": self.event.sha,
            "GITHUB_BASE_REF": self.event.base_ref, "GITHUB_WORKSPACE": self.workspace,
            "GITHUB_OUTPUT": f"{TEMP}/output", "GITHUB_STEP_SUMMARY": f"{TEMP}/summary.md",
            "GITHUB_ACTION_PATH": self.action, "RUNNER_TEMP": TEMP, **self.more,
            **{name: context.text(text) for name, text in step.get("env", {}).items()},
        }  # fmt: skip
        seconds = self.jobs.kill.get(str(step.get("id")), 0)
        limit = f"timeout -s KILL {seconds} " if seconds else ""
        bash = f"{limit}bash --noprofile --norc -eo pipefail {TEMP}/step.sh"
        command = f"cd {self.workspace} && {bash}"
        done = self.jobs.container.inside(str(step.get("name", "step")), command, variables)
        self.ended.log += done.log.read_text(errors="replace")
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            self.ended.outputs[f"steps.{step.get('id')}.outputs.{name}"] = value
        return done.code
