"""Variants of the runtime: their CMake options and build folders."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.files import is_there
from sizeguard.base.input_files import readable
from sizeguard.base.nearest import did_you_mean
from sizeguard.runtimes.runtime import LINKS, LTO, OPTIMIZATIONS, VARIANTS
from sizeguard.runtimes.sizeguard import native_tree
from sizeguard.toolchains.targets import find_target, host_target
from sizeguard.toolchains.toolchain import Toolchain


@dataclass(frozen=True, slots=True)
class Variant:
    """A choice of what to build.

    app:       a name for a selective build; empty otherwise
    selection: the selection file of a selective build
    dtypes:    whether the selection's dtypes count, or only its operators
    optimize:  s or 2
    sanitize:  such as address,undefined
    link:      executable, static, static-pie or shared
    lto:       full or thin; empty for a build without it
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
        """Name the options that differ from an executable without LTO: static, lto, thinlto."""
        return [
            *([] if self.link == "executable" else [self.link]),
            *({"full": ["lto"], "thin": ["thinlto"]}.get(self.lto, [])),
        ]

    def image_name(self, toolchain: Toolchain) -> str:
        """Name the file that is linked."""
        if self.link != "shared":
            return "run_program"
        return "libsizeguard.dylib" if find_target(toolchain.target).is_macho else "libsizeguard.so"

    def cmake_options(self, root: Path, toolchain: Toolchain) -> list[str]:
        """Return the options of the CMake build."""
        options = [
            f"-DCMAKE_C_COMPILER={toolchain.cc}",
            f"-DCMAKE_CXX_COMPILER={toolchain.cxx}",
            f"-DSG_LINKER={toolchain.linker}",
            f"-DSG_OPTIMIZE=-O{self.optimize}",
            f"-DSG_SANITIZE={self.sanitize}",
            f"-DSG_LINK={self.link}",
            f"-DSG_LTO={self.lto}",
        ]
        toolchain_file = native_tree.toolchain_file(root, find_target(toolchain.target))
        if toolchain_file is not None:
            options.append(f"-DCMAKE_TOOLCHAIN_FILE={toolchain_file}")
        if toolchain.headers is not None:
            system = "MACOS" if find_target(toolchain.target).is_macho else "ANDROID"
            options.append(f"-DSG_{system}_HEADERS={toolchain.headers}")
        if self.kind == "instrumented":
            options.append("-DTRACING_BASED=ON")
        elif self.kind == "core":
            options.append("-DSG_CORE_ONLY=ON")
        elif self.selection is not None:
            options.append(f"-DSELECTED_OP_LIST={self.selection.resolve()}")
            options.append(f"-DDTYPE_SELECTIVE_BUILD={'ON' if self.dtypes else 'OFF'}")
        return options


def checked_variant(root: Path, asked: Variant) -> Variant:
    """Check a choice, and find the selection of a selective build.

    A selective build is for an app, with its committed selection, or for a selection file. Raises
    InputError for unknown apps, variants and files, and for options without effect.
    """
    _check_words(asked)
    if asked.kind == "selective":
        return _selective(root, asked)
    options = (("--app", asked.app), ("--selection", asked.selection))
    given = next((name for name, value in options if value), "")
    given = given or ("" if asked.dtypes else "--no-dtypes")
    if given:
        raise InputError(f"{given} has no effect on the variant {asked.kind}; it is for selective")
    return asked


def _check_words(asked: Variant) -> None:
    if asked.kind not in VARIANTS:
        raise InputError(f"unknown variant {asked.kind}; there are {', '.join(VARIANTS)}")
    if asked.optimize not in OPTIMIZATIONS:
        raise InputError(f"unknown optimization -O{asked.optimize}; there are -Os and -O2")
    if asked.link not in LINKS:
        raise InputError(f"unknown kind of link {asked.link}; there are {', '.join(LINKS)}")
    if asked.lto not in ("", *LTO):
        raise InputError(f"unknown kind of LTO {asked.lto}; there are {', '.join(LTO)}")
    if asked.kind == "instrumented" and (asked.link != "executable" or asked.lto):
        raise InputError("instrumented is built to trace models, as an executable without LTO")


def _selective(root: Path, asked: Variant) -> Variant:
    app, selection = asked.app, asked.selection
    if not app and selection is None:
        raise InputError("selective needs --app NAME or --selection FILE")
    if selection is None:
        selection = root / native_tree.usual_selection(app)
        if not selection.is_file():
            apps = native_tree.sample_apps(root)
            hint = did_you_mean(app, apps) or "; no app has one"
            raise InputError(f"--app: no app '{app}' with a selection{hint}")
    if not is_there(readable(selection)):
        raise InputError(f"{selection}: no such selection file")
    name = app or _stem(selection)
    if name in VARIANTS:
        raise InputError(f"an app cannot be called {name}: that is a variant; give another --app")
    return replace(asked, app=name, selection=selection)


def check_combination(variant: Variant, toolchain: Toolchain) -> None:
    """Raise InputError for combinations that the linkers do not support."""
    linker, compiler, target = toolchain.linker, toolchain.compiler, find_target(toolchain.target)
    if target.is_llvm_only and variant.link.startswith("static"):
        raise InputError(f"{toolchain.target} has no static programs: --link executable or shared")
    if variant.link == "static-pie" and linker == "gold":
        raise InputError("gold cannot link static-pie: it lacks --no-dynamic-linker")
    if variant.lto == "thin" and compiler == "gcc":
        raise InputError("gcc has no thin LTO: --lto full, or --compiler clang")
    if variant.lto and compiler == "gcc" and linker.startswith("lld"):
        raise InputError(
            "lld cannot read gcc's LTO objects: --linker bfd, gold or mold, or --compiler clang"
        )
    if variant.lto == "thin" and target.is_macho:
        raise InputError(
            "ld64.lld gives all thin LTO objects the same name, so dsymutil cannot distinguish "
            "them: --lto full"
        )
    if variant.lto == "thin" and not linker.startswith("lld"):
        raise InputError(f"thin LTO needs --linker lld: {linker} gives its objects random names")
    if variant.lto and linker.startswith("lld-"):
        raise InputError(
            f"{linker} has another LLVM version than the compiler and may not read its LTO "
            f"objects: --linker lld"
        )
    if variant.sanitize and (target.is_llvm_only or variant.link != "executable"):
        raise InputError("sanitizers are for executables on Linux")
    if variant.sanitize:
        _check_sanitizers(variant.sanitize, toolchain)


def _check_sanitizers(names: str, toolchain: Toolchain) -> None:
    """Raise InputError for sanitizers that the compiler lacks or does not combine."""
    done = subprocess.run(
        [toolchain.cxx, f"-fsanitize={names}", "-x", "c++", "-E", "-o", os.devnull, os.devnull],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    if done.returncode:
        why = done.stderr.partition("error: ")[2].split("\n", 1)[0]
        raise InputError(f"--sanitize {names}: {why or done.stderr.strip()}")


def default_folder(root: Path, variant: Variant, toolchain: Toolchain) -> Path:
    """Return the default folder: build/full and build/vision with gcc, bfd and -Os.

    Other builds go to folders such as build/x86_64-linux-clang-lld-O2/full.
    """
    leaf = variant.app or variant.kind
    if not variant.dtypes:
        leaf += "-operators"
    usual = (host_target(), "gcc", "bfd", "s", "")
    is_usual = usual == (
        toolchain.target,
        toolchain.compiler,
        toolchain.linker,
        variant.optimize,
        variant.sanitize,
    )
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
    """Name the app after the file, or after its folder for selected_operators.yaml."""
    return (
        selection.resolve().parent.name
        if selection.stem == "selected_operators"
        else selection.stem
    )
