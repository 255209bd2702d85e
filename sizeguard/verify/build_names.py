"""Collect the names of a full build, from its registrations, objects and debug information."""

from __future__ import annotations

from collections.abc import Iterator

from sizeguard.claims.claim import FeatureMarks, Vocabulary
from sizeguard.claims.universe import BuildNames
from sizeguard.verify.branches.bodies import DtypeBodies
from sizeguard.verify.branches.kernel_users import users_of
from sizeguard.verify.branches.noted_code import NotedCode
from sizeguard.verify.branches.references import References
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.registrations import Kernels, Registrations, function_text


def names_of(evidence: Evidence, words: Vocabulary) -> BuildNames:
    """Read the names, except those of features, which need two builds (feature_marks)."""
    tables = Registrations(evidence)
    kernels = Kernels(evidence, words.kernels)
    at = {symbol.address: name for name, found in evidence.symbols.items() for symbol in found}
    wrappers = {
        name: at.get(tables.entries("operator", name)[0].function, "") for name in tables.names()
    }
    operators = {name: kernels.function_of(symbol) for name, symbol in wrappers.items()}
    noted = NotedCode(evidence, words)
    bodies = DtypeBodies(evidence, noted, References(evidence), {})
    helpers = _helpers(evidence, kernels, wrappers, {*operators.values()})
    claimed = {instance.piece for found in bodies.of_branch.values() for instance in found}
    return BuildNames(
        operators=operators,
        dtypes=noted.switches,
        classes=tables.classes,
        features={},
        helpers=helpers,
        bodies=bodies.own_patterns(),
        others=frozenset(
            instance.text
            for instance in bodies.instances
            if instance.arguments and instance.piece not in claimed
        ),
        users=users_of(Kernels(evidence, words.kernels, helpers), bodies),
    )


def _helpers(
    evidence: Evidence, kernels: Kernels, wrappers: dict[str, str], names: set[str]
) -> frozenset[str]:
    """Find functions that have the name of a kernel but are not registered."""
    registered = " ".join(function_text(symbol) for symbol in set(wrappers.values()))
    found = set()
    for symbol in evidence.objects.index:
        if kernels.function_of(symbol) in names:
            text = function_text(symbol)
            is_function = text.startswith(kernels.namespace)
            if is_function and f"&{text}" not in registered:
                found.add(text)
    return frozenset(found)


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
    return FeatureMarks(
        tuple(sorted(texts)),
        tuple(sorted(other)),
        _functions(functions),
        () if texts else _functions(changed),
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
    """List the constants of an image that are texts, except names of imports and versions."""
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
