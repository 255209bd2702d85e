"""Check every commit of a native history against a clean build.

Measurements of bisect, with incremental builds in one tree, must equal those of clean builds.

    python -m tests.soak.gates.bisect_history [--folder DIR] [--commits N]

--commits: rebuild only every N-th commit; 1 rebuilds all. Bytes are read with readelf
from the stripped file of each build.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.histories.native_history import SELECTION, make_history
from tests.support.places import SIZEGUARD
from tests.support.script import Tally, options_of


def loaded_bytes(image: Path) -> int:
    """Return the sum of all ALLOC sections except NOBITS, from readelf."""
    total = 0
    for line in subprocess.run(
        ["readelf", "-SW", str(image)], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        words = line.partition("]")[2].split()
        if (
            len(words) >= 8
            and words[0].startswith(".")
            and "A" in words[6]
            and words[1] != "NOBITS"
        ):
            total += int(words[4], 16)
    return total


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--commits", type=int, default=1)
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp())
    shutil.rmtree(folder, ignore_errors=True)
    history = make_history(folder / "runtime")
    root, commits = history.repository.path, history.commits
    command = [
        str(SIZEGUARD),
        "bisect",
        commits["good"],
        commits["bad"],
        "--app",
        "tiny",
        "--exhaustive",
        "--format",
        "json",
    ]
    result = json.loads(
        subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True).stdout
    )
    names = {commit: name for name, commit in commits.items()}
    found = [names[each["commit"]] for each in result["culprits"]]
    tally = Tally()
    tally.check(found == list(history.moves), f"culprits {found}, expected {list(history.moves)}")
    print(
        f"{result['builds']} builds, {result['failed_builds']} failed, of {result['commits']}"
        f" commits; delta {result['delta']:+,}"
    )
    for point in result["series"][:: arguments.commits]:
        clean = folder / "clean"
        shutil.rmtree(clean, ignore_errors=True)
        subprocess.run(["git", "clone", "-q", str(root), str(clean)], check=True)
        subprocess.run(["git", "-C", str(clean), "checkout", "-q", point["commit"]], check=True)
        build = [str(SIZEGUARD), "build", "selective", "--app", "tiny", "--selection", SELECTION]
        done = subprocess.run(build, cwd=clean, capture_output=True, text=True, check=False)
        image = clean / "build" / "tiny" / "run_program.stripped"
        size = loaded_bytes(image) if done.returncode == 0 else None
        said = f"{point['how']:15} bisect {point['value']}  clean {size}  {names[point['commit']]}"
        if tally.check(size == point["value"], f"{point['commit'][:7]} {said}"):
            print(f"ok   {point['commit'][:7]} {said}", flush=True)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
