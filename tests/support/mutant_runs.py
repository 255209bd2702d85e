"""Run the tests of changed functions, each in a process that forks from one collection of tests."""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import signal
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

Line = tuple[str, int]  # path of a module, number of a line
RAN = "__ran__"  # a probe calls it with the line that runs next
# A mutant may loop: a test gets what it needs without one several times, and these seconds more.
_TIMES, _SECONDS = 5, 5
_WAIT = 600  # seconds of the clock for one test, since machines are shared
_NOT_APPLIED = 3  # exit code of a child


@dataclass(frozen=True)
class Change:
    """A function with other code: its module, qualified name and first line."""

    path: str
    name: str
    first_line: int
    code: CodeType


class Functions:
    """Live functions by module, name and line, wrapped ones included."""

    def __init__(self, paths: set[str]) -> None:
        gc.unfreeze()  # tests/conftest.py freezes what was imported
        self._by_place: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
        for each in gc.get_objects():
            if isinstance(each, FunctionType) and each.__code__.co_filename in paths:
                code = each.__code__
                place = (code.co_filename, code.co_qualname, code.co_firstlineno)
                self._by_place[place].append(each)
        gc.freeze()

    def apply(self, change: Change, ran: Callable[[Line], None] | None = None) -> None:
        """Replace the code of a function, in this process. ran: for probes."""
        found = self._by_place[change.path, change.name, change.first_line]
        assert found, f"no function {change.name} in {change.path}"
        for function in found:
            function.__code__ = change.code
            # A verdict that the change names may not be imported
            for name in ("PASS", "FAIL", "OK", "BROKEN", "ABSENT", "PRESENT"):
                function.__globals__.setdefault(name, name.lower())
            if ran:
                function.__globals__[RAN] = ran


class Session:
    """A plugin of pytest: collects tests, then calls `work` in place of running them.

    probes: functions that call RAN.
    """

    def __init__(self, probes: Sequence[Change], work: Callable[[Session], None]) -> None:
        self._probes = probes
        self._work = work
        self._folder = Path(tempfile.mkdtemp(prefix="mutants-"))
        self.items: list[pytest.Item] = []
        self.seconds: dict[int, float] = {}
        self._ready: Callable[[], None] | None = None
        self._of_line: dict[Line, set[int]] = defaultdict(set)
        self._kills: dict[tuple[str, int], int] = defaultdict(int)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = session.items
        self._functions = Functions({probe.path for probe in self._probes})
        try:
            self._work(self)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
        return True

    def tests_of(self, lines: Sequence[Line]) -> list[int]:
        """List tests that run one of the lines: those that killed first, then the fastest.

        Tests of a file stay together, since they share fixtures.
        """
        ranks: dict[int, tuple[int, float]] = {}
        files: dict[Path, tuple[int, float]] = {}
        for at in {test for line in lines for test in self._of_line[line]}:
            file = self.items[at].path
            ranks[at] = (-self._kills[lines[0][0], at], self.seconds[at])
            files[file] = min(files.get(file, ranks[at]), ranks[at])
        key = {
            at: (files[self.items[at].path], self.items[at].path, rank)
            for at, rank in ranks.items()
        }
        return sorted(ranks, key=key.__getitem__)

    def killer(self, change: Change, tests: Sequence[int]) -> str | None:
        """Return the first test that fails on a change, a reason for the end, or None."""

        def run() -> int:
            try:
                self._functions.apply(change)
            except BaseException:
                os._exit(_NOT_APPLIED)
            for i, at in enumerate(tests):
                _limit_time(self.seconds[at])
                if not self._passes(at, tests, i):
                    return i
            return -1

        answer = self._in_child(run)
        if answer is None:
            return "the process ended"
        if answer < 0:
            return None
        self._kills[change.path, tests[answer]] += 1
        return self.items[tests[answer]].nodeid

    def _passes(
        self, at: int, tests: Sequence[int], index: int, ready: Callable[[], None] | None = None
    ) -> bool:
        """Run a test. ready: is called when its fixtures are made."""
        following = self.items[tests[index + 1]] if index + 1 < len(tests) else None
        self._ready = ready
        reports = runtestprotocol(self.items[at], nextitem=following, log=False)
        return not any(report.failed for report in reports)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        if self._ready:
            self._ready()

    def trace(self, tests: Iterable[int]) -> None:
        """Run the tests of each file in a child, with the probes; one that fails does not count."""
        files: dict[Path, list[int]] = defaultdict(list)
        for at in tests:
            if at not in self.seconds:
                files[self.items[at].path].append(at)
        for among in files.values():
            traced = self._in_child(lambda among=among: self._traced(among)) or []
            for at, (seconds, lines) in zip_longest(among, traced, fillvalue=(0.0, None)):
                self.seconds[at] = seconds
                if lines is None:
                    print(f"left out, for it fails: {self.items[at].nodeid}", flush=True)
                for path, number in lines or ():
                    self._of_line[path, number].add(at)

    def _traced(self, tests: Sequence[int]) -> list[tuple[float, list[Line] | None]]:
        """Return the processor's seconds and the lines of each test.

        The lines that make a shared fixture are those of all tests after it.
        """
        ran: set[Line] = set()
        shared: set[Line] = set()
        for probe in self._probes:
            self._functions.apply(probe, ran.add)
        found: list[tuple[float, list[Line] | None]] = []
        for i, at in enumerate(tests):
            ran.clear()
            begin = sum(os.times()[:4])
            passes = self._passes(at, tests, i, lambda: shared.update(ran))
            taken = sum(os.times()[:4]) - begin
            found.append((taken, [*(ran | shared)] if passes else None))
        return found

    def _in_child(self, run: Callable[[], Any]) -> Any:
        """Call a function in a child with a separate temporary folder; None if the child died."""

        def run_there() -> Any:
            # pytest has no public way to move the folder of tmp_path after its start
            factory: Any = self.items[0].config._tmp_path_factory  # type: ignore[attr-defined]
            factory._basetemp = self._folder / "child"
            return run()

        return in_child(self._folder, run_there)


def in_child(folder: Path, run: Callable[[], Any]) -> Any:
    """Call a function in a forked child; return its answer, as JSON has it, or None if it died.

    The child may write to `child` in the folder, which is removed then.
    """
    place, answer = folder / "child", folder / "answer"
    place.mkdir()
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for output in (0, 1, 2):
                os.dup2(nowhere, output)
            answer.write_text(json.dumps(run()), encoding="utf-8")
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) != _NOT_APPLIED, "a change cannot be applied"
    shutil.rmtree(place, ignore_errors=True)
    return json.loads(answer.read_bytes()) if answer.exists() else None


def _limit_time(usual: float) -> None:
    """End this process if the next test takes much longer than it usually does."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + _TIMES * usual) + _SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
    signal.alarm(_WAIT)


def collected(
    tests: Sequence[str],
    probes: Sequence[Change],
    work: Callable[[Session], None],
    marks: str = "not native",
) -> None:
    """Collect tests, which are unit tests unless `marks` differs, and do the work with them."""
    options = ["-p", "no:cacheprovider", "-m", marks, "-s"]
    code = pytest.main([*options, *tests], plugins=[Session(probes, work)])
    assert code in (0, 5), f"pytest ends with {code}"
