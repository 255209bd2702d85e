"""Verdict on a handler that never returns: whether debug information shows its callers know it.

If they do not, each deselected case continues after the call with unreachable code that no symbol
shows.
"""

from __future__ import annotations

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.claims.verdict import (
    ABSENT,
    FAIL,
    INCONCLUSIVE,
    NOT_APPLICABLE,
    PASS,
    REMOVED_BY_COMPILER,
    STILL_THERE,
    UNKNOWN,
    Verdict,
)
from sizeguard.formats.binary import Binary
from sizeguard.formats.dwarf.debug_info import DwarfError, Info
from sizeguard.formats.dwarf.noreturn import noreturn_declarations
from sizeguard.formats.dwarf.sections import elf_sections, macho_sections
from sizeguard.formats.elf import read_elf
from sizeguard.formats.macho.dsym import with_debug_information
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.macho import MachoImage


def judge_returns(evidence: Evidence, handler: str) -> Verdict:
    """Judge a handler, given its name in mangled form, such as 18dtype_not_selected."""
    plain = handler.lstrip("0123456789")
    name = f"a way back from {plain}"
    seen = declarations(evidence.image, handler.encode())
    if not seen and is_unused(evidence, plain):
        note = f"no code of the image calls {plain}, which is not in it"
        return Verdict("handler", name, ABSENT, NOT_APPLICABLE, UNKNOWN, 0, (note,))
    if not seen:
        note = f"no debug information describes {plain}"
        return Verdict("handler", name, ABSENT, INCONCLUSIVE, UNKNOWN, 0, (note,))
    returning = [unit for unit, is_noreturn in seen if not is_noreturn]
    if returning:
        note = (
            f"{len(returning)} of {len(seen)} compilation units do not know that it never returns,"
            f" such as {returning[0]}"
        )
        return Verdict(
            "handler",
            name,
            ABSENT,
            FAIL,
            STILL_THERE,
            0,
            (note,),
            (),
            f"{plain} is not declared [[noreturn]]",
        )
    return Verdict(
        "handler",
        name,
        ABSENT,
        PASS,
        REMOVED_BY_COMPILER,
        0,
        (f"[[noreturn]] in all {len(seen)} compilation units that know it",),
    )


def is_unused(evidence: Evidence, plain: str) -> bool:
    """Return whether a function is not in the image, and all code there is described.

    A selection may have no operator with a dtype switch.
    """
    if not evidence.is_complete or evidence.undescribed_notes:
        return False
    pieces = (
        piece for name, found in evidence.objects.index.items() if plain in name for piece in found
    )
    return not any(plain in name for name in (*evidence.symbols, *evidence.inlined)) and not any(
        evidence.placement.where(piece) is not None for piece in pieces
    )


def declarations(image: Binary, wanted: bytes) -> list[tuple[str, bool]]:
    """List the units that declare or define a function, and whether each declares it noreturn.

    Empty without debug information, or if it is damaged.
    """
    try:
        if isinstance(image, MachoImage):
            debug = with_debug_information(image.macho)
            sections = macho_sections(debug) if debug is not None else {}
            is_big = debug is not None and debug.order == ">"
        else:
            elf = read_elf(image.path)
            sections, is_big = elf_sections(elf), elf.layout.order == ">"
        if not any(wanted in content for content in sections.values()):
            return []
        return noreturn_declarations(Info(sections, "big" if is_big else "little"), wanted)
    except (InputError, InconclusiveError, DwarfError):
        return []
