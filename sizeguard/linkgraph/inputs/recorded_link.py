"""Read the inputs of a link from its record."""

from __future__ import annotations

import re
from pathlib import Path

from sizeguard.base.errors import InconclusiveError, InputError, listed
from sizeguard.builds.link_record import LinkRecord, read_link_record
from sizeguard.linkgraph.inputs.command_line import parse_command
from sizeguard.linkgraph.inputs.link_inputs import Linker, LinkInputs


def read_link(path: Path) -> LinkInputs:
    """Read a link record that `sizeguard record` or a native build wrote.

    Raises InputError for a file that is not one, InconclusiveError if inputs changed since the
    link.
    """
    return link_of(read_link_record(path), str(path))


def link_of(record: LinkRecord, where: str) -> LinkInputs:
    """Read the command line of a record. `where` appears in error messages."""
    changed = record.changed_inputs()
    if changed:
        raise InconclusiveError(
            f"{listed([str(path) for path in changed], 1)}: changed or gone since the link was"
            " recorded; record the build again"
        )
    linker = linker_named(record.linker, where)
    return parse_command(
        record.arguments, record.folder, linker, copies=record.copies, lto=record.lto
    )


def linker_named(text: str, where: str) -> Linker:
    """Identify a linker by its --version output. `where` appears in the error message.

    Examples: GNU ld (…) 2.40, GNU gold (… 2.40) 1.16, Debian LLD 19.1.7, mold 1.10.1.
    """
    for family, pattern in (
        ("gold", r"GNU gold.*?([\d.]+\d)\s*$"),
        ("bfd", r"GNU ld.*?([\d.]+\d)\s*$"),
        ("lld", r"LLD ([\d.]+\d)"),
        ("mold", r"mold ([\d.]+\d)"),
    ):
        match = re.search(pattern, text)
        if match:
            return Linker(family, tuple(int(part) for part in match[1].split(".")))
    raise InputError(f"{where}: an unknown linker: {text}")
