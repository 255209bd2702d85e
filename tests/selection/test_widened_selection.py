"""Differences of two selections: what one keeps in addition to the other, or no longer keeps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sizeguard.gate.policy.changes.widened_selection import selection_changes
from sizeguard.selection.provenance import Provenance
from sizeguard.selection.selection import SelectedOperator, Selection
from tests.support.tricks.given_terms import Row

NOT, IS = "not selected", "selected"


def wider(name: str, old: str, new: str) -> Row:
    return "selection widened", f"a {name}", old, new, True


def narrower(name: str, old: str, new: str) -> Row:
    return "selection narrowed", f"a {name}", old, new, False


def operators(*, root: bool = True, training: bool = False, all_: bool = True) -> Selection:
    return Selection({"x::f": SelectedOperator(root, training, all_)})


def kernels(*keys: str, of_all: bool = False) -> Selection:
    return Selection({}, of_all, et_kernel_metadata={"x::f": frozenset(keys)})


NONE = Selection()
EXACT = SelectedOperator(include_all_overloads=False)
FAMILY = Selection({"x::f": SelectedOperator()})
WITH_OWN = Selection({"x::f": SelectedOperator(), "x::f.out": EXACT})
ALL = Selection(include_all_operators=True)
ALL_ELSE = Selection(include_all_non_op_selectives=True)
RICH = Selection(
    {"x::f": EXACT}, False, False, {"t": frozenset({"Float"})}, {}, frozenset({"C"}),
    frozenset({"log"}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, None, []),
        (None, NONE, [wider("selection", "cannot be read", "is read")]),
        (NONE, None, [wider("selection", "is read", "cannot be read")]),
        (RICH, RICH, []),
        # What includes all is said once, not for each name
        (RICH, ALL, [wider("include_all_operators", "false", "true")]),
        (
            RICH,
            replace(RICH, include_all_non_op_selectives=True, custom_classes=frozenset()),
            [wider("include_all_non_op_selectives", "false", "true")],
        ),
        (ALL, NONE, [narrower("include_all_operators", "true", "false")]),
        (ALL_ELSE, NONE, [narrower("include_all_non_op_selectives", "true", "false")]),
        # A part of everything is not wider, whatever the file names
        (ALL, RICH, [narrower("include_all_operators", "true", "false")]),
        (ALL_ELSE, replace(RICH, operators={}), [
            narrower("include_all_non_op_selectives", "true", "false"),
        ]),
        (ALL, kernels("default"), [narrower("include_all_operators", "true", "false")]),
        (kernels("default"), ALL, [wider("include_all_operators", "false", "true")]),
        # An operator without keys of its own keeps all of them
        (kernels("default", of_all=True), ALL, [wider("kernels of x::f", "default", "all")]),
        (ALL, kernels("default", of_all=True), [narrower("kernels of x::f", "all", "default")]),
        # With all dtypes in the base, those that are left are fewer
        (
            ALL_ELSE,
            Selection(kernel_metadata={"t": frozenset({"Float"})}),
            [narrower("include_all_non_op_selectives", "true", "false")],
        ),
        # An own entry beside the family's may keep more than that one
        (FAMILY, WITH_OWN, [wider("operator x::f.out", "by its family", IS)]),
        (WITH_OWN, FAMILY, [wider("operator x::f.out", IS, "by its family")]),
        (NONE, Selection({"x::f.out": EXACT}), [wider("operator x::f.out", NOT, IS)]),
        (Selection({"x::f.out": EXACT}), NONE, [narrower("operator x::f.out", IS, NOT)]),
        (
            operators(root=False),
            operators(training=True),
            [
                wider("operator x::f is_root_operator", "false", "true"),
                wider("operator x::f is_used_for_training", "false", "true"),
            ],
        ),
        (
            operators(),
            operators(all_=False),
            [narrower("operator x::f include_all_overloads", "true", "false")],
        ),
        (
            Selection(kernel_metadata={"t": frozenset({"Float", "Int"})}),
            Selection(kernel_metadata={"t": frozenset({"Float"})}),
            [narrower("dtypes of t", "Float, Int", "Float")],
        ),
        (
            Selection(kernel_metadata={"t": frozenset({"Float", "Int"})}),
            Selection(kernel_metadata={"t": frozenset({"Long"}), "u": frozenset({"Int"})}),
            [wider("dtypes of t", "Float, Int", "Long"), wider("dtypes of u", "none", "Int")],
        ),
        (
            Selection(et_kernel_metadata={"x::f": frozenset({"v1/6;0"})}),
            Selection(et_kernel_metadata={"x::f": frozenset({"v1/6;0", "default"})}),
            [wider("kernels of x::f", "v1/6;0", "default, v1/6;0")],
        ),
        (
            Selection(et_kernel_metadata={"x::f": frozenset({"default"}), "x::g": frozenset()}),
            Selection(et_kernel_metadata={"x::g": frozenset()}),
            [narrower("kernels of x::f", "default", "none")],
        ),
        (
            NONE,
            Selection(custom_classes=frozenset({"C"}), build_features=frozenset({"log"})),
            [wider("class C", NOT, IS), wider("feature log", NOT, IS)],
        ),
        (
            Selection(provenance={"m": Provenance()}),
            Selection(debug_info=frozenset({"text"})),
            [
                (
                    "selection changed", "a debug_info", "1 model, 0 other texts",
                    "0 models, 1 other texts", False,
                )
            ],
        ),
    ],
)  # fmt: skip
def test_a_selection_is_wider_if_it_keeps_anything_more(
    old: Selection | None, new: Selection | None, expected: list[Row]
) -> None:
    found = selection_changes("a", old, new)
    assert [(each.what, each.name, each.old, each.new, each.loosens) for each in found] == expected
