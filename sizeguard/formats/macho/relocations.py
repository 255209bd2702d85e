"""Read the relocations of an object's section as columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.formats.macho.constants import CPU_ARCH_ABI64, CPU_ARCH_ABI64_32
from sizeguard.formats.macho.image import MachO, Section

R_SCATTERED = 0x80000000


@dataclass(frozen=True, slots=True)
class Relocations:
    """Entries in the file's order, as parallel columns.

    address: offset in the section
    symbol:  for external entries, an index into the symbols, else the n_sect of a section; for a
             scattered entry, its address (r_value)
    pcrel, external, scattered: bits
    length:  bytes that it writes: 1, 2, 4 or 8
    type:    relocation type of the architecture
    """

    address: Int
    symbol: Int
    pcrel: npt.NDArray[np.bool_]
    length: Int
    external: npt.NDArray[np.bool_]
    type: Int
    scattered: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        """Return the number of relocations."""
        return len(self.address)


def relocations(image: MachO, section: Section) -> Relocations:
    """Read the relocations of a section."""
    start = section.relocation_offset
    raw = image.data[start : start + 8 * section.relocation_count].tobytes()
    words = np.frombuffer(raw, image.order + "u4").astype(np.int64).reshape(-1, 2)
    first, second = words[:, 0], words[:, 1]
    # Only 32-bit architectures have entries with an address in place of a symbol.
    scattered = (first & R_SCATTERED) != 0
    if image.cpu & (CPU_ARCH_ABI64 | CPU_ARCH_ABI64_32):
        scattered = np.zeros(len(first), bool)
    if image.order == "<":
        symbol, pcrel, length, external, kind = (
            second & 0xFFFFFF,
            second >> 24 & 1,
            second >> 25 & 3,
            second >> 27 & 1,
            second >> 28 & 15,
        )
    else:
        symbol, pcrel, length, external, kind = (
            second >> 8,
            second >> 7 & 1,
            second >> 5 & 3,
            second >> 4 & 1,
            second & 15,
        )
    return Relocations(
        address=np.where(scattered, first & 0xFFFFFF, first),
        symbol=np.where(scattered, second, symbol),
        pcrel=np.where(scattered, first >> 30 & 1, pcrel).astype(bool),
        length=1 << np.where(scattered, first >> 28 & 3, length),
        external=np.where(scattered, 0, external).astype(bool),
        type=np.where(scattered, first >> 24 & 15, kind),
        scattered=scattered,
    )
