"""Run the tests of changed functions, each in a process that forks from one collection of tests."""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

Line = tuple[str, int]  # path of a module, number of a line
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

    def apply(self, change: Change) -> None:
        """Replace the code of a function, in this process."""
        found = self._by_place[change.path, change.name, change.first_line]
        assert found, f"no function {change.name} in {change.path}"
        for function in found:
            function.__code__ = change.code
            # A verdict that the change names may not be imported
            for name in ("PASS", "FAIL", "OK", "BROKEN", "ABSENT", "PRESENT"):
                function.__globals__.setdefault(name, name.lower())


class Tracer:
    """Lines of some modules that ran."""

    def __init__(self, paths: set[str]) -> None:
        self._paths = paths
        self.lines: set[Line] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        path = frame.f_code.co_filename
        if path not in self._paths:
            return None
        lines = self.lines
        lines.add((path, frame.f_lineno))

        def local(inner: FrameType, kind: str, _: Any) -> Callable[..., Any]:
            if kind == "line":
                lines.add((path, inner.f_lineno))
            return local

        return local


class Session:
    """A plugin of pytest: collects tests, then calls `work` in place of running them.

    Tests are traced, each once, when they are first asked for.
    """

    def __init__(self, paths: set[str], work: Callable[[Session], None]) -> None:
        self._paths = paths
        self._work = work
        self._folder = Path(tempfile.mkdtemp(prefix="mutants-"))
        self.items: list[pytest.Item] = []
        self.seconds: dict[int, float] = {}
        self._of_line: dict[Line, set[int]] = defaultdict(set)
        self._kills: dict[tuple[str, int], int] = defaultdict(int)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = session.items
        self._functions = Functions(self._paths)
        try:
            self._work(self)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
        return True

    def tests_of(self, lines: Sequence[Line], among: Collection[int] | None = None) -> list[int]:
        """List tests that run one of the lines: those that killed first, then the fastest."""
        self.trace(range(len(self.items)) if among is None else among)
        found = {test for line in lines for test in self._of_line[line]}
        found &= found if among is None else {*among}
        path = lines[0][0]
        return sorted(found, key=lambda test: (-self._kills[path, test], self.seconds[test]))

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

    def _passes(self, at: int, tests: Sequence[int], index: int) -> bool:
        following = self.items[tests[index + 1]] if index + 1 < len(tests) else None
        reports = runtestprotocol(self.items[at], nextitem=following, log=False)
        return not any(report.failed for report in reports)

    def trace(self, tests: Iterable[int]) -> None:
        """Run each test alone under a tracer; a test that fails does not count."""
        for at in tests:
            if at in self.seconds:
                continue
            begin = os.times()
            lines = self._in_child(lambda at=at: self._traced(at))
            end = os.times()
            taken = end.children_user - begin.children_user + end.children_system
            self.seconds[at] = taken - begin.children_system
            if lines is None:
                print(f"left out, for it fails: {self.items[at].nodeid}", flush=True)
            for path, number in lines or ():
                self._of_line[path, number].add(at)

    def _traced(self, at: int) -> list[list[Any]] | None:
        tracer = Tracer(self._paths)
        sys.settrace(tracer)
        try:
            passes = self._passes(at, [at], 0)
        finally:
            sys.settrace(None)
        return [[path, number] for path, number in tracer.lines] if passes else None

    def _in_child(self, run: Callable[[], Any]) -> Any:
        """Call a function in a child with a separate temporary folder; None if the child died."""
        folder = self._folder / "child"
        folder.mkdir()
        answer = self._folder / "answer"
        answer.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            try:
                # pytest has no public way to move the folder of tmp_path after its start
                factory: Any = self.items[0].config._tmp_path_factory  # type: ignore[attr-defined]
                factory._basetemp = folder
                nowhere = os.open(os.devnull, os.O_RDWR)
                for output in (0, 1, 2):
                    os.dup2(nowhere, output)
                answer.write_text(json.dumps(run()), encoding="utf-8")
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) != _NOT_APPLIED, "a change cannot be applied"
        shutil.rmtree(folder, ignore_errors=True)
        return json.loads(answer.read_bytes()) if answer.exists() else None


def _limit_time(usual: float) -> None:
    """End this process if the next test takes much longer than it usually does."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + _TIMES * usual) + _SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
    signal.alarm(_WAIT)


def collected(tests: Sequence[str], paths: set[str], work: Callable[[Session], None]) -> None:
    """Collect unit tests and do the work with them."""
    options = ["-p", "no:cacheprovider", "-m", "not native", "-s"]
    code = pytest.main([*options, *tests], plugins=[Session(paths, work)])
    assert code in (0, 5), f"pytest ends with {code}"
