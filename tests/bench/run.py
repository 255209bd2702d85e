"""Run the benchmarks, write a log of each, and end with a table of results.

    python -m tests.bench.run [--torch-python PYTHON] [--list] [--only NAME]… [--logs FOLDER]

PYTHON has torch 2.13; without it two benchmarks are left out, and the last line names them. Exit
code 1 if a benchmark failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from tests.support.script_runner import Script, main

FIND_LIBRARY = (
    "import importlib.util as u;"
    " print(u.find_spec('torch').origin.replace('__init__.py', 'lib/libtorch_cpu.so'))"
)

# These measure an image that the user names: a library of a macOS wheel, or one with debug
# information.
BY_HAND = ("debug_speed", "macho_speed")


NEED_TORCH = ("mobilenet_speed", "report_speed")
NOT_RUN = (
    f"not run: {', '.join(NEED_TORCH)}; they need a Python that has torch 2.13: "
    f"make bench TORCH_PYTHON=path"
)


def scripts(torch_python: str | None) -> tuple[Script, ...]:
    """List all benchmarks; the two that need torch only if it is given."""
    found = (Script("section_graph", 2), Script("gate_speed", 15), Script("many_apps_speed", 30))
    if torch_python is None:
        return found
    library = torch_library(torch_python)
    compared, reported = NEED_TORCH
    return (
        *found,
        Script(compared, 3, ("--torch-python", torch_python)),
        Script(reported, 10, (library,)),
    )


def torch_library(python: str) -> str:
    """Return the path of libtorch_cpu.so; end with one line if this Python has no torch."""
    try:
        done = subprocess.run(
            [python, "-c", FIND_LIBRARY], check=True, capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        print(f"error: {python} is no Python that has torch 2.13", file=sys.stderr)
        sys.exit(2)
    return done.stdout.strip()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--torch-python")
    known, rest = parser.parse_known_args()
    code = main(__doc__, "bench", scripts(known.torch_python), rest)
    if known.torch_python is None:
        print(NOT_RUN)
    sys.exit(code)
