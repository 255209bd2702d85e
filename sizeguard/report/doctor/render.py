"""Write findings of an examination: terminal, json, csv, markdown."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence

from sizeguard.doctor.diagnosis import Diagnosis, EvidencePart, SizeFinding
from sizeguard.report.screen.fit import screen_lines
from sizeguard.report.screen.grid import RowName, distinct
from sizeguard.report.writers.markdown import prose
from sizeguard.report.writers.printable import counted, printable, shown
from sizeguard.report.writers.style import Style
from sizeguard.report.writers.table import csv_rows, markdown_cell

SCHEMA_VERSION = 1
# Confidence, as JSON and CSV name it → words for people.
_CERTAINTY = {"exact": "exact", "promised": "tight bounds", "bounds": "loose bounds"}
_EVIDENCE = 4  # names to show of a finding on the terminal


def doctor_chunks(diagnosis: Diagnosis, most: int, format_: str, style: Style) -> Iterator[str]:
    """Write the first `most` findings, 0 for all, in pieces that end with a line.

    JSON and CSV have all.
    """
    findings = diagnosis.findings[: most or None]
    if format_ == "json":
        yield json.dumps(_json(diagnosis), indent=2) + "\n"
    elif format_ == "csv":
        rows = [
            (f.kind, f.low, f.high, f.metric, f.confidence, f.parts, f.title, f.change)
            for f in diagnosis.findings
        ]
        head = ["kind", "low", "high", "metric", "confidence", "parts", "title", "change"]
        yield from csv_rows(head, rows)
    elif format_ == "markdown":
        yield "".join(f"{line}\n" for line in _markdown(diagnosis, findings))
    else:
        lines = screen_lines(_terminal(diagnosis, findings, style), style)
        yield "".join(f"{line}\n" for line in lines)


def _json(diagnosis: Diagnosis) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "image": diagnosis.image,
        "load": diagnosis.load,
        "file": diagnosis.file,
        "findings": [_finding_json(finding) for finding in diagnosis.findings],
        "total": sum(finding.low for finding in diagnosis.findings),
        "unknown": list(diagnosis.unknown),
    }


def _finding_json(finding: SizeFinding) -> dict[str, object]:
    return {
        "id": finding.kind,
        "bytes": finding.low,
        "kind": finding.kind,
        "title": finding.title,
        "low": finding.low,
        "high": finding.high,
        "metric": finding.metric,
        "sections": list(finding.sections),
        "confidence": finding.confidence,
        "evidence": [{"name": each.name, "bytes": each.size} for each in finding.evidence],
        "parts": finding.parts,
        "change": finding.change,
    }


def _bytes(finding: SizeFinding) -> str:
    if finding.low == finding.high:
        return f"{finding.low:,}"
    return f"{finding.low:,}–{finding.high:,}"


def _where(finding: SizeFinding) -> str:
    return (
        f"{finding.metric} of {' '.join(finding.sections)}" if finding.sections else finding.metric
    )


def _wrapped(text: str, width: int) -> list[str]:
    """Break a sentence at spaces, and never inside an option, since people copy it."""
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)


def _head(diagnosis: Diagnosis) -> str:
    return (
        f"{printable(diagnosis.image)}: load {diagnosis.load:,}, file {diagnosis.file:,} bytes;"
        f" {counted(len(diagnosis.findings), 'finding')}"
    )


def _terminal(
    diagnosis: Diagnosis, findings: tuple[SizeFinding, ...], style: Style
) -> Iterator[str]:
    yield style.bold(_head(diagnosis))
    for number, finding in enumerate(findings, 1):
        yield ""
        yield style.bold(f"{number}. {finding.title}")
        yield f"   {_bytes(finding)} bytes of {_where(finding)} ({_CERTAINTY[finding.confidence]})"
        largest = finding.evidence[:_EVIDENCE]
        for each, name in zip(largest, _names(largest, style), strict=True):
            yield f"   {each.size:>12,}  {name}"
        if finding.parts > _EVIDENCE and len(finding.evidence) > _EVIDENCE:
            yield f"   {'':12}  and {finding.parts - _EVIDENCE:,} more"
        for k, line in enumerate(_wrapped(finding.change, style.width - 12)):
            yield f"   {'change:' if not k else '':8}{line}"
    if hidden := _hidden(diagnosis, findings):
        yield ""
        yield hidden
    if diagnosis.unknown:
        yield ""
    for line in diagnosis.unknown:
        yield f"unknown: {printable(line)}"


def _hidden(diagnosis: Diagnosis, findings: tuple[SizeFinding, ...]) -> str:
    count = len(diagnosis.findings) - len(findings)
    return f"{counted(count, 'more finding')} (-n 0 shows all)" if count else ""


def _names(parts: Sequence[EvidencePart], style: Style) -> list[str]:
    """Shorten the names of parts; different names stay different."""
    names = [RowName(shown("symbol", each.name), is_symbol=True) for each in parts]
    return [name.text for name in names] if style.full else distinct(names, style.width - 20)


def _markdown(diagnosis: Diagnosis, findings: tuple[SizeFinding, ...]) -> Iterator[str]:
    yield prose(_head(diagnosis))
    yield ""
    yield "| finding | bytes | of | confidence | largest | change |"
    yield "| --- | ---: | --- | --- | --- | --- |"
    for finding in findings:
        names = [shown("symbol", each.name) for each in finding.evidence[:1]]
        cells = [markdown_cell(name) for name in names] or [""]
        yield (
            f"| {prose(finding.title)} | {_bytes(finding)} | {_where(finding)} |"
            f" {_CERTAINTY[finding.confidence]} | {cells[0]} | {prose(finding.change)} |"
        )
    if hidden := _hidden(diagnosis, findings):
        yield ""
        yield hidden
    if diagnosis.unknown:
        yield ""
    for line in diagnosis.unknown:
        yield f"- unknown: {prose(line)}"
