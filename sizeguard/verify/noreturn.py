"""Turns debug information into whether the callers of a handler know that it never returns.

If they do not, each deselected case goes on behind the call: code that nothing can reach, and that no symbol shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sizeguard.formats.elf import SHT_NOBITS
from sizeguard.verify.evidence import Evidence
from sizeguard.verify.result import ABSENT, FAIL, INCONCLUSIVE, PASS, REMOVED_BY_COMPILER, STILL_THERE, UNKNOWN, Verdict


def judge_returns(evidence: Evidence, handler: str) -> Verdict:
    """`handler` as in mangled names: 18dtype_not_selected."""
    plain = handler.lstrip("0123456789")
    name = f"a way back from {plain}"
    seen = list(_declarations(evidence, handler))
    if not seen:
        note = f"no debug information describes {plain}"
        return Verdict("handler", name, ABSENT, INCONCLUSIVE, UNKNOWN, 0, (note,))
    returning = [unit for unit, is_noreturn in seen if not is_noreturn]
    if returning:
        note = f"{len(returning)} of {len(seen)} compilation units do not know that it never returns, such as {returning[0]}"
        return Verdict("handler", name, ABSENT, FAIL, STILL_THERE, 0, (note,), (), f"{plain} is not declared [[noreturn]]")
    return Verdict(
        "handler", name, ABSENT, PASS, REMOVED_BY_COMPILER, 0, (f"[[noreturn]] in all {len(seen)} compilation units that know it",)
    )


def _declarations(evidence: Evidence, handler: str) -> Iterator[tuple[str, bool]]:
    """(compilation unit, whether it says noreturn) for each that declares or defines the handler."""
    info = evidence.image.section(".debug_info")
    if info is None or info.type == SHT_NOBITS or handler.encode() not in bytes(evidence.image.data):
        return
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.elf.elffile import ELFFile

    wanted = handler.encode()
    try:
        with evidence.image.path.open("rb") as stream:
            for unit in ELFFile(stream).get_dwarf_info().iter_CUs():
                top = unit.get_top_DIE()
                yield from _in_scope(top, wanted, top.get_full_path())
    except (ELFError, DWARFError, KeyError, ValueError, AssertionError):
        return  # damaged debug information says nothing


def _in_scope(scope: Any, wanted: bytes, unit: str) -> Iterator[tuple[str, bool]]:
    for entry in scope.iter_children():
        if entry.tag == "DW_TAG_namespace":
            yield from _in_scope(entry, wanted, unit)
        elif entry.tag == "DW_TAG_subprogram":
            linkage = entry.attributes.get("DW_AT_linkage_name")
            if linkage is not None and wanted in linkage.value:
                yield unit, "DW_AT_noreturn" in entry.attributes
