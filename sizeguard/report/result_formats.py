"""The formats in which results are printed."""

from __future__ import annotations

TABLE_FORMATS = ("terminal", "json", "csv", "markdown")
SIZE_FORMATS = (*TABLE_FORMATS, "html")
HISTORY_FORMATS = (*SIZE_FORMATS, "badge", "svg")
JUDGED_FORMATS = ("terminal", "json", "markdown", "csv", "junit", "sarif", "github")
GATE_FORMATS = (*JUDGED_FORMATS, "codequality", "openmetrics", "html")
