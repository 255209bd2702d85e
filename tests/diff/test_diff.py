"""Diffs: equal images, mirrored diffs, exact sums, and renamed or moved symbols."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Texts
from sizeguard.diff.alias_keys import connected, first_letters
from sizeguard.diff.compare import diff
from sizeguard.diff.diff_result import CAUSES, Diff
from sizeguard.diff.stable_names import hash_keys, key_of, keys
from sizeguard.report.diff.render import diff_chunks
from sizeguard.report.writers.table import csv_cell
from tests.support.drawn import LEVELS
from tests.support.images.made_up import MadeUp, Part, parts

# The cause that a diff in the other direction gives, if it is another one.
MIRRORED = {
    "grew": "shrank",
    "shrank": "grew",
    "added": "removed",
    "removed": "added",
    "more_instances": "fewer_instances",
    "fewer_instances": "more_instances",
}


@st.composite
def named(draw: st.DrawFn) -> list[Part]:
    """Draw parts, some with several names."""
    made = draw(parts(12))
    several = st.lists(
        st.sampled_from(["f", "g", "h", "f.cold", "i", "j"]), min_size=2, max_size=3, unique=True
    )
    return [
        dataclasses.replace(part, names=draw(several)) if draw(st.booleans()) else part
        for part in made
    ]


def rows(found: Diff) -> dict[tuple[str, ...], tuple[int, int, str]]:
    return {
        found.keys(i): (int(found.old[i]), int(found.new[i]), CAUSES[found.cause[i]])
        for i in range(len(found))
    }  # fmt: skip


def causes(
    old: list[Part], new: list[Part], *by: str
) -> dict[tuple[str, ...], tuple[int, int, str]]:
    return rows(diff(MadeUp(old), MadeUp(new), by or ("symbol",)))


def code(symbol: str, load: int, **values: str) -> Part:
    return Part({"symbol": symbol, "kind": "code", **values}, load)


@pytest.mark.native
@given(named(), LEVELS, st.sampled_from(["load", "file", "ram"]))
def test_the_null_diff_is_empty(made: list[Part], by: list[str], metric: str) -> None:
    assert len(diff(MadeUp(made), MadeUp(made[::-1], doubled=True), by, metric=metric)) == 0


@pytest.mark.native
@given(named(), named(), LEVELS, st.sampled_from(["load", "file", "ram"]))
def test_a_diff_is_the_negation_of_its_mirror(
    old: list[Part], new: list[Part], by: list[str], metric: str
) -> None:
    there, back = (
        diff(MadeUp(a), MadeUp(b), by, metric=metric) for a, b in ((old, new), (new, old))
    )
    mirrored = {
        keys: (b, a, MIRRORED.get(cause, cause)) for keys, (a, b, cause) in rows(there).items()
    }
    assert mirrored == rows(back)
    assert len(mirrored) == len(there)
    assert (there.delta != 0).all()
    assert (np.diff(np.abs(there.delta)) <= 0).all()


@pytest.mark.native
@given(
    named(),
    named(),
    LEVELS,
    st.sampled_from(["load", "file", "ram"]),
    st.sampled_from([(), ("kind=code",), ("symbol!=f",)]),
)
def test_rows_sum_to_the_difference(
    old: list[Part], new: list[Part], by: list[str], metric: str, where: tuple[str, ...]
) -> None:
    try:
        found = diff(MadeUp(old), MadeUp(new), by, where, metric)
    except InputError as error:  # neither image has such rows
        assert where and "--filter: no row" in str(error)
        return
    left_out = getattr(found.left_out, metric) if found.left_out else 0
    assert int(found.delta.sum()) + left_out == found.total(metric)


def test_causes() -> None:
    old = [
        code("same", 5),
        code("grows", 10),
        code("shrinks", 10),
        code("goes", 7),
        code("", 3, kind="padding"),
    ]
    new = [
        code("same", 5),
        code("grows", 14),
        code("shrinks", 2),
        code("comes", 8),
        code("", 9, kind="padding"),
    ]
    assert causes(old, new) == {
        ("grows",): (10, 14, "grew"),
        ("shrinks",): (10, 2, "shrank"),
        ("goes",): (7, 0, "removed"),
        ("comes",): (0, 8, "added"),
        ("",): (3, 9, "padding"),
    }


def test_more_instances_and_larger_ones_are_told_apart() -> None:
    old = [code(f"f{i}", 10, operator="more") for i in range(3)] + [
        code(f"g{i}", 10, operator="larger") for i in range(3)
    ]
    new = [code(f"f{i}", 11, operator="more") for i in range(6)] + [
        code(f"g{i}", 30, operator="larger") for i in range(4)
    ]
    assert causes(old, new, "operator") == {
        ("more",): (30, 66, "more_instances"),
        ("larger",): (30, 120, "grew"),
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f.isra.0", "f"),
        ("f", "f.constprop.1"),
        ("f.llvm.12345678901234567890", "f.llvm.99"),
        ("f.part.0.cold", "f.part.12.isra.3.cold"),
        ("f.lto_priv.0", "f.lto_priv.1.lto_priv.0"),
        ("f.localalias", "f"),
        ("_ZN4core3fmt17h0123456789abcdefE", "_ZN4core3fmt17hfedcba9876543210E"),
        ("_RNvCs1a2b_4core3fmt", "_RNvCsZZ_4core3fmt"),
    ],
)
def test_renamed_clones_are_the_same(before: str, after: str) -> None:
    assert causes([code(before, 5)], [code(after, 5)]) == {}
    assert [cause for _, _, cause in causes([code(before, 5)], [code(after, 6)]).values()] == [
        "grew"
    ]


def test_other_names_are_not() -> None:
    for name in ("f.1", "f.cpp", ".cold", "fcold", "f17h0123E", "isra.0f", "xlocalalias"):
        assert key_of(name.encode()) == name.encode()


SUFFIXES = [
    "", ".cold", ".isra.0", ".part.3", ".constprop.0", ".constprop.12", ".llvm.1234567890123",
    ".localalias", ".1", ".lto_priv.0", "._omp_fn.3", ".cpp", ".cold" + 20 * ".12",
    ".localalias.1", ".clone.1", "7", "..1",
]  # fmt: skip
HEADS = [
    "f",
    "",
    "_ZN2at6native3addEv",
    "x.y",
    "_ZN4core3fmt17h0123456789abcdefE",
    "_ZN4core3fmt17h0123456789abcdegE",
    "_RNvCs1a2b_4core3fmt",
    "abcdefgh",
    "(function at 0x4711)",
]


@given(st.lists(st.binary(max_size=12)))
def test_first_letters_sort_like_names_of_the_same_length(names: list[bytes]) -> None:
    found = first_letters(Texts.of(names)).tolist()
    assert found == [int.from_bytes(name[:8], "big") for name in names]


@pytest.mark.parametrize("read", [keys, first_letters])
def test_a_name_outside_of_its_buffer_is_not_read(read: Callable[[Texts], object]) -> None:
    texts = Texts(np.frombuffer(b"abc", np.uint8), np.array([0, 2]), np.array([3, 4]))
    with pytest.raises(IndexError, match="text 1 is outside"):
        read(texts)


@given(
    st.lists(
        st.tuples(st.sampled_from(HEADS), st.lists(st.sampled_from(SUFFIXES), max_size=3)),
        max_size=8,
    )
)
def test_keys_by_column_are_those_one_by_one(names: list[tuple[str, list[str]]]) -> None:
    raw = [(head + "".join(suffixes)).encode() for head, suffixes in names]
    texts = Texts.of(raw)
    found = keys(texts)
    assert [found.raw(i) for i in range(len(found))] == [key_of(name) for name in raw]
    assert (
        hash_keys(texts).tolist() == hash_texts(Texts.of([key_of(name) for name in raw])).tolist()
    )


def test_a_folded_function_is_the_same_whichever_name_is_kept() -> None:
    old = [dataclasses.replace(code("f", 20), names=("f", "g"))]
    new = [dataclasses.replace(code("g", 20), names=("g", "h", "f"))]
    assert causes(old, new) == {}
    assert causes([code("f", 20), code("g", 20)], new) == {("f",): (40, 20, "fewer_instances")}
    assert causes(new, [code("f", 20), code("g", 20)]) == {("f",): (20, 40, "more_instances")}


def test_what_another_object_brings_has_moved() -> None:
    old = [code("f", 20, object="a.o"), code("g", 9, object="a.o")]
    new = [code("f", 22, object="b.o"), code("g", 9, object="a.o")]
    assert causes(old, new, "object", "symbol") == {
        ("a.o", "f"): (20, 0, "moved"),
        ("b.o", "f"): (0, 22, "moved"),
    }
    assert causes(old, new, "object") == {("a.o",): (29, 9, "moved"), ("b.o",): (0, 22, "moved")}
    assert causes(old, new) == {("f",): (20, 22, "grew")}


def test_what_has_no_symbol_does_not_move() -> None:
    old, new = [code("(strings)", 20, object="a.o")], [code("(strings)", 20, object="b.o")]
    assert {cause for _, _, cause in causes(old, new, "object").values()} == {"added", "removed"}


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=40))
def test_connected_names(pairs: list[tuple[int, int]]) -> None:
    name, group = (np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))
    found = connected(name, group, 31, 11).tolist()
    parent = list(range(31))
    for _ in range(31):
        for a, g in pairs:
            for b, h in pairs:
                if g == h:
                    parent[a] = parent[b] = min(parent[a], parent[b])
    assert found == parent


def test_long_chains_of_aliases_take_few_rounds() -> None:
    names = np.random.default_rng(0).permutation(20_000)
    name = np.repeat(names, 2)[1:-1]
    group = np.repeat(np.arange(19_999), 2)
    assert not connected(name, group, 20_000, 19_999).any()


def test_unknown_words_are_refused() -> None:
    for by, metric, message in [
        (["opertor"], "load", "unknown level"),
        (["kind"], "vm", "unknown size vm"),
    ]:
        with pytest.raises(InputError, match=message):
            diff(MadeUp([]), MadeUp([]), by, metric=metric)


def test_images_of_two_machines_are_told_apart() -> None:
    found = diff(MadeUp([code("main", 40)]), MadeUp([code("main", 48)]), ["symbol"])
    title = found.old_image.title
    assert found.titles == (title, found.new_image.title)
    arm = replace(found.old_image, arch="arm64")
    found = replace(found, old_image=arm)
    assert found.titles == (f"{title}  arm64", f"{title}  {found.new_image.arch}")
    for format_ in ("terminal", "markdown", "html"):
        text = "".join(diff_chunks(found, format_, 0))
        assert f"{title}  arm64" in text, format_
        assert f"{title}  {found.new_image.arch}" in text, format_


@pytest.mark.native
@given(parts(), parts(), LEVELS, st.integers(0, 3))
def test_every_format_states_the_same_sum(
    old: list[Part], new: list[Part], by: list[str], limit: int
) -> None:
    found = diff(MadeUp(old), MadeUp(new), by)
    text = {
        format_: "".join(diff_chunks(found, format_, limit))
        for format_ in ("json", "csv", "terminal", "markdown")
    }
    content = json.loads(text["json"])
    assert (
        sum(row["delta"] for row in content["rows"])
        == content["totals"]["load"]
        == found.total("load")
    )
    read = list(csv.reader(io.StringIO(text["csv"], newline="")))
    assert [tuple(row) for row in read[1:]] == [
        tuple(csv_cell(v) if isinstance(v, str) else str(v) for v in row.values())
        for row in content["rows"]
    ]
    if len(found):
        lines = text["terminal"].splitlines()
        last = next(i for i, line in enumerate(lines) if line.endswith("= sum of rows"))
        first = next(i for i, line in enumerate(lines) if "cause" in line) + 1
        changes = [
            int(line.split()[0].replace(",", ""))
            for line in lines[first : last + 1]
            if line.split()[0][0] in "+-"
        ]
        assert sum(changes[:-1]) == changes[-1] == found.total("load")
        cells = [
            line.split("|")[1] for line in text["markdown"].splitlines() if line.startswith("| ")
        ][1:]
        numbers = [int(cell.strip(" *").replace(",", "")) for cell in cells]
        assert sum(numbers[:-1]) == numbers[-1] == found.total("load")
    else:
        assert "no row differs" in text["terminal"]
