"""Verify builds and images: list the claims that their runtime makes, and judge them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.builds import RECORD
from sizeguard.builds.build_record import Build, read_build
from sizeguard.builds.open_build import Files, files_of, open_build
from sizeguard.claims.claim import Claim, ClaimSet
from sizeguard.claims.universe import Universe
from sizeguard.claims.verdict import Verification
from sizeguard.runtimes.known import runtimes, source_tree
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import Selection
from sizeguard.selection.united import shared_selection
from sizeguard.verify.evidence.evidence import Evidence, gather
from sizeguard.verify.kept_names import names_of_build
from sizeguard.verify.known_names import FULL, ClaimNames, known_builds
from sizeguard.verify.verification import judge_symbols, named_claims, verify_claims


@dataclass(frozen=True, slots=True)
class RequestedClaims:
    """Claims to verify.

    selection:       None for the selection that the build was made of
    absent, present: symbols and operators
    base:            an earlier image or build, whose names are known, too
    unknown_ok:      whether a claim on a name that nothing knows is decided
    full:            the full build, which says what there is to select from; if it is None, the
                     one beside the build, else the names that were written of an earlier one
    shared_with:     selections of other apps on the same kernels and runtime
    """

    selection: Path | None = None
    absent: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    base: Path | None = None
    unknown_ok: bool = False
    full: Build | None = None
    shared_with: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedClaims:
    """Claims before they are judged.

    subject, against: what they are of, and where they come from
    claims:           of the runtime; None if symbols alone are named
    named:            symbols and operators that a person named
    """

    subject: str
    against: str
    claims: ClaimSet | None
    named: tuple[Claim, ...]

    @property
    def all(self) -> tuple[Claim, ...]:
        """All of them, in the order of their verdicts."""
        return (*(self.claims.claims if self.claims else ()), *self.named)


def list_claims(root: Path, path: Path, requested: RequestedClaims, given: Files) -> ListedClaims:
    """List the claims on a build (folder or build.json) or on an image; nothing is judged.

    root:  source tree that selections choose from
    given: files that replace those of a build's record, or are all that is known besides the image

    Raises InputError if nothing is claimed.
    """
    build = open_build(path, given).build
    named = tuple(named_claims(requested.absent, requested.present))
    if build is not None:
        return _of_build(root, build, requested, named)
    if requested.selection is not None:
        universe = universe_of(root, requested.full)
        selection = _read(root, requested.selection, requested.shared_with)
        asked = universe.resolve(selection, str(requested.selection))
        claims = source_tree(root)[0].claims(universe, asked, None)
        against = _against(str(requested.selection), requested)
        return ListedClaims(path.name, against, claims, named)
    if not named:
        raise InputError(
            f"{path}: nothing is claimed of it; give --selection, --absent or --present, or a"
            " build's folder"
        )
    return ListedClaims(path.name, "the given symbols", None, named)


def _of_build(
    root: Path, build: Build, requested: RequestedClaims, named: tuple[Claim, ...]
) -> ListedClaims:
    """Claim the requested selection of a build, or the one that it was made of.

    Of an image of another project there are named claims alone.
    """
    if build.selection is None:
        if not named:
            raise InputError(f"{build.image}: nothing is claimed of it; give --absent or --present")
        return ListedClaims(build.title, "the given symbols", None, named)
    universe = universe_of(root, requested.full or full_beside(build))
    built = read_selection(build.selection).selection
    asked_file = requested.selection or build.asked
    if asked_file is None:
        asked = built
        against = "all operators" if built.include_all_operators else str(build.selection)
    else:
        dtypes = build.dtypes if requested.selection is None else True
        selection = _read(root, asked_file, requested.shared_with)
        asked = universe.resolve(selection, str(asked_file), dtypes=dtypes)
        against = _against(_shown(root, asked_file), requested)
    claims = source_tree(root)[0].claims(universe, asked, built)
    return ListedClaims(build.app or build.variant, against, claims, named)


def _read(root: Path, file: Path, shared_with: Sequence[Path]) -> Selection:
    """Read a selection as builds of the project's sources understand it.

    Kernels and a runtime that several apps share have the dtypes and features of all of them.
    """
    effective = shared_selection(read_selection(file).selection, shared_with)
    return source_tree(root)[1].translated(effective)


def _against(selection: str, requested: RequestedClaims) -> str:
    others = ", ".join(map(str, requested.shared_with))
    return f"{selection}, on kernels shared with {others}" if others else selection


def full_beside(build: Build) -> Build | None:
    """Return the full build for the same target beside a build; itself if it is the full one."""
    if build.variant == FULL:
        return build
    folder = build.image.parent.parent / FULL
    return read_build(folder) if (folder / RECORD).is_file() else None


def universe_of(root: Path, full: Build | None) -> Universe:
    """Read all that there is to select from: of a full build, and of the names that are kept."""
    runtime, tree = source_tree(root)
    names = tree.names()
    if full is not None:
        names = names.with_full(names_of_build(full, runtime.vocabulary))
    return Universe(tree.operators(), names)


def verify_path(root: Path, path: Path, requested: RequestedClaims, given: Files) -> Verification:
    """List the claims on a build or an image, and judge them; see list_claims."""
    listed = list_claims(root, path, requested, given)
    return judged(listed, open_build(path, given), requested)


def verify_build(
    root: Path, build: Build, requested: RequestedClaims, given: Files | None = None
) -> Verification:
    """Verify a build against the claimed selection, or the one that it was made of."""
    named = tuple(named_claims(requested.absent, requested.present))
    listed = _of_build(root, build, requested, named)
    return judged(listed, files_of(build, given), requested)


def verify_symbols(
    files: Files,
    absent: Sequence[str],
    present: Sequence[str],
    requested: RequestedClaims | None = None,
) -> Verification:
    """Verify claims on symbols of any image; `requested` says which other names are known."""
    named = tuple(named_claims(absent, present))
    listed = ListedClaims(files.image.name, "the given symbols", None, named)
    return judged(listed, files, requested or RequestedClaims())


def judged(listed: ListedClaims, files: Files, requested: RequestedClaims) -> Verification:
    """Judge listed claims by the files of a link."""
    hidden = tuple(prefix for runtime in runtimes() for prefix in runtime.hidden_prefixes)
    evidence = gather(files, hidden)
    named = judge_symbols(_names(evidence, listed, files, requested), listed.named)
    return verify_claims(evidence, listed.subject, listed.against, listed.claims, named)


def _names(
    evidence: Evidence, listed: ListedClaims, files: Files, requested: RequestedClaims
) -> ClaimNames:
    others: tuple[Path, ...] = (requested.base,) if requested.base else ()
    if files.build is not None:
        others = known_builds(files.build.image.parent, requested.base)
    operators = tuple(claim.name for claim in listed.all if claim.kind == "operator")
    return ClaimNames(evidence, others, operators, requested.unknown_ok)


def _shown(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
