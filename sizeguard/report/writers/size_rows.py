"""Write rows of sizes as JSON, in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from sizeguard.attribution.size_report import ByteSums, Report
from sizeguard.columns.label import RowTexts
from sizeguard.ledger.ledger import ImageInfo

if TYPE_CHECKING:
    from sizeguard.diff.diff_result import DiffRow

_PIECE = 10_000  # rows


def short_id(image: ImageInfo) -> str:
    """Return the beginning of the build id for a header; empty if there is none."""
    return f"  id {image.id[:8]}" if image.id else ""


def image_json(image: ImageInfo) -> dict[str, object]:
    """Describe the image."""
    return {
        "path": image.path,
        "format": image.format,
        "arch": image.arch,
        "id": image.id,
        "title": image.title,
    }


def regions_json(image: ImageInfo) -> list[dict[str, object]]:
    """Describe the image's use of each memory region; the size of a region without an end is 0."""
    return [
        {
            "name": region.name,
            "origin": f"{region.origin:#x}",
            "size": region.length,
            "used": region.used,
            "stored": region.stored,
            "run": region.run,
        }
        for region in image.regions or ()
    ]


def row_json(by: Sequence[str], row: DiffRow) -> dict[str, object]:
    """Return a row of a diff by the levels `by`."""
    return {
        **dict(zip(by, row.keys, strict=True)),
        "old": row.old,
        "new": row.new,
        "delta": row.delta,
        "cause": row.cause,
    }


def columns_of(report: Report) -> dict[str, list[int]]:
    """Return the columns of numbers, by their names in JSON and CSV."""
    names = ("file", "load", "ram", "count", "exclusive", "shared")
    return {
        name: getattr(report, name).tolist() for name in names if getattr(report, name) is not None
    }


def sums_json(sums: ByteSums) -> dict[str, int]:
    """Return the sums of all rows."""
    return {"file": sums.file, "load": sums.load, "ram": sums.ram, "count": sums.count}


def json_rows(head: dict[str, object], rows: Iterable[str]) -> Iterator[str]:
    """Write an object with `rows` as its last key, one row per line."""
    import json  # 1 ms, which other formats save

    yield json.dumps(head, indent=1)[:-2] + ',\n "rows": ['
    before = "\n"
    piece: list[str] = []
    for row in rows:
        piece.append(before + row)
        before = ",\n"
        if len(piece) == _PIECE:
            yield "".join(piece)
            piece.clear()
    yield "".join(piece) + "\n ]\n}\n"


def json_texts(label: RowTexts) -> Iterator[str]:
    """Quote the value of each row; if there are few values, each is quoted once."""
    from json.encoder import encode_basestring_ascii as quote  # 1 ms, which other formats save

    texts, ids = label.texts, label.ids.tolist()
    if len(texts) * 2 > len(ids):
        return (quote(texts[i]) for i in ids)
    quoted = [quote(texts[i]) for i in range(len(texts))]
    return (quoted[i] for i in ids)


def texts_of(label: RowTexts) -> Iterator[str]:
    """Return the value of each row."""
    return (label.texts[i] for i in label.ids.tolist())
