"""Write findings as GitLab's code quality report: a list of issues, each with file and line."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from sizeguard.report.writers.printable import printable
from sizeguard.report.writers.sarif import ERROR, WARNING, Alert

_SEVERITIES = {ERROR: "major", WARNING: "minor"}


def code_quality(alerts: Iterable[Alert], elsewhere: str) -> list[dict[str, object]]:
    """Make the issues; `elsewhere` is the file for issues without a place.

    GitLab drops issues without a path and a line, and issues with a repeated fingerprint.
    """
    found: dict[str, dict[str, object]] = {}
    for alert in alerts:
        print_ = hashlib.sha256(alert.identity.encode("utf-8", "replace")).hexdigest()[:32]
        path = alert.place.file if alert.place else elsewhere
        line = alert.place.line if alert.place and alert.place.line else 1
        found.setdefault(
            print_,
            {
                "type": "issue",
                "check_name": alert.rule,
                "description": printable(alert.message),
                "fingerprint": print_,
                "severity": _SEVERITIES.get(alert.level, "info"),
                "location": {"path": path, "lines": {"begin": line}},
            },
        )
    return list(found.values())
