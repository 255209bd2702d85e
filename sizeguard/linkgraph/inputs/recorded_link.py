"""Inputs of a link, read from the record that a build leaves beside its image."""

from __future__ import annotations

import json
import re
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.input_files import readable
from sizeguard.linkgraph.inputs.command_line import parse_command
from sizeguard.linkgraph.inputs.link_inputs import Linker, LinkInputs


def read_link(path: Path) -> LinkInputs:
    """Read a link record. Raises InputError for a file that is none."""
    try:
        content = json.loads(readable(path).read_text())
    except OSError as error:
        raise InputError(
            f"{path}: cannot read: {error.strerror}; build again with sizeguard build"
        ) from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    match content:
        case {
            "schema_version": 1,
            "linker": str(name),
            "folder": str(folder),
            "arguments": list(words),
        } if all(isinstance(word, str) for word in words):
            return parse_command(words, Path(folder), linker_named(name, str(path)))
    raise InputError(f"{path}: not a link record of version 1; build again with sizeguard build")


def linker_named(text: str, where: str) -> Linker:
    """Tell a linker by what it prints for --version. `where` is used in the error message.

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
