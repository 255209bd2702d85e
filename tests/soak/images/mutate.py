"""Mutate files of every format, and read them.

Each must be read, or refused with one line, in bounded time and memory.

    python -m tests.soak.images.mutate [--count 50000] [--seed 0] [--only maps]…

A format is a module in tests/soak/images/mutations with TARGETS: name → (what makes its seed files
in a folder, what reads a file). Fails for another exception than ours, a message of several lines,
a crash, 10 seconds without an answer, or more than 1 GiB. What failed is kept in build/mutations.
"""

from __future__ import annotations

import importlib
import os
import random
import resource
import selectors
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from sizeguard.base.errors import SizeguardError
from tests.support.places import ROOT
from tests.support.script import Tally, options_of

SECONDS = 10
MEMORY = 1 << 30  # bytes that reading may take beyond what a process has at its start
KEPT = ROOT / "build" / "mutations"
INTERESTING = (0, 1, 2, 4, 7, 8, 16, 32, 63, 64, 100, 127, 128, 255)

Target = tuple[Callable[[Path], list[Path]], Callable[[Path], object]]


def targets() -> dict[str, Target]:
    """Return all formats by name."""
    found: dict[str, Target] = {}
    for module in sorted((ROOT / "tests" / "soak" / "images" / "mutations").glob("[a-z]*.py")):
        found |= importlib.import_module(f"tests.soak.images.mutations.{module.stem}").TARGETS
    return found


def mutated(original: bytes, random_: random.Random) -> bytes:
    """Make one to sixteen changes: bytes, numbers, cuts, copies, lines.

    Half of them keep the size, so that tables stay in place.
    """
    data = bytearray(original)
    keeps_size = random_.random() < 0.5
    for _ in range(random_.choice((1, 1, 2, 4, 16))):
        if not data:
            break
        # Headers and the tables at the end matter most.
        size = len(data)
        places = (
            random_.randrange(min(size, 128)),
            size - 1 - random_.randrange(min(size, 4096)),
            random_.randrange(size),
        )
        place = places[2] if keeps_size else random_.choice(places)
        kind = random_.choice((0, 1, 2, 4, 7)) if keeps_size else random_.randrange(10)
        if kind < 4:
            data[place] = random_.choice(INTERESTING) if kind < 2 else random_.randrange(256)
        elif kind == 4:
            width = random_.choice((2, 4, 8))
            value = random_.choice(
                (0, 1, -1, 1 << 31, 1 << 62, size, size + 1, random_.getrandbits(64))
            )
            place = min(place, size - width) if size >= width else 0
            data[place : place + width] = (value % (1 << 8 * width)).to_bytes(
                width, random_.choice(("little", "big"))
            )
        elif kind == 5:
            del data[place : place + random_.choice((1, 2, 8, 60, 200))]
        elif kind == 6:
            other = random_.randrange(size)
            data[place:place] = data[other : other + random_.choice((1, 8, 60, 500))]
        elif kind == 7:
            other, length = random_.randrange(size), random_.choice((4, 16, 64))
            length = min(length, size - place, size - other)
            data[place : place + length] = data[other : other + length]
        elif kind == 8:
            end = data.find(b"\n", place)
            del data[data.rfind(b"\n", 0, place) + 1 : end + 1 if end >= 0 else place + 1]
        else:
            del data[random_.randrange(size) :]
    return bytes(data)


def worker(name: str, seed: int, first: int, last: int, folder: Path) -> None:
    """Read the inputs [first, last) and print a line before and after each."""
    _, read = targets()[name]
    seeds = sorted(
        path
        for path in (folder / "seeds").rglob("*")
        if path.is_file() and path.name.startswith("seed")
    )
    originals = [path.read_bytes() for path in seeds]
    limit = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (6 * MEMORY, 6 * MEMORY))
    # A separate name for each worker, because workers run in parallel.
    path = folder / f"mutated-{os.getpid()}"
    for index in range(first, last):
        random_ = random.Random(f"{name} {seed} {index}")
        which = index % len(originals)
        path.write_bytes(mutated(originals[which], random_))
        print(f"begin {index}", flush=True)
        try:
            read(path)
            verdict = "read"
        except SizeguardError as error:
            verdict = (
                "refused"
                if "\n" not in str(error)
                else f"failed: a message of several lines: {error!r}"
            )
        except BaseException:  # any other exception is a finding
            verdict = "failed: " + traceback.format_exc().strip().replace("\n", " | ")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if peak > limit:
            verdict = f"failed: {peak >> 20} MiB"
        print(f"end {index} {verdict}", flush=True)
        if peak > limit:
            return  # the peak does not fall: start again


def keep(name: str, seed: int, index: int, folder: Path) -> Path:
    seeds = sorted(
        path
        for path in (folder / "seeds").rglob("*")
        if path.is_file() and path.name.startswith("seed")
    )
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / f"{name}-{seed}-{index}"
    kept.write_bytes(
        mutated(seeds[index % len(seeds)].read_bytes(), random.Random(f"{name} {seed} {index}"))
    )
    return kept


def run(name: str, seed: int, count: int, folder: Path) -> tuple[Counter[str], float, list[str]]:
    """Read `count` inputs of a format in worker processes.

    Returns how many were read and refused, the slowest, and failures.
    """
    results: Counter[str] = Counter()
    failures: list[str] = []
    slowest = 0.0
    index = 0
    while index < count:
        command = [
            sys.executable,
            "-m",
            "tests.soak.images.mutate",
            "--worker",
            name,
            str(seed),
            str(index),
            str(count),
            str(folder.resolve()),
        ]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            lines = selectors.DefaultSelector()
            lines.register(process.stdout, selectors.EVENT_READ)
            began = time.monotonic()
            verdict = ""
            while True:
                # Starting the process also takes time on a loaded machine.
                if not lines.select(SECONDS if verdict == "" and index else 6 * SECONDS):
                    verdict = f"failed: no answer in {SECONDS} s"
                    process.kill()
                    break
                line = process.stdout.readline().decode()
                if not line:
                    break
                word, number, *rest = line.split(" ", 2)
                if word == "begin":
                    index, began, verdict = int(number), time.monotonic(), ""
                else:
                    slowest = max(slowest, time.monotonic() - began)
                    verdict = rest[0].strip()
                    results[verdict.partition(":")[0]] += 1
                    if verdict.startswith("failed"):
                        failures.append(
                            f"{keep(name, seed, int(number), folder)}: {verdict[-300:]}"
                        )
                    index = int(number) + 1
            process.wait()
            if process.returncode and not verdict.startswith("failed"):
                verdict = (
                    f"failed: a crash, {process.returncode}:"
                    f" {process.stderr.read().decode()[-200:]}"
                )
        if index < count and verdict.startswith(("failed: no answer", "failed: a crash")):
            results["failed"] += 1
            failures.append(f"{keep(name, seed, index, folder)}: {verdict}")
            index += 1
        if len(failures) > 20:
            break
    return results, slowest, failures


def main() -> int:
    if sys.argv[1:2] == ["--worker"]:
        name, seed, first, last, folder = sys.argv[2:]
        worker(name, int(seed), int(first), int(last), Path(folder))
        return 0
    parser = options_of(__doc__)
    parser.add_argument("--count", type=int, default=50_000, help="inputs of all formats together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", help="a format; all if left out")
    options = parser.parse_args()
    known = targets()
    names = options.only or list(known)
    tally = Tally()
    for name in names:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            (folder / "seeds").mkdir()
            for i, made in enumerate(known[name][0](folder)):
                made.rename(folder / "seeds" / f"seed{i:03}")
            began = time.monotonic()
            results, slowest, failures = run(
                name, options.seed, -(-options.count // len(names)), folder
            )
        counts = ", ".join(f"{results[word]} {word}" for word in ("read", "refused", "failed"))
        print(
            f"{name}: {counts}; slowest {slowest:.2f} s; {time.monotonic() - began:.0f} s in all",
            flush=True,
        )
        tally.checked += results.total() - len(failures)
        for line in failures:
            tally.check(False, line)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
