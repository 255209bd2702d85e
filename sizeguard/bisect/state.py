"""Write the question of a bisect to a file, and read the last question for --resume.

Measurements are in the store. The ends are full ids, because branches may have moved since.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from sizeguard.base.errors import InputError
from sizeguard.base.files import write_atomic
from sizeguard.base.input_files import readable
from sizeguard.bisect.whole_range import Question
from sizeguard.measurement.metric import parse_metric

_VERSION = 1
Asked = TypeVar("Asked")


def write_state(path: Path, build: Any, question: Question) -> None:
    """Write the question.

    build: a dataclass of strings, numbers, booleans and tuples of strings
    """
    content = {
        "schema_version": _VERSION,
        "build": asdict(build),
        "question": {**asdict(question), "metric": str(question.metric)},
    }
    write_atomic(path, json.dumps(content, indent=1) + "\n")


def read_state(path: Path, kind: type[Asked]) -> tuple[Asked, Question]:
    """Read the last question.

    kind: the class of the `build` that was written

    Raises InputError if there is none, or if another version wrote it.
    """
    try:
        content = json.loads(readable(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError("there is no run to resume; give GOOD and BAD") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot read the last run: {error}; give GOOD and BAD") from error
    try:
        if content["schema_version"] != _VERSION:
            raise ValueError("it is of another version")
        build = kind(
            **{
                name: tuple(value) if isinstance(value, list) else value
                for name, value in content["build"].items()
            }
        )
        asked = content["question"]
        (good, bad), (start, end) = asked["names"], asked["ends"]
        asked |= {
            "names": (str(good), str(bad)),
            "ends": (str(start), str(end)),
            "metric": parse_metric(asked["metric"], "--metric"),
        }
        return build, Question(**asked)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{path}: cannot read the last run ({error}); give GOOD and BAD"
        ) from error
