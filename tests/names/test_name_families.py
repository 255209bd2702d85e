"""Families of names: each name is labelled as alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Texts
from sizeguard.names.labels import label_names
from sizeguard.names.scan.families import families
from tests.support.names.drawn_names import NAMES, RULES, rows_of
from tests.support.names.packed_texts import side_by_side

pytestmark = pytest.mark.native


TAILS = ("", "Ev", "D0Ev", "D1Ev", "D2Ev", "D3Ev", "C1Ev", ".cold", "D1Ev.isra.0.cold", ".part.1")


KINDS = ("", "_ZTV", "_ZTI", "_ZTS", "_ZTT")
OF_CLASSES = ("_ZTVN1a", "_ZTIN1a", "_ZTSN1a", "_ZTTN1a", "_ZTV1a", "_ZTI1a", "_ZTI")


def of_kind(kind: str, name: str, tail: str) -> str:
    return (kind + name.removeprefix("_Z") if kind else name) + tail


@given(
    st.lists(
        st.builds(of_kind, st.sampled_from(KINDS), NAMES.map("".join), st.sampled_from(TAILS)),
        max_size=8,
    ),
    st.booleans(),
)
@example(["_ZTVN2at3addIfEE", "_ZTSN2at3addIfEE", "_ZTIN2at3addIfEE"], False)
@example(["_ZTI3_at3addIfE", "_ZTS3_at3addIfE"], False)  # S3_ could be a substitution
@example(["_ZN2at6native8internalILi4EED0Ev", "_ZN2at6native8internalILi4EED2Ev.cold"], False)
@example(["plain_add", "plain_add.cold"], True)
def test_names_of_a_family_have_the_labels_that_each_has_alone(
    names: list[str], is_other: bool
) -> None:
    texts = side_by_side(dict.fromkeys(names))
    hashes = hash_texts(texts)
    found = label_names(texts, RULES, hashes=~hashes if is_other else hashes)
    assert rows_of(found) == rows_of(label_names(texts, RULES))


LONG_TAILS = [".constprop.1", ".constprop.12", ".part.1234567", ".localalias", ".isra.", "0", "1"]


def family_of(name: str) -> str:
    """Return the name without suffixes of clones and what tells apart the parts of a class."""
    head = re.sub(r"(?<=.)(\.cold|\.(isra|part|constprop)\.\d{1,6}|\.localalias)+$", "", name)
    return re.sub(r"^_ZT[VIS](?=[NSZ].{3})", "", re.sub(r"^(_ZN.*D)[012]Ev$", r"\1", head))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["f", "f.", "_ZN1a", "_ZN1b", "_ZNK1a", "_Z1f", "", "D", *OF_CLASSES]),
            st.lists(
                st.sampled_from([*TAILS, *LONG_TAILS]),
                max_size=3,
            ).map("".join),
        ).map("".join),
        max_size=10,
        unique=True,
    )
)
@example(["f.isra.10", "f.constprop.123456", "f.part.1234567", "f", "12.isra.3", "isra.12"])
def test_families_are_functions_with_their_clones_and_the_parts_of_a_class(
    names: list[str],
) -> None:
    texts = Texts.of(names)
    found = families(texts, hash_texts(texts))
    first = {family: i for i, family in reversed(list(enumerate(map(family_of, names))))}
    assert found.first[found.of].tolist() == [first[family_of(name)] for name in names]
