"""Read and write the reviewed record of an app's last trace.

The file, in baselines/selections, has the hashes of the models. For each kernel that the selection
keeps, it lists the operators that the kernel's code calls and the dtype switches that it runs. A
trace sees only the branches that its inputs take. If the selection lacks an operator that a kernel
can call, the check passes if the record lists the call: it was reviewed. A call that the record
does not list is new.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read, path_below, write_if_changed
from sizeguard.base.fingerprint import file_hash
from sizeguard.base.input_files import readable
from sizeguard.base.yaml.nodes import Listing, Node, Scalar, parse_nodes
from sizeguard.base.yaml.text import yaml_list, yaml_table
from sizeguard.projects.project import App
from sizeguard.runtimes.known import inputs_of

# For types only: a gate without changes reads no section graph, and these imports take 40 ms.
if TYPE_CHECKING:
    from sizeguard.predict.full_build import FullBuild
    from sizeguard.selection.selection import Selection

FOLDER = Path("baselines") / "selections"
AT_LOAD = "(at load)"  # the calls of static initializers and of the program itself
_DIGITS = 16  # of a hash: enough to distinguish two exports of a model
_HASH = re.compile(r"[0-9a-f]{16}")
_LARGEST = 4 << 20  # bytes of a file; 182 operators take 10 KB


@dataclass(frozen=True, slots=True)
class Kernel:
    """The calls in the code of an operator's kernel, or of a class.

    calls: operators that it calls
    switches: tags of its dtype switches
    """

    calls: frozenset[str]
    switches: frozenset[str]


@dataclass(frozen=True, slots=True)
class ModelState:
    """Hashes of a model file and of the inputs beside it.

    inputs: empty if there are none
    """

    model: str
    inputs: str


@dataclass(frozen=True, slots=True)
class SelectionRecord:
    """The state in which a selection was traced.

    selection: hash of the file
    models: by path from the source tree
    kernels: all kernels of the selection, by operator or class
    """

    selection: str
    models: Mapping[str, ModelState]
    kernels: Mapping[str, Kernel]


def record_path(root: Path, app: App) -> Path:
    """Return the path of an app's record."""
    return root / FOLDER / f"{app.name}.yaml"


def record_of(root: Path, app: App, selection: Selection, full: FullBuild) -> SelectionRecord:
    """Make the record of the present state."""
    models = {shown_path(root, model): model_state(model) for model in app.models}
    kernels = {name: kernel_of(full, name) for name in kept_kernels(selection, full)}
    return SelectionRecord(short_hash(app.selection), models, kernels)


def kept_kernels(selection: Selection, full: FullBuild) -> tuple[str, ...]:
    """List operators and classes of the full build that the selection keeps, and AT_LOAD."""
    classes = (name for name in sorted(full.classes) if selection.is_class_selected(name))
    return (AT_LOAD, *selection.selected_operators(full.operators), *classes)


def kernel_of(full: FullBuild, name: str) -> Kernel:
    """Find the calls of one operator, class or AT_LOAD in the full build."""
    if name == AT_LOAD:
        return Kernel(full.dependencies.at_load, frozenset())
    return Kernel(full.dependencies.calls.get(name, frozenset()), full.tags.get(name, frozenset()))


def model_state(model: Path) -> ModelState:
    """Hash a model and its inputs.

    Raises InputError for a model that cannot be read.
    """
    inputs = [path for case in inputs_of(model) for path in case]
    text = "\n".join(f"{path.name} {file_hash(path)}" for path in inputs)
    return ModelState(
        short_hash(model), hashlib.sha256(text.encode()).hexdigest()[:_DIGITS] if inputs else ""
    )


def short_hash(path: Path) -> str:
    """Return the first digits of a file's hash."""
    return file_hash(path)[:_DIGITS]


def shown_path(root: Path, path: Path) -> str:
    """Write a path with slashes, relative to the source tree if it is inside."""
    return path_below(path, root) or path.as_posix()


def write_record(path: Path, app: str, record: SelectionRecord) -> bool:
    """Write one line for each model and kernel, so that diffs are readable.

    True if the file changed.
    """
    lines = [
        (
            f"# What the selection of {app} was traced with. `sizeguard select update --app "
            f"{app}` writes it."
        ),
        f"selection: '{record.selection}'",
        *yaml_table(
            "models",
            {
                name: f"{{model: '{s.model}', inputs: '{s.inputs}'}}"
                for name, s in record.models.items()
            },
        ),
        *yaml_table(
            "kernels",
            {
                name: f"{{calls: {yaml_list(k.calls)}, switches: {yaml_list(k.switches)}}}"
                for name, k in record.kernels.items()
            },
        ),
    ]
    return write_if_changed(path, "\n".join(lines) + "\n")


def read_record(path: Path) -> SelectionRecord | None:
    """Read a record; None if there is none.

    Raises InputError for a file that is not a record.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(
                f"{path}: larger than {_LARGEST:,} bytes, too large for the record of a selection"
            )
        content = readable(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cannot_read(path, error) from error
    # libyaml's events take a fifth of the time of safe_load.
    nodes = parse_nodes(content, path, "record", may_be_empty=True)
    try:
        return _record(_plain(nodes))
    except _NotARecordError as error:
        raise InputError(
            f"{path}: not the record of a selection: {error}; run sizeguard select update"
        ) from error


def _plain(node: Node) -> Any:
    """Return strings, lists and tables of them; None for other values, which records lack."""
    if isinstance(node, Scalar):
        return node.text if node.kind == "str" else None
    if isinstance(node, Listing):
        return [_plain(each) for each in node.items]
    return {_plain(key): _plain(value) for key, value in node.pairs}


class _NotARecordError(ValueError):
    """An error in the content of a record file."""


def _record(content: Any) -> SelectionRecord:
    top = _fields(content, ("selection", "models", "kernels"), "it")
    models = {}
    for name, entry in _named(top["models"], "models"):
        state = _fields(entry, ("model", "inputs"), name)
        models[name] = ModelState(
            _hash(state["model"], name),
            _hash(state["inputs"], name) if state["inputs"] != "" else "",
        )
    kernels = {}
    for name, entry in _named(top["kernels"], "kernels"):
        kernel = _fields(entry, ("calls", "switches"), name)
        kernels[name] = Kernel(_words(kernel["calls"], name), _words(kernel["switches"], name))
    return SelectionRecord(_hash(top["selection"], "selection"), models, kernels)


def _fields(content: Any, names: Sequence[str], what: str) -> dict[str, Any]:
    if not isinstance(content, dict) or set(content) != set(names):
        raise _NotARecordError(f"{what} has the keys {', '.join(names)}")
    return content


def _named(content: Any, what: str) -> Iterable[tuple[str, Any]]:
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise _NotARecordError(f"{what} is a table of names")
    return content.items()


def _hash(value: Any, what: str) -> str:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise _NotARecordError(f"the hash of {what} has {_DIGITS} digits")
    return value


def _words(value: Any, what: str) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _NotARecordError(f"{what} has lists of names")
    return frozenset(value)
