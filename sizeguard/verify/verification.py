"""Verification of the claims on a build, or on an image with its objects and map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import Files, files_of, open_build
from sizeguard.claims.verdict import ABSENT, BROKEN, OK, PRESENT, Verdict, Verification
from sizeguard.runtimes.sizeguard.claims.build_claims import judge_effective, judge_selection
from sizeguard.runtimes.sizeguard.kernel_names import HIDDEN_PREFIXES
from sizeguard.runtimes.sizeguard.native_universe import read_universe
from sizeguard.selection.read import read_selection
from sizeguard.verify.canaries import check_symbols
from sizeguard.verify.evidence.evidence import Evidence, gather
from sizeguard.verify.known_names import ClaimNames, known_builds
from sizeguard.verify.named_symbols import judge_named


@dataclass(frozen=True, slots=True)
class RequestedClaims:
    """Claims to verify.

    selection:       None for the selection that the build was made of
    absent, present: symbols and operators
    base:            an earlier image or build, whose names are known, too
    unknown_ok:      whether a claim on a name that nothing knows is decided
    """

    selection: Path | None = None
    absent: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    base: Path | None = None
    unknown_ok: bool = False


def verify_path(root: Path, path: Path, claims: RequestedClaims, given: Files) -> Verification:
    """Verify the claims on a build (folder or build.json) or on an image.

    root:  source tree that selections choose from
    given: files that replace those of a build's record, or are all that is known besides the image

    Raises InputError if nothing is claimed.
    """
    files = open_build(path, given)
    if files.build is not None:
        return verify_build(root, files.build, claims, given)
    if claims.selection is None:
        if not claims.absent and not claims.present:
            raise InputError(
                f"{path}: nothing is claimed of it; give --selection, --absent or --present, or a"
                " build's folder"
            )
        return verify_symbols(files, claims.absent, claims.present, claims)
    evidence = gather(files, HIDDEN_PREFIXES)
    universe = read_universe(root)
    asked = universe.resolve(read_selection(claims.selection).selection, str(claims.selection))
    verdicts, notes = judge_selection(evidence, universe, asked)
    names = _names(evidence, claims, universe=tuple(universe.operators))
    verdicts += judge_symbols(names, claims.absent, claims.present)
    return verification(evidence, path.name, str(claims.selection), verdicts, notes)


def verify_build(
    root: Path, build: Build, claims: RequestedClaims, given: Files | None = None
) -> Verification:
    """Verify a build against the claimed selection, or the one that it was made of."""
    evidence = gather(files_of(build, given), HIDDEN_PREFIXES)
    universe = read_universe(root)
    built = read_selection(build.selection).selection
    asked_file = claims.selection or build.asked
    if asked_file is None:
        asked, against = (
            built,
            ("all operators" if built.include_all_operators else str(build.selection)),
        )
    else:
        dtypes = build.dtypes if claims.selection is None else True
        asked, against = (
            universe.resolve(read_selection(asked_file).selection, str(asked_file), dtypes=dtypes),
            _shown(root, asked_file),
        )
    verdicts, notes = judge_selection(evidence, universe, asked)
    verdicts += judge_effective(universe, asked, built)
    names = _names(evidence, claims, build.image.parent, tuple(universe.operators))
    verdicts += judge_symbols(names, claims.absent, claims.present)
    return verification(evidence, build.app or build.variant, against, verdicts, notes)


def _shown(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def verify_symbols(
    files: Files,
    absent: Sequence[str],
    present: Sequence[str],
    claims: RequestedClaims | None = None,
) -> Verification:
    """Verify claims on symbols of any image; `claims` says which other names are known."""
    evidence = gather(files, HIDDEN_PREFIXES)
    names = _names(evidence, claims or RequestedClaims())
    verdicts = judge_symbols(names, absent, present)
    return verification(evidence, files.image.name, "the given symbols", verdicts, [])


def _names(
    evidence: Evidence,
    claims: RequestedClaims,
    folder: Path | None = None,
    universe: tuple[str, ...] = (),
) -> ClaimNames:
    bases = (claims.base,) if claims.base else ()
    others = known_builds(folder, claims.base) if folder else bases
    return ClaimNames(evidence, others, universe, claims.unknown_ok)


def judge_symbols(
    names: ClaimNames, absent: Sequence[str], present: Sequence[str]
) -> list[Verdict]:
    """Judge claims on symbols and operators."""
    return [
        verdict
        for expect, texts in ((ABSENT, absent), (PRESENT, present))
        for text in texts
        for verdict in judge_named(names, text, expect)
    ]


def verification(
    evidence: Evidence,
    subject: str,
    against: str,
    verdicts: Sequence[Verdict],
    canary_notes: Sequence[str],
) -> Verification:
    """Join verdicts with those of this run's canaries."""
    notes = (*canary_notes, *check_symbols(evidence))
    return Verification(
        subject, against, tuple(verdicts), evidence.gaps, BROKEN if notes else OK, notes
    )
