"""A repository whose commits have recorded measurements."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sizeguard.builds.build_inputs import BuildInputs, content_hash, glob_hash
from sizeguard.builds.build_record import Build
from sizeguard.gate.reference.history import History
from sizeguard.gate.reference.reference import MeasuredApp
from sizeguard.measurement.measured_analysis import measurement_of
from sizeguard.measurement.measurement import Measurement
from sizeguard.projects.pairs import recipe_of_commits
from sizeguard.projects.project import App, Target
from sizeguard.runtimes.sizeguard.native_sources import NativeSources
from sizeguard.runtimes.sizeguard.runtime import RUNTIME
from sizeguard.toolchains.environment import recorded_environment
from sizeguard.toolchains.toolchain import Toolchain
from tests.support.builds.recorded_builds import recorded_analysis
from tests.support.histories.drawn_history import run_git

TARGET = Target("x86_64-linux", "x86_64-linux")
TOOLCHAIN = Toolchain("gcc", "bfd", "x86_64-linux", "gcc", "g++", "12.2.0", "2.40")
SELECTION = "native/apps/mlp/selected_operators.yaml"
BASELINE = "baselines/mlp.x86_64-linux.gcc-12.2-bfd-2.40-Os.yaml"
REVIEWED = """\
app: mlp
target: x86_64-linux
toolchain: gcc-12.2-bfd-2.40-Os
tools: gcc 12.2.0, bfd 2.40
load: 31000
ram: 900
file: 34000
page_slack: 400
operators:
  'aten::relu': 1500
"""


def measured(name: str) -> Measurement:
    """Return the sizes of a recorded build: core, mlp or mlp_and_erf."""
    return measurement_of(recorded_analysis(name), ["symbol/sg::kernels::*"])


@dataclass(frozen=True)
class Project:
    """A repository whose commits are measured.

    v1 and `documents` have the sizes of core, `grown` has those of mlp, and HEAD has those of
    mlp_and_erf. `broken` does not build. main is at `grown`.
    """

    root: Path
    history: History
    commits: dict[str, str]
    more: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def subject(self, name: str = "mlp_and_erf") -> MeasuredApp:
        now = measured(name)
        place = self.root / "build" / "mlp"
        build = Build(
            "selective/mlp", "mlp", "x86_64-linux", "gcc-12.2-bfd-2.40", "s", place / "run_program",
            place / "run_program.stripped", place / "map", place / "log", (),
            place / "selected.yaml", None, "f", now.sizes, inputs=self.inputs(),
        )  # fmt: skip
        app = App("mlp", self.root / SELECTION, (), ())
        return MeasuredApp(
            app, "x86_64-linux", build, TOOLCHAIN, now, ("symbol/sg::kernels::*",),
            NativeSources(self.root, self.root),
            recipe_of_commits(RUNTIME, TOOLCHAIN, app, TARGET),
        )  # fmt: skip

    def inputs(self) -> BuildInputs:
        """Return a build's inputs: sources, selection, installed tools, generator if any."""
        generator = "sizeguard/runtimes/sizeguard/codegen/generate.py"
        names = ["native/runtime/a.cpp", SELECTION, *self.more]
        paths = [self.root / name for name in (*names, generator)]
        return BuildInputs(
            {str(path): content_hash(str(path)) for path in paths if path.is_file()},
            {"/usr/bin/env": content_hash("/usr/bin/env")},
            (str(self.root / "ctime"),),
            {f"{self.root}/native/runtime/*.cpp": glob_hash(f"{self.root}/native/runtime/*.cpp")},
            {**recorded_environment(), **self.environment},
        )

    def commit(self, message: str, files: dict[str, str]) -> str:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        run_git(self.root, "add", "-A")
        run_git(self.root, "commit", "-q", "-m", message)
        return run_git(self.root, "rev-parse", "HEAD")


def keep(project: Project, commit: str, name: str | None) -> None:
    recipe = project.subject().recipe
    assert recipe
    key = project.history.key(commit, recipe)
    if name is None:
        project.history.place.store.put(key, {"does_not_build": "x.cpp:1: error"})
    else:
        project.history.place.store.put(key, {"commit": commit}, recorded_analysis(name))
