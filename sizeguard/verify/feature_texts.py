"""Verdicts on build features, selected or not, by the texts that they add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sizeguard.claims.verdict import (
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
from sizeguard.names.short import template_of
from sizeguard.runtimes.sizeguard.sources.feature_sites import FeatureSite
from sizeguard.verify.bodies import CaseBodies, called
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece

_NO_SIGN = "nothing in the image tells whether it is there"


@dataclass(frozen=True, slots=True)
class FeatureSigns:
    """Signs that a feature is in the image, and signs that it is not."""

    for_: tuple[str, ...]
    against: tuple[str, ...]
    bytes: int


def judge_present_feature(evidence: Evidence, feature: str, signs: FeatureSigns) -> Verdict:
    """Judge that a build feature is on."""
    if signs.for_ and not signs.against:
        return Verdict("feature", feature, PRESENT, PASS, THERE, signs.bytes, signs.for_)
    if signs.against:
        return Verdict(
            "feature",
            feature,
            PRESENT,
            FAIL,
            NOT_GENERATED,
            0,
            signs.against,
            (),
            "selected, and built as if it were not",
        )
    return Verdict(
        "feature",
        feature,
        PRESENT,
        INCONCLUSIVE,
        UNKNOWN,
        0,
        ("nothing in the image tells whether it is there", *evidence.gaps),
    )


def judge_absent_feature(evidence: Evidence, feature: str, signs: FeatureSigns) -> Verdict:
    """Judge that a build feature is off."""
    if signs.for_:
        cause = (
            "not selected, and built as if it were: the check is no constant, or asks another"
            " selection"
        )
        return Verdict(
            "feature", feature, ABSENT, FAIL, STILL_THERE, signs.bytes, signs.for_, (), cause
        )
    if signs.against and evidence.is_complete:
        return Verdict("feature", feature, ABSENT, PASS, REMOVED_BY_COMPILER, 0, signs.against)
    notes = signs.against or (_NO_SIGN,)
    return Verdict("feature", feature, ABSENT, INCONCLUSIVE, UNKNOWN, 0, (*notes, *evidence.gaps))


def signs_of(
    branches: CaseBodies, sites: Sequence[FeatureSite], ambiguous: set[str]
) -> FeatureSigns:
    """Look for the signs of a build feature at the places that ask for it."""
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
            against.append(
                f"“{instead[0]}” of {where} stands in the image, which is there only without it"
            )
        if site.with_ and not there:
            against.append(f"none of the {len(site.with_)} texts of {where} stands in the image")
        if site.without and not instead and _is_live(branches, site):
            for_.append(
                f"{site.function} is in the image, and the text of {where} that stands there only"
                " without it is not"
            )
        for piece in _functions(branches, site):
            used = sorted(called(evidence, piece) & set(site.calls))
            if used:
                for_.append(
                    f"{site.function} in the image calls {', '.join(used)}, which {where} does only"
                    " with it"
                )
    return FeatureSigns(tuple(for_), tuple(against), count)


def _stands(evidence: Evidence, text: str) -> bool:
    data = text.encode() + b"\0"
    return data not in evidence.foreign_data and bool(evidence.shipped_bytes.constant(data))


def _is_live(branches: CaseBodies, site: FeatureSite) -> bool:
    """Tell whether the function around a site is in the image, by itself or inlined."""
    inlined = branches.evidence.inlined
    return bool(_functions(branches, site)) or any(
        site.function in name and template_of(name)[0] == site.function for name in inlined
    )


def _functions(branches: CaseBodies, site: FeatureSite) -> list[NamedPiece]:
    """Find the functions of the image around a site."""
    evidence = branches.evidence
    found = []
    for number, file in enumerate(evidence.own_files()):
        if (file.member or file.path.name).rpartition("/")[2] != f"{site.file.name}.o":
            continue
        for name, section, offset, size in file.pieces:
            if site.function and site.function in name and template_of(name)[0] == site.function:
                piece = NamedPiece(number, section, offset, size, name)
                if evidence.placement.where(piece) is not None:
                    found.append(piece)
    return found
