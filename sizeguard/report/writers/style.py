"""Format numbers for a terminal's table, and colour them where the terminal has colours."""

from __future__ import annotations

from dataclasses import dataclass

from sizeguard.report.writers.printable import inert

BAR = 8
KIB = 12  # width of the result of kib()
_EIGHTHS = " ▏▎▍▌▋▊▉█"
# Every character of ours that is not ASCII. Those of names stay visible, as escapes.
_ASCII = str.maketrans("█▉▊▋▌▍▎▏…–·→×✓✗", "#####   ~-,>x+x") | str.maketrans(
    {"±": "+-", "≤": "<=", "“": '"', "”": '"'}
)


@dataclass(frozen=True, slots=True)
class Style:
    """The terminal's abilities.

    width:  characters of a line
    colour: escapes of colour are understood
    ascii:  only ASCII is understood
    """

    width: int = 100
    colour: bool = False
    ascii: bool = False

    def finish(self, line: str) -> str:
        """Convert a line for the terminal. Escapes of colour are ASCII."""
        line = inert(line.rstrip())
        return (
            line.translate(_ASCII).encode("ascii", "backslashreplace").decode()
            if self.ascii
            else line
        )

    def bold(self, text: str) -> str:
        """Make the text bold."""
        return f"\x1b[1m{text}\x1b[0m" if self.colour else text

    def dim(self, text: str) -> str:
        """Make the text dim."""
        return f"\x1b[2m{text}\x1b[0m" if self.colour else text

    def signed(self, text: str, value: int) -> str:
        """Colour growth red and shrinking green; the sign says it, too."""
        return f"\x1b[{31 if value > 0 else 32}m{text}\x1b[0m" if self.colour and value else text


def kib(size: int) -> str:
    """Write KiB, or MiB from 10 MiB on; the exact bytes stand beside it."""
    return f"{size / 2**20:,.1f} MiB" if abs(size) >= 10 * 2**20 else f"{size / 2**10:,.1f} KiB"


def share(part: int, whole: int) -> str:
    """Write a part as a percentage of the whole."""
    return f"{100 * part / whole:.1f}%" if whole else NONE


def bar(part: int, whole: int) -> str:
    """Draw a bar; eight cells are the whole."""
    eighths = round(8 * BAR * part / whole) if whole > 0 else 0
    eighths = min(max(eighths, 0), 8 * BAR)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()).ljust(BAR)


NONE = "–"
