"""Lower the inputs of an exported graph to inputs and constants of the program."""

from __future__ import annotations

from sizeguard.base.errors import InputError
from sizeguard.models.exported_program import Argument, Name, TensorMeta
from sizeguard.operators.dtypes import CODES, SUPPORTED
from sizeguard.runtimes.sizeguard.importing.builder import Ref
from sizeguard.runtimes.sizeguard.importing.lower import KIND_TAGS, GraphLowering, Lowering
from sizeguard.runtimes.sizeguard.importing.mutation import written_inputs
from sizeguard.runtimes.sizeguard.importing.symbolic import bounds
from sizeguard.runtimes.sizeguard.program.program import ProgramError, ProgramInput, Tag, TensorView


class InputLowering:
    """Binds the inputs of the model's main graph. Unused weights are left out."""

    def __init__(self, lowering: Lowering, main: GraphLowering) -> None:
        """Lower the inputs of the main graph."""
        self.lowering = lowering
        self.exported = lowering.exported
        self.builder = lowering.builder
        self.main = main
        self.storages: dict[str, int] = {}  # entry of the archive → storage

    def lower(self) -> None:
        """Lower every input."""
        kept = {spec.target for spec in self.exported.outputs if spec.kind == "mutation"}
        written = written_inputs(self.main.graph, self.lowering.library)
        for spec in self.exported.inputs:
            name = spec.argument.name if isinstance(spec.argument, Name) else ""
            if spec.kind == "user":
                self._user_input(spec.argument)
            elif spec.kind == "constant":
                self.main.values[name] = self.main.arguments.plain(spec.value)
            elif name in self.main.used:
                self.main.values[name] = self._weight(name, spec.target)
            if name in written:
                self._copy(name)
            if name in written or spec.target in kept or name in kept:
                self.lowering.warnings.append(
                    f"the model writes to {spec.target or name}; the written values are lost "
                    f"after the run"
                )

    def _copy(self, name: str) -> None:
        """Let the model write to a copy: constants and the caller's arrays must not change."""
        source = self.main.values[name]
        copied = self.builder.variable(source.tag, source.dtypes)
        self.main.call("aten::clone", [source, self.main.arguments.none()], [copied])
        self.main.values[name] = copied

    def _user_input(self, argument: Argument) -> None:
        if not isinstance(argument, Name):
            return  # a number from the export, which is also in the nodes that use it
        if argument.kind != "tensor":
            self.main.values[argument.name] = self.builder.input(
                ProgramInput(0, KIND_TAGS[argument.kind])
            )
            return
        meta = self.exported.graph.tensors.get(argument.name)
        if meta is None:
            raise InputError(f"{self.exported.path}: unknown kind of input {argument.name}")
        code = self._code(meta, f"the input {argument.name}")
        dims = tuple(bounds(size, self.exported.ranges) for size in meta.sizes)
        self.main.values[argument.name] = self.builder.input(
            ProgramInput(0, Tag.TENSOR, code, dims)
        )

    def _weight(self, name: str, target: str) -> Ref:
        """Make a constant tensor from the bytes of an archive entry."""
        if self.exported.data is None:
            known = self.exported.graph.tensors.get(name)
            return self.builder.variable(
                Tag.TENSOR, frozenset([known.dtype]) if known else frozenset()
            )
        where = f"tensor {target}"
        weight = self.exported.weights.get(target)
        if weight is None:
            raise InputError(f"{self.exported.path}: {where} is not among the weights")
        meta = weight.meta
        view = TensorView(
            self._code(meta, where),
            tuple(self._number(size, where) for size in meta.sizes),
            tuple(self._number(stride, where) for stride in meta.strides),
            self._number(meta.offset, where),
            self._storage(weight.entry, self.exported.data[weight.entry]),
        )
        try:
            return self.builder.tensor(view)
        except ProgramError as error:
            raise InputError(
                f"{self.exported.path}: {where} does not fit {weight.entry}: {error}"
            ) from error

    def _number(self, size: int | str, where: str) -> int:
        if not isinstance(size, int):
            raise InputError(f"{self.exported.path}: {where} has a size that is not a number")
        return size

    def _code(self, meta: TensorMeta, where: str) -> int:
        if meta.dtype not in CODES:
            raise InputError(
                f"{self.exported.path}: {where} has dtype {meta.dtype}; the runtime has {SUPPORTED}"
            )
        return CODES[meta.dtype]

    def _storage(self, entry: str, data: bytes) -> int:
        if entry not in self.storages:
            self.storages[entry] = len(self.builder.storages)
            self.builder.storages.append(data)
        return self.storages[entry]
