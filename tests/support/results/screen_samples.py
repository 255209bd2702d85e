"""Screens of commands that need no build, at several widths and in a pipe.

`python -m tests.support.results.screen_samples` rewrites the golden files; review the change.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import click

from sizeguard.cli.main import _run
from sizeguard.report.bisect.render import bisect_chunks
from sizeguard.report.gate.render import gate_text
from sizeguard.report.history.render import history_chunks
from sizeguard.report.predict.render import prediction_chunks
from sizeguard.report.writers.style import Style
from tests.support.builds.recorded_builds import RECORDED, recorded_runtime
from tests.support.histories.bisect_samples import three_culprits
from tests.support.histories.made_up_history import made_up_history
from tests.support.places import DATA
from tests.support.results.gate_samples import SAMPLES
from tests.support.results.prediction_samples import vision_prediction

FOLDER = DATA / "screens"
WIDTHS = (60, 80, 100, 160)
PIPED = "piped"

# Screen → command line in a folder with a recorded build, its image and two snapshots.
COMMANDS = {
    "report": "report build/mlp --by operator,dtype -n 6",
    "report-symbols": "report app --by symbol -n 12",
    "diff": "diff mlp.snapshot mlp_and_erf.snapshot --by operator,symbol -n 12",
    "verify": "verify build/mlp --absent sg::kernels::relu --present sg::kernels::erf",
    "why": "why app aten::relu --objects build/mlp --roots 2",
    "doctor": "doctor app -n 4",
    "select-ops": "select ops model.pt2",
    "explain": "explain inconclusive",
}
# Screens of results that take builds or a history of commits to make.
RESULTS: dict[str, Callable[[Style], Iterable[str]]] = {
    "predict": lambda style: prediction_chunks(vision_prediction(), "terminal", 25, style),
    "bisect": lambda style: bisect_chunks(three_culprits(), "terminal", 5, style),
    "history": lambda style: history_chunks(made_up_history(), "terminal", 3, style),
}
GATES = ("passing", "failing", "undecided", "everything", "terms", "shared")


def prepare(folder: Path) -> Path:
    """Make the folder in which the commands run."""
    root = recorded_runtime(folder).root
    shutil.copy(root / "build" / "mlp" / "run_program", root / "app")
    for name in ("mlp", "mlp_and_erf"):
        shutil.copy(RECORDED / f"{name}.snapshot", root)
    model = next(iter(sorted((DATA / "exported_models").rglob("*.pt2"))))
    shutil.copy(model, root / "model.pt2")
    return root


def screen(root: Path, line: str, width: int | None) -> str:
    """Run a command; a width of None means a pipe."""
    words = [*line.split(), *(["--width", str(width)] if width else [])]
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with redirect_stdout(out), redirect_stderr(io.StringIO()), chdir(root):
        with suppress(click.exceptions.Exit):
            _run(words)
        out.flush()
    out.seek(0)
    return re.sub(re.escape(str(root)), "ROOT", out.read())


def screens(root: Path) -> Iterator[tuple[str, int | None, str]]:
    """Yield name, width and text of each screen."""
    for width in (*WIDTHS, None):
        for name, line in COMMANDS.items():
            yield name, width, screen(root, line, width)
        for name in GATES:
            style = Style(width=width or 100, full=width is None)
            yield f"gate-{name}", width, gate_text(SAMPLES[name](), "terminal", style) + "\n"
        for name, chunks in RESULTS.items():
            yield name, width, "".join(chunks(Style(width=width or 100, full=width is None)))


def file_of(name: str, width: int | None) -> str:
    return f"{name}-{width or PIPED}.txt"


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    with tempfile.TemporaryDirectory() as place:
        for name, width, text in screens(prepare(Path(place))):
            (FOLDER / file_of(name, width)).write_text(text, "utf-8")
    sys.stdout.write(f"{len(list(FOLDER.iterdir()))} screens\n")
