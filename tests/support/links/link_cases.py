"""Link small programs with every compiler, linker and mode, with the linker's log."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from sizeguard.builds.link_record import LinkRecord
from sizeguard.linkgraph.elf.elf_graph import graph_of
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.inputs.command_line import parse_command
from sizeguard.linkgraph.inputs.loaded import Loaded
from sizeguard.linkgraph.inputs.loader import load
from sizeguard.linkgraph.inputs.recorded_link import linker_named
from sizeguard.toolchains.links.asked_link import link_command
from tests.support.links.gc_lists import Removed, removed_by_log, removed_by_model
from tests.support.links.map_links import linker_flags
from tests.support.places import DATA

FIXTURES = DATA / "link_fixtures"
NAMES = tuple(sorted(folder.name for folder in FIXTURES.iterdir()))
COMPILERS = {"gcc": "g++", "clang": "clang++-19"}
LEVELS = ("s", "2", "0")
LINKERS = ("bfd", "gold", "lld-14", "lld-19", "lld-22", "mold")
MODES = {
    "executable": (),
    "shared": ("-shared",),
    "shared-hidden": ("-shared",),
    "export-dynamic": ("-Wl,--export-dynamic",),
    "static": ("-static",),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A fixture with one way to compile and link it.

    A linked library's objects are position independent.
    """

    fixture: str
    compiler: str
    level: str
    linker: str
    mode: str

    @property
    def compile_flags(self) -> list[str]:
        flags = [f"-O{self.level}", "-std=c++20", "-ffunction-sections", "-fdata-sections"]
        flags += ["-fPIC"] if self.mode.startswith("shared") else []
        return flags + (["-fvisibility=hidden"] if self.mode == "shared-hidden" else [])


@dataclass(frozen=True, slots=True)
class Linked:
    """A finished link: its command, its log, its output.

    loaded, graph: its model, made without the log.
    """

    command: LinkRecord
    log: str
    output: Path
    loaded: Loaded
    graph: SectionGraph

    @property
    def differences(self) -> tuple[Removed, Removed]:
        """Return the sections that only the log or only the model removes."""
        log, model = (
            removed_by_log(self.log, self.loaded),
            removed_by_model(self.loaded, self.graph),
        )
        return log - model, model - log


def compile_case(case: Case, folder: Path) -> list[Path]:
    """Compile the objects of a fixture, once for all linkers."""
    objects = []
    for source in sorted((FIXTURES / case.fixture).glob("*.cpp")):
        kind = "-".join([case.compiler, case.level, *(flag[2:] for flag in case.compile_flags[4:])])
        target = folder / kind / case.fixture / f"{source.stem}.o"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(
                [
                    COMPILERS[case.compiler],
                    *case.compile_flags,
                    "-c",
                    str(source),
                    "-o",
                    str(target),
                ],
                check=True,
            )
        objects.append(target)
    return objects


def link_case(case: Case, folder: Path, extra: tuple[str, ...] = ()) -> Linked | str:
    """Link a case; return the linker's message if it fails."""
    objects = [str(path) for path in compile_case(case, folder)]
    output = folder / "-".join(
        ["out", case.fixture, case.compiler, case.level, case.linker, case.mode]
    )
    driver = [
        COMPILERS[case.compiler],
        *objects,
        "-o",
        str(output),
        *MODES[case.mode],
        *linker_flags(case.linker),
    ]
    return link(driver, folder, output, extra)


def link(
    driver: list[str], folder: Path, output: Path, extra: tuple[str, ...] = ()
) -> Linked | str:
    driver = [*driver, "-Wl,--gc-sections", "-Wl,--print-gc-sections", "-Wl,--no-demangle", *extra]
    done = subprocess.run(driver, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr
    return model(link_command(driver, folder), done.stdout + done.stderr, output)


def model(command: LinkRecord, log: str, output: Path) -> Linked:
    loaded = load(
        parse_command(command.arguments, command.folder, linker_named(command.linker, "test"))
    )
    return Linked(command, log, output, loaded, graph_of(loaded))
