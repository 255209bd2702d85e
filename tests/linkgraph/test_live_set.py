"""The live set, compared with the log of each linker.

The cases cover all pairs of fixture, compiler, level, linker and mode; tests/soak/links/live_set.py
covers the full product. The model is made without the map and the log.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from sizeguard.linkgraph.live import live
from tests.support.links.link_cases import (
    COMPILERS,
    LEVELS,
    LINKERS,
    MODES,
    NAMES,
    Case,
    Linked,
    link_case,
)
from tests.support.whole_products import choose


def covering_set() -> list[Case]:
    """Pair every fixture with every linker; step the other factors so that all pairs occur."""
    compilers, modes = tuple(COMPILERS), tuple(MODES)
    return [
        Case(name, compilers[(i + j) % 2], LEVELS[(i // 2 + j) % 3], linker, modes[(i + 2 * j) % 5])
        for (i, name), (j, linker) in itertools.product(enumerate(NAMES), enumerate(LINKERS))
    ]


def test_the_set_covers_all_pairs() -> None:
    factors = (NAMES, tuple(COMPILERS), LEVELS, LINKERS, tuple(MODES))
    rows = [
        (case.fixture, case.compiler, case.level, case.linker, case.mode) for case in covering_set()
    ]
    for a, b in itertools.combinations(range(5), 2):
        assert {(row[a], row[b]) for row in rows} == set(itertools.product(factors[a], factors[b]))


@pytest.mark.native
@pytest.mark.parametrize("linker", choose(["bfd", "gold", "lld-19", "mold"], LINKERS))
def test_live_set_equals_the_log(linker: str, tmp_path: Path) -> None:
    refused = []
    for case in covering_set():
        if case.linker == linker:
            linked = link_case(case, tmp_path)
            if isinstance(linked, Linked):
                assert linked.differences == ({}, {}), case
            else:
                refused.append(case.fixture)
                assert "undefined symbol: __start_operators" in linked
    # lld defines no __start_ symbol for a section that nothing keeps, so the fixture does not link.
    assert refused in ([], ["08_start_stop"] if linker.startswith("lld") else [])


@pytest.mark.native
def test_without_gc_sections_all_stays(tmp_path: Path) -> None:
    linked = link_case(
        Case("00_unreferenced", "gcc", "s", "bfd", "executable"),
        tmp_path,
        ("-Wl,--no-gc-sections",),
    )
    assert isinstance(linked, Linked)
    assert live(linked.graph)[linked.graph.nodes.is_alloc].all()


@pytest.mark.native
def test_a_missing_edge_would_be_seen(tmp_path: Path) -> None:
    """Negative control: a model without its roots differs from the log."""
    linked = link_case(Case("01_static_initializer", "gcc", "s", "bfd", "executable"), tmp_path)
    assert isinstance(linked, Linked)
    linked.graph.root_kind.clear()
    assert linked.differences != ({}, {})
