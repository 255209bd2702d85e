"""Compare each format with golden files, and JSON with its published schema."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import jsonschema
import pytest

from sizeguard.builds.build_record import RECORD, Build
from tests.support.results.golden_sample import FOLDER, goldens

GOLDENS = goldens()


def schema(name: str) -> Any:
    return json.loads(
        resources.files("sizeguard.report").joinpath(f"schemas/{name}.schema.json").read_text()
    )


@pytest.mark.parametrize("name", GOLDENS)
def test_outputs_are_the_reviewed_ones(name: str) -> None:
    """To update: python -m tests.support.results.golden_sample, then review the diff."""
    assert GOLDENS[name] == (FOLDER / name).read_bytes().decode()


def test_every_golden_file_is_compared() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(GOLDENS)


@pytest.mark.parametrize("name", ["report", "diff", "build", "gate", "why", "predict", "history"])
def test_schemas_are_schemas(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize("name", ["report.json", "report-symbols.json", "diff.json"])
def test_json_keeps_to_its_schema(name: str) -> None:
    content = json.loads(GOLDENS[name])
    published = schema(name.partition(".")[0].partition("-")[0])
    jsonschema.validate(content, published)
    # The schema must also reject damaged content.
    for damage in ({"rows": [{}]}, {"by": ["opertor"]}, {"totals": {}}, {"schema_version": 2}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(content | damage, published)


def test_a_build_keeps_to_its_schema(core_build: Build) -> None:
    content = json.loads((core_build.image.parent / RECORD).read_text())
    jsonschema.validate(content, schema("build"))
    del content["sizes"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, schema("build"))


def test_a_history_keeps_to_its_schema() -> None:
    content, published = json.loads(GOLDENS["history.json"]), schema("history")
    jsonschema.validate(content, published)
    damaged = json.loads(GOLDENS["history.json"])
    damaged["points"][0]["load"] = None
    for damage in ({"kind": "tags"}, {"points": [{}]}, {"points": damaged["points"]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(content | damage, published)
