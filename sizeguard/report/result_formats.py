"""The formats in which results are printed."""

from __future__ import annotations

SIZE_FORMATS = ("terminal", "json", "csv", "markdown", "html")
JUDGED_FORMATS = ("terminal", "json", "markdown", "csv", "junit", "sarif", "github")
