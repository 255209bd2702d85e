"""Turns a choice of variant into the options of its CMake build and the folder it lives in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sizeguard.build.toolchain import Toolchain
from sizeguard.errors import InputError

VARIANTS = ("full", "instrumented", "core", "selective")
OPTIMIZATIONS = ("s", "2")


@dataclass(frozen=True, slots=True)
class Variant:
    """What to build.

    app:       a name for a selective build; empty otherwise
    selection: the selection file of a selective build
    dtypes:    whether the selection's dtypes count, or its operators alone
    optimize:  s or 2
    sanitize:  such as address,undefined
    """

    kind: str
    app: str = ""
    selection: Path | None = None
    dtypes: bool = True
    optimize: str = "s"
    sanitize: str = ""

    @property
    def name(self) -> str:
        """full, instrumented, core, or selective/vision."""
        return f"selective/{self.app}" if self.kind == "selective" else self.kind

    def cmake_options(self, toolchain: Toolchain) -> list[str]:
        options = [
            f"-DCMAKE_C_COMPILER={toolchain.cc}",
            f"-DCMAKE_CXX_COMPILER={toolchain.cxx}",
            f"-DSG_LINKER={toolchain.linker}",
            f"-DSG_OPTIMIZE=-O{self.optimize}",
            f"-DSG_SANITIZE={self.sanitize}",
        ]
        if self.kind == "instrumented":
            options.append("-DTRACING_BASED=ON")
        elif self.kind == "core":
            options.append("-DSG_CORE_ONLY=ON")
        elif self.selection is not None:
            options.append(f"-DSELECTED_OP_LIST={self.selection.resolve()}")
            options.append(f"-DDTYPE_SELECTIVE_BUILD={'ON' if self.dtypes else 'OFF'}")
        return options


def make_variant(root: Path, kind: str, app: str, selection: Path | None, *, dtypes: bool, optimize: str, sanitize: str) -> Variant:
    """Check a choice. A selective build is an app's, whose selection is checked in beside it, or a selection file's."""
    if kind not in VARIANTS:
        raise InputError(f"unknown variant {kind}; there are {', '.join(VARIANTS)}")
    if optimize not in OPTIMIZATIONS:
        raise InputError(f"unknown optimization -O{optimize}; there are -Os and -O2")
    if kind != "selective":
        given = "--app" if app else "--selection" if selection else "--no-dtypes" if not dtypes else ""
        if given:
            raise InputError(f"{given} has no effect on the variant {kind}; it is for selective")
        return Variant(kind, optimize=optimize, sanitize=sanitize)
    if not app and selection is None:
        raise InputError("selective needs --app NAME or --selection FILE")
    if selection is None:
        selection = root / "native" / "apps" / app / "selected_operators.yaml"
        if not selection.is_file():
            apps = sorted(path.parent.name for path in (root / "native" / "apps").glob("*/selected_operators.yaml"))
            raise InputError(f"no app {app} with a selection; there are {', '.join(apps) or 'none'}")
    if not selection.is_file():
        raise InputError(f"{selection}: no such selection file")
    name = app or _stem(selection)
    if name in VARIANTS:
        raise InputError(f"an app cannot be called {name}: that is a variant; give another --app")
    return Variant(kind, name, selection, dtypes, optimize, sanitize)


def default_folder(root: Path, variant: Variant, toolchain: Toolchain) -> Path:
    """build/full and build/vision with gcc, bfd and -Os; build/x86_64-linux-clang-lld-O2/full otherwise."""
    leaf = variant.app or variant.kind
    if not variant.dtypes:
        leaf += "-operators"
    if (toolchain.compiler, toolchain.linker, variant.optimize, variant.sanitize) == ("gcc", "bfd", "s", ""):
        return root / "build" / leaf
    parts = [
        toolchain.target,
        toolchain.compiler,
        toolchain.linker,
        f"O{variant.optimize}",
        *filter(None, [variant.sanitize.replace(",", "-")]),
    ]
    return root / "build" / "-".join(parts) / leaf


def _stem(selection: Path) -> str:
    """selected_operators.yaml says nothing: then the folder names the app."""
    return selection.resolve().parent.name if selection.stem == "selected_operators" else selection.stem
