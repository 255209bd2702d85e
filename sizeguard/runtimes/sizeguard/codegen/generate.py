"""Generate the files of a build's output folder from kernel libraries and a selection."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.files import write_if_changed
from sizeguard.operators.library import DISPATCH_KEYS, Operator, read_operator_libraries
from sizeguard.runtimes.sizeguard.codegen.headers import selection_headers
from sizeguard.runtimes.sizeguard.codegen.registration import check_prototypes, registration_source
from sizeguard.runtimes.sizeguard.codegen.typed_calls import ops_files
from sizeguard.runtimes.sizeguard.sources.asked_names import scan_classes, scan_features
from sizeguard.runtimes.sizeguard.sources.tags import (
    TagUse,
    scan_guards,
    scan_tags,
    source_files,
)
from sizeguard.runtimes.sizeguard.sources.verbose_texts import scan_verbose_texts
from sizeguard.selection.resolve import check_names, effective_selection
from sizeguard.selection.selectable import Selectable
from sizeguard.selection.selection import Selection
from sizeguard.selection.write import OUTPUTS, format_selection

_LIBRARY = re.compile(r"[\w.:+-]+", re.ASCII)  # a string and a comment of C++ contain it


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of code generation.

    kernel_sources: files and folders with the dtype switches of this selection
    source:         name of the selection in error messages
    all_dtypes:     keep every dtype of every tag
    dispatch_keys:  operators of other keys are not registered
    library:        the name under which the operators are registered
    """

    operators_yaml: tuple[Path, ...]
    kernel_sources: tuple[Path, ...]
    selection: Selection
    source: str
    all_dtypes: bool
    dispatch_keys: tuple[str, ...]
    library: str


def generate(inputs: Inputs) -> Mapping[str, str]:
    """Generate all files, by path in the output folder.

    Raises InputError for unknown names and for overlaps.
    """
    for key in inputs.dispatch_keys:
        if key not in DISPATCH_KEYS:
            raise InputError(f"unknown dispatch key {key}; there are {', '.join(DISPATCH_KEYS)}")
    if not _LIBRARY.fullmatch(inputs.library):
        raise InputError(
            f"--library-name: {ascii(inputs.library)[:80]} is not a name of letters, digits and any"
            " of . : + - _"
        )
    operators = read_operator_libraries(inputs.operators_yaml)
    check_prototypes(operators.values())
    tags = scan_tags(inputs.kernel_sources)
    sources = source_files(inputs.kernel_sources)
    known = Selectable(
        operators, dict.fromkeys(tags, ()), scan_classes(sources), scan_features(sources)
    )
    features = known.features or ()
    # Without dtype selection, dtypes are not looked up, either.
    selection = (
        replace(inputs.selection, kernel_metadata={}) if inputs.all_dtypes else inputs.selection
    )
    check_names(selection, inputs.source, known)
    effective = effective_selection(selection, operators, tags, all_dtypes=inputs.all_dtypes)

    header, source = ops_files(operators.values())
    files = {"generated/ops.h": header, "generated/ops.cpp": source}
    selected = [operators[name] for name in effective.selected_operators(operators)]
    for key in DISPATCH_KEYS:
        registered = selected if key in inputs.dispatch_keys else list[Operator]()
        files[f"generated/Register{key}.cpp"] = registration_source(inputs.library, key, registered)
    headers = selection_headers(effective, tags, features)
    files.update({f"selected/{name}": text for name, text in headers.items()})
    files["selected_operators.yaml"] = format_selection(effective)
    files["kernel_tags.json"] = _source_facts(inputs.kernel_sources, tags)
    files[OUTPUTS] = "".join(f"{name}\n" for name in sorted(files))
    return files


def _source_facts(sources: Sequence[Path], tags: Mapping[str, Sequence[TagUse]]) -> str:
    """Return the facts about the sources that predictions use.

    These are the places of each tag's switches and guards, and the messages of verbose_errors.
    """
    content = {
        "schema_version": 1,
        "tags": {tag: [_place(use) for use in uses] for tag, uses in tags.items()},
        "guards": {
            tag: [_place(use) for use in uses] for tag, uses in scan_guards(sources).items()
        },
        "verbose_texts": list(scan_verbose_texts(sources)),
    }
    return json.dumps(content, indent=1) + "\n"


def _place(use: TagUse) -> dict[str, object]:
    return {"file": use.file.name, "line": use.line, "function": use.function, "macro": use.macro}


def write_outputs(directory: Path, files: Mapping[str, str]) -> list[str]:
    """Write changed files, and remove headers and registrations that are no longer generated.

    Returns the names of both.
    """
    changed = [name for name, text in files.items() if write_if_changed(directory / name, text)]
    stale = [*directory.glob("selected/*.h"), *directory.glob("generated/Register*.cpp")]
    for path in stale:
        name = path.relative_to(directory).as_posix()
        if name not in files:
            path.unlink()
            changed.append(name)
    return sorted(changed)
