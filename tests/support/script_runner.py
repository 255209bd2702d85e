"""Run scripts one by one or in parallel, and print a table of their results."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.support.places import ROOT, TESTS
from tests.support.script import options_of


@dataclass(frozen=True, slots=True)
class Script:
    """A script of tests/soak or tests/bench.

    minutes: rough duration on two cores, including builds.
    """

    name: str
    minutes: int
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """A script's result. code: its exit code. figure: the last line that it printed."""

    script: Script
    code: int
    seconds: float
    figure: str
    log: Path


def modules_in(folder: str) -> dict[str, str]:
    """Return the module of each script of a folder, or of a room in it, by the script's name."""
    paths = [*(TESTS / folder).glob("[a-z]*.py"), *(TESTS / folder).glob("*/[a-z]*.py")]
    modules = {path.stem: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths}
    return {name: module for name, module in modules.items() if name != "run"}


def run_script(folder: str, script: Script, logs: Path) -> Outcome:
    """Run `python -m tests.FOLDER.ROOM.NAME`; its output goes to a log of that name."""
    logs.mkdir(parents=True, exist_ok=True)
    log = logs / f"{script.name}.log"
    command = [sys.executable, "-m", modules_in(folder)[script.name], *script.arguments]
    started = time.monotonic()
    with log.open("wb") as output:
        done = subprocess.run(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    seconds = time.monotonic() - started
    lines = log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
    return Outcome(script, done.returncode, seconds, lines[-1] if lines else "", log)


def listing(scripts: Iterable[Script]) -> str:
    """Return a line for each script: name, minutes, arguments."""
    return "\n".join(
        f"{each.name:20} {each.minutes:4} min  {' '.join(each.arguments)}".rstrip()
        for each in scripts
    )


def summary(outcomes: Iterable[Outcome]) -> str:
    """Return a line for each script: name, result, time and its last line."""
    lines = [f"{'script':20} {'result':8} {'min':>6}  last line"]
    for each in outcomes:
        result = "ok" if each.code == 0 else f"exit {each.code}"
        minutes = f"{each.seconds / 60:.1f}"
        lines.append(f"{each.script.name:20} {result:8} {minutes:>6}  {each.figure[:120]}".rstrip())
    return "\n".join(lines)


def run_scripts(folder: str, scripts: Sequence[Script], logs: Path, jobs: int) -> int:
    """Run the scripts and print the table; return 1 if one failed."""

    def run(script: Script) -> Outcome:
        outcome = run_script(folder, script, logs)
        state = "ok" if outcome.code == 0 else f"exit {outcome.code}, see {outcome.log}"
        print(f"{script.name}: {state}", flush=True)
        return outcome

    with ThreadPoolExecutor(jobs) as pool:
        outcomes = list(pool.map(run, scripts))
    print(f"\n{summary(outcomes)}", flush=True)
    return 1 if any(each.code for each in outcomes) else 0


def main(doc: str | None, folder: str, scripts: Sequence[Script], given: list[str]) -> int:
    """Run the command line of a folder's run.py."""
    parser = options_of(doc)
    names = [script.name for script in scripts]
    parser.add_argument("--list", action="store_true", help="list the scripts and end")
    parser.add_argument(
        "--only",
        action="append",
        choices=names,
        metavar="NAME",
        help="run this script; may be repeated",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="number of scripts to run at the same time"
    )
    parser.add_argument(
        "--logs",
        type=Path,
        default=ROOT / "build" / folder / "logs",
        help="folder for the logs of scripts",
    )
    options = parser.parse_args(given)
    chosen = [each for each in scripts if not options.only or each.name in options.only]
    if options.list:
        print(listing(chosen))
        return 0
    if options.jobs < 1:
        parser.error("--jobs is at least 1")
    return run_scripts(folder, chosen, options.logs, options.jobs)
