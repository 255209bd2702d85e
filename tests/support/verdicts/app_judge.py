"""The gate's judgement of one app whose image is a recorded program."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sizeguard.builds.build_record import IMAGE, Build
from sizeguard.builds.measured_sizes import measure
from sizeguard.gate import judged_app
from sizeguard.gate.gate_result import MEASURED, PARENT, AppResult, Base, Check
from sizeguard.gate.judged_app import judge_app
from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.policy.terms_result import Waiver
from sizeguard.gate.request import Request
from sizeguard.measurement.measured_builds import measure_build
from sizeguard.measurement.measurement import Measurement
from sizeguard.projects.head_builds import HeadBuild
from sizeguard.projects.pairs import Pair
from sizeguard.projects.reader import parse_config
from sizeguard.snapshots.store import Store
from sizeguard.toolchains.toolchain import Toolchain

TODAY = datetime.date(2026, 11, 21)
COMMIT = "4f2a91c" + "0" * 33


HOST = "x86_64-linux"
TOOLCHAIN = Toolchain("gcc", "bfd", HOST, "gcc", "g++", "12.2.0", "2.40")
TARGETS = "targets: {x86_64-linux: , small: {machine: x86_64-linux}}\n"


@dataclass
class Judge:
    """Judges an app `a` whose image is a recorded program."""

    root: Path
    programs: Path
    monkeypatch: pytest.MonkeyPatch

    def build(self, name: str) -> Build:
        """Return the build record of a recorded program."""
        folder = self.programs / name
        image, shipped = folder / "program", folder / "program.stripped"
        return Build(
            IMAGE, "a", HOST, "gcc-12.2", "", image, shipped, folder / "program.map", None,
            (), None, None, name, measure(shipped),
        )  # fmt: skip

    def measured(self, name: str) -> Measurement:
        return measure_build(Store(self.root / "store"), self.build(name), ())

    def use(self, **values: object) -> None:
        """Replace parts of the gate that need a repository or a compiler."""
        for name, value in values.items():
            self.monkeypatch.setattr(judged_app, name, value)

    def count_from(self, reference: SizeReference, source: str) -> None:
        commit = COMMIT if source in (MEASURED, PARENT) else ""
        self.use(
            growth_reference=lambda *_: (reference, source),
            counted_from=lambda *_: commit,
            keep_as_head=lambda *_: None,
        )

    def request(self, config: str) -> Request:
        text = TARGETS + config
        (self.root / "sizeguard.yaml").write_text(text)
        return Request(self.root, parse_config(self.root, text.encode()), today=TODAY)

    def __call__(
        self,
        config: str,
        name: str = "00",
        base: Base | None = None,
        waivers: tuple[Waiver, ...] = (),
        **head: Any,
    ) -> tuple[AppResult, tuple[Check, ...]]:
        request, build = self.request(config), self.build(name)
        app, target = request.pairs()[0]
        made = HeadBuild(build, **{"recipe": None, "commit": "", **head})
        return judge_app(request, base, waivers, Pair(app, target, None, None, build, made))


A = "apps: {a: {image: program}"
