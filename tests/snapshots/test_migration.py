"""Files of the previous version are read, or the error names the command that renews them."""

from __future__ import annotations

import datetime
import json
import shutil
import struct
from pathlib import Path

import pytest

from sizeguard.attribution.group import group
from sizeguard.attribution.levels import LEVELS
from sizeguard.base.errors import InputError
from sizeguard.bisect.state import read_state
from sizeguard.cli.commit_options import CommitBuild
from sizeguard.gate.policy.baselines import (
    baseline_text,
    measurement_of_baseline,
    parse_baseline,
    read_baseline,
)
from sizeguard.gate.policy.waiver_use import waiver_uses
from sizeguard.gate.policy.waivers import parse_trailer, read_waivers
from sizeguard.gate.selection.review_record import AT_LOAD, read_record, write_record
from sizeguard.measurement.metric_names import MetricNames
from sizeguard.projects.reader import read_config
from sizeguard.snapshots.magic import MAGIC
from sizeguard.snapshots.snapshot import read_snapshot, snapshot_bytes
from sizeguard.snapshots.store import Store
from tests.support.own_python import sizeguard
from tests.support.places import DATA

BEFORE = DATA / "previous_version"
BASELINES = sorted(path for path in (BEFORE / "baselines").glob("vision.*.yaml"))


@pytest.mark.parametrize("path", BASELINES, ids=lambda path: path.stem)
def test_baselines_are_read_and_would_be_written_as_they_are(path: Path) -> None:
    baseline = read_baseline(path)
    assert baseline_text(baseline) == path.read_text()
    measured = measurement_of_baseline(baseline)
    assert measured.value("load") == baseline.load
    for name, size in baseline.operators.items():
        assert measured.value(f"operator/{name}") == size
    assert sum(measured.tables["operator"].values()) == baseline.load


def test_baselines_are_shown(tmp_path: Path) -> None:
    shutil.copytree(BEFORE / "baselines", tmp_path / "baselines")
    (tmp_path / "sizeguard.yaml").write_text("apps:\n  vision: {selection: s.yaml, models: []}\n")
    done = sizeguard(tmp_path, "baseline", "show", "--format", "json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)["baselines"]
    assert [each["app"] for each in shown] == ["vision"] * len(BASELINES)


def test_waivers_hold_as_before(root: Path, tmp_path: Path) -> None:
    shutil.copytree(BEFORE / "baselines", tmp_path / "baselines")
    config, names = read_config(root), MetricNames(root)
    one, other = read_waivers(tmp_path, config, names)
    assert (one.metric, one.app, one.target, one.bytes) == ("load", "vision", "", 1204)
    assert (one.reason, one.expires) == ("tiles for 3x3: 'fast' kernels", "2027-01-31")
    assert (other.metric, other.target, other.owner) == (
        "operator/aten::add.Tensor",
        "x86_64-linux",
        "Bob B.",
    )
    text = (BEFORE / "trailer.txt").read_text().partition(": ")[2]
    trailer = parse_trailer(text.strip(), "4f2a91c", config, names)
    assert (trailer.metric, trailer.app, trailer.bytes) == ("load", "vision", 204)


def test_a_record_of_a_selection_is_read_and_would_be_written_as_it_is(tmp_path: Path) -> None:
    path = BEFORE / "baselines" / "selections" / "vision.yaml"
    record = read_record(path)
    assert record is not None
    assert set(record.models) == {
        "native/models/mobilenet_v2/model.pt2",
        "native/models/quant_cnn/model.pt2",
    }
    assert record.kernels["aten::reshape"].calls == {"aten::clone", "aten::view"}
    assert AT_LOAD in record.kernels
    write_record(tmp_path / "vision.yaml", "vision", record)
    assert (tmp_path / "vision.yaml").read_text() == path.read_text()


def test_a_snapshot_says_what_it_said(tmp_path: Path) -> None:
    path = BEFORE / "vision.snapshot"
    for name in ("report.json", "report.csv"):
        by = "operator,dtype" if name.endswith("json") else "section"
        done = sizeguard(
            BEFORE, "report", path.name, "--by", by, "--format", name.rpartition(".")[2]
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == (BEFORE / name).read_text()


def test_a_snapshot_is_written_anew_without_loss(tmp_path: Path) -> None:
    before = read_snapshot(BEFORE / "vision.snapshot")
    path = tmp_path / "vision.snapshot"
    path.write_bytes(snapshot_bytes(before))
    after = read_snapshot(path)
    assert snapshot_bytes(after) == path.read_bytes()
    for level in LEVELS:
        assert group(after, (level,)).rows == group(before, (level,)).rows


def test_an_entry_of_the_store_is_read(tmp_path: Path) -> None:
    """No lookup asks for it, since its key is the hash of the code, but it must be readable."""
    shutil.copytree(BEFORE / "store", tmp_path / "store")
    (facts,) = (tmp_path / "store" / "facts").iterdir()
    found = Store(tmp_path / "store").get(facts.stem)
    assert found is not None
    assert found.analysis is not None
    assert found.facts["sizes"]["load"] == found.analysis.image.load == 1728
    assert sum(row.load for row in group(found.analysis, ("section",)).rows) == 1728


def test_a_result_of_the_gate_is_shown() -> None:
    path = BEFORE / "gate.json"
    done = sizeguard(BEFORE, "gate", "--from-json", path, "--format", "json")
    assert done.returncode == 3, done.stderr
    shown = json.loads(done.stdout)
    # Fields that the previous version did not have.
    assert shown.pop("policy_changes") == []
    assert shown["base"].pop("merged") is False
    for app in shown["apps"]:
        assert app.pop("growth_since_base") is None
        for name in (
            "unknown_sections",
            "libraries",
            "growth_by_file",
            "growth_by_dependency",
            "region_limits",
        ):
            assert app.pop(name) == []
    for check in shown["checks"]:
        assert check.pop("moved") == 0
        assert check.pop("set_for") == ""
    assert shown == json.loads(path.read_text())


def test_a_bisect_goes_on() -> None:
    build, question = read_state(BEFORE / "bisect.json", CommitBuild)
    assert (build.build_command, build.image) == ("gcc -O1 main.c -o app", "app")
    assert build.ignore == ("*.md",)
    assert (build.app, build.compiler, build.again) == ("", None, False)
    assert question.names == ("HEAD~2", "HEAD")
    assert (str(question.metric), question.threshold) == ("section/.rodata", 4)


def test_another_version_of_a_baseline_is_refused() -> None:
    text = BASELINES[0].read_text()
    for changed in (text.replace("ram:", "rum:"), text.replace("load:", "operators2:"), "[]"):
        with pytest.raises(InputError) as error:
            parse_baseline(changed.encode(), "baselines/vision.yaml")
        assert str(error.value).startswith("baselines/vision.yaml:")
        assert str(error.value).endswith("; write it again with sizeguard baseline update")
        assert "\n" not in str(error.value)


def test_another_version_of_a_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "vision.yaml"
    text = (BEFORE / "baselines" / "selections" / "vision.yaml").read_text()
    for changed in (text.replace("kernels:", "calls:"), text.replace("switches", "tags"), "[]"):
        path.write_text(changed)
        with pytest.raises(InputError) as error:
            read_record(path)
        assert str(error.value).startswith(f"{path}: not the record of a selection: ")
        assert str(error.value).endswith("; run sizeguard select update")


def test_another_version_of_a_snapshot_is_refused(tmp_path: Path) -> None:
    data = bytearray((BEFORE / "vision.snapshot").read_bytes())
    data[len(MAGIC) : len(MAGIC) + 2] = struct.pack("<H", 3)
    path = tmp_path / "later.snapshot"
    path.write_bytes(data)
    with pytest.raises(InputError) as error:
        read_snapshot(path)
    assert str(error.value) == (
        f"{path}: a snapshot of version 3, this is version 2; make it again with sizeguard report"
        " --save"
    )


def test_another_version_of_a_state_is_refused(tmp_path: Path) -> None:
    content = json.loads((BEFORE / "bisect.json").read_text())
    path = tmp_path / "bisect.json"
    for changed in (
        content | {"schema_version": 2},
        content | {"build": content["build"] | {"new": 1}},
        content | {"question": {}},
        {},
    ):
        path.write_text(json.dumps(changed))
        with pytest.raises(InputError) as error:
            read_state(path, CommitBuild)
        assert str(error.value).startswith(f"{path}: cannot read the last run (")
        assert str(error.value).endswith("; give GOOD and BAD")
        assert "\n" not in str(error.value)


def test_another_version_of_a_result_of_the_gate_is_refused(tmp_path: Path) -> None:
    content = json.loads((BEFORE / "gate.json").read_text())
    path = tmp_path / "gate.json"
    path.write_text(json.dumps(content | {"schema_version": content["schema_version"] + 1}))
    done = sizeguard(tmp_path, "gate", "--from-json", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: --from-json: {path}: ")
    assert done.stderr.count("\n") == 1


def test_waivers_that_mean_nothing_any_more_are_inconclusive(root: Path, tmp_path: Path) -> None:
    shutil.copytree(BEFORE / "baselines", tmp_path / "baselines")
    path = tmp_path / "baselines" / "waivers.yaml"
    path.write_text(path.read_text().replace("aten::add.Tensor", "aten::addd"))
    waivers = read_waivers(tmp_path, read_config(root), MetricNames(root))
    day = datetime.date(2000, 1, 1)
    uses = waiver_uses(waivers, [], [], day, whole=True)
    (use,) = (use for use in uses if use.waiver.metric.endswith("aten::addd"))
    assert use.verdict == "inconclusive"
    assert "nothing is called that; nearest is operator/aten::add" in use.message
