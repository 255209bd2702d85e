"""The folder with our runtime's sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import RECORD, Build, read_build
from sizeguard.runtimes.runtime import BuildOptions, CallTable
from sizeguard.runtimes.sizeguard import native_tree

if TYPE_CHECKING:
    from sizeguard.claims.listed_names import BuildNames
    from sizeguard.operators.library import Operator
    from sizeguard.runtimes.sizeguard.building.variants import Variant
    from sizeguard.runtimes.sizeguard.sources.tags import TagUse
    from sizeguard.selection.selectable import Selectable
    from sizeguard.selection.selection import Selection

# Readers of names and of sources take 25 ms to import, variants 8 ms: each method imports its own.


class NativeSources:
    """See runtimes.runtime.SourceTree."""

    def __init__(self, source: Path, root: Path) -> None:
        """Open the sources in source/native. root: the project, with builds in build/."""
        self._source = source
        self._root = root

    def key(self) -> str:
        """Hash native/ and the generator."""
        return native_tree.sources_hash(self._source)

    def generates(self, path: str) -> bool:
        """Return whether a file is code of the generator."""
        return native_tree.is_generator(path)

    def code_files(self) -> Sequence[Path]:
        """List all .cpp files, sorted."""
        return native_tree.code_files(self._source)

    def usual_selection(self, app: str) -> Path:
        """Return the selection in the app's folder of native/apps."""
        return self._source / native_tree.usual_selection(app)

    def operators(self) -> Mapping[str, Operator]:
        """Read the operators.yaml files, which takes 0.1 s."""
        from sizeguard.operators.library import read_operator_libraries

        return read_operator_libraries(native_tree.operator_files(self._source))

    def switches(self) -> Mapping[str, Sequence[TagUse]]:
        """Scan the kernels for SG_SWITCH macros."""
        from sizeguard.runtimes.sizeguard.sources.tags import scan_tags

        return scan_tags(native_tree.kernel_folders(self._source))

    def features(self) -> frozenset[str]:
        """List the features of native/operators/names.json."""
        return frozenset(self.names().features)

    def selectable(self) -> Selectable:
        """Read names.json, op_deps.yaml and the sources, which takes 0.3 s."""
        from sizeguard.runtimes.sizeguard.selectable_names import selectable_names

        return selectable_names(self._source)

    def translated(self, selection: Selection) -> Selection:
        """Translate a selection of other tools with pytorch_names.yaml and op_deps.yaml."""
        return native_tree.translated(self._source, selection)

    def call_table(self) -> CallTable | None:
        """Read native/operators/op_deps.yaml."""
        deps = native_tree.op_deps(self._source)
        return CallTable(native_tree.op_deps_file(self._source), deps) if deps else None

    def names(self) -> BuildNames:
        """Read native/operators/names.json."""
        from sizeguard.claims.names_file import read_names

        return read_names(native_tree.names_file(self._source))

    def names_file(self) -> Path:
        """Return native/operators/names.json."""
        return self._source / native_tree.NAMES

    def asked_features(self) -> tuple[str, ...]:
        """Scan all code for SG_BUILD_FEATURE."""
        from sizeguard.runtimes.sizeguard.sources.asked_names import scan_features

        files = native_tree.source_files(self._source)
        return scan_features(path for path in files if path.suffix in (".cpp", ".h"))

    def recorded(self, app: str, selection: Path, options: BuildOptions) -> Build | None:
        """Read the record in the folder of build_app or build_full."""
        from sizeguard.runtimes.sizeguard.building.variants import default_folder

        variant = _variant_of(app, selection, options) if app else _full(options)
        try:
            return read_build(default_folder(self._root, variant, options.toolchain) / RECORD)
        except InputError:
            return None

    def build_full(self, options: BuildOptions) -> Build:
        """Build the variant `full`."""
        return self._build(_full(options), options)

    def build_app(self, app: str, selection: Path, options: BuildOptions) -> Build:
        """Build the variant `selective` of an app."""
        from sizeguard.runtimes.sizeguard.building.variants import checked_variant

        asked = _variant_of(app, selection, options)
        return self._build(checked_variant(self._source, asked), options)

    def _build(self, variant: Variant, options: BuildOptions) -> Build:
        from sizeguard.runtimes.sizeguard.building.variants import default_folder

        folder = default_folder(self._root, variant, options.toolchain)
        # The driver takes 60 ms to import; a run that builds nothing does without it.
        from sizeguard.runtimes.sizeguard.building.driver import build

        return build(self._source, variant, options.toolchain, folder)


def _full(options: BuildOptions) -> Variant:
    from sizeguard.runtimes.sizeguard.building.variants import Variant

    return Variant("full", optimize=options.optimize, link=options.link, lto=options.lto)


def _variant_of(app: str, selection: Path, options: BuildOptions) -> Variant:
    from sizeguard.runtimes.sizeguard.building.variants import Variant

    return Variant(
        "selective",
        app,
        selection,
        optimize=options.optimize,
        link=options.link,
        lto=options.lto,
    )
