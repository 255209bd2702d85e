"""Format numbers for a terminal's table, and colour them where the terminal has colours."""

from __future__ import annotations

import os
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
    full:   it is not a terminal, or asked to be wide: names are not shortened, and bars not drawn
    """

    width: int = 100
    colour: bool = False
    ascii: bool = False
    full: bool = False

    def finish(self, line: str) -> str:
        """Convert a line for the terminal. Escapes of colour are ASCII."""
        line = inert(line.rstrip())
        return (
            line.translate(_ASCII).encode("ascii", "backslashreplace").decode()
            if self.ascii
            else line
        )

    def paint(self, text: str, look: str) -> str:
        """Colour a text as rich names it: bold, dim, red."""
        if not self.colour or not text:
            return text
        # Imported where something is coloured: 20 ms.
        from rich.color import ColorSystem
        from rich.style import Style as Look

        return Look.parse(look).render(text, color_system=ColorSystem.STANDARD)

    def bold(self, text: str) -> str:
        """Make the text bold."""
        return self.paint(text, "bold")

    def dim(self, text: str) -> str:
        """Make the text dim."""
        return self.paint(text, "dim")

    def signed(self, text: str, value: int) -> str:
        """Colour growth red and shrinking green; the sign says it, too."""
        return self.paint(text, growth_look(value)) if value else text

    def room(self, width: int) -> int:
        """Limit a name to a width, or not at all where nothing is cut."""
        return 1 << 20 if self.full else width


def wants_colour(*, is_terminal: bool) -> bool:
    """Return whether to colour: NO_COLOR forbids it, FORCE_COLOR asks for it (no-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return os.environ["FORCE_COLOR"] != "0"
    return is_terminal and os.environ.get("TERM") != "dumb"


def growth_look(value: int) -> str:
    """Return the colour of growth or shrinking."""
    return "red" if value > 0 else "green" if value < 0 else ""


def kib(size: int) -> str:
    """Write KiB, or MiB from 10 MiB on; the exact bytes are beside it."""
    return f"{size / 2**20:,.1f} MiB" if abs(size) >= 10 * 2**20 else f"{size / 2**10:,.1f} KiB"


def share(part: int, whole: int) -> str:
    """Write a part as a percentage of the whole."""
    return f"{100 * part / whole:.1f}%" if whole else NONE


def bar(part: int, whole: int) -> str:
    """Draw a bar; eight cells are the whole, which is the largest row's part."""
    eighths = round(8 * BAR * part / whole) if whole > 0 else 0
    eighths = min(max(eighths, 0), 8 * BAR)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()).ljust(BAR)


NONE = "–"
VERDICT_LOOKS = {"pass": "green", "fail": "red", "inconclusive": "yellow"}


def change_text(old: int | None, new: int) -> str:
    """Write a change with its share: +1,204 (+3.0%); a dash if there is no base."""
    if old is None:
        return "–"
    delta = new - old
    if not delta:
        return "±0"
    if not old:
        return f"{delta:+,}"
    share = 100 * delta / old
    return f"{delta:+,} ({share:+.1f}%)" if abs(share) >= 0.05 else f"{delta:+,} (<0.1%)"
