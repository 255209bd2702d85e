"""Identifiers of mangled names, found and looked up, and the operators that they name."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.columns.texts import Texts
from sizeguard.names.operator_words import OperatorNames
from sizeguard.names.rules import Rule, Rules
from sizeguard.names.scan.scan_names import CODE, scan_names
from tests.support.names.drawn_names import RULES

identifier = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,120}", fullmatch=True)
looked_up = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{1,62}", fullmatch=True)


def spelled(*path: str) -> str:
    return "".join(f"{len(word)}{word}" for word in path)


def rules_of(*rules: Rule) -> Rules:
    return dataclasses.replace(RULES, rules=rules)


def members_of(names: list[str]) -> list[tuple[str, int]]:
    """Return text and hash of the members of the namespace `scope`."""
    scanned = scan_names(Texts.of(names), rules_of(Rule("", within=("scope",))))
    found = scanned.members
    texts = Texts(scanned.names.buffer, found.start, found.start + found.length)
    return list(zip(texts, found.hash.tolist(), strict=True))


@given(st.lists(looked_up, min_size=1, max_size=20, unique=True), st.data())
def test_the_dictionary_finds_what_is_in_it(words: list[str], data: st.DataObject) -> None:
    known = data.draw(st.lists(st.sampled_from(words), min_size=1, unique=True))
    rules = rules_of(*(Rule("", identifier=word) for word in known))
    hits = scan_names(Texts.of([f"_ZN{spelled(word)}Ev" for word in words]), rules).rules
    found = {
        (words[name], known[rule])
        for name, rule in zip(hits.name.tolist(), hits.rule.tolist(), strict=True)
    }
    assert {(word, word) for word in known} <= found


@pytest.mark.parametrize("word", ["a", "a" * 64])
def test_a_word_to_look_up_has_2_to_63_characters(word: str) -> None:
    with pytest.raises(ValueError, match="2 to 63 characters"):
        scan_names(Texts.of([]), rules_of(Rule("", identifier=word)))


@given(st.lists(identifier, min_size=2, max_size=30))
def test_members_have_the_same_hash_if_their_texts_are_the_same(words: list[str]) -> None:
    found = members_of([f"_ZN{spelled('scope', word)}Ev" for word in words])
    assert [text for text, _ in found] == words
    assert len(set(found)) == len({number for _, number in found}) == len(set(words))


@given(
    st.lists(
        st.tuples(st.integers(0, 2**64 - 1) | st.integers(0, 3), st.integers(0, 3)), max_size=30
    )
)
def test_members_are_numbered_in_the_order_in_which_they_first_occur(
    pairs: list[tuple[int, int]],
) -> None:
    count = len(pairs)
    number, first = np.empty(count, np.int32), np.empty(count, np.int64)
    table = np.full(1 << (2 * count).bit_length(), -1, np.int32)
    members = (
        np.array([number for number, _ in pairs], np.uint64),
        np.array([scope for _, scope in pairs], np.int32),
    )
    found = CODE.call("number_members", *members, count, table, len(table), number, first)
    distinct = list(dict.fromkeys(pairs))
    assert number.tolist() == [distinct.index(pair) for pair in pairs]
    assert first[:found].tolist() == [pairs.index(pair) for pair in distinct]


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
