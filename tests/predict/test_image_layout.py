"""The layout that predictions compute: merged strings, tables and dynamic names as linkers do."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pytest

from sizeguard.linkgraph.graph import ENTRY, IMPORT, PART, STRING, SectionGraph
from sizeguard.predict.image_layout import ImageLayout
from tests.support.links.made_graphs import made_graph

# (name, bytes, alignment) of a section, and the sizes and texts of its parts.
Section = tuple[str, int, int]
LINE = "a line of 31 characters and NUL"


def graph(
    kind: int, sections: Sequence[Section], parts: Sequence[tuple[int, int, str]], linker: str
) -> SectionGraph:
    """Make a graph of sections with parts: the number of a section, bytes and text."""
    count = len(sections)
    sizes = [size for _, size, _ in sections] + [size for _, size, _ in parts]
    texts = {count + k: text for k, (_, _, text) in enumerate(parts)}
    edges = [(home, count + k) for k, (home, _, _) in enumerate(parts)]
    made = made_graph(sizes, edges, [0], texts)
    nodes = replace(
        made.nodes,
        kind=np.array([0] * count + [kind] * len(parts), np.int8),
        index=np.array([*range(count), *(home for home, _, _ in parts)], np.int32),
        align=np.array([align for _, _, align in sections] + [1] * len(parts)),
    )
    reasons = replace(made.edges, reason=np.full(len(parts), PART, np.int8))
    names = (*(name for name, _, _ in sections), *texts.values())
    return replace(made, nodes=nodes, edges=reasons, names=names, linker=linker)


def sizes(made: SectionGraph, without: Collection[int] = ()) -> dict[str, int]:
    kept = np.ones(len(made.nodes), bool)
    kept[list(without)] = False
    return ImageLayout(made).sizes(kept)


def test_bfd_merges_ends_of_strings_and_the_empty_string() -> None:
    sections = [(".rodata.f.str1.1", 0, 1), (".rodata.g.str1.1", 0, 1), (".rodata.k", 32, 32)]
    parts = [(0, 1, ""), (0, 4, "NUL"), (1, 32, LINE)]
    assert len(LINE) == 31
    assert sizes(graph(STRING, sections, parts, "bfd"))[".rodata"] == 64
    # A byte more moves what is aligned to 32.
    assert sizes(graph(STRING, sections, parts, "lld"))[".rodata"] == 96


def test_a_table_is_aligned_to_at_most_its_size() -> None:
    sections = [(".data.rel.ro.before", 16, 16), (".data.rel.ro.table", 0, 32)]
    made = graph(ENTRY, sections, [(1, 16, "aten::add"), (1, 16, "aten::mul")], "bfd")
    assert sizes(made)[".data.rel.ro"] == 64
    assert sizes(made, without=[3])[".data.rel.ro"] == 32
    assert sizes(made, without=[2, 3])[".data.rel.ro"] == 16


@pytest.mark.parametrize(("linker", "expected"), [("bfd", 7), ("lld", 13), ("gold", 13)])
def test_only_bfd_merges_ends_of_dynamic_names(linker: str, expected: int) -> None:
    made = graph(IMPORT, [(".text.f", 16, 16)], [(0, 0, "printf"), (0, 0, "rintf")], linker)
    found = sizes(replace(made, is_dynamic=True))
    assert found[".dynstr"] == expected


@pytest.mark.parametrize("seed", range(30))
def test_sections_are_laid_out_one_after_the_other(seed: int) -> None:
    draw = random.Random(seed)
    sections = [
        (f".text.f{k}", draw.choice((0, 1, 7, 30)), draw.choice((1, 1, 2, 16)))
        for k in range(draw.randint(1, 12))
    ]
    made = graph(STRING, sections, [], "bfd")
    kept = np.array([draw.random() < 0.8 for _ in sections])
    layout = ImageLayout(made)
    part = layout.part(kept)
    for _ in range(3):
        shrunk = {k: draw.randint(0, sections[k][1]) for k in range(len(sections)) if k % 2}
        end = 0
        for k, (_, size, align) in enumerate(sections):
            length = size - shrunk.get(k, 0)
            if kept[k] and length:
                end = -(-end // align) * align + length
        assert part.sizes(shrunk)[".text"] == layout.sizes(kept, shrunk)[".text"] == end


@pytest.mark.parametrize("seed", range(30))
def test_a_kept_string_is_part_of_the_next_kept_one_that_it_ends(seed: int) -> None:
    draw = random.Random(seed)
    texts = sorted({"".join(draw.choices("ab", k=draw.randint(0, 4))) for _ in range(12)})
    parts = [(0, len(text) + 1, text) for text in texts]
    made = graph(STRING, [(".rodata.f.str1.1", 0, 1)], parts, "bfd")
    gone = [k for k in range(1, len(texts) + 1) if draw.random() < 0.3]
    left = [text for k, text in enumerate(texts, 1) if k not in gone]
    alone = [a for a in left if not any(b.endswith(a) for b in left if b != a)]
    assert sizes(made, without=gone)[".rodata"] == sum(len(text) + 1 for text in alone)
