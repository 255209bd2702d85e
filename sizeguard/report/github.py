"""Turns annotations into GitHub's workflow commands, and Markdown into a step's summary, within GitHub's limits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sizeguard.errors import InputError
from sizeguard.report.names import printable
from sizeguard.report.place import Place

ERROR, WARNING, NOTICE = "error", "warning", "notice"
SHOWN = 10  # of each level in one step; GitHub drops the others without a word
LONGEST = 4_000  # characters of a message
SUMMARY = 1 << 20  # bytes of all summaries of one step
_TITLE = 200


@dataclass(frozen=True, slots=True)
class Annotation:
    level: str
    title: str
    message: str
    place: Place | None = None


def workflow_commands(annotations: Sequence[Annotation]) -> str:
    """A line each, the worst level first. Of more than ten of a level the tenth says how many are left out."""
    lines = []
    for level in (ERROR, WARNING, NOTICE):
        mine = [annotation for annotation in annotations if annotation.level == level]
        cut = len(mine) > SHOWN
        lines += [_command(annotation) for annotation in mine[: SHOWN - 1 if cut else SHOWN]]
        if cut:
            text = f"{len(mine) - SHOWN + 1} more like this: the step's summary and the JSON result list them"
            lines.append(_command(Annotation(level, "sizeguard", text)))
    return "\n".join(lines)


def _command(annotation: Annotation) -> str:
    properties = [f"title={_property(annotation.title[:_TITLE])}"]
    if annotation.place:
        place = annotation.place
        properties.insert(0, f"file={_property(place.file)}")
        properties += [f"{name}={value}" for name, value in (("line", place.line), ("col", place.column)) if value]
    message = annotation.message if len(annotation.message) <= LONGEST else f"{annotation.message[: LONGEST - 1]}…"
    return f"::{annotation.level} {','.join(properties)}::{_data(message)}"


def _data(text: str) -> str:
    """Lines stay lines; other control characters are shown."""
    return "%0A".join(printable(line).replace("%", "%25") for line in text.split("\n"))


def _property(text: str) -> str:
    return printable(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")


def append_summary(path: Path, text: str) -> None:
    """Append to a step's summary ($GITHUB_STEP_SUMMARY), unless the step has no room left for it: then GitHub would show none at all."""
    data = (text + "\n").encode()
    try:
        with path.open("ab") as file:
            if os.fstat(file.fileno()).st_size + len(data) <= SUMMARY:
                file.write(data)
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror}") from error
