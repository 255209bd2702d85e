"""Write native/operators/pytorch_names.yaml: PyTorch's names for this runtime's operators and tags.

    python -m tests.generators.pytorch_names [--check]

Run it with a Python that has torch 2.13 and pyyaml; it takes one minute. Overloads come from
torchgen. Kernel tags come from PyTorch itself: every operator is called with dtypes that no kernel
has, and the refusal names the tag. Tags that appear in no refusal are listed here, and must be
strings of libtorch_cpu. --check writes nothing and fails if the file would change.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
import torchgen
import yaml
from torchgen.gen import parse_native_yaml
from torchgen.model import NativeFunction, SchemaKind

from tests.generators.operator_vectors import FAMILIES, operator_names
from tests.generators.vector_cases import recorder
from tests.support.places import ROOT

OPERATORS = ROOT / "native" / "operators"
OUTPUT = OPERATORS / "pytorch_names.yaml"
HEADER = """\
# PyTorch's names for what this runtime has, as torch 2.13 says them. Written by
# tests/generators/pytorch_names.py.
#
# operators: overloads that write into an argument, and copies of views → the functional overload
# features:  what PyTorch has always and files do not name
# tags:      PyTorch's kernel tag → the tags of this runtime's kernels for the same operators
# kernels:   operator → PyTorch's kernel tags that a trace of it shows
"""

# PyTorch verifies programs when it loads them.
_FEATURES = ("program_verification",)

_REFUSAL = re.compile(r'^"([^"]+)" not implemented for')
_ODD = (
    "float8_e5m2", "uint16", "uint64", "complex64", "complex32", "bool", "bits8", "uint8", "int8",
    "int32", "int64", "float16", "bfloat16", "float64",
)  # fmt: skip
_CALLS = 400  # per operator, of unlike kinds; the first _VARIED also vary each tensor separately
_VARIED = 60

# Operators that call others inside PyTorch; the tags in their refusals belong to the others.
_COMPOSITE = frozenset(
    f"aten::{name}"
    for name in (
        "scaled_dot_product_attention", "lstm.input", "convolution", "conv2d", "linear", "matmul",
        "batch_norm", "adaptive_avg_pool2d", "layer_norm", "softmax.int", "log_softmax.int",
    )
)  # fmt: skip

# Operators of tags that kernels of several operators use, or that no refusal names.
_OWNERS: Mapping[str, tuple[str, ...]] = {
    "LayerNormKernelImpl": ("native_layer_norm",),
    "adaptive_avg_pool2d": ("_adaptive_avg_pool2d",),
    "adaptive_avg_pool2d_channels_last": ("_adaptive_avg_pool2d",),
    "addmv_impl_cpu": ("mm", "addmm"),
    "batch_norm": ("_native_batch_norm_legit_no_training",),
    "batch_norm_cpu": ("_native_batch_norm_legit_no_training",),
    "batch_norm_cpu_channels_last": ("_native_batch_norm_legit_no_training",),
    "cat_serial_kernel": ("cat",),
    "clamp_cpu": ("clamp",),
    "compute_columns3d": ("convolution",),
    "copy_": ("copy_", "_to_copy", "to.dtype", "clone", "contiguous"),
    "copy_kernel": ("copy_", "_to_copy", "to.dtype", "clone", "contiguous"),
    "div_cpu": ("div.Tensor", "div.Tensor_mode"),
    "div_cpu_reduced_float": ("div.Tensor", "div.Tensor_mode"),
    "dot": ("mm", "bmm"),
    "embedding": ("embedding",),
    "fill_cpu": ("fill_.Scalar", "full", "full_like", "zeros", "ones", "constant_pad_nd"),
    "fill_out": ("fill_.Scalar", "full", "full_like", "scalar_tensor"),
    "gemm": ("mm", "addmm", "bmm"),
    "index_select": ("index_select", "embedding"),
    "eq_cpu": ("eq.Tensor", "eq.Scalar"),
    "ne_cpu": ("ne.Tensor", "ne.Scalar"),
    "mul_cpu": ("mul.Tensor", "mul.Scalar", "mul_.Tensor"),
    "mul_cpu_reduced_float": ("mul.Tensor", "mul.Scalar", "mul_.Tensor"),
    "reciprocal_cpu": ("reciprocal",),
    "rsqrt_cpu": ("rsqrt",),
    "slow_conv2d_cpu": ("convolution",),
    "slow_conv_dilated<>": ("convolution",),
    "slow_conv_transpose2d_out_cpu": ("convolution",),
    "sqrt_vml_cpu": ("sqrt",),
    "stack_serial_kernel": ("stack",),
    "std_var_all_cpu": ("var.correction",),
    "unfolded2d_copy": ("convolution",),
    "unfolded2d_copy_channels_last": ("convolution",),
    "where": ("where.self",),
}


def overloads(ours: Iterable[str]) -> dict[str, str]:
    """Map overloads with `out`, and copies of views, to our functional operators."""
    folder = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
    parsed = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml"))
    functions = {f"aten::{each.func.name}": each for each in parsed.native_functions}
    found: dict[str, str] = {}
    # In-place operators come last, so the functional one is found first.
    for name in sorted(ours, key=lambda name: (name.partition(".")[0].endswith("_"), name)):
        base, dot, overload = name.partition(".")
        function = functions.get(name)
        copy = functions.get(f"{base}_copy{dot}{overload}")
        for each in filter(None, (function, copy)):
            for out in _writing(each, parsed.native_functions):
                found.setdefault(out, name)
        if copy is not None:
            found.setdefault(f"aten::{copy.func.name}", name)
    for base in ("add", "sub", "div"):  # numbers are tensors without dimensions here
        found |= dict.fromkeys((f"aten::{base}.Scalar", f"aten::{base}.Scalar_out"),
                               f"aten::{base}.Tensor")  # fmt: skip
    found["aten::div.Scalar_mode"] = found["aten::div.Scalar_mode_out"] = "aten::div.Tensor_mode"
    found["dim_order_ops::_to_dim_order_copy.out"] = "aten::_to_copy"
    found["dim_order_ops::_clone_dim_order.out"] = "aten::clone"
    for name in ours:
        if name.startswith("quantized_decomposed::"):
            found[f"{name}.out"] = name
    return {name: ours for name, ours in found.items() if name not in set(operator_names())}


def _writing(function: NativeFunction, functions: Iterable[NativeFunction]) -> list[str]:
    """Return the overloads that write the same result to an argument."""
    signature = function.func.signature()
    return [
        f"aten::{each.func.name}"
        for each in functions
        if each.func.kind() == SchemaKind.out and each.func.signature() == signature
    ]


class _Probe:
    """An operator that is called with odd dtypes before each call."""

    def __init__(self, name: str, function: Any, found: set[str]) -> None:
        self._schema = function._schema
        self._function = function
        self._found = found
        self._kinds = set[object]()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        kind = _kind([list(arguments), *named.items()])
        if kind not in self._kinds and len(self._kinds) < _CALLS:
            self._kinds.add(kind)
            for dtype in [getattr(torch, name) for name in _ODD if hasattr(torch, name)]:
                self._try([_with(a, dtype) for a in arguments],
                          {key: _with(a, dtype) for key, a in named.items()})  # fmt: skip
                if "dtype" in named:
                    self._try(arguments, {**named, "dtype": dtype})
                if len(self._kinds) <= _VARIED:
                    for i, argument in enumerate(arguments):
                        if isinstance(argument, torch.Tensor):
                            varied = [_copied(a) for a in arguments]
                            varied[i] = _with(argument, dtype)
                            self._try(varied, named)
        return self._function(*arguments, **named)

    def _try(self, arguments: Iterable[Any], named: Mapping[str, Any]) -> None:
        try:
            self._function(*arguments, **named)
        except recorder.REFUSED as error:
            match = _REFUSAL.match(str(error))
            if match:
                self._found.add(match[1])


def _kind(value: Any) -> object:
    """Return what chooses a kernel: dtypes, the class of each size, the order of strides.

    Most calls of a family differ only in their numbers.
    """
    if isinstance(value, list | tuple):
        return tuple(map(_kind, value))
    if not isinstance(value, torch.Tensor):
        return value if isinstance(value, bool | str | torch.dtype) else type(value)
    order = sorted(range(value.dim()), key=lambda at: -value.stride(at))
    return value.dtype, tuple(min(size, 2) for size in value.shape), tuple(order)


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _with(value: Any, dtype: torch.dtype) -> Any:
    """Convert tensors to another dtype; their values do not matter."""
    if isinstance(value, list):
        return [_with(item, dtype) for item in value]
    if not isinstance(value, torch.Tensor):
        return value
    try:
        return torch.empty_strided(value.shape, value.stride(), dtype=dtype).copy_(value)
    except RuntimeError:
        return torch.empty_strided(value.shape, value.stride(), dtype=dtype)


def refused_tags(names: Iterable[str]) -> dict[str, set[str]]:
    """Return kernel tag → our operators whose refusals name it."""
    found: dict[str, set[str]] = defaultdict(set)
    probes: dict[str, _Probe] = {}
    find = recorder.find

    def probe(name: str) -> Any:
        if name not in probes:
            probes[name] = _Probe(name, find(name), found[name])
        return probes[name]

    recorder.find = probe
    for family in FAMILIES:
        importlib.import_module(f"tests.generators.vector_cases.{family}")
    for name in names:
        recorder.GENERATORS[name](recorder.Recorder(name))
        print(name, *sorted(found[name]), file=sys.stderr, flush=True)
    tags: dict[str, set[str]] = defaultdict(set)
    for name, shown in found.items():
        for tag in shown:
            tags[tag].add(name)
    return tags


def owners(tags: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """Return kernel tag → the operators that it belongs to."""
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    strings = library.read_bytes()
    result = {}
    for tag in sorted({*tags, *_OWNERS}):
        if b"\0" + tag.encode() + b"\0" not in strings:
            raise SystemExit(f"{tag}: no string of {library}")
        chosen = {f"aten::{name}" for name in _OWNERS.get(tag, ())} or tags[tag] - _COMPOSITE
        if not chosen:
            raise SystemExit(f"{tag}: only of {', '.join(sorted(tags[tag]))}; name its operators")
        result[tag] = sorted(chosen)
    return result


def content(names: Mapping[str, str], owned: Mapping[str, list[str]]) -> str:
    """Return the content of the file."""
    entries = yaml.safe_load((OPERATORS / "op_deps.yaml").read_text())
    runs = {entry["name"]: entry.get("tags", []) for entry in entries}
    calls = {entry["name"]: [d["name"] for d in entry.get("depends", [])] for entry in entries}
    lines = ["operators:", *(f"  {name}: {names[name]}" for name in sorted(names))]
    lines += [f"features: [{', '.join(_FEATURES)}]", "tags:"]
    kernels: dict[str, list[str]] = defaultdict(list)
    for tag, operators in owned.items():
        own: set[str] = set()
        for name in operators:
            kernels[name].append(tag)
            # A kernel of this runtime may call another operator.
            own.update(*(runs.get(each, []) for each in (name, *calls.get(name, []))))
        word = tag if re.fullmatch(r"\w+", tag) else f"'{tag}'"
        lines.append(f"  {word}: [{', '.join(sorted(own))}]")
    lines.append("kernels:")
    for name in sorted(kernels):
        words = ", ".join(t if re.fullmatch(r"\w+", t) else f"'{t}'" for t in kernels[name])
        lines.append(f"  {name}: [{words}]")
    return HEADER + "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)  # tensors are small: waiting threads cost more than they save
    names = operator_names()
    text = content(overloads(names), owners(refused_tags(names)))
    if "--check" in arguments:
        raise SystemExit(0 if OUTPUT.read_text() == text else f"{OUTPUT}: would be another")
    OUTPUT.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
