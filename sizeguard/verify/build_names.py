"""Collect the names of a full build, from its registrations, objects and debug information."""

from __future__ import annotations

from sizeguard.claims.claim import Vocabulary
from sizeguard.claims.listed_names import BuildNames
from sizeguard.names.demangle import function_text
from sizeguard.verify.branches.bodies import DtypeBodies
from sizeguard.verify.branches.kernel_users import users_of
from sizeguard.verify.branches.noted_code import NotedCode
from sizeguard.verify.branches.references import References
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.registrations import Kernels, Registrations


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
