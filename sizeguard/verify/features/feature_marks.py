"""Find the signs of a build feature: compare the full build with a build without the feature."""

from __future__ import annotations

from collections.abc import Iterator

from sizeguard.claims.claim import FeatureMarks
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.features.external_calls import external_calls


def feature_marks(full: Evidence, without: Evidence) -> FeatureMarks:
    """Compare the full build with a build that leaves out only one feature."""
    texts, other = _only_in(full, without), _only_in(without, full)
    # Another compiler may leave a function as a symbol that is inlined here.
    functions = {*full.symbols} - {*without.symbols, *without.inlined}
    changed = {
        name
        for name, found in full.symbols.items()
        if name in without.symbols and found[0].size != without.symbols[name][0].size
    }
    calls, others = external_calls(full), external_calls(without)
    return FeatureMarks(
        tuple(sorted(texts)),
        tuple(sorted(other)),
        _functions(functions),
        () if texts else _functions(changed),
        {name: tuple(sorted(calls[name])) for name in sorted(calls) if name not in others},
    )


def _functions(symbols: set[str]) -> tuple[str, ...]:
    """Leave out clones, which compilers make as they like."""
    return tuple(sorted(name for name in symbols if name.startswith("_Z") and "." not in name))


# Shorter texts may occur anywhere.
_TELLING = 8


def _only_in(image: Evidence, other: Evidence) -> set[str]:
    """List the texts of an image that are nowhere in another one.

    There a text can be the end of a longer one, or stand right after a number.
    """
    contents = [*_constants(other)]
    return {
        text
        for text in _texts(image) - _texts(other)
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
