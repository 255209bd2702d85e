"""Run the real gate in a real clone on each way of hidden growth.

Each way is a change on a branch. The gate is asked after it, asked again, and asked once more after
a commit of a document. Each time it has to end with 1 or 3. One way is committed to the base branch
itself. In one a step of the build reads a file that it does not tell.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.support.histories.gate_history import Repository
from tests.support.script import Tally, options_of
from tests.support.tricks.hidden_growth import GIVE, SIZE, TABLE, WAYS, Way, insert, prepare, write

SEEN = (1, 3)
STEP = """
add_custom_command(OUTPUT "${CMAKE_BINARY_DIR}/schema/by_step.h"
  COMMAND sh "${SG_ROOT}/extra/step.sh" > "${CMAKE_BINARY_DIR}/schema/by_step.h"
  DEPENDS "${SG_ROOT}/extra/step.sh")
add_custom_target(by_step DEPENDS "${CMAKE_BINARY_DIR}/schema/by_step.h")
add_dependencies(sg_schema by_step)
"""


def prepared(folder: Path) -> Repository:
    """Make a runtime that reads every file that the ways change; it passes on main."""
    found = Repository(folder)
    prepare(found.root)
    found.commit("A runtime")
    for command in ("baseline", "select"):
        done = found.run(command, "update", "--app", "vision")
        if done.returncode != 0:
            raise SystemExit(done.stderr)
    found.commit("Its sizes")
    found.git("tag", "v1.0")
    return found


def passes(repository: Repository, tally: Tally, what: str) -> None:
    gated = repository.gate("--app", "vision")
    tally.check(gated.code == 0, f"{what}: the gate ends with {gated.code}: {gated.errors}")


def fails(repository: Repository, tally: Tally, what: str, **environment: str) -> None:
    gated = repository.gate("--app", "vision", **environment)
    metrics = sorted(metric for _, metric in gated.failing())
    print(f"{what:60} {gated.code} {' '.join(metrics)}", flush=True)
    why = "" if gated.code in SEEN else f": {gated.errors}"
    tally.check(gated.code in SEEN, f"{what}: the gate ends with {gated.code}{why}")


def document(repository: Repository) -> None:
    """Commit a document and no other file."""
    with (repository.root / "README.md").open("a") as file:
        file.write("More.\n")
    repository.git("commit", "-q", "-m", "Words", "--", "README.md")


def take(repository: Repository, tally: Tally, name: str, way: Way) -> None:
    repository.branch(name.replace(" ", "-"))
    if way.git:
        repository.git(*way.git)
    way.change(repository.root, repository.root / "build" / "vision")
    variables = way.variables(repository.root)
    if way.is_shared:
        fails(repository, tally, f"{name}, not committed", **variables)
        repository.commit(name)
    fails(repository, tally, name, **variables)
    document(repository)
    fails(repository, tally, f"{name}, then a document", **variables)
    if way.git:
        # One call with both options clears only the first mark
        repository.git("update-index", "--no-assume-unchanged", TABLE)
        repository.git("update-index", "--no-skip-worktree", TABLE)
    (repository.root / "build/vision/operators/code/ctime").unlink(missing_ok=True)
    repository.leave()
    repository.git("clean", "-fdxq", "ignored")


def take_untold(repository: Repository, tally: Tally) -> None:
    """Check a build step that reads a file that no command or dependency list names."""
    name = "a step that does not tell"
    repository.branch("step")
    write(repository.root, "extra/step.sh", 'cat "$(dirname "$0")"/data*.txt\n')
    write(repository.root, "extra/data.txt", "static const char by_step[1] = {1};\n")
    with (repository.root / "native/CMakeLists.txt").open("a") as file:
        file.write(STEP)
    used = '  asm volatile("" : : "r"(by_step));\n'
    insert(repository.root, '\n#include "by_step.h"\n', GIVE, used)
    repository.commit("A step")
    passes(repository, tally, f"{name}, when it comes")
    repository.merge()
    repository.branch("data")
    write(repository.root, "extra/data.txt", f"static const char by_step[{SIZE}] = {{1}};\n")
    fails(repository, tally, f"{name}, not committed")
    repository.commit("Data")
    fails(repository, tally, name)
    document(repository)
    fails(repository, tally, f"{name}, then a document")
    repository.leave()


def take_on_main(repository: Repository, tally: Tally) -> None:
    """On the base's own branch growth is counted from the first parent, creep from the release."""
    WAYS["a table"].change(repository.root, repository.root)
    repository.commit("More")
    fails(repository, tally, "on main")
    document(repository)
    fails(repository, tally, "on main, then a document")


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--only", action="append", help="a way, by its name", choices=WAYS)
    options = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        repository = prepared(Path(folder) / "repository")
        passes(repository, tally, "the release")
        repository.git("commit", "-q", "--allow-empty", "-m", "Words")
        for name in options.only or WAYS:
            take(repository, tally, name, WAYS[name])
            passes(repository, tally, f"main after {name}")
        if not options.only:
            take_untold(repository, tally)
            take_on_main(repository, tally)
    return tally.close(f"{len(options.only or WAYS)} ways")


if __name__ == "__main__":
    sys.exit(main())
