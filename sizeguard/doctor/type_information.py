"""Find type information (RTTI) that nothing uses."""

from __future__ import annotations

from collections.abc import Set

from sizeguard.doctor.diagnosis import LOAD, SizeFinding, largest
from sizeguard.doctor.image_facts import ImageFacts
from sizeguard.formats.elf import Symbol

_USERS = (
    "__dynamic_cast",
    "__cxa_throw",
    "__cxa_begin_catch",
    "__cxa_bad_typeid",
    "__cxa_bad_cast",
)
_BASE = "_ZTVN10__cxxabiv1"  # tables of the classes of type information in the C++ library
_COPY = 32  # bytes that a copied table may cost in addition, for its version
_SLACK = 24  # bytes by which alignment can change the result


def type_information(facts: ImageFacts) -> SizeFinding | None:
    """Find names and descriptions of types if no cast and no exception uses them."""
    names = {symbol.name for symbol in facts.defined} | facts.imported
    if names & set(_USERS) or facts.has_runtime_inside:
        return None
    described = [symbol for symbol in facts.defined if _is_described(symbol)]
    exported = {symbol.name for symbol in facts.exported}
    parts = {symbol.name: _bytes_of(symbol, facts, exported) for symbol in described}
    if not any(name.startswith("_ZTI") for name in parts):
        return None
    padding = sum(facts.padding_before(each) for each in described if not _is_table(each))
    imports = [name for name in facts.imported if name.startswith(_BASE)]
    # An imported name is not in a hash table.
    low = sum(parts.values()) + sum(facts.export_size(name) - 4 for name in imports)
    padding += 12 * len(imports)
    copied = [symbol for symbol in facts.exported if symbol.name.startswith(_BASE)]
    low += sum(facts.export_size(symbol.name) + facts.fixup_size for symbol in copied)
    # GNU ld and gold store copies of constants in the file.
    sections = facts.elf.sections
    low += sum(symbol.size for symbol in copied if not sections[symbol.section].is_nobits)
    padding += _COPY * len(copied)
    gone = len(copied) + len(exported & parts.keys())
    return SizeFinding(
        kind="rtti",
        title="type information (RTTI) that no cast and no exception uses",
        low=max(low - _SLACK, 0),
        high=low + _SLACK + padding + facts.hash_heads_won(gone),
        metric=LOAD,
        evidence=largest(parts),
        parts=len(parts),
        change="-fno-rtti, unless typeid is used or another image catches or casts these types",
    )


def _is_described(symbol: Symbol) -> bool:
    """Return whether a symbol is a type's name, its description or its virtual table.

    mold names GOT slots X$got. Copies of the library's tables are counted apart.
    """
    name = symbol.name
    return (
        name.startswith(("_ZTI", "_ZTS", "_ZTV")) and "$" not in name and not name.startswith(_BASE)
    )


def _is_table(symbol: Symbol) -> bool:
    return symbol.name.startswith("_ZTV")


def _bytes_of(symbol: Symbol, facts: ImageFacts, exported: Set[str]) -> int:
    """Return the bytes that a symbol's part of the type information takes."""
    if _is_table(symbol):
        word = facts.elf.layout.word_size
        # The second word of a table names the type.
        return facts.fixup_size * facts.fixups_in(symbol.address + word, word)
    size = symbol.size + facts.fixup_size * facts.fixups_in(symbol.address, symbol.size)
    return size + (facts.export_size(symbol.name) if symbol.name in exported else 0)
