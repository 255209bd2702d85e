"""Build a program from steps: number the constants, and reuse the slots of dead values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace

from sizeguard.base.dataclass import dataclass
from sizeguard.operators.dtypes import NAMES
from sizeguard.runtimes.sizeguard.program.program import (
    Instruction,
    Kind,
    Program,
    ProgramInput,
    Tag,
    TensorView,
    Value,
    check_tensor,
)


@dataclass(frozen=True, slots=True)
class Ref:
    """A value of a program under construction.

    index: of a variable, or -1 - index of a constant. dtypes: of its tensors, if known.
    """

    index: int
    tag: Tag
    dtypes: frozenset[str] = frozenset()

    @property
    def is_constant(self) -> bool:
        """Return whether the value is a constant."""
        return self.index < 0


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """A future instruction, or a label (kind None).

    target: an operator, the tag of a list, or a label's number.
    """

    kind: Kind | None
    target: str | int
    inputs: tuple[Ref, ...] = ()
    outputs: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class _Numbered:
    """The used values, tensors and storages of a program, with their final numbers."""

    values: tuple[Value, ...]
    tensors: tuple[TensorView, ...]
    storages: tuple[bytes, ...]


@dataclass(slots=True)
class ProgramBuilder:
    """The program under construction.

    Unused constants and their data are left out at the end.
    """

    name: str
    steps: list[ProgramStep] = field(default_factory=list)
    constants: list[Value] = field(default_factory=list)
    tensors: list[TensorView] = field(default_factory=list)
    storages: list[bytes] = field(default_factory=list)
    inputs: list[tuple[Ref, ProgramInput]] = field(default_factory=list)
    outputs: list[Ref] = field(default_factory=list)
    variables: int = 0
    labels: int = 0
    known: dict[tuple[object, ...], int] = field(default_factory=dict)  # constant → its index
    views: dict[TensorView, int] = field(default_factory=dict)

    def variable(self, tag: Tag, dtypes: frozenset[str] = frozenset()) -> Ref:
        """Make a new variable."""
        self.variables += 1
        return Ref(self.variables - 1, tag, dtypes)

    def constant(self, value: Value, dtypes: frozenset[str] = frozenset()) -> Ref:
        """Make a constant, or return an equal existing one."""
        # Equal as bits: -0.0 is not 0.0.
        key = (
            value.tag,
            value.integer,
            value.number.hex(),
            value.text,
            value.integers,
            tuple(number.hex() for number in value.numbers),
        )
        if key not in self.known:
            self.known[key] = len(self.constants)
            self.constants.append(value)
        return Ref(-1 - self.known[key], value.tag, dtypes)

    def value(self, constant: Ref) -> Value:
        """Return the value of a constant."""
        return self.constants[-1 - constant.index]

    def tensor(self, view: TensorView) -> Ref:
        """Make a constant tensor. Raises ProgramError if the view is not in its storage."""
        if view not in self.views:
            check_tensor(view, [len(storage) for storage in self.storages], "tensor")
            self.views[view] = len(self.tensors)
            self.tensors.append(view)
        return self.constant(
            Value(Tag.TENSOR, integer=self.views[view]), frozenset([NAMES[view.dtype]])
        )

    def input(self, item: ProgramInput) -> Ref:
        """Make a user input; its slot is set when the program is finished."""
        ref = self.variable(
            item.tag, frozenset([NAMES[item.dtype]]) if item.tag == Tag.TENSOR else frozenset()
        )
        self.inputs.append((ref, item))
        return ref

    def call(self, operator: str, inputs: Sequence[Ref], outputs: Sequence[Ref]) -> None:
        """Add a call of an operator."""
        self.steps.append(ProgramStep(Kind.CALL, operator, tuple(inputs), tuple(outputs)))

    def list_of(
        self, tag: Tag, elements: Sequence[Ref], dtypes: frozenset[str] = frozenset()
    ) -> Ref:
        """Make a list when the program runs."""
        made = self.variable(tag, dtypes)
        self.steps.append(ProgramStep(Kind.LIST, int(tag), tuple(elements), (made,)))
        return made

    def move(self, source: Ref, to: Ref) -> None:
        """Add a move from one value to another."""
        self.steps.append(ProgramStep(Kind.MOVE, 0, (source,), (to,)))

    def jump(self, label: int, unless: Ref | None = None) -> None:
        """Add a jump to a label: always, or if a bool is false."""
        self.steps.append(
            ProgramStep(Kind.JUMP, label)
            if unless is None
            else ProgramStep(Kind.JUMP_FALSE, label, (unless,))
        )

    def new_label(self) -> int:
        """Make a label that jumps can name."""
        self.labels += 1
        return self.labels - 1

    def place(self, label: int) -> None:
        """Place a label before the next step."""
        self.steps.append(ProgramStep(None, label))

    def finish(self) -> Program:
        """Return the finished program."""
        constants = self._used_constants()
        number = {old: new for new, old in enumerate(constants)}
        places, slot_count = self._places(len(constants))

        def slot(ref: Ref) -> int:
            return number[-1 - ref.index] if ref.is_constant else places[ref.index]

        operators = sorted({str(step.target) for step in self.steps if step.kind == Kind.CALL})
        used = self._numbered(constants, number)
        return Program(
            name=self.name,
            operators=tuple(operators),
            slot_count=slot_count,
            values=used.values,
            tensors=used.tensors,
            storages=used.storages,
            instructions=tuple(self._instructions(operators, slot)),
            inputs=tuple(replace(item, slot=slot(ref)) for ref, item in self.inputs),
            outputs=tuple(map(slot, self.outputs)),
        )

    def _instructions(
        self, operators: Sequence[str], slot: Callable[[Ref], int]
    ) -> Iterator[Instruction]:
        """Yield the instructions, with numbers for operators and positions for labels."""
        operator_number = {name: i for i, name in enumerate(operators)}
        label_position: dict[int, int] = {}
        position = 0
        for step in self.steps:
            if step.kind is None:
                label_position[int(step.target)] = position
            else:
                position += 1
        for step in self.steps:
            if step.kind is None:
                continue
            if step.kind == Kind.CALL:
                target = operator_number[str(step.target)]
            else:
                target = int(step.target)
            if step.kind in (Kind.JUMP, Kind.JUMP_FALSE):
                target = label_position[target]
            inputs, outputs = tuple(map(slot, step.inputs)), tuple(map(slot, step.outputs))
            yield Instruction(step.kind, target, inputs, outputs)

    def _used_constants(self) -> list[int]:
        """List the constants that steps, outputs or used objects use, in order."""
        refs = [ref for step in self.steps for ref in (*step.inputs, *step.outputs)] + self.outputs
        used = {-1 - ref.index for ref in refs if ref.is_constant}
        # Objects come after the values that they are made from
        for i in reversed(range(len(self.constants))):
            if i in used and self.constants[i].tag == Tag.OBJECT:
                used.update(self.constants[i].integers)
        return sorted(used)

    def _places(self, first: int) -> tuple[dict[int, int], int]:
        """Assign a slot to each variable; return the slots and their number.

        Jumps only go forward, so a value is alive from the first step that names it to the last.
        Its slot is free after that step, not during it, because a call may write results before it
        has read all arguments. Inputs and outputs keep their slots.
        """
        places: dict[int, int] = {}
        count = first
        for ref, _ in self.inputs:
            places[ref.index] = count
            count += 1
        kept = set(places) | {ref.index for ref in self.outputs}
        last_use: dict[int, int] = {}
        for i, step in enumerate(self.steps):
            for ref in (*step.inputs, *step.outputs):
                last_use[ref.index] = i
        free: list[int] = []
        for i, step in enumerate(self.steps):
            named = [ref.index for ref in (*step.inputs, *step.outputs) if not ref.is_constant]
            for index in named:
                if index not in places:
                    places[index] = free.pop() if free else count
                    count += places[index] == count
            free += [
                places[index]
                for index in dict.fromkeys(named)
                if last_use[index] == i and index not in kept
            ]
        return places, count

    def _numbered(self, constants: Iterable[int], number: dict[int, int]) -> _Numbered:
        """Give their final numbers to the values, tensors and storages that are used."""
        tensors: list[TensorView] = []
        storages: list[bytes] = []
        tensor_number: dict[int, int] = {-1: -1}
        storage_number: dict[int, int] = {}

        def tensor(old: int) -> int:
            if old not in tensor_number:
                view = self.tensors[old]
                if view.storage not in storage_number:
                    storage_number[view.storage] = len(storages)
                    storages.append(self.storages[view.storage])
                tensor_number[old] = len(tensors)
                tensors.append(replace(view, storage=storage_number[view.storage]))
            return tensor_number[old]

        values: list[Value] = []
        for old in constants:
            value = self.constants[old]
            if value.tag == Tag.TENSOR:
                value = replace(value, integer=tensor(value.integer))
            elif value.tag == Tag.TENSOR_LIST:
                value = replace(value, integers=tuple(map(tensor, value.integers)))
            elif value.tag == Tag.OBJECT:
                value = replace(value, integers=tuple(number[i] for i in value.integers))
            values.append(value)
        return _Numbered(tuple(values), tuple(tensors), tuple(storages))
