"""Write a diff as an HTML page."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sizeguard.columns.label import Label
from sizeguard.columns.texts import Texts
from sizeguard.diff.diff_result import CAUSES, Diff
from sizeguard.report.writers.html_page import PageColumn, html_page


def diff_html(diff: Diff) -> Iterator[str]:
    """Write the page in pieces."""
    columns = [
        PageColumn("change", diff.delta, signed=True),
        PageColumn("old", diff.old, area=False),
        PageColumn("new", diff.new, area=False),
        PageColumn("old n", diff.old_count, area=False),
        PageColumn("new n", diff.new_count, area=False),
    ]
    causes = Label(
        diff.cause.astype(np.int32), Texts.of(cause.replace("_", " ") for cause in CAUSES)
    )
    extra: dict[str, object] = {}
    if diff.left_out is not None:
        extra["leftOut"] = {"change": getattr(diff.left_out, diff.metric)}
    title = f"{diff.old_image.title} → {diff.new_image.title}, change of {diff.metric}"
    yield from html_page(
        title, columns, [*zip(diff.by, diff.labels, strict=True), ("cause", causes)], extra
    )
