"""A report reads its image once, and searches names only for what its levels show."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.cli.main import cli
from sizeguard.columns.texts import Texts
from sizeguard.names import labels as labels_of_names
from sizeguard.names.rules import Rules
from sizeguard.names.scan.scan_names import Scanned, scan_names
from tests.support.builds.recorded_builds import recorded_runtime
from tests.support.links.read_images import read_images


@pytest.mark.parametrize("by", ["", "operator", "symbol"])
def test_an_image_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    read = read_images(monkeypatch)
    image = recorded_runtime(tmp_path).build.image
    words = ["report", str(image), "--format", "csv", *(["--by", by] if by else [])]
    result = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert result.stdout.startswith(f"{by or 'operator'},")
    assert read == [image]


def test_names_are_searched_for_dtypes_when_these_are_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = []

    def counted(names: Texts, rules: Rules, *, dtypes: bool) -> Scanned:
        if dtypes:
            searched.append(len(names))
        return scan_names(names, rules, dtypes=dtypes)

    monkeypatch.setattr(labels_of_names, "scan_names", counted)
    image = recorded_runtime(tmp_path).build.image
    expected = analysis_of(image)
    levels = ("operator", "kernel", "dtype", "component")
    labels = {level: expected.label(level) for level in levels}
    assert searched
    analysis = analysis_of(image, levels={"operator"})
    searched.clear()  # of names in debug information
    for level in ("operator", "kernel", "component", "dtype"):
        assert not searched
        label = analysis.label(level)
        assert [label.texts[i] for i in label.ids.tolist()] == [
            labels[level].texts[i] for i in labels[level].ids.tolist()
        ]
    assert searched
