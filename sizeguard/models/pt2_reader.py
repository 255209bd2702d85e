"""Read a file of torch.export.save (.pt2), a zip of a JSON graph and raw weights.

Nothing is unpickled. Files are untrusted: missing fields, wrong types and offsets beyond the file
raise InputError.
"""

from __future__ import annotations

from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.models.exported_program import (
    MAXIMUM_DIMENSIONS,
    Argument,
    DtypeArgument,
    ExportedProgram,
    Graph,
    GraphArgument,
    InputSpec,
    Name,
    Node,
    OutputSpec,
    SymbolBounds,
    TensorMeta,
    Unsupported,
    Weight,
)
from sizeguard.models.json_fields import Json
from sizeguard.models.zip_entries import Pt2Archive, open_archive
from sizeguard.operators.dtypes import NAME_OF_PT2

SCHEMA_MAJOR = 8  # version of the export schema; minor versions only add fields
STRIDED = 7  # the schema's code of the strided layout
# The schema's codes → c10's: contiguous, channels last, channels last 3d, preserve
MEMORY_FORMATS = {1: 0, 2: 2, 3: 3, 4: 1}
MAXIMUM_NESTING = 50  # levels of nested graphs


def read_exported_program(path: Path, with_weights: bool = True) -> ExportedProgram:
    """Read a .pt2 file; without weights if only its operators are needed.

    Raises InputError for a file that cannot be read.
    """
    archive = open_archive(path)
    with archive.file:
        model = _model_name(archive)
        root = archive.read_json(f"models/{model}.json")
        version = root.field("schema_version").field("major").integer()
        if version != SCHEMA_MAJOR:
            raise InputError(
                f"{path}: export schema version {version}, but only {SCHEMA_MAJOR} is supported; "
                f"export with a PyTorch that writes it"
            )
        module = root.field("graph_module")
        signature = module.field("signature")
        constraints = root.get("range_constraints")
        weights = _all_weights(archive, model) if with_weights else {}
        data = _weight_data(archive, weights) if with_weights else None
        return ExportedProgram(
            path=path,
            graph=_graph(module.field("graph"), 0),
            inputs=tuple(_input_spec(spec) for spec in signature.field("input_specs").items()),
            outputs=tuple(_output_spec(spec) for spec in signature.field("output_specs").items()),
            ranges=(
                {name: _range(value) for name, value in constraints.fields()} if constraints else {}
            ),
            weights=weights,
            data=data,
        )


def _model_name(archive: Pt2Archive) -> str:
    names = sorted(
        name[len("models/") : -len(".json")]
        for name in archive.names
        if name.startswith("models/") and name.endswith(".json")
    )
    if not names:
        old = "serialized_exported_program.json" in archive.names or "graph" in archive.names
        advice = "; an older PyTorch wrote it: export it again" if old else ""
        raise InputError(f"{archive.path}: contains no exported model (models/*.json){advice}")
    if len(names) > 1:
        raise InputError(
            f"{archive.path}: contains {len(names)} models ({', '.join(names[:5])}); export them "
            f"to separate files"
        )
    return names[0]


def _all_weights(archive: Pt2Archive, model: str) -> dict[str, Weight]:
    if archive.names.get("byteorder") and archive.read("byteorder").strip() != b"little":
        raise InputError(
            f"{archive.path}: the weights are big-endian; save the model on a little-endian machine"
        )
    weights = _weights(archive, f"data/weights/{model}_weights_config.json", "data/weights")
    constants = _weights(archive, f"data/constants/{model}_constants_config.json", "data/constants")
    return weights | constants


def _weight_data(archive: Pt2Archive, weights: dict[str, Weight]) -> dict[str, bytes]:
    entries = sorted({weight.entry for weight in weights.values()})
    return {entry: archive.read(entry) for entry in entries}


def _weights(archive: Pt2Archive, config: str, folder: str) -> dict[str, Weight]:
    if config not in archive.names:
        return {}
    weights: dict[str, Weight] = {}
    for name, payload in archive.read_json(config).field("config").fields():
        if payload.field("use_pickle").boolean():
            raise InputError(
                f"{archive.path}: {name} is pickled, and pickles are never read; export it as a "
                f"plain tensor"
            )
        weights[name] = Weight(
            _tensor_meta(payload.field("tensor_meta")),
            f"{folder}/{payload.field('path_name').name()}",
        )
    return weights


def _graph(graph: Json, depth: int) -> Graph:
    if depth > MAXIMUM_NESTING:
        raise InputError(f"{graph.where}: graphs nested more than {MAXIMUM_NESTING} deep")
    return Graph(
        inputs=tuple(_argument(item, depth) for item in graph.field("inputs").items()),
        outputs=tuple(_argument(item, depth) for item in graph.field("outputs").items()),
        nodes=tuple(_node(node, depth) for node in graph.field("nodes").items()),
        tensors={name: _tensor_meta(meta) for name, meta in graph.field("tensor_values").fields()},
    )


def _node(node: Json, depth: int) -> Node:
    outputs = tuple(_argument(item, depth) for item in node.field("outputs").items())
    name = node.get("name")
    inputs = tuple(
        (item.field("name").name(), _argument(item.field("arg"), depth))
        for item in node.field("inputs").items()
    )
    shown = (
        name.name()
        if name
        else next((output.name for output in outputs if isinstance(output, Name)), "without a name")
    )
    return Node(shown, node.field("target").name(), inputs, outputs)


# More than 40 lines: one case for each kind, in one list.
def _argument(union: Json, depth: int) -> Argument:
    """Read an argument; each kind of the export schema has a case."""
    kind, value = union.union()
    match kind:
        case "as_none":
            return None
        case "as_tensor":
            return Name(value.field("name").name(), "tensor")
        case "as_int":
            return value.integer()
        case "as_float":
            return value.number()
        case "as_bool":
            return value.boolean()
        case "as_string":
            return value.text()
        case "as_sym_int" | "as_sym_bool" | "as_sym_float":
            return _symbol(value, kind.removeprefix("as_sym_"))
        case "as_sym_ints" | "as_sym_bools" | "as_sym_floats":
            return tuple(_symbol(item, kind.removeprefix("as_sym_")[:-1]) for item in value.items())
        case "as_tensors":
            return tuple(Name(item.field("name").name(), "tensor") for item in value.items())
        case "as_optional_tensor" | "as_optional_tensors":
            items = tuple(
                _argument(item, depth) for item in (value.items() if kind[-1] == "s" else (value,))
            )
            return items if kind[-1] == "s" else items[0]
        case "as_ints":
            return tuple(item.integer() for item in value.items())
        case "as_floats":
            return tuple(item.number() for item in value.items())
        case "as_bools":
            return tuple(item.boolean() for item in value.items())
        case "as_scalar_type":
            return DtypeArgument(_dtype(value))
        case "as_memory_format" if value.integer() in MEMORY_FORMATS:
            return MEMORY_FORMATS[value.integer()]
        case "as_layout" if value.integer() == STRIDED:
            return 0
        case "as_device":
            return None  # there is one device
        case "as_graph":
            return GraphArgument(
                value.field("name").name(), _graph(value.field("graph"), depth + 1)
            )
    return Unsupported(kind)


def _symbol(union: Json, kind: str) -> Argument:
    """Read a number, or the name of a number that is known at run time."""
    key, value = union.union()
    if key == "as_name":
        return Name(value.name(), kind)
    if key != f"as_{kind}":
        raise union.wrong(f"as_name or as_{kind}")
    return (
        value.integer() if kind == "int" else value.boolean() if kind == "bool" else value.number()
    )


def _dtype(code: Json) -> str:
    if code.integer() not in NAME_OF_PT2:
        raise code.wrong("a dtype code of the export schema")
    return NAME_OF_PT2[code.integer()]


def _tensor_meta(meta: Json) -> TensorMeta:
    sizes = tuple(_size(item) for item in meta.field("sizes").items())
    strides = tuple(_size(item) for item in meta.field("strides").items())
    if len(sizes) != len(strides):
        raise InputError(f"{meta.where}: {len(sizes)} sizes, {len(strides)} strides")
    if len(sizes) > MAXIMUM_DIMENSIONS:
        raise InputError(
            f"{meta.where}: {len(sizes)} dimensions; the runtime supports at most "
            f"{MAXIMUM_DIMENSIONS}"
        )
    return TensorMeta(
        _dtype(meta.field("dtype")), sizes, strides, _size(meta.field("storage_offset"))
    )


def _size(union: Json) -> int | str:
    kind, value = union.union()
    return value.field("expr_str").name() if kind == "as_expr" else value.size()


def _range(value: Json) -> SymbolBounds:
    minimum, maximum = value.get("min_val"), value.get("max_val")
    return SymbolBounds(
        minimum.integer() if minimum else None, maximum.integer() if maximum else None
    )


def _input_spec(union: Json) -> InputSpec:
    kind, spec = union.union()
    match kind:
        case "user_input":
            return InputSpec("user", _argument(spec.field("arg"), 0))
        case "parameter" | "buffer" | "tensor_constant":
            argument = Name(spec.field("arg").field("name").name(), "tensor")
            return InputSpec("weight", argument, target=spec.field(f"{kind}_name").name())
        case "constant_input":
            key, value = spec.field("value").union()
            if key not in ("as_none", "as_int", "as_float", "as_string", "as_bool"):
                raise value.wrong("a constant")
            constant = _argument(spec.field("value"), 0)
            if isinstance(constant, bool | int | float | str | None):
                return InputSpec(
                    "constant",
                    Name(spec.field("name").name(), key.removeprefix("as_")),
                    value=constant,
                )
    raise InputError(f"{union.where}: inputs of the kind {ascii(kind)[1:-1]} are not supported")


def _output_spec(union: Json) -> OutputSpec:
    kind, spec = union.union()
    if kind == "user_output":
        return OutputSpec("user")
    for target in ("buffer_name", "user_input_name", "parameter_name"):
        if kind.endswith("_mutation") and spec.get(target):
            return OutputSpec("mutation", spec.field(target).name())
    return OutputSpec("other")
