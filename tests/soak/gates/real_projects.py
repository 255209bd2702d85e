"""Gate real third-party projects with the files that `sizeguard init` writes.

    python -m tests.soak.gates.real_projects [--only NAME]… [--folder FOLDER]

Installs the package into an environment of its own. Fetches source packages of Debian by apt-get,
builds each project by its own build system, and lets init write sizeguard.yaml. Five commands at
most lead from pip install to a gate that passes. Then 1 KiB more in a function fails with its name,
file and line; a changed document is skipped; a changed policy is listed; a waiver, a baseline,
creep, bisect and history do what the documentation says. Prints the time of each step.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.support.histories.git_runs import git
from tests.support.places import ROOT
from tests.support.script import Tally, options_of
from tests.support.tricks.foreign_projects import PROJECTS, ForeignProject, build, fetched, tools_of

MOST_COMMANDS = 5  # from pip install to the first gate that passes
CONFIG = "sizeguard.yaml"
TALLY = Tally()


@dataclass
class Attempt:
    """A project that is taken from nothing to its gate, step by step.

    command:      the installed sizeguard; commands: how often it ran, and pip before it
    install_time: seconds that pip took
    """

    project: ForeignProject
    folder: Path
    command: Path
    install_time: float
    environment: Mapping[str, str] = field(default_factory=dict)
    tree: Path = Path()
    started: float = 0.0
    commands: int = 1
    ran: list[str] = field(default_factory=lambda: ["pip install"])

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run sizeguard in the project."""
        self.commands += 1
        self.ran.append(" ".join(["sizeguard", *words]).partition(" --")[0])
        return subprocess.run(
            [self.command, *words],
            cwd=self.tree,
            env={**_outside(), **self.environment},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )

    def gate(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Run the gate; return its exit code and result."""
        done = self.run("gate", "--format", "json", *words)
        try:
            return done.returncode, json.loads(done.stdout)
        except ValueError:
            return done.returncode, {"text": done.stdout + done.stderr}

    def git(self, *words: str) -> str:
        """Run git in the project."""
        return git(self.tree, *words)

    def commit(self, subject: str) -> str:
        """Commit all files; return the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def check(self, holds: bool, what: str, found: object = "") -> bool:
        """Check one thing and print how long it took."""
        seconds = time.monotonic() - self.started
        self.started = time.monotonic()
        told = str(found)[:1500]
        if TALLY.check(holds, f"{self.project.name}: {what}: {told}"):
            print(f"  {self.project.name:16} {seconds:>6.1f} s  {what}", flush=True)
        return holds


def _outside() -> dict[str, str]:
    """Return the environment without what would import another package than the installed one."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def installed(folder: Path) -> tuple[Path, float]:
    """Install the package into a new environment; the command, and the seconds that pip took."""
    place = folder / "installed"
    subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
    start = time.monotonic()
    subprocess.run([place / "bin" / "pip", "install", "--quiet", ROOT], check=True)
    return place / "bin" / "sizeguard", time.monotonic() - start


def attempt(project: ForeignProject, folder: Path, command: Path, install_time: float) -> None:
    """Take one project through all steps; those that depend on a failed one are left out."""
    this = Attempt(project, folder, command, install_time, tools_of(project, folder))
    this.started = time.monotonic()
    this.tree = fetched(project, folder)
    this.git("init", "--quiet", "--initial-branch=main")
    this.commit("Import the release")
    build(project, this.tree, this.environment)
    this.check(True, "fetched and built")
    if not begins(this):
        return
    first = this.git("rev-parse", "HEAD")
    this.git("tag", "v1")
    this.git("checkout", "--quiet", "-b", "change")
    skips_documents(this)
    finds_growth(this)
    lists_policy(this)
    takes_growth_by_waiver_and_baseline(this)
    finds_creep_and_culprits(this, first)


def begins(this: Attempt) -> bool:
    """From a build to the first gate that passes."""
    start = time.monotonic()
    done = this.run("init")
    if not this.check(done.returncode == 0, "init", done.stdout + done.stderr):
        return False
    text = (this.tree / CONFIG).read_text()
    this.check(text.count("image: ") >= this.project.images, "init finds the images", text)
    done = this.run("baseline", "update")
    if not this.check(done.returncode == 0, "baseline update", done.stdout + done.stderr):
        return False
    code, found = this.gate()
    seconds = this.install_time + time.monotonic() - start
    files = [path for path in this.tree.glob(".sizeguard/builds/*/*") if path.is_file()]
    largest = max((path.stat().st_size for path in files), default=0)
    this.check(largest >= this.project.at_least, f"largest image {largest:,} B")
    passes = code == 0 and this.commands <= MOST_COMMANDS
    what = f"gate passes, the {this.commands}th command with pip install, after {seconds:.0f} s"
    if not this.check(passes, what, failing(found)):
        return False
    pages = [page.read_text() for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))]
    unknown = [each for each in this.ran if not any(_has_command(page, each) for page in pages)]
    this.check(not unknown, f"documented: {', '.join(this.ran)}", unknown)
    this.commit("Review the sizes")
    code, found = this.gate()
    return this.check(code == 0, "gate passes after the commit", failing(found))


def _has_command(page: str, command: str) -> bool:
    """Return whether a line of a page is a command, with or without options and a prompt."""
    return re.search(rf"^(\$ )?{re.escape(command)}(\s|$)", page, re.M) is not None


def skips_documents(this: Attempt) -> None:
    """Check that a change of a document builds nothing."""
    readme = next(iter(sorted(this.tree.glob("README*"))))
    with readme.open("a") as file:
        file.write("\nSizes are gated.\n")
    code, found = this.gate()
    this.check(code == 0 and bool(found.get("skipped")), "a changed document is skipped", found)
    this.commit("Document the gate")


def finds_growth(this: Attempt) -> None:
    """Check that 1 KiB more in a function fails with its name, file and line."""
    line = grow(this)
    code, found = this.gate()
    causes = [cause for app in found.get("apps", ()) for cause in app["causes"]]
    place = f"{this.project.source}:{line}"
    mine = [cause for cause in causes if cause["symbol"].startswith(this.project.function)]
    this.check(code == 1, "growth fails", failing(found))
    this.check(
        any(near(cause["place"], place) and cause["new"] - cause["old"] >= 1000 for cause in mine),
        f"growth is named: {this.project.function} {place}",
        causes[:4],
    )


def near(place: str, expected: str) -> bool:
    """Return whether a line is near the function's head."""
    file, _, line = place.partition(":")
    wanted, _, number = expected.partition(":")
    return file == wanted and line.isdigit() and abs(int(line) - int(number)) <= 10


def grow(this: Attempt) -> int:
    """Let the function grow; return the line of its head."""
    source = this.tree / this.project.source
    text, line = this.project.grown(source.read_text())
    source.write_text(text)
    return line


def lists_policy(this: Attempt) -> None:
    """Check that a change of a limit is listed."""
    this.git("checkout", "--", ".")
    config = this.tree / CONFIG
    config.write_text(config.read_text().replace('load: {max: "', 'load: {max: "9'))
    code, found = this.gate()
    changes = found.get("policy_changes")
    this.check(code == 0 and bool(changes), "a looser limit is listed", (failing(found), changes))
    this.git("checkout", "--", ".")


def takes_growth_by_waiver_and_baseline(this: Attempt) -> None:
    """Check that a waiver accepts growth for a time, and a new baseline for good."""
    grow(this)
    last_day = (datetime.now(UTC) + timedelta(days=20)).date().isoformat()
    _, found = this.gate()
    needed: dict[str, int] = {}
    for each in found.get("checks", ()):
        if each["verdict"] == "fail":
            more = each["actual"] - each["limit"]
            needed[each["metric"]] = max(needed.get(each["metric"], 0), more)
    for metric, size in needed.items():
        done = this.run(
            *("waive", metric, "--bytes", str(size), "--owner", "ann", "--expires", last_day),
            *("--reason", "A test of waivers."),
        )
        this.check(done.returncode == 0, f"waive {metric}", done.stderr)
    code, found = this.gate()
    this.check(code == 0, "the waiver lets it pass", failing(found))
    this.commit("Grow")
    done = this.run("baseline", "update")
    this.check(done.returncode == 0, "baseline of the grown", done.stdout + done.stderr)
    this.git("checkout", "--", ".")


def finds_creep_and_culprits(this: Attempt, first: str) -> None:
    """Check that creep names the commit and its bytes, and that bisect finds it."""
    grown = this.git("rev-parse", "HEAD")
    config = this.tree / CONFIG
    config.write_text(_with_creep(config.read_text()))
    (this.tree / "baselines" / "waivers.yaml").unlink()
    code, found = this.gate()
    shares = [s for check in found.get("checks", ()) for s in check.get("shares") or ()]
    subjects = {share["subject"] for share in shares}
    this.check(code == 1 and "Grow" in subjects, "creep names the commit", (failing(found), shares))
    this.git("checkout", "--", ".")
    app = next(iter(found["apps"]))["app"] if found.get("apps") else ""
    done = this.run("bisect", first, "HEAD", "--app", app, "--format", "json")
    this.check(
        done.returncode in (0, 1) and grown[:10] in done.stdout, "bisect finds it", done.stderr
    )
    tells_history(this, app)


def tells_history(this: Attempt, app: str) -> None:
    """The history measures each commit, and the one that grew names the function."""
    # The import alone need not build: Cargo.lock comes with the first build
    words = ("--commits", "--since", "v1", "--build", "--app", app)
    done = this.run("history", *words, "--format", "json")
    points = json.loads(done.stdout)["points"] if done.returncode == 0 else []
    unknown = [point["subject"] for point in points if point["source"] != "measured"]
    grown = [p for p in points if p["change"] is not None and p["change"]["load"]]
    this.check(
        len(points) == 1 + int(this.git("rev-list", "--count", "v1..HEAD"))
        and not unknown
        and [point["subject"] for point in grown] == ["Grow"],
        "history measures all commits",
        (done.stderr, unknown, [point["subject"] for point in grown]),
    )
    change: dict[str, Any] = grown[-1]["change"] if grown else {"load": 0, "rows": []}
    name = this.project.function.rpartition("::")[2]  # the names of rows are mangled
    mine = [row for row in change["rows"] if name in json.dumps(row)]
    this.check(
        sum(row["delta"] for row in change["rows"]) == change["load"]
        and sum(row["delta"] for row in mine) >= 1000,
        "history names the function, and its rows sum to the growth",
        change,
    )


def _with_creep(text: str) -> str:
    limit = 'creep: "max(0.001%, 16B) since v1", '
    return text.replace("  load: {growth: ", f"  load: {{{limit}growth: ", 1)


def failing(found: dict[str, Any]) -> object:
    """Return the gate's messages about failing checks."""
    checks = [
        (check["id"], check["actual"], check["limit"], check["verdict"])
        for check in found.get("checks", ())
        if check["verdict"] != "pass"
    ]
    return found.get("text") or (checks, found.get("problems"))


def main() -> int:
    parser = options_of(__doc__)
    names = [project.name for project in PROJECTS]
    parser.add_argument("--only", action="append", choices=names, metavar="NAME")
    parser.add_argument("--folder", type=Path, help="keep sources and builds here")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="real-projects-"))
    folder.mkdir(parents=True, exist_ok=True)
    command, seconds = installed(folder.resolve())
    print(f"pip install: {seconds:.0f} s", flush=True)
    for project in PROJECTS:
        if options.only and project.name not in options.only:
            continue
        began = time.monotonic()
        try:
            attempt(project, folder.resolve(), command, seconds)
        except (RuntimeError, subprocess.CalledProcessError, ValueError) as error:
            TALLY.check(False, f"{project.name}: {error}")
        print(f"{project.name}: {time.monotonic() - began:.0f} s", flush=True)
    if options.folder is None:
        shutil.rmtree(folder)
    return TALLY.close(f"{len(PROJECTS)} projects")


if __name__ == "__main__":
    sys.exit(main())
