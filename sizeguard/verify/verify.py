"""Turns a build, or an image with its objects and map, into the verification of what is claimed of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sizeguard.build.record import RECORD, Build, read_build
from sizeguard.errors import InputError
from sizeguard.selection.yaml_reader import read_selection
from sizeguard.verify.canary import check_symbols
from sizeguard.verify.evidence import Evidence, Files, gather
from sizeguard.verify.free import judge_symbol
from sizeguard.verify.result import ABSENT, BROKEN, OK, PRESENT, Verdict, Verification
from sizeguard.verify.selected import judge_effective, judge_selection
from sizeguard.verify.universe import read_universe


@dataclass(frozen=True, slots=True)
class Claims:
    """What is claimed. selection: None for what the build was made of; absent, present: symbols."""

    selection: Path | None = None
    absent: tuple[str, ...] = ()
    present: tuple[str, ...] = ()


def verify_path(root: Path, path: Path, claims: Claims, given: Files) -> Verification:
    """`given` adds to what a build records, or is all that there is besides an image. root: the source tree that selections choose from."""
    if path.is_dir() or path.name == RECORD:
        return verify_build(root, read_build(path), claims, given)
    if claims.selection is None:
        if not claims.absent and not claims.present:
            raise InputError(f"{path}: nothing is claimed of it; give --selection, --absent or --present, or a build's folder")
        return verify_symbols(replace(given, image=path), claims.absent, claims.present)
    evidence = gather(replace(given, image=path))
    universe = read_universe(root)
    asked = universe.resolve(read_selection(claims.selection).selection, str(claims.selection))
    verdicts, notes = judge_selection(evidence, universe, asked)
    verdicts += judge_symbols(evidence, claims.absent, claims.present)
    return verification(evidence, path.name, str(claims.selection), verdicts, notes)


def verify_build(root: Path, build: Build, claims: Claims, given: Files | None = None) -> Verification:
    """A build against the selection that is claimed, or that it was asked to be made of."""
    evidence = gather(files_of(build, given))
    universe = read_universe(root)
    built = read_selection(build.selection).selection
    asked_file = claims.selection or build.asked
    if asked_file is None:
        asked, against = built, "all operators" if built.include_all_operators else str(build.selection)
    else:
        dtypes = build.dtypes if claims.selection is None else True
        asked, against = universe.resolve(read_selection(asked_file).selection, str(asked_file), dtypes=dtypes), _shown(root, asked_file)
    verdicts, notes = judge_selection(evidence, universe, asked)
    verdicts += judge_effective(universe, asked, built)
    verdicts += judge_symbols(evidence, claims.absent, claims.present)
    return verification(evidence, build.app or build.variant, against, verdicts, notes)


def _shown(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def files_of(build: Build, given: Files | None = None) -> Files:
    """A build's evidence, with what is given in its place."""
    return Files(
        image=build.image,
        twin=(given.twin if given else None) or build.shipped,
        objects=(given.objects if given else ()) or build.objects,
        link_map=(given.link_map if given else None) or build.map,
        gc_log=(given.gc_log if given else None) or build.gc_log,
        folder=build.image.parent,
        link_record=build.link_command,
    )


def verify_symbols(files: Files, absent: Sequence[str], present: Sequence[str]) -> Verification:
    """Judge free claims on any image."""
    evidence = gather(files)
    verdicts = judge_symbols(evidence, absent, present)
    return verification(evidence, files.image.name, "the given symbols", verdicts, [])


def judge_symbols(evidence: Evidence, absent: Sequence[str], present: Sequence[str]) -> list[Verdict]:
    return [judge_symbol(evidence, name, ABSENT) for name in absent] + [judge_symbol(evidence, name, PRESENT) for name in present]


def verification(evidence: Evidence, subject: str, against: str, verdicts: Sequence[Verdict], canary_notes: Sequence[str]) -> Verification:
    """Verdicts with the canaries of this run."""
    notes = (*canary_notes, *check_symbols(evidence))
    return Verification(subject, against, tuple(verdicts), evidence.gaps, BROKEN if notes else OK, notes)
