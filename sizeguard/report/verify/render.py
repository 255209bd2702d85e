"""Write a verification in any format."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sizeguard.claims.claim import Claim
from sizeguard.claims.verdict import Verification
from sizeguard.report.verify.verify_ci import github_text, junit_text, sarif_json
from sizeguard.report.verify.verify_json import listed_json, verification_json
from sizeguard.report.verify.verify_table import table_text
from sizeguard.report.verify.verify_terminal import terminal_text
from sizeguard.report.writers.printable import plain_text
from sizeguard.report.writers.style import Style


def verification_text(result: Verification, format_: str, style: Style | None = None) -> str:
    """Write the verification, without a final newline."""
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
    return terminal_text(result, style or Style())


def claims_text(claims: Sequence[Claim], format_: str) -> str:
    """Write claims that are not judged, as JSON or as lines, without a final newline."""
    if format_ == "json":
        return json.dumps(listed_json(claims), indent=1)
    return plain_text(f"{each.kind} {each.name} {each.expect}" for each in claims)
