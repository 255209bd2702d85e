"""Find the signs of a build feature: compare the full build with a build without the feature."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from sizeguard.base.dataclass import dataclass
from sizeguard.claims.listed_names import FeatureMarks
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.features.external_calls import external_calls

_OPTION = re.compile(r"--[a-z][a-z-]*")


@dataclass(frozen=True, slots=True)
class BuildSigns:
    """Everything in a build that can be a sign of a feature. It is read once for all features.

    texts: among the constants of the image
    calls: external function → texts of the runtime's functions that refer to it
    """

    evidence: Evidence
    texts: frozenset[str]
    calls: Mapping[str, frozenset[str]]


def signs_of_build(evidence: Evidence) -> BuildSigns:
    """Read the possible signs of features."""
    return BuildSigns(evidence, frozenset(_texts(evidence)), external_calls(evidence))


def feature_marks(full: BuildSigns, without: BuildSigns) -> FeatureMarks:
    """Compare the full build with a build that leaves out only one feature."""
    texts, other = _only_in(full, without), _only_in(without, full)
    symbols, others = full.evidence.symbols, without.evidence.symbols
    # Another compiler may leave a function as a symbol that is inlined here.
    functions = {*symbols} - {*others, *without.evidence.inlined}
    changed = {
        name
        for name, found in symbols.items()
        if name in others and found[0].size != others[name][0].size
    }
    calls = {name: full.calls[name] for name in sorted(full.calls) if name not in without.calls}
    marks = FeatureMarks(
        tuple(sorted(texts)),
        tuple(sorted(other)),
        _functions(functions),
        () if texts else _functions(changed),
        {name: tuple(sorted(callers)) for name, callers in calls.items()},
    )
    if not is_of_program(marks):
        return marks
    options = filter(_OPTION.fullmatch, full.texts & without.texts)
    return replace(marks, options=tuple(sorted(options)))


def is_of_program(marks: FeatureMarks) -> bool:
    """Return whether all signs of a feature are options of a program and code behind them.

    Code of the runtime itself calls something, or has a text in builds without the feature.
    """
    is_of_runtime = marks.without or marks.hosts or marks.calls
    return bool(marks.texts) and all(map(_OPTION.fullmatch, marks.texts)) and not is_of_runtime


def _functions(symbols: set[str]) -> tuple[str, ...]:
    """Leave out clones, which compilers make as they like."""
    return tuple(sorted(name for name in symbols if name.startswith("_Z") and "." not in name))


# Shorter texts may occur anywhere.
_TELLING = 8


def _only_in(image: BuildSigns, other: BuildSigns) -> set[str]:
    """List the texts of an image that are nowhere in another one.

    There a text can be the end of a longer one, or stand right after a number.
    """
    contents = [*_constants(other.evidence)]
    return {
        text
        for text in image.texts - other.texts
        if not any(f"{text}\0".encode() in content for content in contents)
    }


def _texts(evidence: Evidence) -> set[str]:
    """List the texts among the constants of an image, except those of the dynamic string table."""
    found: set[str] = set()
    for content in _constants(evidence):
        for raw in content.split(b"\0"):
            text = raw.decode("ascii", "ignore")
            if len(text) >= _TELLING and len(text) == len(raw) and text.isprintable():
                found.add(text)
    return found


def _constants(evidence: Evidence) -> Iterator[bytes]:
    """Yield the sections of constants."""
    for section in evidence.shipped.sections:
        is_data = section.is_allocated and not section.is_executable and not section.is_writable
        if is_data and section.file_size and section.name != ".dynstr":
            yield bytes(evidence.shipped.content(section))
