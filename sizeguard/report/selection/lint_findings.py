"""Write the findings of lint."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sizeguard.report.writers.printable import counted, plain_text
from sizeguard.report.writers.table import format_table
from sizeguard.selection.finding import Level, LintFinding

SCHEMA_VERSION = 1


def findings_text(findings: Sequence[LintFinding], format_: str) -> str:
    """Write the findings in their order; the terminal gets a line each, as compilers print them."""
    if format_ == "json":
        rows = [
            {
                "file": finding.file,
                "line": finding.line,
                "level": finding.level.value,
                "check": finding.check,
                "message": finding.message,
            }
            for finding in findings
        ]
        return json.dumps({"schema_version": SCHEMA_VERSION, "findings": rows}, indent=2)
    if format_ == "terminal":
        return plain_text([*map(str, findings), summary(findings)])
    cells = [
        (finding.file, str(finding.line or ""), finding.level.value, finding.check, finding.message)
        for finding in findings
    ]
    return format_table(("file", "line", "level", "check", "message"), cells, format_)


def summary(findings: Sequence[LintFinding]) -> str:
    """Count the findings: 1 error, 2 warnings."""
    counts = [(level.value, sum(finding.level is level for finding in findings)) for level in Level]
    return ", ".join(counted(count, level) for level, count in counts if count) or "nothing found"
