"""The log of baselines, and baselines as JSON."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.gate.accept import all_baselines
from sizeguard.gate.reference.baseline_log import baseline_log
from sizeguard.report.baseline.render import baselines_text, log_text
from tests.support.histories.drawn_history import run_git


def schema(name: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(
        resources.files("sizeguard.report").joinpath(f"schemas/{name}.schema.json").read_text()
    )
    return found


BASELINE = """\
app: vision
target: t
toolchain: c
load: {load}
ram: 1
file: 2
page_slack: 0
operators: {{}}
"""


def test_the_log_of_baselines(repository: Path) -> None:
    path = repository / "baselines" / "vision.t.c.yaml"
    path.parent.mkdir()
    # These are in the folder, too, but are not baselines.
    (path.parent / "selections").mkdir()
    (path.parent / "selections" / "vision.yaml").write_text("models: {}\n")
    (path.parent / "waivers.yaml").write_text("[]\n")
    for message, load in (("first", 100), ("grows\x1b[31m", 160), ("shrinks", 130)):
        path.write_text(BASELINE.format(load=load))
        run_git(repository, "add", "-A")
        run_git(repository, "commit", "-q", "-m", message)
    path.write_text("damaged")
    run_git(repository, "commit", "-q", "-a", "-m", "damages")
    run_git(repository, "rm", "-q", path.as_posix())
    run_git(repository, "commit", "-q", "-m", "removes")
    entries = baseline_log(repository, [])
    assert [(entry.subject[:5], entry.load, entry.delta) for entry in entries] == [
        ("remov", None, None),
        ("damag", None, None),
        ("shrin", 130, -30),
        ("grows", 160, 60),
        ("first", 100, None),
    ]
    logged = run_git(repository, "log", "--abbrev=10", "--format=%h %an", "--", path.as_posix())
    assert [f"{entry.commit} {entry.author}" for entry in entries] == logged.splitlines()
    text = log_text(entries, "terminal")
    assert text.splitlines()[1].split() == [
        "date",
        "commit",
        "load",
        "change",
        "subject",
        "(author)",
    ]
    assert text.startswith("baselines/vision.t.c.yaml\n")
    assert "\x1b" not in text
    assert baseline_log(repository, ["vision"]) == entries
    jsonschema.validate(json.loads(log_text(entries, "json")), schema("baseline/baseline_log"))
    with pytest.raises(InputError, match="no baseline of 'other' was ever committed"):
        baseline_log(repository, ["other"])
    with pytest.raises(InconclusiveError, match="baselines have no history"):
        baseline_log(repository / "native", [])


def test_baselines_as_json(root: Path) -> None:
    content = json.loads(baselines_text(all_baselines(root), "json"))
    jsonschema.validate(content, schema("baseline/baseline_show"))
    apps = {(each["app"], each["target"]) for each in content["baselines"]}
    assert len(apps) == 12  # vision and language, each selective and with shared kernels
    for each in content["baselines"]:
        assert sum(each["operators"].values()) == each["load"]
