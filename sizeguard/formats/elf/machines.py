"""Names of machines, as in the kernel and in distributions: riscv64, mips64el, ppc64le."""

from __future__ import annotations

from sizeguard.formats.elf.layout import EM_MIPS, STT_FUNC, STT_IFUNC, Layout
from sizeguard.formats.elf.symbols import Symbol

_N32 = 0x20  # EF_MIPS_ABI2: 64-bit instructions in a 32-bit file

# By number: the name for 32 bits, the name for 64 bits, and the suffixes for little and big endian.
_FAMILIES = {
    2: ("sparc", "sparc64", "el", ""),
    3: ("i386", "i386", "", "be"),
    4: ("m68k", "m68k", "el", ""),
    8: ("mips", "mips64", "el", ""),
    10: ("mips", "mips64", "el", ""),
    15: ("hppa", "hppa64", "el", ""),
    18: ("sparc32plus", "sparc32plus", "el", ""),
    20: ("ppc", "ppc64", "le", ""),
    21: ("ppc", "ppc64", "le", ""),
    22: ("s390", "s390x", "el", ""),
    40: ("arm", "arm", "", "eb"),
    42: ("sh4", "sh64", "", "eb"),
    43: ("sparc", "sparc64", "el", ""),
    50: ("ia64", "ia64", "", "be"),
    62: ("x32", "x86_64", "", "be"),
    83: ("avr", "avr", "", "be"),
    92: ("or1k", "or1k64", "le", ""),
    93: ("arc", "arc64", "", "eb"),
    94: ("xtensa", "xtensa", "", "eb"),
    105: ("msp430", "msp430", "", "be"),
    113: ("nios2", "nios2", "", "be"),
    164: ("hexagon", "hexagon", "", "be"),
    183: ("aarch64_ilp32", "aarch64", "", "_be"),
    189: ("microblaze", "microblaze64", "el", ""),
    190: ("cuda", "cuda", "", "be"),
    195: ("arc", "arc64", "", "eb"),
    224: ("amdgcn", "amdgcn", "", "be"),
    243: ("riscv32", "riscv64", "", "be"),
    247: ("bpf", "bpf", "", "eb"),
    251: ("ve", "ve", "", "be"),
    252: ("csky", "csky", "", "be"),
    258: ("loongarch32", "loongarch64", "", "be"),
    0x9026: ("alpha", "alpha", "", "be"),
}


def machine_name(number: int, layout: Layout, flags: int) -> str:
    """Return the name of a machine, by e_machine, class, byte order and e_flags.

    Unknown machines are called by their number.
    """
    if number not in _FAMILIES:
        return f"machine{number}"
    narrow, wide, little, big = _FAMILIES[number]
    if number in EM_MIPS and flags & _N32 and not layout.is_64:
        narrow = "mipsn32"
    return (wide if layout.is_64 else narrow) + (little if layout.order == "<" else big)


def place_of(symbol: Symbol, machine: str) -> int:
    """Return the address of a symbol, without the bit that marks Thumb code of Arm."""
    is_code = symbol.type in (STT_FUNC, STT_IFUNC) and machine in ("arm", "armeb")
    return symbol.address & ~1 if is_code else symbol.address


def shortened_code(machine: str) -> str:
    """Return a hint for messages if linkers shorten the code of a machine; else nothing."""
    if not machine.startswith(("riscv", "loongarch")):
        return ""
    return f", or the linker shortened its code ({machine}: link with -Wl,--no-relax)"
