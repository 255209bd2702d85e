"""Format numbers for terminal tables, with colours if the terminal has them."""

from __future__ import annotations

import os

from sizeguard.base.dataclass import dataclass
from sizeguard.report.writers.printable import inert

BAR = 8  # cells of a bar
_EIGHTHS = " ▏▎▍▌▋▊▉█"
# Every non-ASCII character of our own texts. Characters in names are shown as escapes.
_ASCII = str.maketrans("█▉▊▋▌▍▎▏…–·→×✓✗", "#####   ~-|>x+x") | str.maketrans(
    {"±": "+-", "≤": "<=", "“": '"', "”": '"'}
)


@dataclass(frozen=True, slots=True)
class Style:
    """The terminal's abilities.

    width:  characters of a line
    colour: it understands colour escapes
    ascii:  it shows only ASCII
    full:   it is not a terminal, or --wide was given; names are not shortened, and bars not drawn
    """

    width: int = 100
    colour: bool = False
    ascii: bool = False
    full: bool = False

    def finish(self, line: str) -> str:
        """Convert a line for the terminal. Colour escapes are ASCII."""
        line = inert(line.rstrip())
        return in_ascii(line) if self.ascii else line

    def paint(self, text: str, look: str) -> str:
        """Colour a text with a style of rich: bold, dim, red."""
        if not self.colour or not text:
            return text
        # Imported only to colour text: 20 ms.
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
        """Colour growth red and shrinking green; the sign shows the direction, too."""
        return self.paint(text, growth_look(value)) if value else text

    def room(self, width: int) -> int:
        """Return the width limit of a name; practically unlimited if names are not cut."""
        return 1 << 20 if self.full else width


def in_ascii(text: str) -> str:
    """Replace our own symbols by similar ASCII characters, and all others by escapes."""
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode()


def wants_colour(*, is_terminal: bool) -> bool:
    """Return whether to use colours.

    NO_COLOR disables them, FORCE_COLOR enables them (no-color.org).
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return os.environ["FORCE_COLOR"] != "0"
    return is_terminal and os.environ.get("TERM") != "dumb"


def growth_look(value: int) -> str:
    """Return the colour of growth or shrinking."""
    return "red" if value > 0 else "green" if value < 0 else ""


def size_text(size: int) -> str:
    """Write KiB, MiB from 10 MiB on, or GiB from 1 GiB on; tables have the exact bytes, too."""
    half = (1 << 20) // 20  # what is written as 1,024.0 MiB is 1.0 GiB
    for unit, bits, least in (("GiB", 30, (1 << 30) - half), ("MiB", 20, 10 << 20)):
        if abs(size) >= least:
            return f"{size / (1 << bits):,.1f} {unit}"
    return f"{size / (1 << 10):,.1f} KiB"


def share(part: int, whole: int) -> str:
    """Write a part as a percentage of the whole."""
    return f"{100 * part / whole:.1f}%" if whole else NONE


def bar(part: int, whole: int) -> str:
    """Draw a bar of up to eight cells; `whole`, the largest row's part, has all eight."""
    eighths = round(8 * BAR * part / whole) if whole > 0 else 0
    eighths = min(max(eighths, 0), 8 * BAR)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()).ljust(BAR)


NONE = "–"
VERDICT_LOOKS = {"pass": "green", "fail": "red", "inconclusive": "yellow"}


def change_text(old: int | None, new: int) -> str:
    """Write a change with its share: +1,204 (+3.0%); a dash if there is no base.

    No change is +0, as in every column of changes: ± is for the margin of a prediction.
    """
    if old is None:
        return "–"
    delta = new - old
    if not delta or not old:
        return f"{delta:+,}"
    share = 100 * delta / old
    return f"{delta:+,} ({share:+.1f}%)" if abs(share) >= 0.05 else f"{delta:+,} (<0.1%)"
