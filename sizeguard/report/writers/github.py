"""Write GitHub's workflow commands and step summaries, within GitHub's limits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.files import cannot_write
from sizeguard.report.writers.printable import at_most, printable
from sizeguard.report.writers.source_place import SourcePlace

ERROR, WARNING, NOTICE = "error", "warning", "notice"
SHOWN = 10  # annotations of each level in one step; GitHub drops more silently
LONGEST = 4_000  # characters of a message
SUMMARY = 1 << 20  # bytes of all summaries of one step
_TITLE = 200  # characters of a title


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation of a workflow run.

    level: ERROR, WARNING or NOTICE
    place: in the source tree, if known
    first: shown before all others of any level
    """

    level: str
    title: str
    message: str
    place: SourcePlace | None = None
    first: bool = False


def workflow_commands(annotations: Sequence[Annotation]) -> str:
    """Write a line for each annotation: those marked as first, then by level, the worst first.

    If a level has more than SHOWN, its last line has the number of omitted ones.
    """
    lines: list[str] = []
    ahead: list[str] = []
    for level in (ERROR, WARNING, NOTICE):
        mine = [annotation for annotation in annotations if annotation.level == level]
        mine.sort(key=lambda annotation: not annotation.first)
        cut = len(mine) > SHOWN
        shown = mine[: SHOWN - 1 if cut else SHOWN]
        ahead += [_command(annotation) for annotation in shown if annotation.first]
        lines += [_command(annotation) for annotation in shown if not annotation.first]
        if cut:
            text = (
                f"{len(mine) - SHOWN + 1} more like this; see the step's summary or the JSON result"
            )
            lines.append(_command(Annotation(level, "sizeguard", text)))
    return "\n".join(ahead + lines)


def _command(annotation: Annotation) -> str:
    properties = [f"title={_property(annotation.title[:_TITLE])}"]
    if annotation.place:
        place = annotation.place
        properties.insert(0, f"file={_property(place.file)}")
        properties += [
            f"{name}={value}"
            for name, value in (("line", place.line), ("col", place.column))
            if value
        ]
    message = _data(at_most(annotation.message, LONGEST))
    return f"::{annotation.level} {','.join(properties)}::{message}"


def _data(text: str) -> str:
    """Escape a message: lines stay lines, other control characters are shown."""
    return "%0A".join(printable(line).replace("%", "%25") for line in text.split("\n"))


def _property(text: str) -> str:
    return printable(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")


def append_summary(path: Path, text: str) -> None:
    """Append to a step's summary ($GITHUB_STEP_SUMMARY) if GitHub's limit leaves room for the text.

    Beyond the limit GitHub would show no summary at all.

    Raises InputError if the file cannot be written, StorageError if the disk is full.
    """
    data = (text + "\n").encode()
    try:
        with path.open("ab") as file:
            if os.fstat(file.fileno()).st_size + len(data) <= SUMMARY:
                file.write(data)
    except OSError as error:
        raise cannot_write(path, error) from error
