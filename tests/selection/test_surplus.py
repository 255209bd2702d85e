"""The parts of a selection that no model needs, their messages and their bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.base.errors import InputError
from sizeguard.claims.verdict import FAIL, PASS
from sizeguard.gate.gate_result import SelectionFinding
from sizeguard.gate.selection import surplus
from sizeguard.gate.selection.model_needs import Needed
from sizeguard.gate.selection.surplus import Prices, Surplus, find_surplus, surplus_findings
from sizeguard.predict import what_if
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.snapshots.store import Store

ONE = SelectedOperator(include_all_overloads=False)
FAMILY = SelectedOperator(include_all_overloads=True)
FULL: Any = SimpleNamespace(
    operators=frozenset({"aten::gelu", "aten::add.Tensor", "aten::add.out", "aten::mul"})
)
NEEDED = Needed(
    frozenset({"aten::gelu", "aten::add.out"}),
    {"gelu": frozenset({"Float", "Half"})},
    frozenset({"C"}),
    frozenset({"f"}),
)
EXACT = Selection(
    operators={"aten::gelu": ONE, "aten::add.out": ONE},
    kernel_metadata={"gelu": frozenset({"Float"})},
    custom_classes=frozenset({"C"}),
    build_features=frozenset({"f"}),
)


def found(selection: Selection) -> list[tuple[str, str, str]]:
    return [(each.key, each.entry, each.name) for each in find_surplus(selection, NEEDED, FULL)]


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({}, []),
        (
            {"operators": {**EXACT.operators, "aten::mul": ONE}},
            [("operators", "aten::mul", "operator aten::mul")],
        ),
        # One entry for a family keeps an overload too many.
        (
            {"operators": {"aten::gelu": ONE, "aten::add": FAMILY}},
            [("operators", "aten::add", "operator aten::add.Tensor")],
        ),
        (
            {"kernel_metadata": {"gelu": frozenset({"Float", "Long", "Int"})}},
            [
                ("kernel_metadata", "gelu", "dtype gelu Int"),
                ("kernel_metadata", "gelu", "dtype gelu Long"),
            ],
        ),
        (
            {"kernel_metadata": {"mul": frozenset({"Float"}), "add": frozenset()}},
            [("kernel_metadata", "mul", "tag mul")],
        ),
        ({"custom_classes": frozenset({"C", "D"})}, [("custom_classes", "D", "class D")]),
        ({"build_features": frozenset({"f", "g"})}, [("build_features", "g", "feature g")]),
        ({"include_all_operators": True}, [("include_all_operators", "", "include_all_operators")]),
        (
            {
                "include_all_non_op_selectives": True,
                "custom_classes": frozenset({"D"}),
                "operators": {**EXACT.operators, "aten::mul": ONE},
            },
            [
                ("operators", "aten::mul", "operator aten::mul"),
                ("include_all_non_op_selectives", "", "include_all_non_op_selectives"),
            ],
        ),
    ],
)
def test_what_no_model_needs_is_surplus(
    changes: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    assert found(replace(EXACT, **changes)) == expected


def test_each_part_comes_with_the_selection_without_it() -> None:
    wide = replace(
        EXACT,
        operators={**EXACT.operators, "aten::mul": ONE},
        kernel_metadata={"gelu": frozenset({"Float", "Int"}), "mul": frozenset({"Int"})},
        custom_classes=frozenset({"C", "D"}),
        build_features=frozenset({"f", "g"}),
    )
    parts = list(find_surplus(wide, NEEDED, FULL))
    assert len(parts) == len(found(wide)) > 4
    for part in parts:
        assert (part.key, part.entry, part.name) not in found(part.without)
        assert len(found(part.without)) == len(found(wide)) - 1
        assert all(each == ONE for each in part.without.operators.values())


@pytest.mark.parametrize(
    "flag, kept",
    [
        ("include_all_operators", {"aten::gelu", "aten::add.out"}),
        ("include_all_non_op_selectives", {"aten::gelu", "aten::add.out", "aten::mul"}),
    ],
)
def test_a_flag_is_replaced_by_what_models_need(flag: str, kept: set[str]) -> None:
    given: dict[str, Any] = {flag: True}
    operators = {**EXACT.operators, "aten::mul": ONE}
    wide = replace(EXACT, operators=operators, **given)
    part = find_surplus(wide, NEEDED, FULL)[-1]
    assert {*part.without.operators} == kept
    assert all(each == ONE for each in part.without.operators.values())
    assert part.without.kernel_metadata == {"gelu": {"Float", "Half"}}
    assert (*part.without.custom_classes, *part.without.build_features) == ("C", "f")
    count = "2 operators" if flag == "include_all_operators" else "dtypes, classes and features"
    assert part.text == f"{flag} of {{}} keeps {count} that no model needs"


class Case(SimpleNamespace):
    """A selection in a file."""

    def finding(self, kind: str, name: str, verdict: str, text: str, advice: str) -> Any:
        return SelectionFinding("app", kind, name, verdict, text, advice)

    def place(self, key: str, entry: str) -> str:
        return f"{key}:{entry}"


@pytest.mark.parametrize(
    "mode, size, verdict, cost",
    [
        ("note", 1234, PASS, "1,234 bytes on x86_64-linux"),
        ("fail", 0, FAIL, "0 bytes on x86_64-linux"),
        ("fail", None, FAIL, "bytes unknown"),
    ],
)
def test_surplus_fails_where_the_policy_says_so(
    mode: str, size: int | None, verdict: str, cost: str
) -> None:
    wide = replace(EXACT, custom_classes=frozenset({"C", "D"}))
    case: Any = Case(selection=wide, full=FULL, name="app.yaml", advice="trace the model")
    prices: Any = SimpleNamespace(of=lambda *_: (size,), target="x86_64-linux")
    (finding,) = surplus_findings(case, NEEDED, prices, mode)
    assert (finding.verdict, finding.bytes, finding.place) == (verdict, size, "custom_classes:D")
    assert finding.message == f"no model uses class D, which app.yaml keeps: {cost}"


@pytest.mark.parametrize(
    "key, sizes, expected",
    [
        ("operators", (100, 60), 40),
        ("operators", (100, 100), 0),
        ("build_features", (100, 60), 40),
        ("build_features", (100, 100), None),
        ("operators", None, None),
    ],
)
def test_bytes_are_the_difference_of_two_predictions(
    monkeypatch: pytest.MonkeyPatch, key: str, sizes: tuple[int, int] | None, expected: int | None
) -> None:
    part = find_surplus(replace(EXACT, custom_classes=frozenset({"D"})), NEEDED, FULL)[0]
    part = replace(part, key=key)

    def predictor(folder: Path) -> Any:
        if sizes is None:
            raise InputError("damaged")
        return SimpleNamespace(size=lambda kept: SimpleNamespace(load=sizes[kept is part.without]))

    monkeypatch.setattr(what_if, "predictor_of", predictor)
    monkeypatch.setattr(what_if, "kept_by", lambda selection, *_, dtypes: selection)
    build: Any = SimpleNamespace(image=Path("full/run_program"), target="x86_64-linux")
    assert Prices(build).of(EXACT, [part]) == (expected,)


def test_predicted_bytes_are_kept_for_the_same_build_and_parts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Selection] = []

    def size(kept: Selection) -> Any:
        asked.append(kept)
        return SimpleNamespace(load=100 - 10 * len(asked))

    monkeypatch.setattr(what_if, "predictor_of", lambda folder: SimpleNamespace(size=size))
    monkeypatch.setattr(what_if, "kept_by", lambda selection, *_, dtypes: selection)
    monkeypatch.setattr(surplus, "objects_key", lambda full: {"objects": []})
    image = tmp_path / "run_program"
    image.write_bytes(b"one")
    build: Any = SimpleNamespace(image=image, target="x86_64-linux", fingerprint="f")
    part = find_surplus(replace(EXACT, custom_classes=frozenset({"D"})), NEEDED, FULL)[0]
    store = Store(tmp_path / "store")

    def bytes_of(part: Surplus) -> tuple[int, int]:
        (found,) = Prices(build, store).of(EXACT, [part])
        assert found is not None
        return found, len(asked)

    assert bytes_of(part) == (10, 2)
    assert bytes_of(part) == (10, 2)
    assert bytes_of(replace(part, without=replace(EXACT, custom_classes=frozenset("E")))) == (10, 4)
    image.write_bytes(b"another")
    assert bytes_of(part) == (10, 6)


def test_a_full_build_that_cannot_be_read_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(folder: Path) -> Any:
        raise InputError("damaged")

    monkeypatch.setattr(what_if, "predictor_of", refuse)
    monkeypatch.setattr(surplus, "objects_key", lambda full: {"objects": []})
    build: Any = SimpleNamespace(image=tmp_path / "no", target="x86_64-linux", fingerprint="f")
    part = find_surplus(replace(EXACT, custom_classes=frozenset({"D"})), NEEDED, FULL)[0]
    assert Prices(build, Store(tmp_path / "store")).of(EXACT, [part]) == (None,)
    assert not [*(tmp_path / "store").rglob("*.json")]
