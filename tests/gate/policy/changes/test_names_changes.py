"""Changes of the names that claims are checked with are changes of terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sizeguard.claims.listed_names import BuildNames, FeatureMarks
from sizeguard.claims.names_file import names_text
from sizeguard.gate.policy.changes.policy_changes import compare_terms
from sizeguard.gate.policy.terms_result import PolicyChange
from tests.support.tricks.changed_projects import CONFIG, NAMES_FILE
from tests.support.tricks.given_terms import changed, terms

MARKS = FeatureMarks(
    texts=("--explain", "reason: %s"),
    without=("explain: not in this build",),
    functions=("_Z7explainv",),
    calls={"fprintf": ("_Z4mainv",)},
)
NAMES = BuildNames(
    operators={"aten::add": "add"},
    dtypes={"add": ("Float", "Int")},
    classes=(),
    features={"explain": MARKS},
    helpers=frozenset({"flatten(Tensor)"}),
    bodies={"add": ("add_loop<T>",)},
    users={"add_loop<bool>": ("or_",)},
)


def compared(
    old: str, new: str, mode: str = "note", accepted: Sequence[tuple[str, str]] = ()
) -> list[PolicyChange]:
    config = f"policy_changes: {mode}\n{CONFIG}"
    before, after = (
        terms(changed({"sizeguard.yaml": config, NAMES_FILE: text})) for text in (old, new)
    )
    return [*compare_terms(before, after, accepted)]


def changes(new: BuildNames) -> list[PolicyChange]:
    return compared(names_text(NAMES), names_text(new))


def marked(**fields: Any) -> BuildNames:
    return replace(NAMES, features={"explain": replace(MARKS, **fields)})


SIGNS = "signs of feature explain"
EXCUSES = "excuses of feature explain"


@pytest.mark.parametrize(
    ("new", "was", "now", "loosens"),
    [
        # Another feature's text in place of all signs: the feature's code would not show.
        (
            marked(texts=("--expected",), functions=(), calls={}),
            f"{SIGNS}: 4, with --explain, _Z7explainv and 2 more", f"{SIGNS}: 1, with --expected",
            True,
        ),
        (marked(functions=()), f"{SIGNS}: 4, with _Z7explainv", f"{SIGNS}: 3", True),
        (
            marked(functions=("_Z7explainv", "_Z3whyv")),
            f"{SIGNS}: 4", f"{SIGNS}: 5, with _Z3whyv", False,
        ),
        (
            marked(without=("explain: not in this build", "usage:")),
            f"{EXCUSES}: 1", f"{EXCUSES}: 2, with usage:", True,
        ),
        (
            marked(without=()),
            f"{EXCUSES}: 1, with explain: not in this build", f"{EXCUSES}: 0", False,
        ),
        (marked(options=("--quiet",)), f"{EXCUSES}: 1", f"{EXCUSES}: 2, with --quiet", True),
        (
            replace(NAMES, helpers=frozenset({"flatten(Tensor)", "add(Tensor)"})),
            "functions that are not kernels: 1",
            "functions that are not kernels: 2, with add(Tensor)", True,
        ),
        (
            replace(NAMES, helpers=frozenset()),
            "functions that are not kernels: 1, with flatten(Tensor)",
            "functions that are not kernels: 0", False,
        ),
        (
            replace(NAMES, others=frozenset({"add_loop<int>"})),
            "functions of no branch: 0", "functions of no branch: 1, with add_loop<int>", True,
        ),
        (
            replace(NAMES, users={**NAMES.users, "add_loop<int>": ("mul",)}),
            "callers of branches: 1", "callers of branches: 2, with add_loop<int>: mul", True,
        ),
        (
            replace(NAMES, bodies={}),
            "functions of branches: 1, with add: add_loop<T>", "functions of branches: 0", True,
        ),
        (
            replace(NAMES, dtypes={"add": ("Float",)}),
            "branches of tags: 2, with add: Int", "branches of tags: 1", True,
        ),
    ],
)  # fmt: skip
def test_fewer_signs_and_more_excuses_are_named(
    new: BuildNames, was: str, now: str, loosens: bool
) -> None:
    (change,) = changes(new)
    assert (change.what, change.name, change.place) == ("names changed", NAMES_FILE, NAMES_FILE)
    assert (change.old, change.new, change.loosens) == (was, now, loosens)


def test_what_the_full_build_proves_is_no_term() -> None:
    more = replace(NAMES, operators={"aten::add": "add", "aten::mul": "mul"}, classes=("Packed",))
    sized = replace(NAMES, features={"explain": replace(MARKS, load=999, linked=5)})
    new_feature = replace(NAMES, features={"explain": MARKS, "profile": FeatureMarks()})
    assert [changes(new) for new in (NAMES, more, sized, new_feature)] == [[], [], [], []]


def test_signs_and_excuses_of_a_new_feature_are_named() -> None:
    """It may come with a sign of another feature, and with a text that any build has."""
    marks = FeatureMarks(texts=("--explain",), without=("usage:",))
    found = changes(replace(NAMES, features={"explain": MARKS, "profile": marks}))
    assert [(each.old, each.new, each.loosens) for each in found] == [
        ("excuses of feature profile: 0", "excuses of feature profile: 1, with usage:", True),
        ("signs of feature profile: 0", "signs of feature profile: 1, with --explain", False),
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (names_text(NAMES), "{}", [("can be read", "cannot be read")]),
        ("{}", names_text(NAMES), [("cannot be read", "can be read")]),
        ("{}", "[]", []),
    ],
)
def test_a_damaged_file_is_named(old: str, new: str, words: list[tuple[str, str]]) -> None:
    found = compared(old, new)
    assert [(each.what, each.loosens) for each in found] == [("names replaced", True)] * len(words)
    assert [(each.old, each.new) for each in found] == words


def verdicts(*trailers: str) -> Mapping[str, str]:
    found = compared(
        names_text(NAMES),
        names_text(marked(functions=())),
        "fail",
        [("0123456789abcdef", text) for text in trailers],
    )
    return {change.verdict: change.accepted for change in found}


def test_a_trailer_accepts_changed_names_where_loosened_terms_fail() -> None:
    assert verdicts() == {"fail": ""}
    assert verdicts("baselines/*") == {"fail": ""}
    assert verdicts(NAMES_FILE) == {"pass": "commit 0123456789"}
