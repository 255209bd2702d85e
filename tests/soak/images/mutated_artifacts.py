"""Mutate artifacts of measuring runs; the writer must refuse or show each quickly.

    python -m tests.soak.images.mutated_artifacts [--count N] [--seed N] [--minutes M]

Archives are cut, flipped and spliced; documents get other values, rows and nesting. Any exception
but a refusal fails, and so does an artifact that takes more than five seconds of CPU time, or a
green comment on a result that does not pass. Some are joined from two or three jobs.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ci.github.measured_run import Run
from ci.github.size_artifact import member
from ci.github.size_words import NUMBER, Files, Known, Reader, Report, report_of_parts
from ci.results.judged_result import RESULT
from sizeguard.report.gate.gate_json import LARGEST
from tests.support.results.gate_samples import SAMPLES
from tests.support.results.hostile_artifacts import document, packed
from tests.support.results.hostile_results import HOSTILE
from tests.support.services.local_hub import FORK, HEAD, MERGE

SECONDS = 5.0
VALUES: Sequence[Any] = (
    None, True, False, 0, -1, 1, 1 << 53, -(1 << 53), 1 << 70, "", "pass", "fail", "inconclusive",
    "not_run", "load", "growth", "absolute", "creep", "elimination", "needed", "run", "0", "1%",
    [], {}, [[]], [None], {"a": 1}, *HOSTILE,
)  # fmt: skip


@dataclass(frozen=True)
class Seeds:
    """Good artifacts, as documents and as archives."""

    documents: list[dict[str, Any]]
    archives: list[bytes]


def seeds() -> Seeds:
    """Take all samples, each with few claims."""
    documents = []
    for sample in SAMPLES.values():
        content = document(sample)
        for app in content["apps"]:
            app["causes"] = app["causes"][:3]
            if app["verification"]:
                app["verification"]["verdicts"] = app["verification"]["verdicts"][-3:]
        content["checks"] = content["checks"][:6]
        documents.append(content)
    return Seeds(documents, [packed(each) for each in documents])


def mutated(found: Seeds, draw: random.Random) -> bytes | dict[str, Any]:
    """Draw a mutated archive, or the document of one."""
    if draw.random() < 0.2:
        return _bytes(draw.choice(found.archives), found, draw)
    content = copy.deepcopy(draw.choice(found.documents))
    for _ in range(draw.choice((1, 1, 2, 4, 9))):
        _edit(content, draw)
    return content


def _bytes(archive: bytes, found: Seeds, draw: random.Random) -> bytes:
    data = bytearray(archive)
    for _ in range(draw.choice((1, 2, 5, 20))):
        at = draw.randrange(len(data) + 1)
        kind = draw.randrange(5)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del data[at : at + draw.choice((1, 2, 4, 100))]
        elif kind == 2:
            data[at:at] = draw.randbytes(draw.choice((1, 2, 4, 30)))
        elif kind == 3:
            other = draw.choice(found.archives)
            start = draw.randrange(len(other))
            data[at : at + 60] = other[start : start + draw.choice((4, 46, 200))]
        else:  # the directory and the end, where sizes and methods are
            at = max(0, len(data) - 1 - draw.randrange(160))
            data[at : at + 1] = bytes([draw.choice((0, 1, 14, 12, 99, 255))])
    return bytes(data)


def _edit(content: dict[str, Any], draw: random.Random) -> None:
    """Change one value anywhere: replace, remove, repeat, nest, or copy another value over it."""
    at: Any = content
    while True:
        keys = [*at] if isinstance(at, dict) else [*range(len(at))]
        if not keys:
            return
        key = draw.choice(keys)
        inner = at[key]
        if not isinstance(inner, dict | list) or not inner or draw.random() < 0.15:
            break
        at = inner
    # Most edits keep the type, because others are refused before numbers are compared
    kind = draw.choice((0, 1, 2, 2, 2, 3, 3, 4, 5, 6, 6, 6))
    if kind == 0:
        del at[key]
    elif kind == 1 and isinstance(at, list):
        at[key:key] = [copy.deepcopy(at[key])] * draw.choice((1, 3, 50))
    elif kind == 2 and isinstance(at[key], int):
        at[key] = at[key] + draw.choice((-1, 1, 100, -(10**6), 10**9))
    elif kind == 3 and isinstance(at[key], str):
        at[key] = draw.choice(HOSTILE) * draw.choice((1, 1, 30)) + at[key]
    elif kind == 4:
        at[key] = copy.deepcopy(draw.choice([*at.values()] if isinstance(at, dict) else at))
    elif kind == 5:
        at[key] = copy.deepcopy(draw.choice(VALUES))
    else:
        like = [each for each in VALUES if type(each) is type(at[key])]
        at[key] = copy.deepcopy(draw.choice(like or VALUES))


Artifact = bytes | dict[str, Any]
# A GitHub that knows one merge commit
_KNOWN = Known(lambda commit, head: (commit, head) == (MERGE, HEAD), lambda _: False)


def judged(artifact: Artifact, conclusion: str = "success", *others: Artifact) -> str:
    """Judge an artifact as the writer does; return refused, contradiction or shown.

    others: of other jobs of the run, joined with the first

    Raises AssertionError for one that takes too long, is green without passing, or breaks the
    comment's limits.
    """
    run = Run(42, 1, "pull_request", HEAD, "t", FORK, conclusion, "https://x.example", "https://x")
    before = time.process_time()
    parts = {f"part-{i}": _reader(each) for i, each in enumerate((artifact, *others))}
    report = report_of_parts(run, [7], parts, _KNOWN)
    body = report.body("<!-- x -->")
    took = time.process_time() - before
    assert took < SECONDS, f"{took:.1f} s"
    assert len(body) <= 65_536
    assert len(report.title) <= 140 and report.title.isprintable()
    assert not (report.missing and report.state == "success")
    _check(report, body)
    return "refused" if report.reason else "contradiction" if report.against else "shown"


def _reader(artifact: Artifact) -> Reader:
    archive = artifact if isinstance(artifact, bytes) else None
    data = None if archive is not None else json.dumps(artifact).encode("utf-8", "replace")
    return lambda: _files(archive, data)


def _files(archive: bytes | None, data: bytes | None) -> Files:
    if archive is None:
        return b"7\n", data
    return member(archive, NUMBER, 20), member(archive, RESULT, LARGEST)


def _check(report: Report, body: str) -> None:
    is_green = report.state == "success"
    assert is_green == report.is_pass
    if not is_green:
        assert not body.split("\n", 2)[1].startswith("### ✅")
    if report.against or report.reason:
        assert "✅" not in body


def main() -> int:
    """Run until the count or the time is reached; print what became of the artifacts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=600)
    options = parser.parse_args()
    found, ends = seeds(), time.monotonic() + 60 * options.minutes
    counts: Counter[str] = Counter()
    slowest = 0.0
    for number in range(options.count):
        draw = random.Random(f"{options.seed}/{number}")
        artifact, *others = (mutated(found, draw) for _ in range(draw.choice((1, 1, 1, 2, 3))))
        before = time.process_time()
        try:
            counts[judged(artifact, draw.choice(("success", "failure")), *others)] += 1
        except Exception:
            print(f"seed {options.seed}, artifact {number}", file=sys.stderr)
            raise
        slowest = max(slowest, time.process_time() - before)
        if not number % 1000 and time.monotonic() > ends:
            break
    total = sum(counts.values())
    print(f"{total:,} artifacts, the slowest {slowest:.2f} s: {dict(counts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
