"""Read the operators of kernel libraries from operators.yaml files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read
from sizeguard.base.input_files import readable
from sizeguard.operators.schema import FunctionSchema
from sizeguard.operators.schema_parser import SchemaError, parse_schema

KINDS = ("core", "composite", "primitive")
DISPATCH_KEYS = ("CPU", "QuantizedCPU")
FIELDS = ("func", "kernel", "kind", "dispatch", "wrap")

MAXIMUM_FILE_SIZE = 16 << 20  # bytes; PyTorch's own native_functions.yaml has 0.6 MB


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


def _read_file(file: Path) -> list[Operator]:
    try:
        if file.stat().st_size > MAXIMUM_FILE_SIZE:
            raise InputError(
                f"{file}: larger than {MAXIMUM_FILE_SIZE} bytes; no list of operators is"
            )
        text = readable(file).read_text(encoding="utf-8")
    except OSError as error:
        raise cannot_read(file, error) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8 text (byte {error.start})") from error
    try:
        # Nodes, unlike values, have line numbers, and composing them runs no constructors.
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{file}:{line}: not YAML: {error.problem}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{file}: not YAML: {str(error).splitlines()[0]}") from error
    if root is None:
        return []
    if not isinstance(root, yaml.SequenceNode):
        raise InputError(f"{file}:1: expected a list of operators")
    return [_operator(entry, file) for entry in root.value]


def _operator(entry: yaml.Node, file: Path) -> Operator:
    line = entry.start_mark.line + 1
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
    library = file.resolve().parent.name
    return Operator(schema, fields["kernel"], fields["kind"], dispatch, wrap, library, file, line)


def _fields(entry: yaml.Node, file: Path) -> dict[str, str]:
    if not isinstance(entry, yaml.MappingNode):
        raise InputError(
            f"{file}:{entry.start_mark.line + 1}: an operator is a mapping with the fields"
            f" {', '.join(FIELDS)}"
        )
    fields: dict[str, str] = {}
    for key, value in entry.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or key.value not in FIELDS:
            shown = key.value if isinstance(key, yaml.ScalarNode) else "that is not a word"
            raise InputError(
                f"{file}:{line}: unknown field '{shown}'; fields are {', '.join(FIELDS)}"
            )
        if key.value in fields:
            raise InputError(f"{file}:{line}: duplicate field {key.value}")
        if not isinstance(value, yaml.ScalarNode) or value.tag != "tag:yaml.org,2002:str":
            raise InputError(f"{file}:{line}: the field {key.value} must be text")
        fields[key.value] = value.value
    return fields
