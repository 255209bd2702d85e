"""Kill the gate at random moments, and let its disk fill up.

It must never pass, and must leave no half-written file.

It must never pass, and must leave no half-written file.

The next run passes. A source tree of its own has this project's sources; its builds are made once
and then again, in part, after each kill.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from tests.support.places import ROOT
from tests.support.script import Tally, options_of

SIZEGUARD = [sys.executable, "-P", "-m", "sizeguard.cli.main"]

# write() and its like fail with ENOSPC for files, not for pipes and terminals, after some bytes.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static long long left = -2;

ssize_t write(int file, const void* data, size_t size) {
  static ssize_t (*real)(int, const void*, size_t);
  if (!real) real = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  if (left == -2) {
    const char* text = getenv("DISK_LEFT");
    left = text ? atoll(text) : -1;
  }
  struct stat status;
  if (left >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    if ((long long)size > left) {
      left = 0;
      errno = ENOSPC;
      return -1;
    }
    left -= (long long)size;
  }
  return real(file, data, size);
}
"""


class BrokenError(Exception):
    """A check failed, so later checks have no meaning."""


TALLY = Tally()


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder, suppress(BrokenError):
        tree = Path(folder) / "tree"
        tree.mkdir()
        shutil.copy(ROOT / "sizeguard.yaml", tree)
        shutil.copytree(ROOT / "baselines", tree / "baselines")
        shutil.copytree(ROOT / "native", tree / "native")
        start = time.monotonic()
        check(run(tree) == 0, "the gate holds before anything is broken")
        print(f"first run {time.monotonic() - start:.0f} s", flush=True)
        start = time.monotonic()
        check(run(tree) == 0, "and again")
        whole = max(time.monotonic() - start, 2.0)
        kills(tree, dice, arguments.kills, whole)
        full_disks(tree, Path(folder), dice)
    return TALLY.close()


def kills(tree: Path, dice: random.Random, count: int, whole: float) -> None:
    """Kill the gate again and again, each time with something to build, measure and keep.

    One source gets a new time, and the results are removed.
    """
    sources = sorted((tree / "native" / "operators" / "kernels").glob("*.cpp"))
    hit = 0
    for i in range(count):
        dice.choice(sources).touch()
        if i % 5 == 0:
            shutil.rmtree(tree / ".sizeguard" / "store", ignore_errors=True)
        process = begin(tree, ["gate", "--target", "x86_64-linux", "--again"])
        time.sleep(dice.uniform(0.2, 4 * whole))
        if process.poll() is None:
            hit += 1
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            check(process.returncode != 0, f"kill {i}: killed, and not 0")
        else:
            check(
                process.returncode == 0,
                f"kill {i}: ended before it was killed, so all held:"
                f" {process.communicate()[1].decode()[-300:]}",
            )
    done = begin(tree, ["gate", "--target", "x86_64-linux", "--again"])
    said = done.communicate()[1].decode()
    check(done.returncode == 0, f"after {hit} kills the gate holds: {said[-500:]}")
    for path in (tree / "baselines").rglob("*"):
        if path.is_file():
            check(
                path.read_bytes() == (ROOT / path.relative_to(tree)).read_bytes(),
                f"{path.name} is as it was",
            )
    print(f"{hit} of {count} hit", flush=True)


def full_disks(tree: Path, folder: Path, dice: random.Random) -> None:
    """Allow from no byte to many; without a store, so that there is something to write."""
    source, shim = folder / "shim.c", folder / "shim.so"
    source.write_text(SHIM)
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", "-o", str(shim), str(source), "-ldl"], check=True
    )
    for left in (0, 1, 100, 5_000, *(dice.randrange(200_000) for _ in range(8))):
        shutil.rmtree(tree / ".sizeguard" / "store", ignore_errors=True)
        process = begin(
            tree,
            ["gate", "--target", "x86_64-linux", "--again"],
            LD_PRELOAD=str(shim),
            DISK_LEFT=str(left),
        )
        said = process.communicate()[1].decode()
        check(
            process.returncode != 0 or "error" not in said,
            f"{left} bytes left: an error is no success",
        )
        if process.returncode:
            check("Traceback" not in said, f"{left} bytes left: {said[-400:]}")
        check(run(tree) == 0, f"and with room again it holds, after {left} bytes")
    print("full disks held", flush=True)


def begin(tree: Path, arguments: list[str], **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*SIZEGUARD, *arguments],
        cwd=tree,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        start_new_session=True,
    )


def run(tree: Path) -> int:
    process = begin(tree, ["gate", "--target", "x86_64-linux"])
    process.communicate()
    return process.returncode


def check(holds: bool, what: str) -> None:
    if not TALLY.check(holds, what):
        raise BrokenError


if __name__ == "__main__":
    sys.exit(main())
