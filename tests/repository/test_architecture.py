"""Check that the files and functions in the walks of docs/architecture.md exist."""

from __future__ import annotations

import re

import pytest

from tests.support.places import ROOT

TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WALKS = dict(re.findall(r"^## (Walk \d): [^\n]*\n(.*?)(?=^## )", TEXT, re.M | re.S))
HOP = re.compile(r"^\d+\. `([\w./]+)`: `(\w+)`", re.M)


def test_there_are_four_walks() -> None:
    assert sorted(WALKS) == ["Walk 1", "Walk 2", "Walk 3", "Walk 4"]


@pytest.mark.parametrize("walk", sorted(WALKS))
def test_a_walk_has_at_most_eight_hops_and_no_file_twice(walk: str) -> None:
    hops = HOP.findall(WALKS[walk])
    assert len(hops) == len(re.findall(r"^\d+\. ", WALKS[walk], re.M))
    assert 0 < len(hops) <= 8
    files = [file for file, _ in hops]
    assert len(set(files)) == len(files)


@pytest.mark.parametrize("walk", sorted(WALKS))
def test_every_hop_exists(walk: str) -> None:
    for file, name in HOP.findall(WALKS[walk]):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"\b(?:def|class|#define) {name}\b|\b{name}\(", text), (file, name)


def test_every_path_that_is_named_exists() -> None:
    named = set(re.findall(r"`((?:sizeguard|native|ci|docs)/[\w./]*)`", TEXT))
    assert len(named) > 20
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
