"""Rebuild the full runtime without one operator or dtype branch, and measure its load."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sizeguard.builds.build_record import Build
from sizeguard.operators.library import read_operator_libraries
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, default_folder
from sizeguard.runtimes.sizeguard.native_sources import NativeSources
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.selection.write import format_selection
from sizeguard.toolchains.toolchain import Toolchain
from tests.support.builds.dtype_rebuilds import Branch, branches, everything

CLASSES = frozenset({"LinearOpContext"})


@dataclass(slots=True)
class Removals:
    """Rebuilds in one folder from one selection file, so only changed parts are compiled.

    Everything is selected by name, because `include_all_operators` would keep removed parts.
    """

    root: Path
    toolchain: Toolchain
    optimize: str
    folder: Path
    operators: list[str] = field(init=False)
    branches: list[Branch] = field(init=False)

    def __post_init__(self) -> None:
        """List the parts that can be removed."""
        libraries = sorted((self.root / "native").glob("*/operators.yaml"))
        self.operators = sorted(read_operator_libraries(libraries))
        self.branches = branches(self.root)
        self.folder.mkdir(parents=True, exist_ok=True)

    def full(self) -> Build:
        """Build the variant that predictions start from."""
        variant = Variant("full", optimize=self.optimize)
        return build(
            self.root,
            variant,
            self.toolchain,
            default_folder(self.root, variant, self.toolchain),
        )

    def without(self, operator: str = "", branch: Branch | None = None) -> Build:
        """Build everything but the operator and the branch."""
        kept = everything(self.root)
        if branch is not None:
            kept[branch.tag].remove(branch.dtype)
        chosen = Selection(
            operators={
                name: SelectedOperator(is_root_operator=True, include_all_overloads=False)
                for name in self.operators
                if name != operator
            },
            kernel_metadata={tag: frozenset(dtypes) for tag, dtypes in kept.items() if dtypes},
            custom_classes=CLASSES,
            build_features=frozenset(NativeSources(self.root, self.root).features()),
        )
        selection = self.folder / "selected.yaml"
        selection.write_text(format_selection(chosen))
        variant = Variant("selective", "removal", selection, optimize=self.optimize)
        return build(self.root, variant, self.toolchain, self.folder / "build")
