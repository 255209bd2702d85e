"""A stored verification is the one that was made."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.claims.verdict import ChainStep, Verdict, Verification
from sizeguard.gate.cache import kept_verification

TEXTS = st.sampled_from(["", "a", "aten::add", "not in the image"])
STEPS = st.builds(ChainStep, TEXTS, TEXTS, TEXTS)
VERDICTS = st.builds(
    Verdict,
    *[TEXTS] * 5,
    st.integers(0, 2),
    st.lists(TEXTS, max_size=2).map(tuple),
    st.lists(STEPS, max_size=1).map(tuple),
    TEXTS,
)
LISTED = st.lists(TEXTS, max_size=2).map(tuple)
VERIFICATIONS = st.builds(
    Verification, TEXTS, TEXTS, st.lists(VERDICTS).map(tuple), LISTED, TEXTS, LISTED
)


@given(VERIFICATIONS)
def test_a_verification_is_read_as_it_was_written(made: Verification) -> None:
    stored = json.loads(json.dumps(kept_verification._written(made)))
    assert kept_verification._read(stored) == made


def test_verdicts_that_differ_only_in_their_name_are_written_once() -> None:
    alike = [Verdict("symbol", f"f{i}", "absent", "pass", "", 0, ("gone",)) for i in range(100)]
    made = Verification("a", "b", tuple(alike), (), "ok", ())
    assert len(json.dumps(kept_verification._written(made))) < 2500


def test_a_stored_verification_without_all_names_is_made_again() -> None:
    """A lost name would be a lost verdict."""
    alike = [Verdict("symbol", f"f{i}", "absent", "pass", "", 0, ("gone",)) for i in range(3)]
    stored = dict(kept_verification._written(Verification("a", "b", tuple(alike), (), "ok", ())))
    stored["names"] = stored["names"][:-1]
    with pytest.raises(ValueError, match="shorter"):
        kept_verification._read(stored)
