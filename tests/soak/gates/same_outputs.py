"""Check that two versions of sizeguard give the same results: run a table of commands with both.

    .venv/bin/python tests/soak/gates/same_outputs.py --old ../before/.venv/bin/sizeguard \
        --new .venv/bin/sizeguard --work ../same [--only 'report*'] [--save FOLDER]

Inputs come from the source tree that the old version is in: a clone of it is built once by the
old version, with samples of other formats beside it, and is kept in WORK/prepared. Each version
gets a fresh copy of that at one path, WORK/run, with no store: so neither reads what the other one
kept, and the paths that they print are equal. Compared are:

    exit codes           always, and whether Python ended with a traceback
    JSON, CSV, data      stdout and all files that a command wrote, byte for byte
    texts                the numbers in them, in order: words may change
    stderr               its numbers, for the commands whose result is partly there

Each command is `same`, `differs`, or `intended`, if intended_differences.yaml beside this script
says so. Exit code 0: none differs. The advice of a failing gate holds a date, 90 days from now:
do not run this across midnight. Builds of the old version name its command, which is outside of
the tree: gates of the new version reuse them, so they count growth from the reviewed baseline, and
are inconclusive without one. With --old and --new alike, it shows that all commands are stable.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import fnmatch
import gzip
import hashlib
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import yaml

from tests.support.commands.output_commands import GROUPS, Command, commands_of
from tests.support.commands.output_inputs import FILES, RECIPES

INTENDED = Path(__file__).parent / "intended_differences.yaml"
TIMEOUT = 900  # seconds of one command
SHOWN = 50  # characters on each side of a difference

# Formats and files that people read: their words may change, their numbers may not.
TEXT_FORMATS = frozenset({"terminal", "markdown", "html", "junit", "github", "txt", "md", "xml"})
NUMBER = re.compile(r"[-+±]?\d+(?:,\d{3})*(?:\.\d+)?")
# Of an HTML page style and script are parts of the program, as is the hash of the script. The rows
# are data beside them, as base64 of gzip: its bytes may differ where its content does not.
PROGRAM = re.compile(r"<style>.*?</style>|<script>.*?</script>|<meta http-equiv=[^>]*>", re.DOTALL)
ROWS = re.compile(r'<script type="application/octet-stream"[^>]*>(.*?)</script>', re.DOTALL)


@dataclass(frozen=True)
class Outcome:
    """The result of a command. outputs: the outputs to compare, by name."""

    code: str
    outputs: Mapping[str, Output] = field(default_factory=dict)
    stderr: bytes = b""


@dataclass(frozen=True)
class Output:
    """The output of a command in one place. format: one of TEXT_FORMATS, or a data format."""

    content: bytes
    format: str


def environment(run: Path) -> dict[str, str]:
    """Return the same environment for all commands, without the caller's CI, git, store or home."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    person = {"NAME": "A. Author", "EMAIL": "author@example.org", "DATE": "1700000000 +0000"}
    git = {
        f"GIT_{role}_{what}": text
        for role in ("AUTHOR", "COMMITTER")
        for what, text in person.items()
    }
    return {
        **kept,
        **git,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GITHUB_STEP_SUMMARY": str(run / "out" / "summary.md"),
        "HOME": str(run / "home"),
        "LANG": "C.UTF-8",
        "COLUMNS": "100",
        "TERM": "dumb",
    }


def shell(script: str, folder: Path, surroundings: Mapping[str, str]) -> None:
    """Run one of our scripts, which must not fail."""
    command = ["sh", "-euc", script]
    done = subprocess.run(
        command, cwd=folder, env=surroundings, capture_output=True, text=True, errors="replace"
    )
    if done.returncode:
        sys.exit(f"error: in {folder}:\n{script}\n{done.stdout}{done.stderr}")


def git_lines(folder: Path, *arguments: str) -> list[str]:
    """Ask git for a list of paths or names."""
    command = ["git", "-C", str(folder), *arguments]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line for line in re.split(r"[\0\n]", said) if line]


def prepare(old: Path, work: Path) -> Path:
    """Make the inputs in WORK/run, where builds must be, and then move them away."""
    root = Path(git_lines(old.parent, "rev-parse", "--show-toplevel")[0])
    head = git_lines(root, "rev-parse", "HEAD")[0]
    made_of = repr((str(old), head, str(work), FILES, RECIPES))
    key = hashlib.sha256(made_of.encode()).hexdigest()
    prepared, run = work / "prepared", work / "run"
    stamp = prepared / "stamp"
    if stamp.is_file() and stamp.read_text() == key:
        return prepared
    print("preparing inputs, once ...", flush=True)
    for folder in (prepared, run):
        shutil.rmtree(folder, ignore_errors=True)
    for name in ("home", "out", "samples", "repository"):
        (run / name).mkdir(parents=True)
    subprocess.run(["git", "clone", "-q", str(root), str(run / "project")], check=True)
    for name, text in FILES.items():
        (run / "samples" / name).write_text(text)
    for recipe in RECIPES:
        shell(recipe.script, run / recipe.folder, {**environment(run), "OLD": str(old)})
    (run / "stamp").write_text(key)
    run.rename(prepared)
    return prepared


def run_all(executable: Path, commands: Iterable[Command], prepared: Path) -> list[Outcome]:
    """Run all commands with one version, in a fresh copy of the inputs."""
    run = prepared.parent / "run"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(prepared, run, symlinks=True)
    surroundings = environment(run)
    outcomes = []
    for group, members in itertools.groupby(commands, key=lambda command: command.group):
        folder = run / group.folder
        # Git must see that the files of a copy are unchanged, or it writes all of them anew, and
        # everything is built again.
        reset = "git update-index -q --refresh; git checkout -qf main; git clean -qfd\n"
        shell(reset + group.before, folder, surroundings)
        outcomes += [run_one(executable, command, run) for command in members]
        shell(reset, folder, surroundings)
    return outcomes


def run_one(executable: Path, command: Command, run: Path) -> Outcome:
    """Run a command, and collect what it wrote: to stdout, to WORK/run/out, into the repository."""
    folder, out = run / command.group.folder, run / "out"
    shutil.rmtree(out)
    out.mkdir()
    before = edited(folder)
    try:
        done = subprocess.run(
            [str(executable), *shlex.split(command.text)],
            cwd=folder,
            env=environment(run),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return Outcome(f"none after {TIMEOUT} s")
    outputs = {"stdout": Output(done.stdout, command.format)}
    if command.group.stderr:
        outputs["stderr"] = Output(done.stderr, "terminal")
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        name = path.relative_to(run).as_posix()
        outputs[name] = Output(path.read_bytes(), format_of(name, command))
    for name in sorted(before.keys() | edited(folder).keys()):
        path = folder / name
        content = path.read_bytes() if path.is_file() else None
        if name not in before or content != before[name]:
            outputs[f"changed {name}"] = Output(content or b"", format_of(name, command))
            restore(folder, name, before.get(name))
    trace = " with a traceback" if b"Traceback (most recent call last)" in done.stderr else ""
    return Outcome(f"{done.returncode}{trace}", outputs, done.stderr)


def format_of(name: str, command: Command) -> str:
    """Return the format of a file by its name, else by the command's --format."""
    suffix = PurePosixPath(name).suffix
    return suffix.removeprefix(".") or command.format


def edited(folder: Path) -> dict[str, bytes | None]:
    """Read the files that differ from what is checked out, or are new there; None if removed."""
    listed = git_lines(folder, "ls-files", "-z", "-m", "-o", "--exclude-standard")
    paths = {name: folder / name for name in listed}
    return {name: path.read_bytes() if path.is_file() else None for name, path in paths.items()}


def restore(folder: Path, name: str, content: bytes | None) -> None:
    """Restore a file that a command changed: to this content, or to the checked-out content."""
    path = folder / name
    if content is not None:
        path.write_bytes(content)
    elif git_lines(folder, "ls-files", "--", name):
        git_lines(folder, "checkout", "-q", "--", name)
    else:
        path.unlink(missing_ok=True)


# --------------------------------------------------------------------------------------- comparing


def compare(old: Outcome, new: Outcome) -> list[str]:
    """Describe the first difference of each output; the exit code comes first."""
    found = []
    if old.code != new.code:
        found.append(f"exit code {old.code}, now {new.code}")
    for name in dict.fromkeys([*old.outputs, *new.outputs]):
        if name not in new.outputs or name not in old.outputs:
            found.append(f"{name}: only {'old' if name in old.outputs else 'new'} writes it")
            continue
        difference = first_difference(old.outputs[name], new.outputs[name])
        if difference:
            found.append(f"{name}: {difference}")
    return found


def first_difference(old: Output, new: Output) -> str:
    """Describe the first difference of two outputs; empty if they are equal."""
    if old.content == new.content:
        return ""
    texts = [each.content.decode(errors="backslashreplace") for each in (old, new)]
    if old.format not in TEXT_FORMATS:
        return exact_difference(*texts)
    if old.format == "html":
        rows = [rows_of(text) for text in texts]
        if rows[0] != rows[1]:
            return f"rows: {exact_difference(*rows)}"
        texts = [PROGRAM.sub("", ROWS.sub("", text)) for text in texts]
    return number_difference(*texts)


def rows_of(page: str) -> str:
    """Unpack the rows of an HTML page; empty if it has none."""
    found = ROWS.search(page)
    if found is None:
        return ""
    try:
        return gzip.decompress(base64.b64decode(found[1])).decode(errors="backslashreplace")
    except (binascii.Error, OSError, EOFError) as error:
        return f"unreadable: {error}"


def exact_difference(old: str, new: str) -> str:
    """Show the surroundings of the first character that differs."""
    pairs = enumerate(zip(old, new, strict=False))
    at = next((i for i, (was, is_) in pairs if was != is_), min(len(old), len(new)))
    line = old.count("\n", 0, at) + 1
    return f"line {line}: {around(old, at)}, now {around(new, at)}"


def number_difference(old: str, new: str) -> str:
    """Show the surroundings of the first number that differs; empty if all are equal."""
    pairs = itertools.zip_longest(NUMBER.finditer(old), NUMBER.finditer(new))
    for count, (was, is_) in enumerate(pairs, 1):
        if was is None or is_ is None or was[0] != is_[0]:
            places = [len(old) if was is None else was.start()]
            places.append(len(new) if is_ is None else is_.start())
            return f"number {count}: {around(old, places[0])}, now {around(new, places[1])}"
    return ""


def around(text: str, at: int) -> str:
    """Quote the text at a place."""
    return repr(text[max(0, at - SHOWN) : at + SHOWN])


@dataclass(frozen=True)
class Intended:
    """An intended difference.

    command, format: globs of the outputs that may differ
    what:            a part of the line that says the difference
    """

    command: str
    format: str
    what: str
    why: str

    def covers(self, command: Command, difference: str) -> bool:
        """Return whether a command's difference is this one."""
        return (
            fnmatch.fnmatchcase(command.text, self.command)
            and fnmatch.fnmatchcase(command.format, self.format)
            and self.what in difference
        )


def read_intended(path: Path) -> list[Intended]:
    """Read the list of intended differences; each entry has all its fields, as texts."""
    entries = yaml.safe_load(path.read_text()) if path.is_file() else None
    names = set(Intended.__dataclass_fields__)
    for entry in entries or []:
        texts = [text for text in entry.values() if isinstance(text, str) and text]
        if set(entry) != names or len(texts) != len(names):
            sys.exit(f"error: {path}: an entry has the texts {', '.join(sorted(names))}: {entry}")
    return [Intended(**entry) for entry in entries or []]


def save(folder: Path, number: int, command: Command, outcome: Outcome) -> None:
    """Save the result of a command for inspection."""
    place = folder / f"{number:03} {re.sub(r'[^A-Za-z0-9_.,=-]+', ' ', command.text)[:100]}"
    place.mkdir(parents=True)
    (place / "command.txt").write_text(f"{command.text}\nexit code {outcome.code}\n")
    (place / "stderr").write_bytes(outcome.stderr)
    for name, output in outcome.outputs.items():
        (place / name.replace("/", " ")).write_bytes(output.content)


def report(
    commands: Sequence[Command], old: Sequence[Outcome], new: Sequence[Outcome]
) -> dict[str, int]:
    """Print a line for each command, and count them by what it says."""
    intended = read_intended(INTENDED)
    counts = {"same": 0, "differs": 0, "intended": 0}
    used: set[Intended] = set()
    for command, was, is_ in zip(commands, old, new, strict=True):
        differences = compare(was, is_)
        by = [[each for each in intended if each.covers(command, text)] for text in differences]
        word = "same" if not by else "intended" if all(by) else "differs"
        used.update(*by)
        counts[word] += 1
        print(f"{word:9}{command.text}")
        for text, reasons in zip(differences, by, strict=True):
            print(f"         {text}" + "".join(f"  [{each.why}]" for each in reasons[:1]))
    for each in intended:
        if each not in used:
            print(f"unused   {each.command}  {each.format}: {each.what}")
    return counts


def processor_seconds() -> float:
    """Return the CPU time of all commands and their children so far."""
    used = os.times()
    return used.children_user + used.children_system


def main() -> int:
    """Run all commands with both versions; 1 if a difference is not intended."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("--old", "--new"):
        parser.add_argument(name, type=Path, required=True, help="A sizeguard in its .venv/bin.")
    parser.add_argument("--work", type=Path, required=True, help="Inputs are made and used here.")
    parser.add_argument("--only", default="*", metavar="GLOB", help="Only commands that fit it.")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="Keep all outputs there.")
    given = parser.parse_args()
    for executable in (given.old, given.new):
        if not os.access(executable, os.X_OK):
            parser.error(f"{executable}: no such command")
    every = [command for group in GROUPS for command in commands_of(group)]
    commands = [command for command in every if fnmatch.fnmatchcase(command.text, given.only)]
    work = given.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    prepared = prepare(given.old.absolute(), work)
    outcomes = {}
    for name, executable in (("old", given.old), ("new", given.new)):
        wall, processors = time.monotonic(), processor_seconds()
        outcomes[name] = run_all(executable.absolute(), commands, prepared)
        wall, processors = time.monotonic() - wall, processor_seconds() - processors
        took = f"{wall:.0f} s, of processors {processors:.0f} s"
        print(f"{name}: {len(commands)} commands in {took}", flush=True)
        if given.save:
            shutil.rmtree(given.save / name, ignore_errors=True)
            for number, (command, outcome) in enumerate(
                zip(commands, outcomes[name], strict=True), 1
            ):
                save(given.save / name, number, command, outcome)
    counts = report(commands, outcomes["old"], outcomes["new"])
    print(f"{counts['same']} same, {counts['differs']} differ, {counts['intended']} intended")
    return 1 if counts["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
