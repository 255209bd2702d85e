"""Garbage collection of a command: seldom while it runs, none at its end."""

from __future__ import annotations

import pytest

from tests.support.own_python import run_python

# Prints from an exit handler, after the output of the command.
PROGRAM = """
import atexit, gc, sys
import sizeguard.__main__ as m
atexit.register(lambda: print(gc.get_threshold()[0], gc.get_freeze_count() > 0))
m.main()
"""


@pytest.mark.parametrize(
    ("words", "code"), [(["--help"], 0), (["report", "absent"], 2), (["no-command"], 2)]
)
def test_exit_handlers_run_and_objects_are_exempt(words: list[str], code: int) -> None:
    done = run_python(PROGRAM, *words)
    assert done.returncode == code
    assert done.stdout.endswith("100000 True\n")


def test_an_import_leaves_the_collector_alone() -> None:
    program = (
        "import gc; import sizeguard.__main__, sizeguard.cli.main; print(gc.get_threshold()[0])"
    )
    done = run_python(program)
    assert done.returncode == 0
    assert done.stdout != "100000\n"  # Python 3.14 begins with another number than 700
