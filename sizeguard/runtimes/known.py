"""Find the known runtimes by name, by build or by project."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.errors import InputError
from sizeguard.base.nearest import nearest_names
from sizeguard.names import short
from sizeguard.runtimes.runtime import Models, Runtime, SourceTree

if TYPE_CHECKING:
    from sizeguard.builds.build_record import Build
    from sizeguard.operators.library import Operator
    from sizeguard.runtimes.build_facts import BuildFacts
    from sizeguard.selection.lint_rules import HasPlace
    from sizeguard.selection.selectable import Selectable
    from sizeguard.selection.selection import Selection

# The first one is for names that belong to no runtime.
NAMES = ("sizeguard", "executorch", "aten")


@functools.cache
def runtime_named(name: str) -> Runtime:
    """Return a runtime. Raises InputError, with the nearest name, for an unknown one."""
    if name not in NAMES:
        near = nearest_names(name, NAMES)
        hint = f"; nearest is {near[0]}" if near else ""
        raise InputError(f"unknown preset '{name}'{hint}; there are auto, {', '.join(NAMES)}")
    found = importlib.import_module(f"sizeguard.runtimes.{name}.runtime").RUNTIME
    if not isinstance(found, Runtime):
        raise TypeError(f"runtimes/{name}/runtime.py has no RUNTIME")
    return found


def runtimes() -> tuple[Runtime, ...]:
    """Return all runtimes, in the order of NAMES."""
    return tuple(runtime_named(name) for name in NAMES)


def kernel_of(symbol: str) -> str:
    """Return the kernel of a mangled symbol by the first runtime that knows it.

    Empty if none does.
    """
    return next(filter(None, (runtime.kernel_of(symbol) for runtime in runtimes())), "")


def short_name(symbol: str) -> str:
    """Shorten a mangled symbol: conv_body<float>, without the namespaces of runtimes."""
    hidden = [prefix for runtime in runtimes() for prefix in runtime.hidden_prefixes]
    return short.short_name(symbol, hidden)


def library(source: Path | None) -> dict[str, Operator]:
    """List the operators of the runtime in a source folder.

    source: None for the operators in this package of all runtimes that it builds
    """
    chosen = [each for each in runtimes() if source is None or each.has_sources(source)]
    return {name: each for runtime in chosen for name, each in runtime.library(source).items()}


def selectable(source: Path | None, kernels: Sequence[Path] = ()) -> Selectable:
    """List the names that selections for the runtime in a source folder can have.

    source: None for the names in this package of the runtimes that it builds
    kernels: folders with other kernels, which provide the tags and classes instead
    """
    from sizeguard.selection.selectable import Selectable

    chosen = [each for each in runtimes() if source is None or each.has_sources(source)]
    found = filter(None, (runtime.selectable(source, kernels) for runtime in chosen))
    return next(found, Selectable(()))


def translated(source: Path | None, selection: Selection) -> Selection:
    """Translate a selection of PyTorch's or ExecuTorch's tools for the runtime to build.

    source: the folder with its sources; None for the operators in this package
    """
    chosen = [each for each in runtimes() if source is None or each.has_sources(source)]
    return functools.reduce(lambda last, each: each.translated(source, last), chosen, selection)


def switches_in(folders: Iterable[Path]) -> dict[str, Sequence[HasPlace]]:
    """Find the dtype switches in kernel sources of any runtime, by tag."""
    places = list(folders)
    return {
        tag: uses for runtime in runtimes() for tag, uses in runtime.switches_in(places).items()
    }


def build_facts(build: Build) -> BuildFacts:
    """Read the dispatcher and dtype switches of a build.

    Raises InputError for a build of no known runtime, InconclusiveError if its facts are missing.
    """
    for runtime in runtimes():
        facts = runtime.facts(build)
        if facts is not None:
            return facts
    raise InputError(f"{build.image}: a build of no known runtime")


def facts_files(build: Build) -> list[Path]:
    """List the files that build_facts reads."""
    return [path for runtime in runtimes() for path in runtime.facts_files(build)]


def holds_sources(folder: Path) -> bool:
    """Return whether a folder holds the sources of a known runtime."""
    return any(runtime.has_sources(folder) for runtime in runtimes())


def built_from(folder: Path) -> Path | None:
    """Return the folder with the sources of a build, if its record has it."""
    found = (runtime.built_from(folder) for runtime in runtimes())
    return next(filter(None, found), None)


def source_tree(root: Path, source: Path | None = None) -> tuple[Runtime, SourceTree]:
    """Find the runtime that a project builds from sources.

    root: the project, with builds in build/
    source: the folder with the sources, if it is another one

    Raises InputError if there are no sources.
    """
    for runtime in runtimes():
        tree = runtime.source_tree(source or root, root)
        if tree is not None:
            return runtime, tree
    raise InputError(f"{source or root}: has no sources of a known runtime")


def models_of(root: Path, source: Path | None = None) -> Models:
    """Return the model runner of a project. Raises InputError if its runtime only reads models."""
    runtime, _ = source_tree(root, source)
    models = runtime.models(source or root)
    if models is None:
        raise InputError(f"{source or root}: models of {runtime.name} cannot be run")
    return models


def model_reader(source: Path | None) -> Models:
    """Return the reader of the models that a known runtime can run.

    source: the folder with its sources; None for the operators in this package
    """
    return next(filter(None, (runtime.models(source) for runtime in runtimes())))


def inputs_of(model: Path) -> Sequence[Sequence[Path]]:
    """List the input files of each bundled case beside a model."""
    return model_reader(None).inputs(model)
