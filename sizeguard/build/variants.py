"""Turns a choice of variant into the options of its CMake build and the folder it lives in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sizeguard.build.targets import find_target, host_target
from sizeguard.build.toolchain import Toolchain
from sizeguard.errors import InputError

VARIANTS = ("full", "instrumented", "core", "selective")
OPTIMIZATIONS = ("s", "2")
LINKS = ("executable", "static", "static-pie", "shared")
LTO = ("full", "thin")


@dataclass(frozen=True, slots=True)
class Variant:
    """What to build.

    app:       a name for a selective build; empty otherwise
    selection: the selection file of a selective build
    dtypes:    whether the selection's dtypes count, or its operators alone
    optimize:  s or 2
    sanitize:  such as address,undefined
    link:      executable, static, static-pie or shared
    lto:       full or thin; empty without optimization at link time
    """

    kind: str
    app: str = ""
    selection: Path | None = None
    dtypes: bool = True
    optimize: str = "s"
    sanitize: str = ""
    link: str = "executable"
    lto: str = ""

    @property
    def name(self) -> str:
        """full, instrumented, core, or selective/vision."""
        return f"selective/{self.app}" if self.kind == "selective" else self.kind

    @property
    def options(self) -> list[str]:
        """What differs from an executable without optimization at link time, as parts of names: static, lto, thinlto."""
        return [*([] if self.link == "executable" else [self.link]), *({"full": ["lto"], "thin": ["thinlto"]}.get(self.lto, []))]

    def image_name(self, toolchain: Toolchain) -> str:
        """The file that is linked."""
        if self.link != "shared":
            return "run_program"
        return "libsizeguard.dylib" if find_target(toolchain.target).is_macho else "libsizeguard.so"

    def cmake_options(self, root: Path, toolchain: Toolchain) -> list[str]:
        options = [
            f"-DCMAKE_C_COMPILER={toolchain.cc}",
            f"-DCMAKE_CXX_COMPILER={toolchain.cxx}",
            f"-DSG_LINKER={toolchain.linker}",
            f"-DSG_OPTIMIZE=-O{self.optimize}",
            f"-DSG_SANITIZE={self.sanitize}",
            f"-DSG_LINK={self.link}",
            f"-DSG_LTO={self.lto}",
        ]
        toolchain_file = find_target(toolchain.target).cmake_file(root)
        if toolchain_file is not None:
            options.append(f"-DCMAKE_TOOLCHAIN_FILE={toolchain_file}")
        if toolchain.headers is not None:
            options.append(f"-DSG_MACOS_HEADERS={toolchain.headers}")
        if self.kind == "instrumented":
            options.append("-DTRACING_BASED=ON")
        elif self.kind == "core":
            options.append("-DSG_CORE_ONLY=ON")
        elif self.selection is not None:
            options.append(f"-DSELECTED_OP_LIST={self.selection.resolve()}")
            options.append(f"-DDTYPE_SELECTIVE_BUILD={'ON' if self.dtypes else 'OFF'}")
        return options


def make_variant(
    root: Path,
    kind: str,
    app: str,
    selection: Path | None,
    *,
    dtypes: bool,
    optimize: str,
    sanitize: str,
    link: str = "executable",
    lto: str = "",
) -> Variant:
    """Check a choice. A selective build is an app's, whose selection is checked in beside it, or a selection file's."""
    if kind not in VARIANTS:
        raise InputError(f"unknown variant {kind}; there are {', '.join(VARIANTS)}")
    if optimize not in OPTIMIZATIONS:
        raise InputError(f"unknown optimization -O{optimize}; there are -Os and -O2")
    if link not in LINKS:
        raise InputError(f"unknown kind of link {link}; there are {', '.join(LINKS)}")
    if lto not in ("", *LTO):
        raise InputError(f"unknown kind of LTO {lto}; there are {', '.join(LTO)}")
    if kind == "instrumented" and (link != "executable" or lto):
        raise InputError("instrumented is built to trace models, as an executable without LTO")
    if kind != "selective":
        given = "--app" if app else "--selection" if selection else "--no-dtypes" if not dtypes else ""
        if given:
            raise InputError(f"{given} has no effect on the variant {kind}; it is for selective")
        return Variant(kind, optimize=optimize, sanitize=sanitize, link=link, lto=lto)
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
    return Variant(kind, name, selection, dtypes, optimize, sanitize, link, lto)


def check_combination(variant: Variant, toolchain: Toolchain) -> None:
    """Raise InputError for what the linkers cannot do."""
    linker, compiler, target = toolchain.linker, toolchain.compiler, find_target(toolchain.target)
    if target.is_macho and variant.link.startswith("static"):
        raise InputError(f"{toolchain.target} has no static programs: --link executable or shared")
    if variant.link == "static-pie" and linker == "gold":
        raise InputError("gold links no static-pie: it lacks --no-dynamic-linker")
    if variant.lto == "thin" and compiler == "gcc":
        raise InputError("gcc has no thin LTO: --lto full, or --compiler clang")
    if variant.lto and compiler == "gcc" and linker.startswith("lld"):
        raise InputError("lld cannot read gcc's LTO objects: --linker bfd, gold or mold, or --compiler clang")
    if variant.lto == "thin" and target.is_macho:
        raise InputError("ld64.lld gives all objects of thin LTO one name, which dsymutil cannot tell apart: --lto full")
    if variant.lto == "thin" and not linker.startswith("lld"):
        raise InputError(f"thin LTO is for lld here: {linker} names its objects at random")
    if variant.lto and linker.startswith("lld-"):
        raise InputError(f"{linker} is another LLVM than the compiler's, whose LTO objects it need not read: --linker lld")
    if variant.sanitize and (target.is_macho or variant.link != "executable"):
        raise InputError("sanitizers are for executables on Linux")


def default_folder(root: Path, variant: Variant, toolchain: Toolchain) -> Path:
    """build/full and build/vision with gcc, bfd and -Os; build/x86_64-linux-clang-lld-O2/full otherwise."""
    leaf = variant.app or variant.kind
    if not variant.dtypes:
        leaf += "-operators"
    usual = (host_target(), "gcc", "bfd", "s", "")
    is_usual = usual == (toolchain.target, toolchain.compiler, toolchain.linker, variant.optimize, variant.sanitize)
    if is_usual and not variant.options:
        return root / "build" / leaf
    parts = [
        toolchain.target,
        toolchain.compiler,
        toolchain.linker,
        f"O{variant.optimize}",
        *filter(None, [variant.sanitize.replace(",", "-")]),
        *variant.options,
    ]
    return root / "build" / "-".join(parts) / leaf


def _stem(selection: Path) -> str:
    """selected_operators.yaml says nothing: then the folder names the app."""
    return selection.resolve().parent.name if selection.stem == "selected_operators" else selection.stem
