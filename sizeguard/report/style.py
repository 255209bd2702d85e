"""Turns numbers into cells of a terminal's table, and marks what they say with colour where there is any."""

from __future__ import annotations

from dataclasses import dataclass

BAR = 8
KIB = 12  # the width of what kib() says
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_ASCII = str.maketrans("█▉▊▋▌▍▎▏…–·→×", "#####   ~-,>x")


@dataclass(frozen=True, slots=True)
class Style:
    """How wide a line may be, whether colours are understood, whether only ASCII is."""

    width: int = 100
    colour: bool = False
    ascii: bool = False

    def finish(self, line: str) -> str:
        """The line as it is printed. Escapes of colour are ASCII."""
        return line.rstrip().translate(_ASCII).encode("ascii", "backslashreplace").decode() if self.ascii else line.rstrip()

    def bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.colour else text

    def dim(self, text: str) -> str:
        return f"\x1b[2m{text}\x1b[0m" if self.colour else text

    def signed(self, text: str, value: int) -> str:
        """Growth red, shrinking green; the sign says it, too."""
        return f"\x1b[{31 if value > 0 else 32}m{text}\x1b[0m" if self.colour and value else text


def kib(size: int) -> str:
    """KiB, MiB from 10 MiB on, as the eye needs it; the exact bytes stand beside it."""
    return f"{size / 2**20:,.1f} MiB" if abs(size) >= 10 * 2**20 else f"{size / 2**10:,.1f} KiB"


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else NONE


def bar(part: int, whole: int) -> str:
    """Eight cells are the whole."""
    eighths = round(8 * BAR * part / whole) if whole > 0 else 0
    eighths = min(max(eighths, 0), 8 * BAR)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()).ljust(BAR)


NONE = "–"
