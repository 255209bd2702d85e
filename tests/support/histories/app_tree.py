"""The build tree of native/apps: two apps with shared or separate kernels, and their glue code."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from sizeguard.builds.build_record import Build
from sizeguard.cli.main import cli
from sizeguard.runtimes.sizeguard.native_tree import toolchain_file
from sizeguard.toolchains.targets import find_target
from sizeguard.toolchains.toolchain import Toolchain
from tests.support.places import ROOT

APPS = ("vision", "language")
# Glue code that refers to a kernel of no selection: it is app code, not a registration.
LEAK = """\
void erf_kernel() __asm__("SYMBOL");
void (*volatile leaked_glue)();
__attribute__((constructor)) static void leak() { leaked_glue = erf_kernel; }
"""
ERF = "_ZN2sg7kernels3erfERNS_7ContextENS_6TensorE"


def selection_of(app: str) -> Path:
    return ROOT / "native" / "apps" / app / "selected_operators.yaml"


@dataclass(frozen=True, slots=True)
class AppTree:
    """A configured tree; shared: the apps share kernels."""

    folder: Path
    shared: bool
    toolchain: Toolchain | None = None

    def configure(self) -> None:
        sizeguard = Path(sys.executable).with_name("sizeguard")
        own = "OFF" if self.shared else "ON"
        command = [
            "cmake", "-S", ROOT / "native" / "apps", "-B", self.folder, "-G", "Ninja",
            f"-DSIZEGUARD={sizeguard}", f"-DDTYPE_SELECTIVE_BUILD={own}", *self._target(),
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)

    def _target(self) -> list[str]:
        """Return the options for another machine."""
        chosen = self.toolchain
        if chosen is None:
            return []
        options = [f"-DCMAKE_C_COMPILER={chosen.cc}", f"-DCMAKE_CXX_COMPILER={chosen.cxx}"]
        options.append(f"-DSG_LINKER={chosen.linker}")
        file = toolchain_file(ROOT, find_target(chosen.target))
        if file is not None:
            options.append(f"-DCMAKE_TOOLCHAIN_FILE={file}")
        if chosen.headers is not None:
            options.append(f"-DSG_MACOS_HEADERS={chosen.headers}")
        return options

    def make(self, *targets: str, cached: bool = True) -> None:
        """Build targets. cached: through ccache if CMake was told to."""
        environment = {**os.environ, **({} if cached else {"CCACHE_DISABLE": "1"})}
        command = ["ninja", "-C", self.folder, *targets]
        subprocess.run(command, check=True, capture_output=True, env=environment)
        for app in APPS if self.is_macho else ():
            if app in targets or not targets:
                self.gather_debug(self.folder / app)

    @property
    def is_macho(self) -> bool:
        """Whether images are Mach-O."""
        return self.toolchain is not None and find_target(self.toolchain.target).is_macho

    def gather_debug(self, image: Path) -> None:
        """Write the .dSYM beside an image: ld64 leaves debug information in the objects."""
        command = ["dsymutil-19", "--oso-prepend-path", self.folder, image, "-o", f"{image}.dSYM"]
        subprocess.run(command, check=True, capture_output=True)

    def commands(self, target: str) -> list[str]:
        """Return the commands that make a target; the last one links it."""
        command = ["ninja", "-C", str(self.folder), "-t", "commands", target]
        listed = subprocess.run(command, check=True, capture_output=True, text=True)
        return listed.stdout.strip().splitlines()

    def compiler(self, app: str) -> list[str]:
        """Return an app's compile command up to its source, without dependency files."""
        command = next(line for line in self.commands(app) if f"{app}/main.cpp.o -c" in line)
        words = shlex.split(command)
        at = next(i for i, word in enumerate(words) if word.endswith("main.cpp.o"))
        kept = [word for word in words[: at - 1] if word not in ("-MD", "ccache")]
        return [w for i, w in enumerate(kept) if "-MT" not in kept[max(0, i - 1) : i + 1]
                and "-MF" not in kept[max(0, i - 1) : i + 1]]  # fmt: skip

    def objects(self, app: str, *more: Path) -> list[str]:
        words = shlex.split(self.commands(app)[-1])
        files = [self.folder / word for word in words if word.endswith((".o", ".a"))]
        return [part for file in (*files, *more) for part in ("--objects", str(file))]

    def link_again(self, app: str, image: Path, *more: Path, without: str = "") -> None:
        """Link an app in another place with additional objects, and without the named ones."""
        command = self.commands(app)[-1]
        for old in dict.fromkeys((f"{self.folder}/{app}.map", f"{app}.map")):
            command = command.replace(f"-Map={old}", f"-Map={image}.map")
            command = command.replace(f"-map,{old}", f"-map,{image}.map")
        command = re.sub(r"-Wl,--dependency-file=\S+", "", command)
        if without:
            command = re.sub(rf"\S*{without}\S*\.o\b", "", command)
        files = " ".join(map(str, more))
        command = command.replace(f" -o {app} ", f" {files} -o {image} ")
        subprocess.run(["sh", "-c", command], cwd=self.folder, check=True, capture_output=True)

    def leak(self, app: str, folder: Path) -> tuple[Path, Path]:
        """Link the app with a leak in its glue code; return the image and object."""
        source, leak, image = folder / "leak.cpp", folder / "leak.o", folder / app
        prefix = "_" if self.is_macho else ""
        source.write_text(LEAK.replace("SYMBOL", prefix + ERF))
        command = [*self.compiler(app), "-o", str(leak), "-c", str(source)]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)
        self.link_again(app, image, leak)
        if self.is_macho:
            self.gather_debug(image)
        return image, leak

    def verified(
        self, full: Build, app: str, image: Path, objects: list[str], *, alone: bool = False
    ) -> tuple[int, dict[str, str]]:
        """Verify an app against its own selection; return the exit code and failing claims.

        alone: as if it did not share its kernels
        """
        others = [each for each in APPS if each != app and self.shared and not alone]
        log = Path(f"{image}.gc.txt")
        arguments = [
            "verify", str(image), "--map", f"{image}.map",
            *(["--gc-log", str(log)] if log.is_file() and not self.is_macho else []),
            "--selection", str(selection_of(app)), "--full", str(full.image.parent),
            *(part for other in others for part in ("--shared-with", str(selection_of(other)))),
            *objects, "--format", "json",
        ]  # fmt: skip
        result = CliRunner().invoke(cli, arguments)
        claims = json.loads(result.stdout)["claims"]
        return result.exit_code, {
            f"{each['kind']} {each['name']}": each["verdict"]
            for each in claims
            if each["verdict"] in ("fail", "inconclusive")
        }
