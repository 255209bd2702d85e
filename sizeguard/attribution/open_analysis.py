"""Analyses of binaries and builds: everything known about a path, as labelled rows.

Ledgers and the modules that find owners are imported where they are used. A comment at each import
gives the CPU time that commands save without it; a report of libtorch_cpu.so may take 0.8 s in
total.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.attribution.owners.inline_pieces import DEFAULT, asks_for_pieces
from sizeguard.attribution.owners.library_rows import LibraryRows
from sizeguard.attribution.owners.link_owners import (
    branch_owners,
    place_owners,
    reach_of_link,
    registration_parts,
    serve_owners,
)
from sizeguard.attribution.rows import LabelSources, LedgerAnalysis
from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.base.files import is_folder, is_there
from sizeguard.base.input_files import readable
from sizeguard.builds import RECORD
from sizeguard.builds.open_build import Files, files_of, has_records, open_build
from sizeguard.formats.elf import has_debug_information, read_elf
from sizeguard.formats.elf.layout import SHF_TLS
from sizeguard.formats.linkmap import read_link_map
from sizeguard.formats.linkmap.fit import check_fit
from sizeguard.formats.sniff import (
    COFF,
    CONTAINERS,
    ELF,
    IMAGES,
    MACHO,
    PE,
    WASM,
    image_format,
    is_fat,
)
from sizeguard.runtimes.recognise import Choice, choose_preset

if TYPE_CHECKING:
    from sizeguard.attribution.containers.joined import JoinedAnalysis, OpenedAnalysis
    from sizeguard.builds.build_record import Build
    from sizeguard.builds.shipped_libraries import ShippedLibrary
    from sizeguard.formats.dwarf.sources import UnitSources
    from sizeguard.formats.elf import Elf
    from sizeguard.formats.linkmap.link_map import LinkMap
    from sizeguard.ledger.ledger import Ledger


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Rules that read names, and the image of a universal binary to read; see analysis_of.

    levels: the levels that will be requested, or DEFAULT; None for all
    rules_text: rules of a project, used if there is no rules file
    loaded_only: whether sections that are not loaded may have one owner; only ELF images use it
    """

    preset: str = "auto"
    rules: Path | None = None
    arch: str = ""
    levels: Collection[str] | None = None
    rules_text: str = ""
    loaded_only: bool = False

    def choose(self, ledger: Ledger) -> Choice:
        """Choose the rules for a ledger's names."""
        return choose_preset(ledger.symbols, self.preset, self.rules, self.rules_text)

    def of_members(self) -> ReadingOptions:
        """Return the options for the images of a container, whose default level is the image."""
        if self.levels is None:
            return self
        return replace(self, levels=frozenset(self.levels) - {DEFAULT})

    @property
    def reads_dtypes(self) -> bool:
        """Return whether names will be asked for dtypes."""
        return self.levels is None or "dtype" in self.levels

    def needs_pieces(self, choice: Choice) -> bool:
        """Return whether to search debug information for dtype branches, which takes long.

        The search is useless for a program that fits no preset, or whose preset has no cases.
        """
        if not asks_for_pieces(self.levels):
            return False
        knows = self.preset != "auto" or choice.rules is not None or choice.fits
        return knows and choice.preset.has_cases


_USUAL = ReadingOptions()


# More than 6 parameters: one for each option of the command line.
def analysis_of(
    path: Path,
    *,
    objects: Sequence[Path] = (),
    map_: Path | None = None,
    debug_file: Path | None = None,
    preset: str = "auto",
    rules: Path | None = None,
    arch: str = "",
    levels: Collection[str] | None = None,
    scripts: Sequence[Path] = (),
    rules_text: str = "",
    loaded_only: bool = False,
) -> LedgerAnalysis | JoinedAnalysis:
    """Analyse a binary, a container, or the shipped file of a build (folder or build.json).

    objects, map_: of the link that made the image; a build names its own
    debug_file:    the same build with symbols or debug information
    preset:        name of the rules that read names; auto selects the fitting ones
    rules:         file of rules that precede the preset's
    arch:          the image of a universal binary to read; if empty, each image gets a row
    levels:        the levels that will be requested, so that only these are read; DEFAULT for those
                   of a report without levels; None for all
    scripts:       linker scripts, which name the memory regions
    rules_text:    rules of a project, for an image that does not belong to a build
    loaded_only:   whether bytes that are not loaded may be told apart only by section

    Raises InputError for files that cannot be read or do not belong together.
    """
    given = Files(
        path, objects=tuple(objects), link_map=map_, debug_file=debug_file, scripts=tuple(scripts)
    )
    options = ReadingOptions(preset, rules, arch, levels, rules_text, loaded_only)
    if is_folder(path) and not (path / RECORD).exists():
        return _joined_analysis(path, given, options)
    return analysis_of_files(_recorded(open_build(path, given)), options)


def analysis_of_build(build: Build) -> LedgerAnalysis | JoinedAnalysis:
    """Analyse the shipped file of a build, with its map, objects and debug information."""
    return analysis_of_files(_recorded(files_of(build)))


def _recorded(files: Files) -> Files:
    """Add the record of the link, if there is one; a native build names its own files."""
    build = files.build
    if build is None:
        is_recorded = is_there(files.image) and has_records(files.image)
    else:
        from sizeguard.builds.build_record import IMAGE  # 6 ms, which bare images save

        is_recorded = build.variant == IMAGE
    if not is_recorded:
        return files
    from sizeguard.linkgraph.recorded_files import with_record, with_recorded_map  # 60 ms

    try:
        return with_record(files)
    except InconclusiveError:  # then operators come from names
        return with_recorded_map(files)


def analysis_of_files(
    files: Files, options: ReadingOptions = _USUAL
) -> LedgerAnalysis | JoinedAnalysis:
    """Analyse the files of one link: the shipped image with everything known about it."""
    if files.build is not None and files.build.rules:
        options = replace(options, rules_text=files.build.rules)
    image = files.twin or files.image
    format_ = image_format(image)
    if format_ in CONTAINERS or (format_ == MACHO and _is_all(image, files, options)):
        return _joined_analysis(image, files, options)
    link_map = read_link_map(files.link_map) if files.link_map is not None else None
    if format_ in IMAGES - {ELF} and files.scripts:
        raise InputError(
            f"{files.scripts[0]}: only an ELF image has the regions of a linker script"
        )
    if format_ == MACHO:
        return _macho_analysis(image, files, link_map, options)
    if options.arch:
        raise InputError(
            f"{image}: not a universal binary, so it has no {options.arch}; leave out --arch"
        )
    if format_ in (PE, COFF, WASM):
        return _sectioned_analysis(image, files, format_, options)
    return _elf_analysis(image, files, link_map, options)


def _is_all(image: Path, files: Files, options: ReadingOptions) -> bool:
    """Check for a universal binary without a selected image.

    A map or debug information belongs to one image, so one must be selected with it. The unstripped
    twin of a universal binary has the names of all its images.
    """
    if options.arch or files.debug_file is not None or files.link_map is not None:
        return False
    with readable(image).open("rb") as file:
        return is_fat(file.read(8))


def _joined_analysis(path: Path, files: Files, options: ReadingOptions) -> JoinedAnalysis:
    """Analyse the members of a container."""
    from sizeguard.attribution.containers.container_analysis import container_analysis  # 15 ms

    for given in (*files.objects, *files.scripts, files.link_map, files.debug_file):
        if given is not None:
            raise InputError(f"{path}: {given} belongs to one of several images; name a member")
    if options.arch:
        raise InputError(
            f"{path}: not a universal binary, so it has no {options.arch}; leave out --arch"
        )
    of_members = options.of_members()

    def opened(member: Path, title: str) -> OpenedAnalysis:
        # The unstripped twin of a universal binary has an image with the same UUID.
        names = files.image if files.twin is not None and image_format(path) == MACHO else None
        analysis = analysis_of_files(Files(member, debug_file=names), of_members)
        analysis.image = replace(analysis.image, title=title)
        return analysis

    joined = container_analysis(path, opened)
    libraries = _libraries(files)
    if not libraries:
        return joined
    from sizeguard.attribution.containers.joined import JoinedAnalysis, JoinedMember

    members = [JoinedMember(path.name, joined.image.file, joined)]
    members += [
        JoinedMember(each.name, each.sizes.file, analysis_of_files(Files(each.path), of_members))
        for each in libraries
    ]
    return JoinedAnalysis(LibraryRows(libraries).image(joined.image), members, (), "")


def _sectioned_analysis(
    image: Path, files: Files, format_: str, options: ReadingOptions
) -> LedgerAnalysis:
    from sizeguard.formats.read_sectioned import read_sectioned
    from sizeguard.ledger.sectioned.sectioned_ledger import sectioned_ledger  # 10 ms

    for given in (*files.objects, files.link_map, files.debug_file):
        if given is not None:
            raise InputError(f"{given}: leave it out; only ELF and Mach-O images use such a file")
    title = _title(image, files)
    ledger = sectioned_ledger(read_sectioned(image, format_), title)
    is_named = options.preset != "auto"
    choice, libraries = options.choose(ledger), _libraries(files)
    return LedgerAnalysis(
        LabelSources(ledger, title, choice, libraries=libraries, is_named=is_named)
    )


def _title(image: Path, files: Files) -> str:
    return files.build.title if files.build else image.name


def _libraries(files: Files) -> Sequence[ShippedLibrary]:
    """Measure the libraries that a build makes besides its image."""
    if files.build is None:
        return ()
    from sizeguard.builds.shipped_libraries import shipped_libraries  # 5 ms

    return shipped_libraries(files.build)


def _names_of(files: Files) -> Path | None:
    """Return the file with the image's names and debug information, if it is a separate file."""
    return files.debug_file or (files.image if files.twin else None)


def _elf_analysis(
    image: Path, files: Files, link_map: LinkMap | None, options: ReadingOptions
) -> LedgerAnalysis:
    from sizeguard.ledger.elf import elf_ledger  # 37 ms

    elf = read_elf(image)
    if link_map is not None and not elf.is_relocatable:
        _check_map(image, elf, link_map, files)
    names = _names_of(files)
    twin = read_elf(names) if names is not None else None
    reached = reach_of_link(files, link_map)
    rows = link_map.placed if link_map is not None else ()
    parts = registration_parts(reached, rows)
    ledger = elf_ledger(elf, twin, rows, parts, loaded_only=options.loaded_only)
    choice = options.choose(ledger)
    owned = place_owners(elf, ledger, reached)
    ledger = owned.ledger if owned is not None else ledger
    served = serve_owners(elf, ledger) if owned is None and not choice.names_are_enough else None
    ledger = served.ledger if served is not None else ledger
    branched = None
    if options.needs_pieces(choice) and not elf.is_relocatable:
        holder = twin if twin is not None else elf
        if has_debug_information(holder.sections):
            branched = branch_owners(elf, ledger, names or image, None, choice)
    ledger = branched.ledger if branched is not None else ledger
    ledger = _with_regions(ledger, elf, files, link_map, options)
    return LedgerAnalysis(
        LabelSources(
            ledger,
            _title(image, files),
            choice,
            owned,
            served,
            branched,
            _libraries(files),
            _code_sources(elf, twin),
            options.preset != "auto",
            options.reads_dtypes,
        )
    )


def _check_map(image: Path, elf: Elf, link_map: LinkMap, files: Files) -> None:
    # Thread-local zeros take no memory of the image.
    sections = [
        s
        for s in elf.sections
        if s.is_allocated and s.size and not (s.is_nobits and s.flags & SHF_TLS)
    ]
    placed = [(s.name, s.address, s.size, s.is_executable) for s in sections]
    check_fit(image, placed, link_map, files.link_map)


def _with_regions(
    ledger: Ledger, elf: Elf, files: Files, link_map: LinkMap | None, options: ReadingOptions
) -> Ledger:
    """Add the memory regions, from the given scripts, the map, or the record of the link."""
    is_asked = options.levels is None or "region" in options.levels
    if elf.is_relocatable or not (is_asked or files.scripts):
        return ledger
    if files.scripts:
        from sizeguard.formats.linkmap.linker_script import script_regions  # 5 ms

        found = script_regions(files.scripts)
        if not found:
            raise InputError(f"{files.scripts[0]}: a linker script without a MEMORY block")
    else:
        from sizeguard.builds.link_regions import recorded_regions

        found = link_map.regions if link_map is not None else ()
        found = found or recorded_regions(files)
    if not found:
        return ledger
    from sizeguard.ledger.elf.memory_use import region_uses

    return replace(ledger, image=replace(ledger.image, regions=region_uses(elf, found)))


def _code_sources(elf: Elf, twin: Elf | None) -> Callable[[], UnitSources] | None:
    """Return a function that reads the sources of code; None without debug information."""
    images = (each for each in (twin, elf) if each is not None)
    holder = next((each for each in images if has_debug_information(each.sections)), None)
    if holder is None or elf.is_relocatable:
        return None

    def read() -> UnitSources:
        from sizeguard.formats.dwarf.sections import elf_sections
        from sizeguard.formats.dwarf.sources import unit_sources

        return unit_sources(elf_sections(holder), is_big=holder.layout.order == ">")

    return read


def _macho_analysis(
    image: Path, files: Files, link_map: LinkMap | None, options: ReadingOptions
) -> LedgerAnalysis:
    # Imported here: the readers of Mach-O take 40 ms.
    from sizeguard.formats.macho import read_macho
    from sizeguard.formats.macho.dsym import companion, with_debug_information
    from sizeguard.ledger.macho.macho_ledger import macho_ledger

    title, names = _title(image, files), _names_of(files)
    macho = read_macho(image, options.arch)
    if link_map is not None and not macho.is_object:
        placed = [(s.full_name, s.address, s.size, s.is_code) for s in macho.sections if s.size]
        check_fit(image, placed, link_map, files.link_map)
    inputs = link_map.placed if link_map is not None else ()
    ledger = macho_ledger(macho, companion(macho, names), inputs, title)
    choice = options.choose(ledger)
    owned = place_owners(macho, ledger, None if macho.is_object else reach_of_link(files, link_map))
    ledger = owned.ledger if owned is not None else ledger
    branched = None
    is_searched = options.needs_pieces(choice) and not macho.is_object
    if is_searched and with_debug_information(macho, names) is not None:
        branched = branch_owners(macho, ledger, macho.path, names, choice, options.arch)
    ledger = branched.ledger if branched is not None else ledger
    sources = LabelSources(
        ledger,
        title,
        choice,
        owned,
        branched=branched,
        libraries=_libraries(files),
        is_named=options.preset != "auto",
        reads_dtypes=options.reads_dtypes,
    )
    return LedgerAnalysis(sources)
