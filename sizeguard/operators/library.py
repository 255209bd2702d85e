"""Read the operators of kernel libraries from operators.yaml files."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.yaml.nodes import Listing, Node, Scalar, YamlTable, parse_nodes, read_document
from sizeguard.operators.schema import FunctionSchema
from sizeguard.operators.schema_parser import SchemaError, parse_schema

KINDS = ("core", "composite", "primitive")
DISPATCH_KEYS = ("CPU", "QuantizedCPU")
FIELDS = ("func", "kernel", "kind", "dispatch", "wrap")


@dataclass(frozen=True, slots=True)
class Operator:
    """Entry of an operators.yaml.

    kernel:   C++ function that implements it
    kind:     one of KINDS
    dispatch: one of DISPATCH_KEYS
    wrap:     Scalar argument that the kernel takes as a Tensor, or None
    library:  name of the folder that contains the file
    """

    schema: FunctionSchema
    kernel: str
    kind: str
    dispatch: str
    wrap: str | None
    library: str
    file: Path
    line: int

    @property
    def name(self) -> str:
        """Return the name with overload: aten::add.Tensor."""
        return self.schema.name

    @property
    def place(self) -> str:
        """File and line of the entry, as at the beginning of error messages."""
        return f"{self.file}:{self.line}"


def read_operator_libraries(files: Iterable[Path]) -> dict[str, Operator]:
    """Read the operators of libraries that are linked together, by name with overload.

    They are in the order of the files. Raises InputError, with file and line, for errors in a file
    and for an operator that is defined twice.
    """
    operators: dict[str, Operator] = {}
    for file in files:
        for operator in _read_file(file):
            other = operators.get(operator.name)
            if other is not None:
                raise InputError(
                    f"{operator.place}: operator {operator.name} is defined at {other.place} too;"
                    " keep one of them"
                )
            operators[operator.name] = operator
    return operators


def _read_file(file: Path) -> tuple[Operator, ...]:
    return _operators(read_document(file), file, file.resolve().parent.name)


# One command asks for each model that it reads: 22 ms for the 182 operators of the runtime.
@functools.lru_cache(16)
def _operators(content: bytes, file: Path, library: str) -> tuple[Operator, ...]:
    """Parse the content of a file. The same content in the same place is parsed once."""
    root = parse_nodes(content, file, "list of operators", may_be_empty=True)
    if isinstance(root, Scalar) and root.kind == "null":
        return ()
    if not isinstance(root, Listing):
        raise InputError(f"{file}:1: expected a list of operators")
    return tuple(_operator(entry, file, library) for entry in root.items)


def _operator(entry: Node, file: Path, library: str) -> Operator:
    line = entry.line
    fields = _fields(entry, file)
    for required in ("func", "kernel", "kind"):
        if required not in fields:
            raise InputError(f"{file}:{line}: an operator needs the field {required}")
    try:
        schema = parse_schema(fields["func"])
    except SchemaError as error:
        raise InputError(f"{file}:{line}: {error}") from error
    if fields["kind"] not in KINDS:
        raise InputError(
            f"{file}:{line}: kind is one of {', '.join(KINDS)}, not '{fields['kind']}'"
        )
    dispatch = fields.get("dispatch", "CPU")
    if dispatch not in DISPATCH_KEYS:
        raise InputError(
            f"{file}:{line}: dispatch is one of {', '.join(DISPATCH_KEYS)}, not '{dispatch}'"
        )
    if not (fields["kernel"].isascii() and fields["kernel"].isidentifier()):
        raise InputError(f"{file}:{line}: kernel '{fields['kernel']}' is not a C++ name")
    wrap = fields.get("wrap")
    if wrap is not None and not any(
        a.name == wrap and a.type.name == "Scalar" and not a.type.is_list for a in schema.arguments
    ):
        raise InputError(
            f"{file}:{line}: wrap names '{wrap}', which is not a Scalar argument of {schema.name}"
        )
    return Operator(schema, fields["kernel"], fields["kind"], dispatch, wrap, library, file, line)


def _fields(entry: Node, file: Path) -> dict[str, str]:
    if not isinstance(entry, YamlTable):
        raise InputError(
            f"{file}:{entry.line}: an operator is a mapping with the fields {', '.join(FIELDS)}"
        )
    fields: dict[str, str] = {}
    for key, value in entry.pairs:
        if key.text not in FIELDS:
            raise InputError(
                f"{file}:{key.line}: unknown field '{key.text}'; fields are {', '.join(FIELDS)}"
            )
        if key.text in fields:
            raise InputError(f"{file}:{key.line}: duplicate field {key.text}")
        if not isinstance(value, Scalar) or value.kind != "str":
            raise InputError(f"{file}:{key.line}: the field {key.text} must be text")
        fields[key.text] = value.text
    return fields
