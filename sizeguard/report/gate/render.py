"""Write a gate's result in any format."""

from __future__ import annotations

import json
import os
from pathlib import Path

from sizeguard.gate.gate_result import GateResult
from sizeguard.report.gate.comment_blocks import Frame
from sizeguard.report.gate.gate_ci import (
    csv_text,
    github_text,
    junit_text,
    quality_json,
    sarif_json,
)
from sizeguard.report.gate.gate_json import gate_json
from sizeguard.report.gate.gate_markdown import markdown_text
from sizeguard.report.gate.gate_terminal import terminal_text
from sizeguard.report.writers import github
from sizeguard.report.writers.source_links import SourceLinks, links_of_runner
from sizeguard.report.writers.style import Style

_PAGE = 4 << 20  # bytes of Markdown in a page: no comment's limit holds there


def gate_text(
    result: GateResult,
    format_: str,
    style: Style | None = None,
    links: SourceLinks | None = None,
) -> str:
    """Write the result, without a newline at its end.

    links: to the sources, in Markdown
    """
    if format_ == "json":
        return json.dumps(gate_json(result), indent=1)
    if format_ == "markdown":
        return markdown_text(result, frame=Frame(links=links))
    if format_ == "csv":
        return csv_text(result)
    if format_ == "junit":
        return junit_text(result)
    if format_ == "sarif":
        return json.dumps(sarif_json(result), indent=1)
    if format_ == "codequality":
        return json.dumps(quality_json(result), indent=1)
    if format_ == "github":
        return github_text(result)
    if format_ == "html":
        # Imported on call: 0.04 s that no other format needs.
        from sizeguard.report.writers.markdown_page import markdown_page

        text = markdown_text(result, _PAGE, Frame(links=links))
        return "".join(markdown_page("Size gate", text)).rstrip("\n")
    return terminal_text(result, style or Style())


def write_step_summary(result: GateResult) -> None:
    """Append the comment's Markdown, cut less, to the step's summary if GitHub provides one."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        frame = Frame(links=links_of_runner())
        github.append_summary(Path(path), markdown_text(result, github.SUMMARY // 2, frame))
