"""Turns a verification into text, by format."""

from __future__ import annotations

import json

from sizeguard.report.verify_ci import github_text, junit_text, sarif_json
from sizeguard.report.verify_json import verification_json
from sizeguard.report.verify_table import table_text
from sizeguard.report.verify_terminal import terminal_text
from sizeguard.verify.result import Verification


def verification_text(result: Verification, format_: str) -> str:
    if format_ == "json":
        return json.dumps(verification_json(result), indent=1)
    if format_ in ("markdown", "csv"):
        return table_text(result, format_)
    if format_ == "junit":
        return junit_text(result)
    if format_ == "sarif":
        return json.dumps(sarif_json(result), indent=1)
    if format_ == "github":
        return github_text(result)
    return terminal_text(result)
