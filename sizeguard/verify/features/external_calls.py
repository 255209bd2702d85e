"""Find the external functions that the runtime's code in an image calls, and the callers.

A build feature can leave no text of its own and no function that is not inlined: `profiling` reads
a clock in `Program::run`. In builds without the feature nothing there refers to `clock_gettime`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from sizeguard.names.demangle import function_text
from sizeguard.verify.branches.references import References
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import ObjectFile
from sizeguard.verify.evidence.placement import Node

# Compilers call these without a call in the source, and replace calls of others by them:
# `-ffreestanding` in gcc's manual, and SimplifyLibCalls of LLVM.
_MADE_BY_COMPILERS = (
    "abort bcmp bzero fputc fputs fwrite memchr memcmp memcpy memmove mempcpy memset"
    " memset_pattern16 putchar puts stpcpy strchr strcmp strcpy strlen strncmp"
)


def external_calls(evidence: Evidence) -> Mapping[str, frozenset[str]]:
    """Return external function → texts of the runtime's functions that refer to it in the image.

    The runtime's functions are those in its namespaces; an app may call what it likes. Names that
    compilers and C libraries reserve (`__errno_location`) or choose are left out.
    """
    runtime = tuple(evidence.hidden_prefixes)
    files = evidence.own_files()
    ignored = {
        "",
        *_MADE_BY_COMPILERS.split(),
        *(row.symbol for f in files for row in f.definitions),
    }
    external = [_external(file, ignored) for file in files]
    references = References(evidence)
    found: dict[str, set[str]] = {}
    for node, start in sorted(evidence.placement.address.items()):
        number, section = node
        if number >= evidence.own or not evidence.placement.section(node).is_executable:
            continue
        for name, offset in _references(files[number], section, external[number]):
            callers = _functions_at(evidence, references, node, start, offset)
            of_runtime = {caller for caller in callers if caller.startswith(runtime)}
            if of_runtime:
                found.setdefault(name, set()).update(of_runtime)
    return {name: frozenset(callers) for name, callers in found.items()}


def _external(file: ObjectFile, ignored: Collection[str]) -> Mapping[int, str]:
    """Return the undefined symbols of an object by number, except reserved and ignored names."""
    return {
        number: symbol.name
        for number, symbol in enumerate(file.symbols)
        if not symbol.section and symbol.name not in ignored and not symbol.name.startswith("_")
    }


def _references(
    file: ObjectFile, section: int, symbols: Mapping[int, str]
) -> Iterator[tuple[str, int]]:
    """Yield the given symbols that a section refers to, with the offsets of the references."""
    table = file.relocations.get(section)
    if table is not None:
        for number, offset in zip(table.symbol.tolist(), table.offset.tolist(), strict=True):
            if number in symbols:
                yield symbols[number], offset


def _functions_at(
    evidence: Evidence, references: References, node: Node, start: int, offset: int
) -> set[str]:
    """Return the functions over a place: those inlined there, and the one that has a symbol."""
    names = evidence.frames.plain_at(start + offset) if evidence.frames is not None else []
    definition = references.at(node, offset)
    return {
        function_text(name)
        for name in (*names, definition.symbol if definition is not None else "")
        if name
    }
