"""Runs of sizeguard bisect on small repositories, and laws of their results."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import jsonschema

import sizeguard
from tests.support.places import SIZEGUARD

SCHEMA = json.loads(
    (Path(sizeguard.__file__).parent / "report" / "schemas" / "bisect.schema.json").read_text()
)
BUILD = ("--build-command", "cc -Os main.c -o app", "--image", "app")
BUILD_IGNORING = (*BUILD, "--ignore", "*.md")


def run(
    folder: Path, *arguments: str, expect: int = 0, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(SIZEGUARD), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    assert done.returncode == expect, (
        f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    )
    assert "Traceback" not in done.stderr
    return done


def bisected(folder: Path, good: str, bad: str, *arguments: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(
        run(folder, "bisect", good, bad, *BUILD, "--format", "json", *arguments).stdout
    )
    check(result)
    return result


def check(result: dict[str, Any]) -> None:
    """Check the properties of every result."""
    jsonschema.validate(result, SCHEMA)
    assert (
        sum(each["delta"] for each in result["culprits"]) + result["smaller"]["delta"]
        == result["delta"]
    )
    assert result["delta"] == result["bad"]["value"] - result["good"]["value"]
    for culprit in result["culprits"]:
        assert sum(row["delta"] for row in culprit["rows"]) == culprit["delta"]
    if result["culprits"] and not result["smaller"]["count"]:
        assert result["culprits"][-1]["total"] == result["delta"]
