"""Verify builds and images: list the claims that their runtime makes, and judge them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.builds import FULL
from sizeguard.builds.build_record import Build
from sizeguard.builds.image_tools import MEASURED, described, kind_of_image
from sizeguard.builds.open_build import Files, files_of, open_build
from sizeguard.claims.claim import Claim, ClaimSet
from sizeguard.claims.universe import Universe
from sizeguard.claims.verdict import Verification
from sizeguard.gate.cache.requested_claims import RequestedClaims, full_beside
from sizeguard.runtimes.known import runtimes, source_tree
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import Selection
from sizeguard.selection.united import shared_selection
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.gather_evidence import gather
from sizeguard.verify.kept_names import names_of_build
from sizeguard.verify.known_names import ClaimNames, known_builds
from sizeguard.verify.known_record import with_known_record
from sizeguard.verify.leaks.full_objects import tools_of
from sizeguard.verify.verification import judge_symbols, named_claims, verify_claims


@dataclass(frozen=True, slots=True)
class ListedClaims:
    """Claims before they are judged.

    subject, against: the image or build, and the source of the claims
    claims: from the runtime; None if only symbols are named
    named: symbols and operators from --absent and --present
    """

    subject: str
    against: str
    claims: ClaimSet | None
    named: tuple[Claim, ...]

    @property
    def all(self) -> tuple[Claim, ...]:
        """All claims, in the order of their verdicts."""
        return (*(self.claims.claims if self.claims else ()), *self.named)


def list_claims(root: Path, path: Path, requested: RequestedClaims, given: Files) -> ListedClaims:
    """List the claims on a build (folder or build.json) or on an image, without judging them.

    root: source tree of the selectable operators
    given: files that replace those of a build's record, or that come with an image

    Raises InputError if there is no claim.
    """
    build = open_build(path, given).build
    named = tuple(named_claims(requested.absent, requested.present))
    if build is not None:
        return _of_build(root, build, requested, named)
    if requested.selection is not None:
        return _of_selection(root, path.name, requested.selection, requested, named)
    if not named:
        if kind_of_image(path) not in MEASURED:
            raise InputError(f"{path}: not an image: {described(path)}")
        raise InputError(
            f"{path}: no claims to verify; give --selection, --absent or --present, or a build's "
            f"folder"
        )
    return ListedClaims(path.name, "the given symbols", None, named)


def _of_build(
    root: Path, build: Build, requested: RequestedClaims, named: tuple[Claim, ...]
) -> ListedClaims:
    """List the claims of the requested selection, or of the build's own selection.

    An image of another project has only named claims.
    """
    if build.selection is None and requested.selection is not None:
        return _of_selection(root, build.title, requested.selection, requested, named)
    if build.selection is None:
        if not named:
            raise InputError(f"{build.image}: no claims to verify; give --absent or --present")
        return ListedClaims(build.title, "the given symbols", None, named)
    check_full(requested.full, build)
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
        against = _against(root, asked_file, requested)
    claims = source_tree(root)[0].claims(universe, asked, built)
    return ListedClaims(build.app or build.variant, against, claims, named)


def _of_selection(
    root: Path, subject: str, file: Path, requested: RequestedClaims, named: tuple[Claim, ...]
) -> ListedClaims:
    """List the claims of a selection on an image without a build record."""
    check_full(requested.full, None)
    universe = universe_of(root, requested.full)
    asked = universe.resolve(_read(root, file, requested.shared_with), str(file))
    claims = source_tree(root)[0].claims(universe, asked, None)
    return ListedClaims(subject, _against(root, file, requested), claims, named)


def _read(root: Path, file: Path, shared_with: Sequence[Path]) -> Selection:
    """Read a selection with names translated, as builds of the project's sources do.

    Kernels that several apps share have the dtypes and features of all of them.
    """
    effective = shared_selection(read_selection(file).selection, shared_with)
    return source_tree(root)[1].translated(effective)


def _against(root: Path, file: Path, requested: RequestedClaims) -> str:
    selection = _shown(root, file)
    others = ", ".join(_shown(root, each) for each in requested.shared_with)
    return f"{selection}, on kernels shared with {others}" if others else selection


def check_full(full: Build | None, build: Build | None) -> None:
    """Refuse a given full build that lacks something, or that other tools made than a build."""
    if full is None:
        return
    if full.variant != FULL:
        raise InputError(f"{full.image.parent} is not a full build: run `sizeguard build full`")
    if build is not None and tools_of(full) != tools_of(build):
        made, needed = (" ".join(filter(None, tools_of(each))) for each in (full, build))
        raise InputError(f"{full.image.parent} is a full build for {made}; needed: {needed}")


def universe_of(root: Path, full: Build | None) -> Universe:
    """Read everything that can be selected, from a full build and from the stored names."""
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
    """Verify a build against the given selection, or against its own."""
    named = tuple(named_claims(requested.absent, requested.present))
    listed = _of_build(root, build, requested, named)
    files = files_of(build, given)
    return judged(listed, files if build.selection else with_known_record(files), requested)


def verify_symbols(
    files: Files,
    absent: Sequence[str],
    present: Sequence[str],
    requested: RequestedClaims | None = None,
) -> Verification:
    """Verify claims on symbols of any image; `requested` has other known names."""
    named = tuple(named_claims(absent, present))
    listed = ListedClaims(files.image.name, "the given symbols", None, named)
    return judged(listed, files, requested or RequestedClaims())


def judged(listed: ListedClaims, files: Files, requested: RequestedClaims) -> Verification:
    """Judge the listed claims with the files of a link."""
    hidden = tuple(prefix for runtime in runtimes() for prefix in runtime.hidden_prefixes)
    evidence = replace(gather(files, hidden), full=requested.full)
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
