"""Run the soak scripts, write a log of each, and end with a table of results.

    python -m tests.soak.run [--list] [--only NAME]… [--jobs N] [--logs FOLDER]
                             [--torch-python PYTHON]

PYTHON is one that has torch 2.13, which exports thirty more models for model_sizes. Exit code 1 if
a script failed. Each script is also a command of its own, with more options:
`python -m tests.soak.runtime.fuzz --help`.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from tests.support.script_runner import Script, main

SCRIPTS = (
    Script("sanitized_models", 6),
    Script("fuzz", 25),
    Script("mutated_artifacts", 60),
    Script("gate_kills", 25),
    Script("hidden_growth", 60),
    Script("size_table", 30),
    Script("model_sizes", 90),
    Script("dtype_truth", 60),
    Script("targets", 120),
    Script("mutate", 10),
    Script("verdict_mutants", 60),
    Script("room_mutants", 60, ("--minutes", "55")),
    Script("live_set", 30),
    Script("retention", 15),
    Script("shared_apps", 20),
    Script("defects", 60),
    Script("refactorings", 60),
    Script("leaks", 60),
    Script("single_operators", 30),
    Script("native_live_set", 60),
    Script("recorded_links", 10),
    Script("lto_live_set", 30),
    Script("why_live", 5),
    Script("name_spellings", 5),
    Script("exclusive_truth", 15),
    Script("predict_truth", 15),
    Script("saving_truth", 40),
    Script("feature_truth", 15),
    Script("bisect_history", 20),
    Script("laws", 60),
    Script("whole_products", 10),
)
# These need a file that is not here, or root and a mirror of Debian.
BY_HAND = (
    *("clean_container", "doctor_promises", "draw_labels", "drawn_packages", "real_libraries"),
    *("real_projects", "same_outputs", "surviving_mutants", "workflow_containers"),
)


def scripts(torch_python: str | None) -> tuple[Script, ...]:
    """List all scripts, with the path of torch for the one that needs it."""
    if torch_python is None:
        return SCRIPTS
    torch = ("--torch-python", torch_python)
    return tuple(
        replace(each, arguments=torch) if each.name == "model_sizes" else each for each in SCRIPTS
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--torch-python")
    known, rest = parser.parse_known_args()
    sys.exit(main(__doc__, "soak", scripts(known.torch_python), rest))
