"""Turns a path, of a binary or a build, into what is known of it: an Analysis.

Readers and analyzers are imported where they are used: all of them take 0.1 s, of the 0.8 that a report of libtorch_cpu.so may take.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.attribution.analyse import Evidence, LedgerAnalysis
from sizeguard.attribution.choose import Choice, choose_preset
from sizeguard.build import RECORD
from sizeguard.errors import InconclusiveError, InputError
from sizeguard.formats.linkmap import read_link_map
from sizeguard.formats.sniff import ARCHIVE, ELF, MACHO, image_format

if TYPE_CHECKING:
    from sizeguard.attribution.branches import Branched
    from sizeguard.attribution.reach import Reached
    from sizeguard.attribution.served import Served
    from sizeguard.formats.elf import Elf
    from sizeguard.formats.linkmap.fit import Placed
    from sizeguard.formats.linkmap.row import LinkMap
    from sizeguard.formats.macho.image import MachO
    from sizeguard.ledger.ledger import Ledger
    from sizeguard.ledger.part import Part


def analysis_of(
    path: Path,
    *,
    objects: Sequence[Path] = (),
    map_: Path | None = None,
    debug_file: Path | None = None,
    preset: str = "auto",
    rules: Path | None = None,
    arch: str = "",
) -> LedgerAnalysis:
    """Of a folder or a build.json: its shipped file, with all that the build knows. Of anything else: the file, with what is named.

    objects, map_: of the link that made the image; debug_file: the same build with symbols or debug information.
    preset: the rules that read names, auto for those that fit; rules: a file of rules that come before them.
    arch: which image of a fat Mach-O file; without one the analysis has a row for each image.
    """
    if path.is_dir() or path.name == RECORD:
        from sizeguard.build.record import read_build

        build = read_build(path)
        title = f"{build.app or build.variant}  {build.target}  {build.toolchain} -O{build.optimize}"
        image, names = build.shipped, debug_file or build.image
        return _analysis(image, names, map_ or build.map, objects or build.objects, build.image.parent, title, preset, rules, arch)
    return _analysis(path, debug_file, map_, objects, path.parent, path.name, preset, rules, arch)


def _analysis(
    image: Path,
    names: Path | None,
    map_: Path | None,
    objects: Sequence[Path],
    folder: Path,
    title: str,
    preset: str,
    rules: Path | None,
    arch: str,
) -> LedgerAnalysis:
    link_map = read_link_map(map_) if map_ is not None else None
    inputs = link_map.placed if link_map is not None else ()
    if image_format(image) == MACHO:
        return _of_macho(image, names, link_map, map_, title, preset, rules, arch)
    if arch:
        raise InputError(f"{image}: an architecture ({arch}) is chosen of fat Mach-O files, and this is none")
    from sizeguard.formats.elf import read_elf
    from sizeguard.formats.elf.layout import SHF_TLS
    from sizeguard.ledger.elf import elf_ledger

    elf = read_elf(image)
    if link_map is not None and not elf.is_relocatable:
        # Thread-local zeros have no place of their own in memory.
        sections = [s for s in elf.sections if s.is_allocated and s.size and not (s.is_nobits and s.flags & SHF_TLS)]
        _check_fit(image, [(s.name, s.address, s.size, s.is_executable) for s in sections], link_map, map_)
    twin = read_elf(names) if names is not None else None
    reached, parts = _reached(objects, folder)
    ledger = elf_ledger(elf, twin, inputs, parts)
    choice = choose_preset(ledger.symbols, preset, rules)
    served = _served(elf, ledger) if reached is None and not choice.names_are_enough else None
    ledger = served.ledger if served is not None else ledger
    # Of a program that no preset knows debug information says nothing, and reading it takes long.
    is_known = preset != "auto" or rules is not None or choice.fits
    branched = _branches(elf, image, twin, names, ledger, choice) if is_known and not elf.is_relocatable else None
    return LedgerAnalysis(Evidence(branched.ledger if branched is not None else ledger, title, choice, reached, served, branched))


def _check_fit(image: Path, sections: Sequence[Placed], link_map: LinkMap, map_: Path | None) -> None:
    from sizeguard.formats.linkmap.fit import check_fit

    check_fit(image, sections, link_map, map_)


def _reached(objects: Sequence[Path], folder: Path) -> tuple[Reached | None, Sequence[Part]]:
    """What the objects of the link say, if they are ELF: which operator reaches what, and the entries of registration tables."""
    if not objects or not all(image_format(path) in (ELF, ARCHIVE) for path in objects):
        return None, ()
    from sizeguard.attribution.reach import ENTRY_SIZE, reach
    from sizeguard.ledger.part import Part

    reached = reach(objects, folder)
    return reached, [Part(entry.object, entry.section, entry.offset, ENTRY_SIZE, entry.operator) for entry in reached.entries]


def _served(elf: Elf, ledger: Ledger) -> Served | None:
    from sizeguard.attribution.registrations import read_registrations

    registrations = read_registrations(elf)
    if not registrations:
        return None
    from sizeguard.attribution.served import serve

    return serve(elf, ledger, registrations)


def _branches(elf: Elf, image: Path, twin: Elf | None, names: Path | None, ledger: Ledger, choice: Choice) -> Branched | None:
    """Only where there is debug information, and a preset that knows what cases look like in it."""
    holder = twin if twin is not None else elf
    if holder.section(".debug_info") is None or not choice.preset.has_cases:
        return None
    return _branched(elf, ledger, names or image, None, choice)


def _macho_branches(macho: MachO, names: Path | None, ledger: Ledger, choice: Choice, arch: str) -> Branched | None:
    from sizeguard.formats.macho.dsym import with_debug_information

    if macho.is_object or not choice.preset.has_cases or with_debug_information(macho, names) is None:
        return None
    return _branched(macho, ledger, macho.path, names, choice, arch)


def _branched(image: Elf | MachO, ledger: Ledger, path: Path, debug: Path | None, choice: Choice, arch: str = "") -> Branched | None:
    from sizeguard.attribution.branches import branch_out
    from sizeguard.attribution.inlined import inlined_branches

    try:
        branches = inlined_branches(path, debug, choice.preset, arch)
    except InconclusiveError:
        return None  # all of it is in .dwo files, or of other code: the names still say what they say
    return branch_out(image, ledger, branches)


def _of_macho(
    image: Path, names: Path | None, link_map: LinkMap | None, map_: Path | None, title: str, preset: str, rules: Path | None, arch: str
) -> LedgerAnalysis:
    from sizeguard.formats.macho.dsym import companion
    from sizeguard.formats.macho.reader import FatFile, read_macho, read_macho_file
    from sizeguard.ledger.macho import fat_ledger, macho_ledger

    # A map or debug information is of one image: of several one must be chosen.
    macho = read_macho(image, arch) if arch or names is not None or link_map is not None else read_macho_file(image)
    if isinstance(macho, FatFile):
        ledger = fat_ledger(macho, title)
        return LedgerAnalysis(Evidence(ledger, title, choose_preset(ledger.symbols, preset, rules)))
    if link_map is not None and not macho.is_object:
        _check_fit(image, [(s.full_name, s.address, s.size, s.is_code) for s in macho.sections if s.size], link_map, map_)
    inputs = link_map.placed if link_map is not None else ()
    ledger = macho_ledger(macho, companion(macho, names), inputs, title)
    choice = choose_preset(ledger.symbols, preset, rules)
    is_known = preset != "auto" or rules is not None or choice.fits
    branched = _macho_branches(macho, names, ledger, choice, arch) if is_known else None
    return LedgerAnalysis(Evidence(branched.ledger if branched is not None else ledger, title, choice, branched=branched))
