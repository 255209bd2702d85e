"""Turns the runtime's build features, selected or not, into verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sizeguard.selection.selection import Selection
from sizeguard.verify.dtypes import Branches, called, template_of
from sizeguard.verify.evidence import Evidence
from sizeguard.verify.features import Site
from sizeguard.verify.objects import Piece
from sizeguard.verify.result import (
    ABSENT,
    FAIL,
    INCONCLUSIVE,
    NOT_GENERATED,
    PASS,
    PRESENT,
    REMOVED_BY_COMPILER,
    STILL_THERE,
    THERE,
    UNKNOWN,
    Verdict,
)
from sizeguard.verify.universe import Universe

_NO_SIGN = "nothing in the image tells whether it is there"


@dataclass(frozen=True, slots=True)
class _Signs:
    """What speaks for a feature being in the image, and what speaks against it."""

    for_: tuple[str, ...]
    against: tuple[str, ...]
    bytes: int


def judge_features(branches: Branches, universe: Universe, selection: Selection) -> Iterator[Verdict]:
    """By texts in the shipped image that stand there only with a feature or only without it, and by what guarded functions call."""
    for feature in universe.features:
        sites = [site for site in universe.sites if site.feature == feature]
        signs = _signs(branches, sites, {t for site in universe.sites if site.feature != feature for t in site.with_})
        if selection.is_feature_selected(feature):
            yield _present(branches.evidence, feature, signs)
        else:
            yield _absent(branches.evidence, feature, signs)


def _present(evidence: Evidence, feature: str, signs: _Signs) -> Verdict:
    if signs.for_ and not signs.against:
        return Verdict("feature", feature, PRESENT, PASS, THERE, signs.bytes, signs.for_)
    if signs.against:
        return Verdict("feature", feature, PRESENT, FAIL, NOT_GENERATED, 0, signs.against, (), "selected, and built as if it were not")
    return Verdict(
        "feature", feature, PRESENT, INCONCLUSIVE, UNKNOWN, 0, ("nothing in the image tells whether it is there", *evidence.gaps)
    )


def _absent(evidence: Evidence, feature: str, signs: _Signs) -> Verdict:
    if signs.for_:
        cause = "not selected, and built as if it were: the check is no constant, or asks another selection"
        return Verdict("feature", feature, ABSENT, FAIL, STILL_THERE, signs.bytes, signs.for_, (), cause)
    if signs.against and evidence.is_complete:
        return Verdict("feature", feature, ABSENT, PASS, REMOVED_BY_COMPILER, 0, signs.against)
    notes = signs.against or (_NO_SIGN,)
    return Verdict("feature", feature, ABSENT, INCONCLUSIVE, UNKNOWN, 0, (*notes, *evidence.gaps))


def _signs(branches: Branches, sites: Sequence[Site], ambiguous: set[str]) -> _Signs:
    evidence = branches.evidence
    for_: list[str] = []
    against: list[str] = []
    count = 0
    for site in sites:
        where = f"{site.file.name}:{site.line}"
        there = [text for text in site.with_ if text not in ambiguous and _stands(evidence, text)]
        if there:
            count += sum(len(text) + 1 for text in there)
            for_.append(f"{len(there)} texts of {where} stand in the image, such as “{there[0]}”")
        instead = [text for text in site.without if _stands(evidence, text)]
        if instead:
            against.append(f"“{instead[0]}” of {where} stands in the image, which is there only without it")
        if site.with_ and not there:
            against.append(f"none of the {len(site.with_)} texts of {where} stands in the image")
        if site.without and not instead and _is_live(branches, site):
            for_.append(f"{site.function} is in the image, and the text of {where} that stands there only without it is not")
        for piece in _functions(branches, site):
            used = sorted(called(evidence, piece) & set(site.calls))
            if used:
                for_.append(f"{site.function} in the image calls {', '.join(used)}, which {where} does only with it")
    return _Signs(tuple(for_), tuple(against), count)


def _stands(evidence: Evidence, text: str) -> bool:
    data = text.encode() + b"\0"
    return data not in evidence.foreign_data and bool(evidence.shipped_bytes.constant(data))


def _is_live(branches: Branches, site: Site) -> bool:
    """Whether the function that asks is in the image, as itself or as a part of others."""
    inlined = branches.evidence.inlined
    return bool(_functions(branches, site)) or any(site.function in name and template_of(name)[0] == site.function for name in inlined)


def _functions(branches: Branches, site: Site) -> list[Piece]:
    """The functions of the image that a site stands in."""
    evidence = branches.evidence
    found = []
    for number, file in enumerate(evidence.own_files()):
        if (file.member or file.path.name).rpartition("/")[2] != f"{site.file.name}.o":
            continue
        for name, section, offset, size in file.pieces:
            if site.function and site.function in name and template_of(name)[0] == site.function:
                piece = Piece(number, section, offset, size, name)
                if evidence.placement.where(piece) is not None:
                    found.append(piece)
    return found
