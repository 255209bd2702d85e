"""Examine an image: run each check, and sort the findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.builds.open_build import Files
from sizeguard.doctor.diagnosis import Diagnosis, SizeFinding
from sizeguard.doctor.exported_names import exported_names
from sizeguard.doctor.identical_functions import MACHINES, identical_functions, unfolded
from sizeguard.doctor.image_facts import RELATIVE, ImageFacts
from sizeguard.doctor.page_padding import page_padding
from sizeguard.doctor.relative_relocations import relative_relocations
from sizeguard.doctor.repeated_tables import repeated_tables
from sizeguard.doctor.type_information import type_information
from sizeguard.doctor.unstripped import unstripped
from sizeguard.doctor.unused_sections import unused_sections
from sizeguard.doctor.unwind_tables import unwind_tables
from sizeguard.formats.describe import describe_file
from sizeguard.formats.elf import read_elf
from sizeguard.formats.sniff import ARCHIVE, ELF, image_format
from sizeguard.linkgraph.recorded_files import missing_record, with_record

OF_IMAGE: tuple[Callable[[ImageFacts], SizeFinding | None], ...] = (
    unstripped,
    relative_relocations,
    unwind_tables,
    identical_functions,
    type_information,
    repeated_tables,
    exported_names,
    page_padding,
)


def examine(files: Files) -> Diagnosis:
    """Find all possible savings. Raises InputError for a file that is not an ELF image."""
    path = files.image
    if image_format(path) == ARCHIVE:
        raise InputError(f"{path}: a static library; doctor reads what is linked from it")
    if image_format(path) != ELF:
        raise InputError(f"{path}: {describe_file(path)}; doctor reads ELF images only")
    facts = ImageFacts(read_elf(path))
    if facts.elf.is_relocatable:
        raise InputError(f"{path}: an object file, not a linked image")
    found = [finding for look in OF_IMAGE if (finding := look(facts)) is not None]
    unknown = list(_unknown(facts))
    try:
        linked = with_record(files)
        if linked.link_record is None:
            unknown.append(f"sections without a use: {_why_no_record(path)}")
        unused = unused_sections(linked, facts)
        found += [unused] if unused is not None else []
    except InconclusiveError as error:
        unknown.append(f"sections without a use: {error}")
    found = [_with_records(finding, facts) for finding in found if finding.high > 0]
    found.sort(key=lambda finding: (-finding.low, -finding.high, finding.kind))
    return Diagnosis(str(path), facts.elf.load, facts.elf.size, tuple(found), tuple(unknown))


def _with_records(finding: SizeFinding, facts: ImageFacts) -> SizeFinding:
    """Lower a finding's bound by the bytes with which the image records a longer build command."""
    recorded = sum(each.recorded for each in facts.toolchains)
    return replace(finding, low=max(finding.low - recorded, 0)) if recorded else finding


def _why_no_record(image: Path) -> str:
    return missing_record(image) or "the link is not recorded; build with sizeguard record"


def _unknown(facts: ImageFacts) -> list[str]:
    """List the checks that this image does not allow."""
    lines = []
    if facts.elf.is_stripped:
        lines.append("type information, repeated tables: the image is stripped")
    if facts.elf.machine not in MACHINES:
        lines.append(f"identical functions: code of {facts.elf.machine} is not compared")
    elif names := unfolded(facts):
        lines.append(f"identical functions: no linker folds code of {' or '.join(names)}")
    elif facts.has_runtime_inside:
        lines.append(
            "identical functions: the compiler's libraries are or may be linked as whole sections"
        )
    if facts.fixups and facts.elf.machine not in RELATIVE:
        lines.append(f"relocations: relative ones of {facts.elf.machine} are not known")
    if settings := facts.change(lambda toolchain: toolchain.settings):
        lines.append(f"savings of {settings}: build with them, and compare by sizeguard diff")
    return lines
