"""Add an app to the text of sizeguard.yaml, and keep its comments and order."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml

from sizeguard.base.errors import InputError
from sizeguard.base.files import write_atomic

_TOP = re.compile(r"[^\s#]")
_INDENT = "  "


@contextmanager
def undone_unless_complete(config: Path, selection: Path) -> Iterator[Path]:
    """Restore the configuration and remove the new selection if the steps fail or are interrupted.

    Yields the configuration's path.
    """
    before = config.read_bytes()
    made = [each for each in (selection.parent, *selection.parent.parents) if not each.exists()]
    selection.parent.mkdir(parents=True, exist_ok=True)
    is_complete = False
    try:
        yield config
        is_complete = True
    finally:
        if not is_complete:
            if config.read_bytes() != before:
                write_atomic(config, before)
            selection.unlink(missing_ok=True)
            for folder in made:
                folder.rmdir()


def with_app(text: str, name: str, selection: str, models: Sequence[str]) -> str:
    """Return the text with a new app at the end of `apps`; its line ends stay.

    Raises InputError if `apps` is written in one line.
    """
    line_end = "\r\n" if "\r\n" in text else "\n"
    whole = text.replace("\r\n", "\n").removesuffix("\n")
    lines = whole.split("\n") if whole else []
    start = next((at for at, line in enumerate(lines) if re.match(r"apps\s*:", line)), None)
    if start is None:
        start = len(lines)
        lines.append("apps:")
    elif not re.fullmatch(r"apps\s*:\s*(#.*)?", lines[start]):
        raise InputError(
            "sizeguard.yaml: `apps` is written in one line; write one line per app first"
        )
    end = next((at for at in range(start + 1, len(lines)) if _TOP.match(lines[at])), len(lines))
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    first = next((line for line in lines[start + 1 : end] if line.strip()[:1] not in ("", "#")), "")
    indent = first[: len(first) - len(first.lstrip())] or _INDENT
    entry = [
        f"{indent}{_scalar(name)}:",
        f"{indent}{_INDENT}selection: {_scalar(selection)}",
        f"{indent}{_INDENT}models:",
        *(f"{indent}{_INDENT * 2}- {_scalar(model)}" for model in models),
    ]
    return line_end.join([*lines[:end], *entry, *lines[end:]]) + line_end


def _scalar(text: str) -> str:
    """Write a string of YAML in one line."""
    return yaml.safe_dump(text, allow_unicode=True, width=sys.maxsize).partition("\n")[0]
