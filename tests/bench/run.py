"""Run the benchmarks, write a log of each, and end with a table of results.

    python -m tests.bench.run --torch-python PYTHON [--list] [--only NAME]… [--logs FOLDER]

PYTHON has torch 2.13; the first three benchmarks do without it. Exit code 1 if a benchmark
failed.
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


def scripts(torch_python: str | None) -> tuple[Script, ...]:
    """List all benchmarks; the two that need torch only if it is given."""
    found = (Script("section_graph", 2), Script("gate_speed", 15), Script("many_apps_speed", 30))
    if torch_python is None:
        return found
    library = subprocess.run(
        [torch_python, "-c", FIND_LIBRARY], check=True, capture_output=True, text=True
    ).stdout.strip()
    return (
        *found,
        Script("mobilenet_speed", 3, ("--torch-python", torch_python)),
        Script("report_speed", 10, (library,)),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--torch-python")
    known, rest = parser.parse_known_args()
    sys.exit(main(__doc__, "bench", scripts(known.torch_python), rest))
