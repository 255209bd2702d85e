"""Evidence of recorded builds, to test verdicts without a compiler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sizeguard.builds.open_build import files_of
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.gather_evidence import gather
from sizeguard.verify.evidence.object_evidence import NamedPiece
from tests.support.builds.recorded_builds import files_of_program, recorded_runtime, unpack

Opener = Callable[..., Evidence]
UNLINKED = "partial-link"  # a program that is an object; stripped, it is another one


def opener_of_programs(folder: Path) -> Opener:
    """Unpack the recorded programs; return a function that opens one, with a gap if `lacks`."""
    programs = unpack("programs", folder)

    def opener(name: str = "00", *, lacks: bool = False) -> Evidence:
        found = gather(files_of_program(programs / name, twin=name != UNLINKED))
        return replace(found, gaps=("no map",)) if lacks else found

    return opener


def runtime_evidence(folder: Path) -> Evidence:
    """Unpack the recorded runtime, and gather its evidence."""
    return gather(files_of(recorded_runtime(folder).build))


def the_piece(evidence: Evidence, symbol: str) -> NamedPiece:
    (found,) = evidence.objects.find(symbol)
    return found
