"""Run the workflows' steps in clean containers of Debian 12 and 13, on another project and on ours.

    python3 -m tests.soak.suites.workflow_containers [--folder FOLDER] [--base FOLDER]
        [--suite SUITE]... [--project foreign|ours]... [--apps NAME]

As root. The steps come from .github/workflows and action.yml themselves, those of the other project
from measure.yml and comment.yml: see container_jobs. Baselines are of Debian 12's
gcc 12; Debian 13 has gcc 14, so there the base is measured. Each pull request passes, fails, is
inconclusive, or has no result; then the commenting workflow's steps tell GitHub, which is a server
on this machine.

The first job of a container installs, later ones find what it installed. --apps: gate
these apps of our project; all if empty, which takes four minutes and more a build.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.soak.suites.clean_container import SUITE, Container, read_host
from tests.support.histories.git_runs import git
from tests.support.places import ROOT
from tests.support.script import Tally, options_of
from tests.support.services.container_jobs import ACTIONS, OWN, TEMP, WORK, Ended, Event, Jobs
from tests.support.services.local_hub import FORK, TOKEN, LocalHub, served
from tests.support.tricks.any_project import CONFIG, SOURCES

SUITES = (SUITE, "trixie")
FOREIGN = "org/runtime"  # the local hub's
# Kept by the linker's garbage collection, too
GROWN = "\n[[gnu::used, gnu::retain]] static const char soak_table[{}] = {{1}};\n"


def steps_of(name: str) -> list[dict[str, Any]]:
    """Read the steps of a workflow's only job."""
    content = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text())
    (job,) = content["jobs"].values()
    steps: list[dict[str, Any]] = job["steps"]
    return steps


@dataclass
class Change:
    """A pull request: its edits, and the expected results.

    code:    exit code of the measuring job
    comment: text in the comment's first lines
    base:    the target branch
    kill:    seconds until the gate is killed, as for a cancelled run; 0 for never
    """

    name: str
    edits: Mapping[str, str]
    code: int
    comment: str
    state: str
    base: str = "main"
    kill: int = 0


@dataclass
class Repository:
    """A working copy whose branches become a remote."""

    folder: Path
    number: int = 6
    refs: dict[str, str] = field(default_factory=dict)

    def git(self, *arguments: str) -> str:
        """Run git in it."""
        return git(self.folder, *arguments)

    def commit(self, edits: Mapping[str, str], subject: str) -> str:
        """Write files, remove those without content, and commit."""
        for name, text in edits.items():
            path = self.folder / name
            if text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            else:
                self.git("rm", "-rq", name)
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def pull(self, change: Change) -> Event:
        """Make a pull request's branch, and GitHub's merge of it."""
        self.number += 1
        self.git("checkout", "--quiet", "-B", "change", change.base)
        head = self.commit(change.edits, change.name)
        base = self.git("rev-parse", change.base)
        merge = self.git(
            "commit-tree", f"{head}^{{tree}}", "-p", base, "-p", head, "-m", f"Merge {head[:7]}"
        )
        ref = f"refs/pull/{self.number}/merge"
        self.git("update-ref", ref, merge)
        self.git("checkout", "--quiet", "main")
        pull = {"number": self.number, "base": {"sha": base, "ref": change.base}}
        content = {"number": self.number, "pull_request": {**pull, "head": {"sha": head}}}
        return Event("pull_request", ref, merge, change.base, head, content)

    def push(self) -> Event:
        """Name the last commit of main as pushed."""
        commit, before = self.git("rev-parse", "main"), self.git("rev-parse", "main~1")
        return Event("push", "refs/heads/main", commit, content={"before": before, "after": commit})


@dataclass
class Trial:
    """One project on one system."""

    jobs: Jobs
    repository: Repository
    name: str
    measuring: str
    commenting: str
    inputs: Mapping[str, str]
    tally: Tally

    def measure(self, event: Event, kill: int = 0) -> Ended:
        """Run the measuring workflow."""
        self.jobs.add_remote(self.name, self.repository.folder)
        self.jobs.kill = {"gate": kill} if kill else {}
        return self.jobs.run(self.name, steps_of(self.measuring), event, self.inputs)

    def push(self) -> Ended:
        """Measure main after a push; only such a run may save the store."""
        ended = self.measure(self.repository.push())
        saved = [each for each in ended.used if each.startswith("saved ")]
        self.check("push", ended.code == 0 and len(saved) == 1, ended)
        return ended

    def change(self, change: Change) -> None:
        """Measure a pull request, then comment on it."""
        event = self.repository.pull(change)
        ended = self.measure(event, change.kill)
        restored = any(each.startswith("restored ") for each in ended.used)
        saved = any(each.startswith("saved ") for each in ended.used)
        number = ended.files.get("pull-request", b"").decode().strip()
        kept = json.loads(ended.files.get("gate.json", b"{}"))
        ok = ended.code == change.code and restored and not saved
        code = 3 if change.kill else change.code
        ok = ok and number == str(self.repository.number) and kept["exit_code"] == code
        self.check(f"{change.name}: measured", ok, ended)
        end = "cancelled" if change.kill else "failure" if ended.code else "success"
        body, state, code = self.comment(event, ended, end)
        first = body.partition("\n")[2][:600]
        ok = code == 0 and change.comment in first and state == change.state
        print(f"  status {state}; {first.splitlines()[:1]}", flush=True)
        self.check(f"{change.name}: commented", ok, ended)

    def comment(self, event: Event, ended: Ended, end: str) -> tuple[str, str, int]:
        """Run the commenting workflow; its comment, the status and the exit code."""
        number = self.repository.number
        head = {"sha": event.head, "repo": {"full_name": FORK}, "label": "ana:tiles"}
        hub = LocalHub(
            archive=ended.archive,
            run={"head_sha": event.head, "conclusion": end},
            pulls=[{"number": number, "state": "open", "head": head}],
            parents={event.sha: [self.repository.git("rev-parse", f"{event.sha}^"), event.head]},
        )
        main = self.repository.git("rev-parse", "main")
        started = Event("workflow_run", "refs/heads/main", main)
        with served(hub):
            more = {**hub.environment(), "GITHUB_TOKEN": TOKEN}
            steps = steps_of(self.commenting)
            job = self.jobs.run(self.name, steps, started, more=more)
        body = hub.comments[0]["body"] if hub.comments else ""
        state = hub.statuses[0]["state"] if hub.statuses else ""
        return body, state, job.code

    def check(self, what: str, ok: bool, ended: Ended) -> None:
        """Count a case; print the end of its log if it is not as expected."""
        about = f"{self.jobs.container.suite}, {self.name}, {what}: exit {ended.code}"
        print(f"{'ok  ' if ok else 'FAIL'}  {about}, {ended.used}", flush=True)
        self.tally.check(ok, about if ok else f"{about}\n{ended.log[-2000:]}")


def foreign(folder: Path) -> Repository:
    """Make another project, with a release branch whose last commit does not build."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found = Repository(folder)
    found.git("init", "--quiet", "--initial-branch=main")
    found.commit({**SOURCES, "sizeguard.yaml": CONFIG}, "Begin")
    found.commit({"README.md": "Words, counted.\n"}, "Describe it")
    return found


def broken(repository: Repository, edits: Mapping[str, str]) -> None:
    """Add the branch release/broken: it has no baselines, and does not build."""
    repository.git("checkout", "--quiet", "-B", "release/broken", "main")
    repository.commit(edits, "Break it")
    repository.git("checkout", "--quiet", "main")


def changes(source: str, text: str) -> list[Change]:
    """List the pull requests: pass, fail, inconclusive, no result.

    source, text: a file that is built, and its content
    """
    small, large = (text + GROWN.format(size) for size in (40, 90_000))
    return [
        Change("small", {source: small}, 0, "### ✅ Size gate: pass", "success"),
        Change("large", {source: large}, 1, "### ❌ Size gate: fail", "failure"),
        Change("mended", {source: text}, 3, "### ⚠️ Size gate: inconclusive", "error",
               "release/broken"),
        Change("no result", {"sizeguard.yaml": "limits: {load: much}\n"}, 2,
               "not measured at", "failure"),
        Change("cancelled", {source: small + "\n"}, 137, "not measured at", "error", kill=2),
    ]  # fmt: skip


def trial_of(jobs: Jobs, project: str, repository: Repository, apps: str, tally: Tally) -> Trial:
    """Choose the workflows of a project."""
    if project == "ours":
        few = {"inputs.apps": apps, "inputs.targets": "x86_64-linux"}
        jobs.asked = few if apps else {}
        return Trial(jobs, repository, OWN, "size.yml", "size-comment.yml", {}, tally)
    inputs = {"apps": "", "targets": "", "packages": "g++ cmake make"}
    return Trial(jobs, repository, FOREIGN, "measure.yml", "comment.yml", inputs, tally)


def ours(folder: Path) -> Repository:
    """Clone HEAD of this repository as main."""
    shutil.rmtree(folder, ignore_errors=True)
    clone = ["git", "clone", "--quiet", "--no-local", ROOT, folder]
    subprocess.run(clone, check=True)
    found = Repository(folder)
    found.git("checkout", "--quiet", "-B", "main")
    found.git("tag", "--force", "v1")  # what other projects use
    return found


def run_foreign(trial: Trial, baselines: dict[str, str]) -> None:
    """Gate the other project; the first system leaves the baselines."""
    text = SOURCES["src/main.cpp"]
    if not baselines:
        trial.push()
        baselines |= made_baselines(trial)
    trial.repository.commit(baselines, "Baselines")
    trial.push()
    broken(trial.repository, {**dict.fromkeys(baselines, ""), "src/main.cpp": "#error\n"})
    for change in changes("src/main.cpp", text):
        trial.change(change)


def run_ours(trial: Trial) -> None:
    """Gate our own project, whose baselines are reviewed."""
    source = "native/runtime/context.cpp"
    text = (trial.repository.folder / source).read_text()
    # As on GitHub's machines: what is installed later is part of another key of the store
    setup = f"{ACTIONS}/{OWN}/.ci/setup tools x86_64-linux"
    trial.jobs.container.inside("tools of the image", setup)
    trial.push()
    files = trial.repository.git("ls-files", "baselines/*.x86_64-linux.*").split()
    broken(trial.repository, {**dict.fromkeys(files, ""), source: f"{text}#error\n"})
    for change in changes(source, text):
        trial.change(change)


def made_baselines(trial: Trial) -> dict[str, str]:
    """Commit baselines of what the last job built, as a maintainer of the project does."""
    work = f"{WORK}/{FOREIGN.rpartition('/')[2]}"
    command = f"cd {work} && {TEMP}/sizeguard/bin/sizeguard baseline update"
    trial.jobs.container.inside("baseline update", command)
    root = trial.jobs.place(work)
    return {str(path.relative_to(root)): path.read_text() for path in root.glob("baselines/*.yaml")}


def main() -> int:
    """Make a container of each system, and run the trials."""
    parser = options_of(__doc__)
    parser.add_argument("--folder", type=Path, help="folder for containers and logs")
    parser.add_argument(
        "--base", type=Path, help="folder of the minimal systems; they are made if absent"
    )
    parser.add_argument("--suite", action="append", choices=SUITES)
    parser.add_argument("--project", action="append", choices=("foreign", "ours"))
    parser.add_argument("--apps", default="", help="gate these apps of our project")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="workflows-", dir="/var/tmp"))
    tally, baselines = Tally(), dict[str, str]()
    for suite in options.suite or SUITES:
        container = Container(folder.resolve() / suite, read_host(), suite)
        try:
            container.make_base(options.base and options.base.resolve())
            container.take_over()
            jobs = Jobs(container)
            own = ours(folder / "ours")
            jobs.add_remote(OWN, own.folder)
            jobs.add_action(OWN)
            for project in options.project or ("foreign", "ours"):
                jobs.caches.clear()
                at = own if project == "ours" else foreign(folder / "foreign")
                trial = trial_of(jobs, project, at, options.apps, tally)
                if project == "ours":
                    run_ours(trial)
                else:
                    run_foreign(trial, baselines)
        finally:
            container.remove()
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
