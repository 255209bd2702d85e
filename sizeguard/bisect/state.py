"""Turns what a bisect was asked into a file, and the file of the last one into what to go on with.

What was measured is in the store; this is no more than the question, with its ends as ids: branches may have moved since.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from sizeguard.attribution.metrics import parse_metric
from sizeguard.bisect.bisect import Question
from sizeguard.errors import InputError
from sizeguard.files import write_atomic

_VERSION = 1
Asked = TypeVar("Asked")


def write_state(path: Path, build: Any, question: Question) -> None:
    """build: a dataclass of texts, numbers, booleans and tuples of texts."""
    content = {"schema_version": _VERSION, "build": asdict(build), "question": {**asdict(question), "metric": str(question.metric)}}
    write_atomic(path, json.dumps(content, indent=1) + "\n")


def read_state(path: Path, kind: type[Asked]) -> tuple[Asked, Question]:
    """Raises InputError if there is none, or it is of another version."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError("there is no run to go on with: give GOOD and BAD") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot read the last run: {error}; give GOOD and BAD") from error
    try:
        if content["schema_version"] != _VERSION:
            raise ValueError("it is of another version")
        build = kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in content["build"].items()})
        asked = content["question"]
        (good, bad), (start, end) = asked["names"], asked["ends"]
        asked |= {"names": (str(good), str(bad)), "ends": (str(start), str(end)), "metric": parse_metric(asked["metric"], "--metric")}
        return build, Question(**asked)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: cannot read the last run ({error}); give GOOD and BAD") from error
