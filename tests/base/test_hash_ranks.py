"""Compare ranks and positions of hashes, computed by column, with plain Python.

Looked-up labels equal the labels of the rules.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.attribution.known_labels import KnownLabels
from sizeguard.columns.ranks import find_hashes, rank_hashes
from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Texts
from sizeguard.names.labels import NameLabels, label_names
from sizeguard.runtimes.recognise import choose_preset

# Many of the hashes share their first bits, and many their last bits.
HASHES = st.lists(
    st.one_of(
        st.integers(0, 40), st.integers(0, 40).map(lambda n: n << 58), st.integers(0, (1 << 64) - 1)
    ),
    max_size=60,
)
NAMES = [
    "_ZN2at6native10add_kernelEv",
    "_ZN2at6native12_GLOBAL__N_110mul_kernelIfEEvv",
    "_ZN2at4_ops10add_Tensor4callEv",
    "_ZN6dnnl4impl3cpuEv",
    "_ZN2at6native10add_kernelIdEEvv.cold",
    "main",
]


@given(HASHES)
def test_ranks(values: list[int]) -> None:
    rank, known = rank_hashes(np.array(values, np.uint64))
    assert known.tolist() == sorted(set(values))
    assert [known[i] for i in rank.tolist()] == values


@given(HASHES.map(lambda values: list(dict.fromkeys(values))), HASHES)
def test_places(known: list[int], wanted: list[int]) -> None:
    found = find_hashes(np.array(known, np.uint64), np.array(wanted, np.uint64)).tolist()
    assert found == [known.index(value) if value in known else -1 for value in wanted]


def labels_of(found: NameLabels, name: int) -> list[str]:
    return [
        label.texts[int(label.ids[name])]
        for label in (found.operator, found.kernel, found.found_dtype, found.component)
        if label is not None
    ]


@pytest.mark.native
@given(
    st.lists(st.sampled_from(NAMES), unique=True),
    st.lists(st.sampled_from(NAMES), unique=True),
    st.tuples(st.booleans(), st.booleans()),
)
def test_known_names_have_the_labels_of_the_rules(
    old: list[str], new: list[str], with_dtypes: tuple[bool, bool]
) -> None:
    known = KnownLabels()
    for names, dtypes in zip((old, new), with_dtypes, strict=True):
        texts = Texts.of([text for name in names for text in (name, "\0")]).take(
            np.arange(0, 2 * len(names), 2)
        )
        choice = choose_preset(texts, "aten", None)
        found, plain = (
            known.labels(texts, hash_texts(texts), choice, dtypes=dtypes),
            label_names(texts, choice.preset),
        )
        assert (found.found_dtype is not None) == dtypes
        if not dtypes:
            plain = replace(plain, found_dtype=None)
            with pytest.raises(LookupError, match="not searched for dtypes"):
                _ = found.dtype
        assert [labels_of(found, i) for i in range(len(names))] == [
            labels_of(plain, i) for i in range(len(names))
        ]
