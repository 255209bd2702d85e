"""Recognize the results of earlier gates, which a new one may replace."""

from __future__ import annotations

import re
from pathlib import Path

from sizeguard.base.files import cannot_read
from sizeguard.base.input_files import recognizable
from sizeguard.report.gate.findings.gate_findings import RULES

_HEAD = 1 << 20  # bytes
_BEGINNINGS = (
    r"\s*\Z",
    r"<!-- sizeguard gate -->",
    r"app,target,check,verdict,",
    r"# (EOF$|(TYPE|HELP) sizeguard)",
    r"\[\s*(\]|\{\s*\"type\": \"issue\",\s*\"check_name\": \"(?:" + "|".join(RULES) + ')")',
    r"::(notice|warning|error) ",
    r"\{\s*(\"schema_version\": *\d+,\s*)?(\"exit_code\": *\d+,\s*)?\"verdict\"",
    r"\{\s*\"\$schema\": *\"[^\"]*sarif[^$]*?\"name\": *\"sizeguard\"",
    r"<\?xml [^>]*>\s*<testsuites name=\"sizeguard gate\"",
    r"<!DOCTYPE html>(?s:.{,1000})<title>Size gate",
    # A shell's redirection has the path of the policy, too, and FORCE_COLOR colours the verdict.
    r"(policy: [^\n]*\n)?(\x1b\[[\d;]*m)*(PASS|FAIL|INCONCLUSIVE)(\x1b\[[\d;]*m)*  \S",
)
_RESULT = re.compile(f"(?:{'|'.join(_BEGINNINGS)})", re.MULTILINE)


def is_earlier_result(path: Path) -> bool:
    """Return whether a regular file is a result of a gate in any format, or is empty.

    Raises InputError if it cannot be read.
    """
    if not path.is_file():
        return False
    head = _head(path)
    if b"\0" in head:
        return False
    text = head.decode("utf-8", "replace")
    return bool(_RESULT.match(text))


def is_binary(path: Path) -> bool:
    """Return whether a regular file holds a zero byte, as images and snapshots do.

    Raises InputError if it cannot be read.
    """
    return b"\0" in _head(path)


def _head(path: Path) -> bytes:
    try:
        with recognizable(path).open("rb") as file:
            return file.read(_HEAD)
    except OSError as error:
        raise cannot_read(path, error) from error
