"""Identifiers of mangled names, found and looked up, and the operators that they name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.columns.texts import Texts
from sizeguard.names.operator_words import OperatorNames
from sizeguard.names.scan.identifiers import Dictionary, distinct, fingerprints, following
from tests.support.names.packed_texts import chunk_of

identifier = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,120}", fullmatch=True)


@pytest.mark.native  # takes seconds
@given(st.lists(st.lists(identifier, min_size=1, max_size=5), min_size=1, max_size=12))
def test_identifiers_follow_each_other(paths: list[list[str]]) -> None:
    """Reading a mangled path one identifier at a time returns its identifiers."""
    names = Texts.of(
        ["_ZN" + "".join(f"{len(word)}{word}" for word in path) + "Ev" for path in paths]
    )
    chunk = chunk_of(names)
    for i, path in enumerate(paths):
        at = int(chunk.start[i]) + 3
        for word in path:
            start, length = following(chunk, np.array([at]))
            assert bytes(chunk.text[start[0] : start[0] + length[0]]).decode() == word
            at = int(start[0] + length[0])


@given(
    st.lists(
        identifier.filter(lambda word: 2 <= len(word) < 64), min_size=1, max_size=20, unique=True
    ),
    st.data(),
)
def test_the_dictionary_finds_what_is_in_it(words: list[str], data: st.DataObject) -> None:
    known = data.draw(st.lists(st.sampled_from(words), min_size=1, unique=True))
    dictionary = Dictionary(known)
    chunk = chunk_of(Texts.of([f"_ZN{len(word)}{word}Ev" for word in words]))
    position, which = dictionary.find(chunk, chunk.identifiers())
    found = {
        (words[name], dictionary.identifiers[w])
        for name, w in zip(chunk.name_at(position).tolist(), which.tolist(), strict=True)
    }
    assert {(word, word) for word in known} <= found


@given(st.lists(identifier, min_size=2, max_size=30, unique=True))
def test_different_texts_have_different_fingerprints(words: list[str]) -> None:
    chunk = chunk_of(Texts.of(words))
    assert len(set(fingerprints(chunk, chunk.start, chunk.end - chunk.start).tolist())) == len(
        words
    )


@given(st.lists(st.text("abc_Z0159", max_size=12), max_size=20))
def test_distinct_names_give_all_names_back(names: list[str]) -> None:
    found = distinct(Texts.of(names))
    assert [found.names[i] for i in found.inverse] == names


NAMES = OperatorNames(
    [
        "aten::add Tensor out",
        "aten::add_ Tensor",
        "aten::relu",
        "aten::_softmax",
        "quantized::add",
        "aten::max",
    ],
    ["structured"],
    ["kernel", "out"],
)


@pytest.mark.parametrize(
    ("identifier", "operator"),
    [
        ("add", "aten::add"),
        ("add_Tensor", "aten::add"),
        ("add__Tensor", "aten::add_"),
        ("structured_add_out", "aten::add"),
        ("softmax_kernel", "aten::_softmax"),
        ("ReluKernel", "aten::relu"),
        ("wrapper_CPU_Tensor_add", "aten::add"),
        ("wrapper_CPU__relu", "aten::relu"),
        ("qadd_out", "quantized::add"),
        ("max_pool3d_thing", ""),
        ("kernel", ""),
        ("_", ""),
        ("adder", ""),
    ],
)
def test_operators_of_identifiers(identifier: str, operator: str) -> None:
    assert NAMES.find(identifier) == operator
