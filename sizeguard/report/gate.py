"""Turns a gate's result into text, by format."""

from __future__ import annotations

import json
import os
from pathlib import Path

from sizeguard.gate.result import GateResult
from sizeguard.report import github
from sizeguard.report.gate_ci import csv_text, github_text, junit_text, sarif_json
from sizeguard.report.gate_json import gate_json
from sizeguard.report.gate_markdown import markdown_text
from sizeguard.report.gate_terminal import terminal_text
from sizeguard.report.style import Style

FORMATS = ("terminal", "json", "markdown", "csv", "junit", "sarif", "github")


def gate_text(result: GateResult, format_: str, style: Style | None = None) -> str:
    """The text without a newline at its end."""
    if format_ == "json":
        return json.dumps(gate_json(result), indent=1)
    if format_ == "markdown":
        return markdown_text(result)
    if format_ == "csv":
        return csv_text(result)
    if format_ == "junit":
        return junit_text(result)
    if format_ == "sarif":
        return json.dumps(sarif_json(result), indent=1)
    if format_ == "github":
        return github_text(result)
    return terminal_text(result, style or Style())


def write_step_summary(result: GateResult) -> None:
    """The comment's Markdown, less cut, into the step's summary, where GitHub says that there is one."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        github.append_summary(Path(path), markdown_text(result, github.SUMMARY // 2))
