"""Finished programs give the same results as their steps, however slots are shared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.runtimes.sizeguard.importing.builder import ProgramBuilder, Ref
from sizeguard.runtimes.sizeguard.program.program import (
    Kind,
    ProgramInput,
    Tag,
    TensorView,
    Value,
    check_program,
)
from tests.support.builds.program_interpreter import OPERATORS, run
from tests.support.drawn import at_least

# Results are terms, so two programs agree if their terms are equal.
OPERATORS["test::term"] = lambda *arguments: Term("term", arguments)
OPERATORS["test::pair"] = lambda *arguments: (Term("first", arguments), Term("second", arguments))


@dataclass(frozen=True, slots=True)
class Term:
    """An operator and its arguments."""

    name: str
    arguments: tuple[Any, ...]


class Recipe:
    """Builder of steps that computes each variable's value if all conditions are `taken`."""

    def __init__(self, draw: Callable[..., Any], taken: bool) -> None:
        self.draw = draw
        self.taken = taken
        self.builder = ProgramBuilder("recipe")
        self.terms: dict[int, Any] = {}
        self.ints = [self.builder.constant(Value(Tag.INT, integer=i)) for i in range(3)]
        for i, ref in enumerate(self.ints):
            self.terms[ref.index] = i
        self.condition = self.builder.input(ProgramInput(0, Tag.BOOL))
        self.terms[self.condition.index] = taken

    def choose(self, known: list[Ref]) -> Ref:
        chosen: Ref = self.draw(st.sampled_from(known))
        return chosen

    def block(self, known: list[Ref], depth: int, runs: bool) -> list[Ref]:
        """Add some steps that use and make values; return the values known after them.

        runs: whether the steps are reached.
        """
        known = list(known)
        for _ in range(self.draw(st.integers(1, 5))):
            kind = self.draw(st.sampled_from(["term", "pair", "list"] + ["branch"] * (depth < 2)))
            if kind == "branch":
                known.append(self.branch(known, depth, runs))
                continue
            arguments = [self.choose(known) for _ in range(self.draw(st.integers(0, 3)))]
            values = [self.terms[ref.index] for ref in arguments]
            if kind == "list":
                made = [self.builder.list_of(Tag.INT_LIST, arguments)]
                results: Any = [values]
            else:
                made = [self.builder.variable(Tag.INT) for _ in range(1 + (kind == "pair"))]
                self.builder.call(f"test::{kind}", arguments, made)
                results = OPERATORS[f"test::{kind}"](*values)
                results = [results] if kind == "term" else results
            for ref, result in zip(made, results, strict=True):
                self.terms[ref.index] = result
            known += made
        return known

    def branch(self, known: list[Ref], depth: int, runs: bool) -> Ref:
        result = self.builder.variable(Tag.INT)
        otherwise, end = self.builder.new_label(), self.builder.new_label()
        self.builder.jump(otherwise, unless=self.condition)
        for side in (True, False):
            source = self.choose(self.block(known, depth + 1, runs and side == self.taken))
            self.builder.move(source, result)
            if side == self.taken:
                given = self.terms[source.index]
            if side:
                self.builder.jump(end)
                self.builder.place(otherwise)
        self.builder.place(end)
        self.terms[result.index] = given
        return result


@pytest.mark.native
@given(st.data(), st.booleans())
@at_least(100)
def test_finishing_keeps_what_the_steps_compute(data: st.DataObject, taken: bool) -> None:
    recipe = Recipe(data.draw, taken)
    known = recipe.block([*recipe.ints, recipe.condition], 0, True)
    recipe.builder.outputs = [recipe.choose(known) for _ in range(3)]
    program = recipe.builder.finish()
    check_program(program)
    assert run(program, [taken]) == [recipe.terms[ref.index] for ref in recipe.builder.outputs]


def test_a_chain_needs_two_slots() -> None:
    builder = ProgramBuilder("chain")
    value = builder.input(ProgramInput(0, Tag.INT))
    for _ in range(100):
        made = builder.variable(Tag.INT)
        builder.call("test::term", [value], [made])
        value = made
    builder.outputs = [value]
    # The input keeps its own slot.
    assert builder.finish().slot_count == 3


def test_what_nothing_uses_is_left_out() -> None:
    builder = ProgramBuilder("unused")
    builder.storages += [b"\0" * 4, b"\1" * 4, b"\2" * 4]
    tensors = [builder.tensor(TensorView(6, (1,), (1,), 0, storage)) for storage in range(3)]
    listed = builder.constant(Value(Tag.TENSOR_LIST, integers=(2, -1)))
    builder.constant(Value(Tag.OBJECT, text="Unused", integers=(0,)))
    used = builder.constant(Value(Tag.OBJECT, text="Used", integers=(-1 - listed.index,)))
    builder.call("test::term", [used], [builder.variable(Tag.INT)])
    program = builder.finish()
    assert [value.text for value in program.values] == ["", "Used"]
    assert program.values[0].integers == (0, -1)
    assert program.values[1].integers == (0,)
    assert program.storages == (b"\2" * 4,)
    assert tensors[0] != tensors[1]
    assert [step.kind for step in program.instructions] == [Kind.CALL]


def test_zeros_of_both_signs_are_two_constants() -> None:
    builder = ProgramBuilder("zeros")
    refs = [builder.constant(Value(Tag.DOUBLE, number=number)) for number in (0.0, -0.0, 0.0)]
    assert refs[0] == refs[2] != refs[1]
