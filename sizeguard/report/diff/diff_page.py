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
        PageColumn("change", diff.delta, is_signed=True),
        PageColumn("old", diff.old, has_area=False),
        PageColumn("new", diff.new, has_area=False),
        PageColumn("old n", diff.old_count, has_area=False),
        PageColumn("new n", diff.new_count, has_area=False),
    ]
    causes = Label(
        diff.cause.astype(np.int32), Texts.of(cause.replace("_", " ") for cause in CAUSES)
    )
    old, new = (getattr(image, diff.metric) for image in (diff.old_image, diff.new_image))
    extra: dict[str, object] = {"whole": f"{diff.metric} {old:,} → {new:,}"}
    if diff.left_out is not None:
        extra["leftOut"] = {"change": getattr(diff.left_out, diff.metric)}
    title = f"{' → '.join(dict.fromkeys(diff.titles))}, change of {diff.metric}"
    yield from html_page(
        title, columns, [*zip(diff.by, diff.labels, strict=True), ("cause", causes)], extra
    )
