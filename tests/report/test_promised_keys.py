"""Keys of JSON results that other programs rely on: schemas require them, results have them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sizeguard.builds.build_record import RECORD, Build
from sizeguard.cli.main import cli
from tests.support.builds.recorded_builds import unpack
from tests.support.places import DATA

# Schema → paths of keys. Other tests compare the results of all commands with the schemas.
PROMISED = {
    "build": """
        variant app target image shipped map objects gc_log fingerprint
        sizes.load sizes.ram sizes.file sizes.page_slack
        """,
    "report": """
        image.path image.format image.arch image.id totals.file totals.load totals.ram by
        rows[].file rows[].load rows[].ram rows[].count
        """,
    "diff": """
        old new totals.file totals.load totals.ram rows[].old rows[].new rows[].delta rows[].cause
        """,
    "verify": """
        claims[].kind claims[].name claims[].expect claims[].verdict claims[].how claims[].bytes
        claims[].evidence claims[].chain summary.pass summary.fail summary.inconclusive canary
        """,
    "verify_list": "claims[].kind claims[].name claims[].expect",
    "why": "subject live root_kind chain[].section chain[].symbol chain[].object frees",
    "predict": """
        selection load ram per_operator[].operator per_operator[].exclusive per_operator[].shared
        per_model[].model per_model[].marginal
        """,
    "selection/select_adequacy": "model reachable_not_observed observed_not_reachable",
    "gate": """
        verdict checks[].id checks[].app checks[].target checks[].metric checks[].limit
        checks[].actual checks[].headroom checks[].verdict checks[].advice
        models[].model models[].app models[].verdict models[].missing
        policy_changes[].what policy_changes[].name policy_changes[].old policy_changes[].new
        apps[].app apps[].target apps[].sizes apps[].growth_since_base.load
        apps[].growth_since_base.ram apps[].growth_since_base.file
        """,
    "doctor": """
        image findings[].id findings[].bytes findings[].evidence findings[].change total
        """,
    "history": """
        points[].commit points[].date points[].app points[].target points[].load points[].ram
        points[].file
        """,
    "bisect": """
        metric good bad delta culprits[].delta culprits[].rows skipped builds
        """,
}
CAUSES = {
    "grew", "shrank", "added", "removed", "more_instances", "fewer_instances", "moved", "padding",
}  # fmt: skip
HOW = {"not_generated", "removed_by_compiler", "discarded_by_linker", "still_there", "present"}


def schema_of(name: str) -> Any:
    file = resources.files("sizeguard.report").joinpath(f"schemas/{name}.schema.json")
    return json.loads(file.read_text())


def alternatives(part: Any, schema: Any) -> Iterator[Any]:
    """Yield the schemas that a part of a schema stands for."""
    while "$ref" in part:
        part = schema["$defs"][part["$ref"].removeprefix("#/$defs/")]
    yield part
    for each in (*part.get("oneOf", ()), *part.get("anyOf", ())):
        yield from alternatives(each, schema)


def required(path: str, schema: Any) -> Any:
    """Return the schema of a path's value, all keys of which must be required."""
    part = schema
    for word in path.split("."):
        key = word.removesuffix("[]")
        objects = [each for each in alternatives(part, schema) if "properties" in each]
        assert [each for each in objects if key not in each["required"]] == [], path
        (part,) = (each["properties"][key] for each in objects)
        if word != key:
            (part,) = (each["items"] for each in alternatives(part, schema) if "items" in each)
    return part


def values(path: str, content: Any) -> list[Any]:
    """Return the values of a path. Raises KeyError if a key is absent."""
    found = [content]
    for word in path.split("."):
        key = word.removesuffix("[]")
        found = [each[key] for each in found if each is not None]
        if word != key:
            found = [each for entries in found for each in entries]
    return found


@pytest.mark.parametrize("name", PROMISED)
def test_the_schema_requires_promised_keys(name: str) -> None:
    schema = schema_of(name)
    for path in PROMISED[name].split():
        required(path, schema)


def test_promised_words_stay() -> None:
    assert set(required("rows[].cause", schema_of("diff"))["enum"]) >= CAUSES
    assert set(required("claims[].how", schema_of("verify"))["enum"]) >= HOW
    culprit = schema_of("bisect")["$defs"]["culprit"]
    assert {"commit", "range"} <= set(culprit["properties"])


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("report", "report {build} --by operator,dtype"),
        ("diff", "diff {build} {core}"),
        ("verify", "verify {build}"),
        ("verify_list", "verify {build} --list"),
        ("why", "why {program}/program --objects {program}/program.o subject"),
        ("doctor", "doctor {build}"),
    ],
)
def test_results_have_promised_keys(
    name: str, command: str, recorded_build: Build, tmp_path: Path
) -> None:
    places = {
        "build": recorded_build.image.parent,
        "core": DATA / "recorded" / "core.snapshot",
        "program": unpack("programs", tmp_path, "04") / "04",
    }
    done = CliRunner().invoke(cli, [*command.format_map(places).split(), "--format", "json"])
    content = json.loads(done.stdout)
    for path in PROMISED[name].split():
        assert values(path, content), path


def test_recorded_results_have_promised_keys(recorded_build: Build) -> None:
    for name, files in (
        ("build", [recorded_build.image.parent / RECORD]),
        ("history", [DATA / "golden" / "history.json"]),
        ("gate", [DATA / "gate" / f"{case}.json" for case in ("everything", "terms")]),
    ):
        contents = [json.loads(file.read_text()) for file in files]
        for path in PROMISED[name].split():
            assert [each for content in contents for each in values(path, content)], path
