"""A selective build that is linked again with hidden code, and verified."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from sizeguard.base.errors import InconclusiveError
from sizeguard.builds import RECORD
from sizeguard.builds.build_record import Build
from sizeguard.builds.measured_sizes import measure
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, Verification
from sizeguard.formats.elf import Symbol, read_elf
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.verified_builds import verify_build
from sizeguard.runtimes.sizeguard.building.driver import lto_objects
from sizeguard.toolchains.links.asked_link import record_link
from sizeguard.toolchains.targets import find_target
from sizeguard.verify.evidence.macho import read_macho_image
from sizeguard.verify.evidence.macho_objects import read_macho_objects
from sizeguard.verify.evidence.object_evidence import read_objects
from tests.support.places import ROOT

KERNELS = ROOT / "native" / "operators" / "kernels"

# The beginning of each leak's source; the program's main() calls leaked().
PROLOGUE = """
extern "C" void leaked(int argc, char** argv);
template <typename T> inline void keep(T* value) { asm volatile("" : : "r"(value)); }
#define LEAK(...) \\
  extern "C" void leaked(int argc, char** argv) { \\
    if (argc == 77 && argv != nullptr) { __VA_ARGS__; } \\
  }
"""
MAIN = "int main(int argc, char** argv) {"
_ASSEMBLY = re.compile(r"^asm\(", re.MULTILINE)  # outside of functions


@dataclass(frozen=True)
class LinkedWith:
    """The inputs that a leak adds to a link.

    recorded: objects and archives in the build's record
    hidden: words of the command line that are not in the record
    edit: changes the linked file, and its stripped form, in place
    """

    recorded: tuple[Path, ...] = ()
    hidden: tuple[str, ...] = ()
    edit: Callable[[Path], None] | None = None


@dataclass(frozen=True)
class Caught:
    """Findings of a verification that do not pass: subject and cause."""

    findings: tuple[str, ...]

    def names(self, words: tuple[str, ...]) -> bool:
        """Return whether a finding has one of the words."""
        return any(word in finding for finding in self.findings for word in words)


def _machine(words: list[str]) -> list[str]:
    """Return the words of a compiler's command that choose the machine."""
    return [word for word in words if word.startswith(("--target", "-target", "-m"))]


def run(*command: str | Path, folder: Path | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{shlex.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


class NamedLeak(Protocol):
    """A way to hide code."""

    @property
    def name(self) -> str: ...

    @property
    def make(self) -> Callable[[LeakBench], LinkedWith]: ...


@dataclass(frozen=True, eq=False)
class LeakBench:
    """Builds leaks. build: a selective build, beside the full one. folder: for leaks."""

    build: Build
    full: Build
    folder: Path

    @property
    def is_macho(self) -> bool:
        return find_target(self.build.target).is_macho

    @cached_property
    def symbols(self) -> Mapping[str, Symbol]:
        """The functions of the full image."""
        image = self.full.image
        read = read_macho_image(image) if self.is_macho else read_elf(image)
        return {s.name: s for s in read.symbols if s.section and s.name}

    def mangled(self, kernel: str) -> str:
        """Find the mangled name of a kernel in the full build."""
        # With LTO the kernel may be inlined into its wrapper: then debug information has the name.
        pattern = rf"_ZN2sg7kernels{len(kernel)}{kernel}E\w+"
        names = [name for name in self.symbols if re.fullmatch(pattern, name)]
        if names:
            return names[0]
        debug = self.full.debug.rglob("*") if self.full.debug else ()
        files = [self.full.image, *(path for path in debug if path.is_file())]
        return next(
            found[0].decode()
            for path in files
            if (found := re.search(pattern.encode(), path.read_bytes()))
        )

    def machine_code(self, kernel: str) -> bytes:
        """Cut a kernel's bytes out of the full image."""
        word = f"7kernels{len(kernel)}{kernel}E"
        around = [each for name, each in self.symbols.items() if word in name]
        exact = [each for name, each in self.symbols.items() if name.startswith(f"_ZN2sg{word}")]
        # With LTO the kernel may be inlined into its wrapper.
        symbol = exact[0] if exact else max(around, key=lambda s: s.size)
        return self.bytes_of(symbol)

    def bytes_of(self, symbol: Symbol) -> bytes:
        """Cut a function's bytes out of the full image."""
        image = self.full.image
        read = read_macho_image(image) if self.is_macho else read_elf(image)
        section = read.sections[symbol.section]
        start = section.offset + symbol.address - section.address
        return read.data[start : start + symbol.size].tobytes()

    @cached_property
    def _commands(self) -> list[list[str]]:
        listed = run("ninja", "-C", self.build.image.parent, "-t", "commands", "run_program")
        return [shlex.split(line) for line in listed.splitlines()]

    def _compiler(self, source: str) -> list[str]:
        """Return the command that compiles a source of the app, without output and input."""
        words = next(w for w in self._commands if w[-1].endswith(source))
        return [word for word in words[: words.index("-MD")] if not word.startswith("-W")]

    def _compiler_of_all(self, source: str) -> list[str]:
        """Return the same command with everything selected."""
        mine = str(self.build.selection.parent)
        theirs = str(self.full.selection.parent)
        return [word.replace(mine, theirs) for word in self._compiler(source)]

    @property
    def is_clang(self) -> bool:
        return self.build.toolchain.startswith("clang")

    @property
    def is_lld(self) -> bool:
        return "lld" in self.build.toolchain

    def under(self, name: str) -> str:
        """Return the symbol of a mangled name."""
        return f"_{name}" if self.is_macho else name

    def assemble(self, name: str, text: str, edit: Callable[[str], str], *options: str) -> Path:
        """Compile a source to assembly, edit that, and assemble it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        source, made = self.folder / f"{name}.cpp", self.folder / f"{name}.s"
        source.write_text(PROLOGUE + text)
        words = [*self._compiler_of_all("kernels/lookup.cpp"), *options, "-fno-lto"]
        run(*words, "-S", source, "-o", made)
        made.write_text(edit(made.read_text()))
        output = self.folder / f"{name}.o"
        language = ("-g",) if "-g0" in options else ()
        run(words[0], *_machine(words), *language, "-c", made, "-o", output)
        return output

    def compile(self, name: str, text: str, *options: str) -> Path:
        """Compile a source as kernels are compiled, with everything selected."""
        self.folder.mkdir(parents=True, exist_ok=True)
        source = self.folder / f"{name}.cpp"
        source.write_text(PROLOGUE + text)
        output = self.folder / f"{name}.o"
        # LTO does not see which symbols assembly refers to.
        whole = ["-fno-lto"] if self.build.lto and _ASSEMBLY.search(text) else []
        words = [*self._compiler_of_all("kernels/lookup.cpp"), *options, *whole]
        run(*words, "-c", source, "-o", output)
        return output

    def compile_terse(self, source: Path, output: Path, *options: str | Path) -> Path:
        """Compile a source as the app's kernels, thus without texts of deselected features."""
        words = self._compiler("kernels/lookup.cpp")
        run(*words, *options, "-c", source, "-o", output, folder=self.folder)
        return output

    def compile_editable(self, name: str, text: str, *options: str) -> Path:
        """Compile to an object that llvm-objcopy edits: machine code in place of bitcode."""
        whole = ("-fno-lto",) if self.build.lto and (self.is_clang or self.is_macho) else ()
        return self.compile(name, text, *options, *whole)

    def finish_lto(self, path: Path) -> None:
        """Replace an LTO object by one with machine code."""
        made = path.with_suffix(".code")
        words = self._compiler("kernels/lookup.cpp")
        own = (
            ("-c", "-x", "ir")
            if self.is_clang
            else ("-r", "-nostdlib", "-flinker-output=nolto-rel")
        )
        run(words[0], *_machine(words), "-Os", "-ffunction-sections", *own, path, "-o", made)
        made.replace(path)

    @cached_property
    def main(self) -> Path:
        """Compile the program's object with a main() that calls leaked()."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = (ROOT / "native" / "apps" / "run_program.cpp").read_text()
        assert MAIN in text
        source = self.folder / "run_program.cpp"
        hook = f'extern "C" void leaked(int, char**);\n{MAIN}\n  leaked(argc, argv);'
        source.write_text(text.replace(MAIN, hook))
        output = self.folder / "run_program.cpp.o"
        run(*self._compiler("apps/run_program.cpp"), "-c", source, "-o", output)
        return output

    @cached_property
    def _linking(self) -> list[str]:
        """Return the words of the link, with absolute paths."""
        words = next(w for w in reversed(self._commands) if "-o" in w and "run_program" in w)
        place = self.build.image.parent
        found = []
        for word in words[words.index("&&") + 1 : len(words) - words[::-1].index("&&") - 1]:
            is_file = word.endswith((".o", ".a")) and not word.startswith("-")
            found.append(str(place / word) if is_file else word)
        return found

    def link(self, name: str, leak: LinkedWith) -> Build:
        """Link the program with a leak, strip it, and write its record."""
        place = self.folder / name
        place.mkdir(parents=True, exist_ok=True)
        image = place / "run_program"
        words = self._link_command(place, leak)
        run(*words, folder=place)
        target = find_target(self.build.target)
        shipped = place / "run_program.stripped"
        run(target.strip, "--strip-all", "-o", shipped, image)
        debug = None
        if target.is_macho:
            debug = place / "run_program.dSYM"
            run("dsymutil-19", image, "-o", debug)
        for path in (image, shipped) if leak.edit else ():
            leak.edit(path)
        inputs = [
            self.main if path.name == "run_program.cpp.o" else path
            for path in dict.fromkeys(self.build.lto_inputs or self.build.objects)
        ]
        inputs += leak.recorded
        build = replace(
            self.build,
            image=image,
            shipped=shipped,
            map=place / "run_program.map",
            gc_log=place / "run_program.gc.txt",
            objects=tuple(self._with_code(inputs, image)),
            lto_inputs=tuple(inputs) if self.build.lto else (),
            sizes=measure(shipped),
            debug=debug,
            link_command=None if target.is_macho else record_link(words, place, image),
        )
        (place / RECORD).write_text(json.dumps(build.to_json()))
        beside = self.folder / "full"
        beside.mkdir(exist_ok=True)
        (beside / RECORD).write_text(json.dumps(self.full.to_json()))
        return build

    def _link_command(self, place: Path, leak: LinkedWith) -> list[str]:
        """Return the command of the build's link, with the leak, for another folder."""
        mine = str(self.build.image.parent)
        words = [
            str(self.main)
            if word.endswith("apps/run_program.cpp.o")
            else re.sub(rf"{re.escape(mine)}(/run_program.map|/$)", rf"{place}\1", word)
            for word in self._linking
            # dsymutil finds the objects by their full paths, because they are in several folders.
            if not word.startswith("-Wl,-oso_prefix")
        ]
        words[words.index("-o") + 1] = "run_program"
        at = words.index("run_program") + 1
        words[at:at] = [*map(str, leak.recorded), *leak.hidden]
        return words

    def _with_code(self, inputs: list[Path], image: Path) -> list[Path]:
        """Return the inputs that have machine code, and what LTO made of the others."""
        if not self.build.lto:
            return inputs
        kept = lto_objects(image)
        if self.is_macho:
            return [*kept, *(path for path in inputs if not read_macho_objects([path]).lto)]
        return [*kept, *(path for path in inputs if not read_objects([path]).lto)]

    def outcome(self, leak: NamedLeak) -> Caught:
        """Link with a leak, and verify."""
        build = self.link(leak.name, leak.make(self))
        try:
            return findings_of(verify_build(ROOT, build, RequestedClaims()))
        except InconclusiveError as error:
            return Caught((f"inconclusive: {error}",))


def findings_of(found: Verification) -> Caught:
    wrong = [verdict for verdict in found.verdicts if verdict.verdict in (FAIL, INCONCLUSIVE)]
    return Caught(
        (
            *(
                f"{v.verdict} {v.kind} {v.name} {v.bytes}: {v.cause} {' '.join(v.evidence)}"
                f" {' '.join(step.symbol for step in v.chain)}"
                for v in wrong
            ),
            *(f"gap: {gap}" for gap in found.gaps),
            *(f"canary: {note}" for note in found.canary_notes),
        )
    )
