"""A copy of the runtime's sources, to apply, build and verify patches one by one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sizeguard.base.errors import BuildError
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.verified_builds import verify_build
from sizeguard.projects.reader import read_config
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, default_folder
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.places import TESTS

DEFECTS = TESTS / "defects"
COPIED = (
    "native",
    "baselines",
    "sizeguard.yaml",
    "sizeguard/runtimes/sizeguard/codegen",
    "sizeguard/selection",
)


@dataclass(frozen=True)
class Outcome:
    """The check that caught a defect, if any.

    caught_by: build or verify; empty if neither did. findings: kind, name and cause of failing
    claims.
    """

    caught_by: str
    findings: tuple[str, ...]

    @property
    def is_caught(self) -> bool:
        return bool(self.caught_by)


class Runtime:
    """The copy. Files that a patch does not touch are compiled once."""

    def __init__(
        self,
        source: Path,
        folder: Path,
        app: str = "vision",
        compiler: str | None = "gcc",
        target: str | None = None,
        optimize: str = "s",
    ) -> None:
        self.root = folder / "tree"
        for name in COPIED:
            if (source / name).is_dir():
                shutil.copytree(
                    source / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__")
                )
            else:
                shutil.copy(source / name, self.root / name)
        self.app = next(each for each in read_config(self.root).apps if each.name == app)
        self.toolchain = find_toolchain(compiler, None, target)
        self.optimize = optimize

    def outcome(self, patch: Path | None) -> Outcome:
        """Build with or without a patch, and verify.

        The verifier gets the same inputs as from the gate, and nothing about the patch.
        """
        if patch is None:
            return self.judged()
        with self.patched(patch):
            return self.judged()

    @contextmanager
    def patched(self, patch: Path) -> Iterator[None]:
        self._patch(patch, "--forward")
        try:
            yield
        finally:
            self._patch(patch, "--reverse")

    def judged(self) -> Outcome:
        variant = Variant("selective", self.app.name, self.app.selection, optimize=self.optimize)
        try:
            built = build(
                self.root,
                variant,
                self.toolchain,
                default_folder(self.root, variant, self.toolchain),
            )
        except BuildError as error:
            return Outcome("build", (str(error),))
        found = verify_build(self.root, built, RequestedClaims(selection=self.app.selection))
        wrong = [v for v in found.verdicts if v.verdict in ("fail", "inconclusive")]
        findings = [
            f"{v.verdict} {v.kind} {v.name} ({v.how}, {v.bytes} bytes): {v.cause or v.evidence[0]}"
            for v in wrong
        ]
        findings += [f"canary: {note}" for note in found.canary_notes]
        return Outcome("verify" if findings else "", tuple(findings))

    def _patch(self, patch: Path, direction: str) -> None:
        command = [
            "patch",
            "-p1",
            "--batch",
            "--silent",
            "--fuzz=3",
            direction,
            "--input",
            str(patch.resolve()),
        ]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{patch.name} does not apply:\n{done.stdout}{done.stderr}"
        for rejected in [*self.root.rglob("*.orig"), *self.root.rglob("*.rej")]:
            rejected.unlink()
