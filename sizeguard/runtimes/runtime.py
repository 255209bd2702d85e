"""The protocol Runtime: everything that other packages need from an inference runtime."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError

# For types only: builds and rules import numpy, which takes 0.2 s, and completion and reading
# sizeguard.yaml do not need it.
if TYPE_CHECKING:
    from sizeguard.builds.build_record import Build
    from sizeguard.claims.claim import ClaimSet, Vocabulary
    from sizeguard.claims.listed_names import BuildNames
    from sizeguard.claims.universe import Universe
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

    outputs: hash of all outputs; empty if the program failed
    message: the error of a failed run
    missing: operators and classes that the build lacks
    cached: the result of an earlier run
    """

    outputs: str
    message: str = ""
    missing: tuple[str, ...] = ()
    cached: bool = False


class Models(Protocol):
    """Prepare, run and trace models of a runtime."""

    def prepare(self, model: Path, folder: Path) -> Path:
        """Make the program to run, in the folder. Raises InputError for a malformed model."""
        ...

    def inputs(self, model: Path) -> Sequence[Sequence[Path]]:
        """List the input files of each bundled case beside a model."""
        ...

    def expected(self, model: Path) -> Sequence[Mapping[int, Path]]:
        """Return the files of each case's expected outputs, by the number of the output.

        Empty for models without expected outputs. Raises InputError for files that nothing would
        be compared with.
        """
        ...

    def case_role(self, name: str) -> str:
        """Return what a file of that name next to a model is: input, expected output or empty."""
        ...

    def operators(self, program: Path) -> OperatorInfo:
        """Read the operators that a program names."""
        ...

    def library_files(self) -> Sequence[Path]:
        """List the files with the operators that a model may name."""
        ...

    def case_count(self, program: Path) -> int:
        """Return the number of bundled inputs of a program."""
        ...

    def run_inputs(
        self, build: Build, program: Path, case: int, expected: Mapping[int, Path]
    ) -> Mapping[str, object]:
        """Return everything that the result of a run depends on."""
        ...

    def run(
        self,
        build: Build,
        program: Path,
        case: int,
        timeout: float,
        expected: Mapping[int, Path],
    ) -> ModelRun:
        """Run one bundled input on one build; the run fails if an expected output differs.

        timeout: seconds; expected: files by the number of the output
        """
        ...

    def tracer(self, root: Path) -> Build:
        """Return an up-to-date build for tracing, in the project's build/.

        Raises BuildError.
        """
        ...

    def trace(
        self, build: Build, programs: Sequence[Path], output: Path, *, executed_only: bool
    ) -> None:
        """Run the programs, and write the selection that they need.

        Raises BuildError if the tracer crashes or exceeds its time limit.
        """
        ...


class SourceTree(Protocol):
    """A folder with the runtime's sources that a project's apps are built from."""

    def key(self) -> str:
        """Hash everything that builds read, including the code generator."""
        ...

    def generates(self, path: str) -> bool:
        """Return whether a file is code of the running generator."""
        ...

    def code_files(self) -> Sequence[Path]:
        """List the C++ files that are compiled."""
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
        """Translate a selection of another runtime's tools, as builds do; others stay unchanged."""
        ...

    def call_table(self) -> CallTable | None:
        """Read the calls of operators, as selective builds do; None without the file."""
        ...

    def names(self) -> BuildNames:
        """Read the stored names of a full build of these sources."""
        ...

    def names_file(self) -> Path:
        """Return the path of the file with these names."""
        ...

    def asked_features(self) -> tuple[str, ...]:
        """Scan the sources for the build features that they check."""
        ...

    def recorded(self, app: str, selection: Path, options: BuildOptions) -> Build | None:
        """Return the last build of an app, or the full build if `app` is empty; None if missing."""
        ...

    def build_full(self, options: BuildOptions) -> Build:
        """Make the full build for a target. Raises BuildError."""
        ...

    def build_app(self, app: str, selection: Path, options: BuildOptions) -> Build:
        """Make the selective build of an app. Raises BuildError."""
        ...


@dataclass(frozen=True, slots=True)
class CallTable:
    """The op_deps.yaml of a source tree."""

    path: Path
    deps: OpDeps


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """The options of a build for a target.

    optimize: one of OPTIMIZATIONS
    link:     one of LINKS
    lto:      one of LTO; empty for a build without it
    """

    toolchain: Toolchain
    optimize: str = "s"
    link: str = "executable"
    lto: str = ""


class Runtime:
    """One inference runtime. The defaults are for a runtime with read-only support.

    name:             its folder's name
    namespaces:       namespaces that only images of this runtime have
    hidden_prefixes:  namespaces with `::` that short names leave out
    names_are_enough: whether names are better evidence than registration tables
    """

    name: str = ""
    namespaces: tuple[str, ...] = ()
    hidden_prefixes: tuple[str, ...] = ()
    names_are_enough: bool = False

    @functools.cached_property
    def rules(self) -> Rules:
        """The rules for its names.

        Reading takes 25 ms, so they are read when a level needs them.
        """
        from sizeguard.names.rules_reader import read_preset

        return read_preset(Path(__file__).parent / self.name / "names.yaml")

    @property
    def vocabulary(self) -> Vocabulary:
        """Names in its objects that verdicts on claims need; empty for a runtime without claims."""
        from sizeguard.claims.claim import Vocabulary

        return Vocabulary(hidden_prefixes=self.hidden_prefixes)

    def claims(self, universe: Universe, asked: Selection, built: Selection | None) -> ClaimSet:
        """List the claims of a resolved selection on a build.

        built: the selection in the build's record; None if it has none

        Raises InputError for a runtime without claims.
        """
        raise InputError(f"selections of {self.name} make no claims on images")

    def kernel_of(self, symbol: str) -> str:
        """Return the kernel of a mangled symbol.

        The function itself, or one in its template arguments.

        Empty if there is none.
        """
        return ""

    def translated(self, source: Path | None, selection: Selection) -> Selection:
        """Translate a selection of other runtimes' tools into names of a folder's operators.

        source: None for the operators in this package
        """
        return selection

    def library(self, source: Path | None) -> Mapping[str, Operator]:
        """List the operators of a folder with sources, by name with overload.

        source: None for those in this package
        """
        return {}

    def selectable(self, source: Path | None, kernels: Sequence[Path]) -> Selectable | None:
        """List the names that selections for a folder's sources can have; None if unknown.

        source: None for those in this package
        kernels: folders with other kernels, whose tags and classes there are instead
        """
        return None

    def switches_in(self, folders: Iterable[Path]) -> Mapping[str, Sequence[HasPlace]]:
        """Find the dtype switches in kernel sources, by tag."""
        return {}

    def models(self, source: Path | None) -> Models | None:
        """Return the model runner; None if models are only read.

        source: the folder with the sources; None for the data in this package
        """
        return None

    def has_sources(self, folder: Path) -> bool:
        """Return whether a folder has the sources."""
        return False

    def source_tree(self, source: Path, root: Path) -> SourceTree | None:
        """Open the sources in a folder; None if it has none.

        root: the project, whose build/ holds builds
        """
        return None

    def built_from(self, folder: Path) -> Path | None:
        """Return the folder with the sources of a build; None if unknown."""
        return None

    def facts_files(self, build: Build) -> Sequence[Path]:
        """List the files that facts() reads."""
        return ()

    def facts(self, build: Build) -> BuildFacts | None:
        """Read the dispatcher and switches of a build; None for a build of another runtime.

        Raises InconclusiveError if a build of this runtime lacks its facts.
        """
        return None

    def recipe(
        self, toolchain: Toolchain, app: str, variant: str, optimize: str, target: str = ""
    ) -> Recipe | None:
        """Return the recipe for an app, or for a variant if `app` is empty; None without one.

        target: in sizeguard.yaml; a commit that declares it otherwise is built as it declares it
        """
        return None
