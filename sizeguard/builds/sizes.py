"""The four sizes that a build is judged by."""

from __future__ import annotations

from sizeguard.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes in bytes.

    load:       ELF: all ALLOC sections except NOBITS. Mach-O: all sections except zero fill
    ram:        ELF: writable ALLOC sections with NOBITS, without .relro_padding. Mach-O: sections
                of writable segments
    file:       the stripped file
    page_slack: gaps that the linker leaves between segments; loaded bytes can grow this much before
                the file does
    """

    load: int
    ram: int
    file: int
    page_slack: int
