"""Read pytorch_names.yaml: PyTorch's names for a runtime's operators and kernel tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.yaml.nodes import Listing, Node, Scalar, YamlTable, read_nodes

_KEYS = ("operators", "features", "tags", "kernels")


@dataclass(frozen=True, slots=True)
class PytorchNames:
    """PyTorch's names, with the equivalent names of a runtime.

    operators: overloads that write into an argument, and copies of views → functional overload
    tags:      PyTorch's kernel tag → tags of the runtime's kernels for the same operators
    kernels:   operator of the runtime → PyTorch's kernel tags in a trace of it
    features:  build features of the runtime that PyTorch always has, so files do not name them
    """

    operators: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, frozenset[str]] = field(default_factory=dict)
    kernels: Mapping[str, frozenset[str]] = field(default_factory=dict)
    features: frozenset[str] = frozenset()

    def functional(self, name: str) -> str:
        """Return the operator for a name: aten::add.Tensor for aten::add.out.

        Exported programs call aten::mm `aten::mm.default`.
        """
        plain = name.removesuffix(".default")
        return self.operators.get(plain, plain)


def read_pytorch_names(files: Iterable[Path]) -> PytorchNames:
    """Read files of names; later files add to earlier ones.

    Raises InputError, with the place, for a malformed file.
    """
    operators: dict[str, str] = {}
    tags: dict[str, frozenset[str]] = {}
    kernels: dict[str, frozenset[str]] = {}
    features: frozenset[str] = frozenset()
    for path in files:
        top = _table(read_nodes(path, "table of names"), path)
        for key, node in top.items():
            if key not in _KEYS:
                raise InputError(
                    f"{path}:{node.line}: unknown key '{key}'; keys are {', '.join(_KEYS)}"
                )
            if key == "features":
                features |= _texts(node, path)
                continue
            for name, value in _table(node, path).items():
                if key == "operators":
                    operators[name] = _text(value, path)
                else:
                    of = tags if key == "tags" else kernels
                    of[name] = of.get(name, frozenset()) | _texts(value, path)
    return PytorchNames(operators, tags, kernels, features)


def _table(node: Node, path: Path) -> dict[str, Node]:
    if not isinstance(node, YamlTable):
        raise InputError(f"{path}:{node.line}: expected a mapping of names")
    return {key.text: value for key, value in node.pairs}


def _texts(node: Node, path: Path) -> frozenset[str]:
    if not isinstance(node, Listing):
        raise InputError(f"{path}:{node.line}: expected a list of names")
    return frozenset(_text(item, path) for item in node.items)


def _text(node: Node, path: Path) -> str:
    if not isinstance(node, Scalar) or node.kind != "str":
        raise InputError(f"{path}:{node.line}: expected a name")
    return node.text
