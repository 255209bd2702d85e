"""Verdicts on build features, by contents that only builds with or without them have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sizeguard.base.dataclass import dataclass
from sizeguard.claims.listed_names import FeatureMarks
from sizeguard.claims.verdict import (
    ABSENT,
    FAIL,
    INCONCLUSIVE,
    NOT_APPLICABLE,
    NOT_GENERATED,
    PASS,
    PRESENT,
    REMOVED_BY_COMPILER,
    STILL_THERE,
    THERE,
    UNKNOWN,
    Verdict,
)
from sizeguard.formats.elf import ET_REL
from sizeguard.names.demangle import demangle
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.features.external_calls import external_calls
from sizeguard.verify.features.feature_marks import is_of_program
from sizeguard.verify.leaks.written_names import text_places

_NO_SIGN = "nothing in the image shows whether it is there"


@dataclass(frozen=True, slots=True)
class FeatureSigns:
    """Signs that a feature is in the image, and signs that it is not."""

    for_: tuple[str, ...]
    against: tuple[str, ...]
    bytes: int


def judge_feature(
    evidence: Evidence, feature: str, expect: str, marks: Mapping[str, FeatureMarks]
) -> Verdict:
    """Judge that a build feature is on, or off."""
    other = {text for name, each in marks.items() if name != feature for text in each.texts}
    own = marks.get(feature, FeatureMarks())
    signs = signs_of(evidence, own, other)
    if expect == PRESENT and not signs.for_ and is_of_program(own):
        what = _without_options(evidence, own)
        if what:
            note = f"{what}, and the feature is the option {own.texts[0]}"
            return Verdict("feature", feature, PRESENT, NOT_APPLICABLE, UNKNOWN, 0, (note,))
    judge = judge_present_feature if expect == PRESENT else judge_absent_feature
    return judge(evidence, feature, signs)


def _without_options(evidence: Evidence, marks: FeatureMarks) -> str:
    """Say why an image has no options of the runtime's own program; empty if it may be that."""
    if _is_library(evidence):
        return "a library has no command line"
    if marks.options and not any(_stands(evidence, option) for option in marks.options):
        return f"a program with its own main has no {' or '.join(marks.options)}"
    return ""


def _is_library(evidence: Evidence) -> bool:
    return not evidence.is_program and evidence.image.type != ET_REL


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
        (_NO_SIGN, *evidence.gaps),
    )


def judge_absent_feature(evidence: Evidence, feature: str, signs: FeatureSigns) -> Verdict:
    """Judge that a build feature is off."""
    if signs.for_:
        cause = (
            "not selected, and built as if it were: the check is not a constant, or asks another"
            " selection"
        )
        return Verdict(
            "feature", feature, ABSENT, FAIL, STILL_THERE, signs.bytes, signs.for_, (), cause
        )
    if signs.against and evidence.is_complete:
        return Verdict("feature", feature, ABSENT, PASS, REMOVED_BY_COMPILER, 0, signs.against)
    notes = signs.against or (_NO_SIGN,)
    return Verdict("feature", feature, ABSENT, INCONCLUSIVE, UNKNOWN, 0, (*notes, *evidence.gaps))


def signs_of(evidence: Evidence, marks: FeatureMarks, ambiguous: Iterable[str]) -> FeatureSigns:
    """Look for the signs of a build feature. ambiguous: texts that other features also have.

    A build has a text of two features only with both: it is a sign of each, but its absence may be
    due to the other one. Missing texts say nothing against code of the feature: an app that links
    the runtime need not have the texts of run_program.
    """
    others = set(ambiguous)
    own = [text for text in marks.texts if text not in others]
    there = [text for text in marks.texts if _is_told(evidence, text)]
    code, no_code = _code_signs(evidence, marks)
    told = [f"{len(there)} of its texts are in the image, such as “{there[0]}”"] if there else []
    untold = [] if there or code or not own else [f"none of its {len(own)} texts is in the image"]
    instead = [text for text in marks.without if _stands(evidence, text)]
    if instead:
        untold.append(f"“{instead[0]}” is in the image, which only builds without it have")
    hosts = [name for name in marks.hosts if name in evidence.symbols or name in evidence.inlined]
    if marks.without and not instead and hosts:
        told.append(
            f"{demangle(hosts[0])} is in the image, and the text of images without it is not"
        )
    count = sum(len(text) + 1 for text in there)
    return FeatureSigns((*told, *code), (*untold, *no_code), count)


def lost_signs(evidence: Evidence, marks: FeatureMarks) -> Iterator[str]:
    """Say which kinds of a feature's signs a build with the feature lacks altogether.

    The signs were written for an earlier build. Without them, code of the feature would not show in
    a build without it. Single signs may be gone: compilers inline, and messages change.
    """
    if marks.texts and not any(_is_told(evidence, text) for text in marks.texts):
        yield f"none of the {len(marks.texts)} texts"
    known = (name in evidence.symbols or name in evidence.inlined for name in marks.functions)
    if marks.functions and not any(known) and not evidence.undescribed_notes:
        yield f"none of the {len(marks.functions)} functions"
    if marks.calls and not any(True for _ in _calls(evidence, marks)):
        yield f"no call of {', '.join(marks.calls)}"


def _code_signs(evidence: Evidence, marks: FeatureMarks) -> tuple[list[str], list[str]]:
    """List what the image's functions say for a feature, and against it."""
    for_: list[str] = []
    against: list[str] = []
    functions = [name for name in marks.functions if name in evidence.symbols]
    if functions:
        for_.append(f"{demangle(functions[0])} is in the image, which only builds with it have")
    elif marks.functions and not evidence.undescribed_notes:
        inside = [name for name in marks.functions if name in evidence.inlined]
        if not inside:
            count = len(marks.functions)
            against.append(f"none of its {count} functions is in the image, nor inlined in others")
    for_.extend(_calls(evidence, marks))
    return for_, against


def _calls(evidence: Evidence, marks: FeatureMarks) -> Iterator[str]:
    """Say which function refers to an external one as only builds with the feature do."""
    calls = external_calls(evidence) if marks.calls else {}
    for name, callers in marks.calls.items():
        there = sorted(calls.get(name, frozenset()).intersection(callers))
        if there:
            yield f"{there[-1]} refers to {name}, as only builds with it do"


def _is_told(evidence: Evidence, text: str) -> bool:
    """Return whether a text is in an image, or in another text, or in another encoding."""
    if _stands(evidence, text):
        return True
    is_foreign = text.encode() in evidence.foreign_data
    return not is_foreign and any(True for _ in text_places(evidence, text))


def _stands(evidence: Evidence, text: str) -> bool:
    data = text.encode() + b"\0"
    return data not in evidence.foreign_data and bool(evidence.shipped_bytes.constant(data))
