"""Build every target, compiler, linker and kind of link, and check every image.

    python -m tests.soak.sizes.targets [--apps core,mlp,full] [--targets
    x86_64-linux,aarch64-linux,arm64-macos,x86_64-macos,arm64-android,arm64-ios] [--results FILE]

With --results, rows that passed are written to the file as they pass, with the commit, and are not
built again: a run that was stopped goes on, and runs of different targets may write to one file
side by side. Objects are shared over links; with ccache (CMAKE_C_COMPILER_LAUNCHER and
CMAKE_CXX_COMPILER_LAUNCHER, CCACHE_BASEDIR the source tree) those of the runtime over apps, too.

Must hold of each: the ledger is an exact partition of the file and of memory, of the image and of
its stripped twin; the two hold the same loaded bytes; `sizeguard report` sums to the file; and what
can be run here runs mlp with the right results.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sizeguard.base.errors import SizeguardError
from sizeguard.projects.root import project_root
from sizeguard.runtimes.sizeguard.building.programs import program_of
from sizeguard.runtimes.sizeguard.building.tracing import trace
from sizeguard.toolchains.targets import TARGETS, host_target, run_prefix
from tests.support.images.image_laws import (
    check_laws,
    check_report,
    check_runs,
    check_stripped_twin,
)
from tests.support.links.link_matrix import Row, build_row
from tests.support.script import Tally, options_of

FORMS = ("executable", "static", "static-pie", "shared", "lto", "thinlto")
LINKERS = ("bfd", "gold", "lld", "mold", "lld-14", "lld-22")


def rows(apps: list[str], targets: list[str]) -> Iterator[Row]:
    """List every possible way, ordered by shared objects.

    The shipped twin of each is checked with it.
    """
    found = []
    for target, app, compiler, optimize, form, linker in itertools.product(
        targets, apps, ("gcc", "clang"), "s2", FORMS, LINKERS
    ):
        machine = TARGETS[target]
        if machine.is_llvm_only and (compiler == "gcc" or not linker.startswith("lld")):
            continue
        if machine.is_macho and linker == "lld-14":
            continue  # refused, and lld 14 reads neither these stubs' end nor chained fix-ups
        row = Row(app, compiler, optimize, form, linker, "" if target == host_target() else target)
        if row.is_possible:
            found.append(row)
    return iter(sorted(found, key=lambda row: (row.objects, row)))


def check(row: Row, selection: Path, program: Path, model: Path) -> str:
    """Build and check; return the columns of the table."""
    built = build_row(row, lambda: selection, project_root() / "build" / "soak" / "targets")
    for image in (built.image, built.shipped):
        check_laws(image)
    check_stripped_twin(built)
    check_report(built)
    ran = "linked only"
    prefix = run_prefix(built.target)
    if row.app == "core":
        ran = "nothing to run"
    elif prefix == [] or (prefix and row.form != "shared"):
        with tempfile.TemporaryDirectory() as folder:
            for image in (built.image, built.shipped):
                check_runs(image, built.target, program, model, Path(folder) / image.name)
        ran = "runs mlp"
    sizes = built.sizes
    return f"{sizes.load:>11,}{sizes.ram:>10,}{sizes.file:>11,}  {ran}"


def title_of(row: Row) -> str:
    return (
        f"{row.target or host_target()} {row.app} {row.compiler} -O{row.optimize} {row.linker}"
        f" {row.form}"
    )


@dataclass(frozen=True, slots=True)
class Results:
    """Rows that passed, one per line: title, columns and commit, separated by tabs."""

    path: Path | None
    commit: str

    def read(self) -> dict[str, tuple[str, str]]:
        """Return the columns and commit of each title."""
        if self.path is None or not self.path.is_file():
            return {}
        lines = [line.split("\t") for line in self.path.read_text().splitlines()]
        return {words[0]: (words[1], words[2]) for words in lines if len(words) == 3}

    def add(self, title: str, columns: str) -> None:
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(f"{title}\t{columns}\t{self.commit}\n")


def results_in(path: Path | None) -> Results:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=project_root(),
        check=True,
        capture_output=True,
        text=True,
    )
    return Results(path, done.stdout.strip())


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--apps", default="core,mlp,full")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    root = project_root()
    results = results_in(options.results)
    passed = results.read()
    model = root / "native" / "models" / "mlp"
    program = program_of(model / "model.pt2", root / "build" / "programs")
    selection = root / "build" / "soak" / "mlp.yaml"
    selection.parent.mkdir(parents=True, exist_ok=True)
    trace(root, [model / "model.pt2"], selection, executed_only=False)

    tally = Tally()
    commits = Counter[str]()
    start = time.monotonic()
    print(f"{'':56}{'load':>11}{'ram':>10}{'file':>11}")
    for row in rows(options.apps.split(","), options.targets.split(",")):
        title = title_of(row)
        if title in passed:
            columns, commit = passed[title]
            commits[commit] += 1
            tally.check(True, title)
            print(f"{title:56}{columns}  {commit}", flush=True)
            continue
        commits[results.commit] += 1
        try:
            columns = check(row, selection, program, model)
            results.add(title, columns)
            tally.check(True, title)
        except (
            AssertionError,
            SizeguardError,
            ValueError,
            LookupError,
            OSError,
            subprocess.SubprocessError,
        ) as error:
            # The rest of the table matters, too; each failure is shown, and counted.
            said = str(error).splitlines()[0] if str(error) else ""
            tally.check(False, f"{row}: {type(error).__name__}: {said}")
            columns = "  FAIL"
        print(f"{title:56}{columns}", flush=True)
    print(", ".join(f"{count} on {commit}" for commit, count in commits.items()))
    return tally.close(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
