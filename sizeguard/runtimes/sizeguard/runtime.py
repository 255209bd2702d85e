"""Our own runtime: build its sources, and run and trace its models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.runtimes.runtime import Models, Runtime, SourceTree
from sizeguard.runtimes.sizeguard.kernel_names import HIDDEN_PREFIXES, kernel_of

if TYPE_CHECKING:
    from sizeguard.builds.build_record import Build
    from sizeguard.claims.claim import ClaimSet, Vocabulary
    from sizeguard.claims.universe import Universe
    from sizeguard.operators.library import Operator
    from sizeguard.runtimes.build_facts import BuildFacts
    from sizeguard.selection.lint_rules import HasPlace
    from sizeguard.selection.selectable import Selectable
    from sizeguard.selection.selection import Selection
    from sizeguard.toolchains.recipe import Recipe
    from sizeguard.toolchains.toolchain import Toolchain


class Native(Runtime):
    """The runtime in native/.

    Its parts are imported on use, because builds and models take 60 ms.
    """

    name = "sizeguard"
    namespaces = ("sg::kernels", "sg::Context")
    hidden_prefixes = HIDDEN_PREFIXES

    def kernel_of(self, symbol: str) -> str:
        """Return the function of sg::kernels; empty for other symbols."""
        return kernel_of(symbol)

    @property
    def vocabulary(self) -> Vocabulary:
        """Namespaces, templates of notes, and the handler of deselected dtypes."""
        from sizeguard.runtimes.sizeguard.claims.build_claims import WORDS

        return WORDS

    def claims(self, universe: Universe, asked: Selection, built: Selection | None) -> ClaimSet:
        """List claims on operators, kernels, dtypes, classes, features and the whole image."""
        from sizeguard.runtimes.sizeguard.claims.build_claims import build_claims

        return build_claims(universe, asked, built)

    def translated(self, source: Path | None, selection: Selection) -> Selection:
        """Translate a selection of PyTorch or ExecuTorch."""
        from sizeguard.runtimes.sizeguard.native_tree import translated

        return translated(source, selection)

    def library(self, source: Path | None) -> Mapping[str, Operator]:
        """Read the operators of native/, or those in this package."""
        from sizeguard.operators.library import read_operator_libraries
        from sizeguard.runtimes.sizeguard.native_tree import operator_files

        return read_operator_libraries(operator_files(source))

    def selectable(self, source: Path | None, kernels: Sequence[Path]) -> Selectable:
        """Read names.json and op_deps.yaml of native/, or those in this package."""
        from sizeguard.runtimes.sizeguard.selectable_names import selectable_names

        return selectable_names(source, kernels)

    def switches_in(self, folders: Iterable[Path]) -> Mapping[str, Sequence[HasPlace]]:
        """Find the SG_SWITCH macros."""
        from sizeguard.runtimes.sizeguard.sources.tags import scan_tags

        return scan_tags(folders)

    def models(self, source: Path | None) -> Models:
        """Return the runner of programs, which imports .pt2 files if needed."""
        from sizeguard.runtimes.sizeguard.native_models import NativeModels

        return NativeModels(source)

    def has_sources(self, folder: Path) -> bool:
        """Return whether a folder has native/."""
        from sizeguard.runtimes.sizeguard.native_tree import has_sources

        return has_sources(folder)

    def source_tree(self, source: Path, root: Path) -> SourceTree | None:
        """Open source/native."""
        from sizeguard.runtimes.sizeguard.native_sources import NativeSources

        return NativeSources(source, root) if self.has_sources(source) else None

    def built_from(self, folder: Path) -> Path | None:
        """Return the source folder that CMake was configured with."""
        from sizeguard.runtimes.sizeguard.native_tree import built_from

        return built_from(folder)

    def facts_files(self, build: Build) -> Sequence[Path]:
        """List kernel_tags.json and names.json."""
        from sizeguard.runtimes.sizeguard.source_facts import LISTED, names_of_build

        if build.selection is None:
            return ()
        return build.selection.parent / LISTED, names_of_build(build)

    def facts(self, build: Build) -> BuildFacts | None:
        """Read the dispatcher, and the switches that the code generator listed."""
        from sizeguard.runtimes.sizeguard.source_facts import read_build_facts

        return read_build_facts(build, build.selection) if build.selection is not None else None

    def recipe(
        self, toolchain: Toolchain, app: str, variant: str, optimize: str, target: str = ""
    ) -> Recipe:
        """Return the recipe that builds native/ of a commit with the running package."""
        from sizeguard.runtimes.sizeguard.building.native_recipe import RuntimeRecipe

        return RuntimeRecipe(toolchain, app, variant, optimize, target)


RUNTIME = Native()
