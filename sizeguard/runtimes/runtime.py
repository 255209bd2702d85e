"""The protocol Runtime: everything that the other rooms ask of one inference runtime."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sizeguard.base.errors import InputError

# For types alone: builds and rules import numpy, 0.2 s that the completion of a command line and
# the reading of sizeguard.yaml do not need.
if TYPE_CHECKING:
    from sizeguard.builds.build_record import Build
    from sizeguard.claims.claim import ClaimSet, Vocabulary
    from sizeguard.claims.universe import BuildNames, Universe
    from sizeguard.models.operator_info import OperatorInfo
    from sizeguard.names.rules import Rules
    from sizeguard.operators.library import Operator
    from sizeguard.runtimes.build_facts import BuildFacts
    from sizeguard.selection.lint_rules import HasPlace
    from sizeguard.selection.op_deps import OpDeps
    from sizeguard.selection.selectable import Selectable
    from sizeguard.selection.selection import Selection
    from sizeguard.toolchains.recipe import Recipe
    from sizeguard.toolchains.toolchain import Toolchain

VARIANTS = ("full", "instrumented", "core", "selective")
OPTIMIZATIONS = ("s", "2")
LINKS = ("executable", "static", "static-pie", "shared")
LTO = ("full", "thin")


@dataclass(frozen=True, slots=True)
class ModelRun:
    """One run of a program on a build.

    outputs: the hash of everything that was written; empty if the program failed
    message: why it failed
    missing: operators and classes that the build lacks
    cached:  the run was not repeated
    """

    outputs: str
    message: str = ""
    missing: tuple[str, ...] = ()
    cached: bool = False


class Models(Protocol):
    """Prepare, run and trace models of a runtime."""

    def prepare(self, model: Path, folder: Path) -> Path:
        """Make the program that runs, kept in the folder. Raises InputError for a bad model."""
        ...

    def inputs(self, model: Path) -> Sequence[Sequence[Path]]:
        """List the input files of each bundled case beside a model."""
        ...

    def is_input(self, name: str) -> bool:
        """Return whether a file of that name beside a model is an input of one of its cases."""
        ...

    def operators(self, program: Path) -> OperatorInfo:
        """Read the operators that a program names."""
        ...

    def library_files(self) -> Sequence[Path]:
        """Files that say which operators a model may name."""
        ...

    def case_count(self, program: Path) -> int:
        """Return the number of bundled inputs of a program."""
        ...

    def run_inputs(self, build: Build, program: Path, case: int) -> Mapping[str, object]:
        """Everything that the outputs of a run depend on."""
        ...

    def run(self, build: Build, program: Path, case: int, timeout: float) -> ModelRun:
        """Run one bundled input on one build. timeout: seconds."""
        ...

    def tracer(self, root: Path) -> Build:
        """Return the build that traces, up to date, in the build/ of a project.

        Raises BuildError.
        """
        ...

    def trace(
        self, build: Build, programs: Sequence[Path], output: Path, *, executed_only: bool
    ) -> None:
        """Write the selection that running the programs needs.

        Raises BuildError if the tracer crashes or never ends.
        """
        ...


class SourceTree(Protocol):
    """A folder with a runtime's sources, which the apps of a project are built from."""

    def key(self) -> str:
        """Hash everything that builds read, the code generator included."""
        ...

    def generates(self, path: str) -> bool:
        """Return whether a file is code of the generator that runs."""
        ...

    def code_files(self) -> Sequence[Path]:
        """List the C++ files that objects are made of."""
        ...

    def usual_selection(self, app: str) -> Path:
        """Return the default path of an app's selection."""
        ...

    def operators(self) -> Mapping[str, Operator]:
        """Read the operators of all kernel libraries, by name with overload."""
        ...

    def switches(self) -> Mapping[str, Sequence[HasPlace]]:
        """Find the dtype switches in the kernels, by tag."""
        ...

    def features(self) -> frozenset[str]:
        """List the build features."""
        ...

    def selectable(self) -> Selectable:
        """List the names that selections can have."""
        ...

    def translated(self, selection: Selection) -> Selection:
        """Translate a selection of another runtime's tools, as builds do; else it stays."""
        ...

    def call_table(self) -> CallTable | None:
        """Read the calls of operators, as selective builds do; None without such a file."""
        ...

    def names(self) -> BuildNames:
        """Read the names that were written of a full build of these sources."""
        ...

    def names_file(self) -> Path:
        """Return the path of the file with these names."""
        ...

    def asked_features(self) -> tuple[str, ...]:
        """Scan the sources for the build features that they ask for."""
        ...

    def recorded(self, app: str, selection: Path, options: BuildOptions) -> Build | None:
        """Return the last build of an app, of everything if `app` is empty; None without one."""
        ...

    def build_full(self, options: BuildOptions) -> Build:
        """Build everything for a target. Raises BuildError."""
        ...

    def build_app(self, app: str, selection: Path, options: BuildOptions) -> Build:
        """Build what an app's selection keeps. Raises BuildError."""
        ...


@dataclass(frozen=True, slots=True)
class CallTable:
    """The op_deps.yaml of a source tree."""

    path: Path
    deps: OpDeps


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Builder of a target.

    optimize: one of OPTIMIZATIONS
    link:     one of LINKS
    lto:      one of LTO; empty without optimization at link time
    """

    toolchain: Toolchain
    optimize: str = "s"
    link: str = "executable"
    lto: str = ""


class Runtime:
    """One inference runtime. The defaults are those of a runtime that is only read.

    name:             of its folder
    namespaces:       namespaces that only images of this runtime have
    hidden_prefixes:  namespaces with their `::` that short names leave out
    names_are_enough: whether names say more than registration tables do
    """

    name: str = ""
    namespaces: tuple[str, ...] = ()
    hidden_prefixes: tuple[str, ...] = ()
    names_are_enough: bool = False

    @functools.cached_property
    def rules(self) -> Rules:
        """The meaning of its names. 25 ms to read, so it is read when a level needs it."""
        from sizeguard.names.rules_reader import read_preset

        return read_preset(Path(__file__).parent / self.name / "names.yaml")

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of its objects that claims are judged by; empty for what claims nothing."""
        from sizeguard.claims.claim import Vocabulary

        return Vocabulary(hidden_prefixes=self.hidden_prefixes)

    def claims(self, universe: Universe, asked: Selection, built: Selection | None) -> ClaimSet:
        """List the claims that a resolved selection makes of a build.

        built: what the build says that it keeps; None if it does not say

        Raises InputError for a runtime whose selections claim nothing.
        """
        raise InputError(f"selections of {self.name} claim nothing of an image")

    def kernel_of(self, symbol: str) -> str:
        """Return the kernel that a mangled symbol is, or takes as a template argument.

        Empty if there is none.
        """
        return ""

    def translated(self, source: Path | None, selection: Selection) -> Selection:
        """Translate a selection of other runtimes' tools into the names of a folder's operators.

        source: None for the operators that this package knows
        """
        return selection

    def library(self, source: Path | None) -> Mapping[str, Operator]:
        """List the operators of a folder with sources, by name with overload.

        source: None for those that this package knows
        """
        return {}

    def selectable(self, source: Path | None, kernels: Sequence[Path]) -> Selectable | None:
        """List the names that selections for a folder's sources can have; None if unknown.

        source:  None for those that this package knows
        kernels: folders with other kernels, whose tags and classes there are instead
        """
        return None

    def switches_in(self, folders: Iterable[Path]) -> Mapping[str, Sequence[HasPlace]]:
        """Find the dtype switches in kernel sources, by tag."""
        return {}

    def models(self, source: Path | None) -> Models | None:
        """Runner of models; None if models are only read.

        source: the folder with the sources; None for a runtime that this package knows
        """
        return None

    def has_sources(self, folder: Path) -> bool:
        """Return whether a folder holds the sources."""
        return False

    def source_tree(self, source: Path, root: Path) -> SourceTree | None:
        """Open the sources in a folder; None if the folder holds none.

        root: the project, whose build/ holds builds
        """
        return None

    def built_from(self, folder: Path) -> Path | None:
        """Return the folder with the sources of a build; None if its folder does not tell."""
        return None

    def facts_files(self, build: Build) -> Sequence[Path]:
        """List the files that facts() reads."""
        return ()

    def facts(self, build: Build) -> BuildFacts | None:
        """Read the dispatcher and switches of a build; None for a build of another runtime.

        Raises InconclusiveError if a build of this runtime lacks its facts.
        """
        return None

    def recipe(self, toolchain: Toolchain, app: str, variant: str, optimize: str) -> Recipe | None:
        """Build an app's selection, or a variant if `app` is empty; None if it cannot be built."""
        return None
