"""Read and write the names of a full build as a JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read
from sizeguard.base.input_files import readable
from sizeguard.claims.listed_names import BuildNames, FeatureMarks

SCHEMA_VERSION = 1
_MARKS = ("texts", "without", "functions", "hosts")


def names_text(names: BuildNames) -> str:
    """Format the names as JSON, one per line."""
    content = {
        "schema_version": SCHEMA_VERSION,
        "operators": dict(sorted(names.operators.items())),
        "dtypes": {tag: " ".join(names.dtypes[tag]) for tag in sorted(names.dtypes)},
        "classes": sorted(names.classes),
        "features": {
            feature: {
                **{key: list(getattr(marks, key)) for key in _MARKS},
                **({"options": list(marks.options)} if marks.options else {}),
                "calls": {name: list(callers) for name, callers in marks.calls.items()},
                "load": marks.load,
                "linked": marks.linked,
            }
            for feature, marks in sorted(names.features.items())
        },
        "helpers": sorted(names.helpers),
        "bodies": {tag: list(names.bodies[tag]) for tag in sorted(names.bodies)},
        "others": sorted(names.others),
        "users": {text: list(names.users[text]) for text in sorted(names.users)},
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def read_names(path: Path) -> BuildNames:
    """Read the names from a file. Raises InputError if it is damaged."""
    try:
        return parse_names(readable(path).read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise cannot_read(path, error) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not JSON: {error}") from error


def parse_names(text: str, path: str) -> BuildNames:
    """Parse the text of a names file. Raises InputError, with the path, if it is damaged."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    try:
        return BuildNames(
            operators={str(name): str(kernel) for name, kernel in content["operators"].items()},
            dtypes={str(tag): tuple(names.split()) for tag, names in content["dtypes"].items()},
            classes=tuple(map(str, content["classes"])),
            features={str(name): _marks(marks) for name, marks in content["features"].items()},
            helpers=frozenset(map(str, content["helpers"])),
            bodies={str(tag): tuple(map(str, each)) for tag, each in content["bodies"].items()},
            others=frozenset(map(str, content["others"])),
            # Files from before have none.
            users={str(t): tuple(map(str, each)) for t, each in content.get("users", {}).items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: not the names of a full build ({error})") from error


def _marks(content: Mapping[str, Any]) -> FeatureMarks:
    texts, without, functions, hosts = (tuple(map(str, content[key])) for key in _MARKS)
    # Files from before have no calls.
    calls = {str(f): tuple(map(str, by)) for f, by in content.get("calls", {}).items()}
    load, linked = (int(content.get(key, 0)) for key in ("load", "linked"))
    options = tuple(map(str, content.get("options", ())))
    return FeatureMarks(texts, without, functions, hosts, calls, load, linked, options)
