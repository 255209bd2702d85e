"""List the names that selections of our runtime can have, from its full build and newer sources."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sizeguard.claims.names_file import read_names
from sizeguard.operators.library import read_operator_libraries
from sizeguard.runtimes.sizeguard.native_tree import (
    FOLDER,
    kernel_folders,
    names_file,
    op_deps,
    operator_files,
    pytorch_names,
)
from sizeguard.runtimes.sizeguard.sources.asked_names import scan_classes, scan_features
from sizeguard.runtimes.sizeguard.sources.tags import scan_tags, source_files
from sizeguard.selection.selectable import Selectable


def selectable_names(source: Path | None, kernels: Sequence[Path] = ()) -> Selectable:
    """List the names in a folder with sources; None for those in this package.

    kernels: folders with other kernels, which provide the tags and classes instead
    """
    names = read_names(names_file(source))
    dtypes = dict(names.dtypes)
    classes, features = set(names.classes), set(names.features)
    operators = read_operator_libraries(operator_files(source))
    if source is not None:
        files = source_files([source / FOLDER])
        classes |= {*scan_classes(files)}
        features |= {*scan_features(files)}
        dtypes |= dict.fromkeys(scan_tags(kernel_folders(source)).keys() - dtypes.keys(), ())
    if not kernels:
        return Selectable(
            operators, dtypes, classes, features, op_deps(source), pytorch_names(source)
        )
    files = source_files(kernels)
    tags = dict.fromkeys(scan_tags(files), ())
    return Selectable(operators, tags, scan_classes(files), features | {*scan_features(files)})
