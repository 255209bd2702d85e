"""Write a gate's result in any format."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.gate.gate_result import GateResult
from sizeguard.report.writers.style import Style

if TYPE_CHECKING:
    from sizeguard.report.writers.source_links import SourceLinks

# The writers of other formats take 15 ms to import: each function imports its own.

_WORDS = ("load", "ram", "file", "headroom", "creep", "baseline", "waiver", "core", "inconclusive")
_PAGE = 4 << 20  # bytes of Markdown in a page, which has no comment's limit


def gate_text(
    result: GateResult,
    format_: str,
    style: Style | None = None,
    links: SourceLinks | None = None,
) -> str:
    """Write the result, without a final newline.

    links: to the sources, in Markdown
    """
    if format_ == "terminal":
        from sizeguard.report.gate.gate_terminal import terminal_text

        return terminal_text(result, style or Style())
    if format_ == "json":
        from sizeguard.report.gate.gate_json import gate_json

        return json.dumps(gate_json(result), indent=1)
    if format_ in ("markdown", "html"):
        return _for_people(result, format_, links)
    return _for_services(result, format_)


def _for_people(result: GateResult, format_: str, links: SourceLinks | None) -> str:
    from sizeguard.report.gate.comment_blocks import Frame
    from sizeguard.report.gate.gate_markdown import markdown_text
    from sizeguard.report.writers.markdown_page import markdown_page

    if format_ == "markdown":
        return markdown_text(result, frame=Frame(links=links))
    text = markdown_text(result, _PAGE, Frame(links=links))
    return "".join(markdown_page("Size gate", text, _WORDS)).rstrip("\n")


def _for_services(result: GateResult, format_: str) -> str:
    from sizeguard.report.gate import gate_ci

    if format_ == "csv":
        return gate_ci.csv_text(result)
    if format_ == "junit":
        return gate_ci.junit_text(result)
    if format_ == "sarif":
        return json.dumps(gate_ci.sarif_json(result), indent=1)
    if format_ == "codequality":
        return json.dumps(gate_ci.quality_json(result), indent=1)
    if format_ == "openmetrics":
        return gate_ci.metrics_text(result)
    if format_ == "github":
        return gate_ci.github_text(result)
    raise ValueError(f"unknown format {format_}")


def write_step_summary(result: GateResult) -> None:
    """Append the comment's Markdown, with a larger limit, to GitHub's step summary, if any."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        from sizeguard.report.gate.comment_blocks import Frame
        from sizeguard.report.gate.gate_markdown import markdown_text
        from sizeguard.report.writers import github
        from sizeguard.report.writers.source_links import links_of_runner

        frame = Frame(links=links_of_runner())
        github.append_summary(Path(path), markdown_text(result, github.SUMMARY // 2, frame))
