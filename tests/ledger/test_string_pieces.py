"""Test pieces of string tables, and symbols merged with labels, against plain loops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.formats.elf import parse_elf
from sizeguard.ledger.elf.disjoint_symbols import _merged
from sizeguard.ledger.elf.distinct_names import distinct_names, strings_of
from sizeguard.ledger.elf.owner_table import Line
from sizeguard.ledger.elf.symbol_tables import table_pieces
from sizeguard.ledger.kinds import ANALYZER, KIND
from tests.support.images.made_elf import (
    SHT_STRTAB,
    SHT_SYMTAB,
    Form,
    MadeSection,
    MadeSymbol,
    make_elf,
)


@given(st.lists(st.sampled_from(b"ab\0"), min_size=1, max_size=24).map(bytes), st.data())
def test_strings_belong_to_the_symbols_of_the_longest(table: bytes, data: st.DataObject) -> None:
    offsets = data.draw(st.lists(st.integers(0, len(table) + 1), min_size=1, max_size=8))
    form = Form()
    rows = [form.symbol(offset, MadeSymbol("", 16, 1)) for offset in offsets]
    image = parse_elf(
        Path("made"),
        make_elf(
            form,
            [
                MadeSection(".text", 1, 6, 16, bytes(8)),
                MadeSection(".symtab", SHT_SYMTAB, content=b"".join(rows), link=3, entry_size=24),
                MadeSection(".strtab", SHT_STRTAB, content=table),
            ],
        ),
    )
    line = Line.of(image)
    known = distinct_names(strings_of(image, image))
    (pieces,) = (
        some
        for some in table_pieces(image, known, line, loaded_only=False)
        if some.kind == KIND["string table"]
    )
    owner: list[bytes | None] = [None] * len(table)
    firsts = set()
    for offset in sorted(set(offsets)):
        text = table[offset:].split(b"\0")[0]
        if text and owner[offset] is None:
            firsts.add(offset)
            for at in range(offset, min(offset + len(text) + 1, len(table))):
                owner[at] = text
    expected = [
        (int(line.at[3]) + at, owner[at])
        for at in range(len(table))
        if at == 0 or at in firsts or (owner[at] is None and owner[at - 1] is not None)
    ]
    symbols = np.full(len(pieces), pieces.symbol).tolist()
    texts = [known.texts.raw(symbol) if symbol >= 0 else None for symbol in symbols]
    assert list(zip(pieces.start.tolist(), texts, strict=True)) == expected
    said = {None: ANALYZER["section"]}
    assert pieces.analyzer.tolist() == [  # type: ignore[union-attr]
        said.get(text, ANALYZER["string table"])  # type: ignore[call-overload]
        for text in texts
    ]


@given(st.lists(st.booleans(), max_size=12))
def test_symbols_and_labels_are_merged_in_order(labels: list[bool]) -> None:
    rows = [(3 * i, 3 * i + 2, 10 + i, 20 + i) for i in range(len(labels))]
    some, more = (
        np.array([row for row, is_label in zip(rows, labels, strict=True) if is_label == wanted])
        .reshape(-1, 4)
        .T.astype(np.int64)
        for wanted in (False, True)
    )
    found = _merged(
        *(
            (of[0].copy(), of[1].copy(), of[2].astype(np.int32), of[3].astype(np.int32))
            for of in (some, more)
        )
    )
    columns = (found.start, found.end, found.symbol, found.group)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == rows
    names = ("symbol table", "label")
    assert found.analyzer.tolist() == [ANALYZER[names[is_label]] for is_label in labels]
