"""Verdict on a handler that never returns: whether its callers know that, by debug information.

If they do not, each deselected case continues after the call with code that nothing can reach and
no symbol shows.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from sizeguard.claims.verdict import (
    ABSENT,
    FAIL,
    INCONCLUSIVE,
    PASS,
    REMOVED_BY_COMPILER,
    STILL_THERE,
    UNKNOWN,
    Verdict,
)
from sizeguard.formats.binary import Binary
from sizeguard.formats.dwarf.sections import macho_sections
from sizeguard.formats.elf import SHT_NOBITS
from sizeguard.formats.macho import MachO
from sizeguard.formats.macho.dsym import with_debug_information
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.macho import MachoImage

_SECTIONS = (
    *(
        "info",
        "aranges",
        "abbrev",
        "frame",
        "str",
        "loc",
        "ranges",
        "line",
        "pubtypes",
        "pubnames",
        "addr",
        "str_offsets",
    ),
    *("line_str", "loclists", "rnglists", "sup", "types"),
)


def judge_returns(evidence: Evidence, handler: str) -> Verdict:
    """Judge a handler. Its name is given as in mangled names: 18dtype_not_selected."""
    plain = handler.lstrip("0123456789")
    name = f"a way back from {plain}"
    seen = list(_declarations(evidence, handler))
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


def _declarations(evidence: Evidence, handler: str) -> Iterator[tuple[str, bool]]:
    """Yield units that declare or define the handler, and whether each says noreturn."""
    from elftools.common.exceptions import DWARFError, ELFError  # 20 ms, with those below

    wanted = handler.encode()
    try:
        for unit in _units(evidence.image, wanted):
            top = unit.get_top_DIE()
            yield from _in_scope(top, wanted, top.get_full_path())
    except (ELFError, DWARFError, KeyError, ValueError, AssertionError):
        return  # damaged debug information says nothing


def _units(image: Binary, wanted: bytes) -> Iterator[Any]:
    """Yield the compilation units of an image or its dSYM; none if they do not know the name."""
    from elftools.elf.elffile import ELFFile

    if isinstance(image, MachoImage):
        debug = with_debug_information(image.macho)
        if debug is not None and wanted in debug.data.tobytes():
            yield from _dwarf_of(debug).iter_CUs()
        return
    info = image.section(".debug_info")
    if info is not None and info.type != SHT_NOBITS and wanted in bytes(image.data):
        with image.path.open("rb") as stream:
            yield from ELFFile(stream).get_dwarf_info().iter_CUs()


def _dwarf_of(debug: MachO) -> Any:
    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

    found = macho_sections(debug)
    sections = {
        f"debug_{name}_sec": (
            DebugSectionDescriptor(io.BytesIO(found[name]), name, 0, len(found[name]), 0)
            if name in found
            else None
        )
        for name in _SECTIONS
    }
    config = DwarfConfig(little_endian=True, machine_arch="x64", default_address_size=8)
    return DWARFInfo(config=config, eh_frame_sec=None, gnu_debugaltlink_sec=None, **sections)


def _in_scope(scope: Any, wanted: bytes, unit: str) -> Iterator[tuple[str, bool]]:
    for entry in scope.iter_children():
        if entry.tag == "DW_TAG_namespace":
            yield from _in_scope(entry, wanted, unit)
        elif entry.tag == "DW_TAG_subprogram":
            linkage = entry.attributes.get("DW_AT_linkage_name")
            if linkage is not None and wanted in linkage.value:
                yield unit, "DW_AT_noreturn" in entry.attributes
