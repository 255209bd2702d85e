"""Lay out tables for a terminal: choose columns, shorten names, and add colours.

On screens narrower than 100 characters, columns are dropped before names are shortened. Two names
are never shortened to the same text. Output that is not for a terminal is neither cut nor coloured.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace

from sizeguard.base.dataclass import dataclass
from sizeguard.names.short import shortened
from sizeguard.report.screen.cells import cells, cut, first_cells, padded, widest
from sizeguard.report.writers.printable import middle
from sizeguard.report.writers.style import Style, in_ascii

_ROOMY = 100  # columns; wider screens keep all columns while names have room
_ROOM = 32  # least characters of a name there
_GAP = 2  # spaces between columns
_SHORT = 60  # characters of a symbol that keeps its parameters
_BY_RICH = 2_000  # rows
_NARROW = 16  # characters in which the end of the arguments tells instances apart
_LEAST = 12  # characters of a name on the narrowest terminal


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    drop:     columns with a higher number are dropped first if there is no room; 0 is never dropped
    is_right: whether it is aligned at the right
    is_firm:  whether it is dropped only for names that would have less than 32 characters
    """

    head: str = ""
    is_right: bool = True
    drop: int = 0
    is_firm: bool = False


@dataclass(frozen=True, slots=True)
class RowName:
    """A name, which may be shortened.

    indent:    spaces before it
    suffix:    text after it that is not shortened
    is_symbol: parameters are dropped first
    short:     the text to use if the whole name does not fit
    """

    text: str
    indent: int = 0
    suffix: str = ""
    is_symbol: bool = False
    short: str = ""

    def whole(self) -> str:
        """Write the whole name."""
        return f"{' ' * self.indent}{self.text}{self.suffix}"


@dataclass(frozen=True, slots=True)
class GridRow:
    """Cells, one per column; the name is the last.

    look:  style of the row for rich: bold, dim
    looks: of single cells, by number
    """

    cells: Sequence[str]
    name: RowName
    look: str = ""
    looks: dict[int, str] = field(default_factory=dict)


def head_lines(left: str, right: str, style: Style, gap: int = 2) -> Iterator[str]:
    """Write a title with figures on its right, or below it if there is no room."""
    space = style.width - cells(left) - cells(right)
    if style.full or space >= gap:
        yield f"{style.bold(left)}{' ' * max(space, gap)}{right}"
        return
    yield style.bold(middle(left, style.width))
    yield from textwrap.wrap(right, style.width, initial_indent="  ", subsequent_indent="  ")


def shown_heads(
    columns: Sequence[Column], names: str, rows: Sequence[GridRow], style: Style
) -> set[str]:
    """Return the heads of the columns that a table has room for."""
    head = GridRow([column.head for column in columns], RowName(names))
    shown = [head, *rows]
    kept = _kept(columns, _widths(columns, shown), shown, style)
    return {columns[i].head for i in kept}


def grid_lines(
    columns: Sequence[Column], names: str, rows: Sequence[GridRow], style: Style
) -> Iterator[str]:
    """Write a table with a head and a last column of names.

    names: head of the last column
    """
    head = GridRow([column.head for column in columns], RowName(names), "dim")
    shown = [_in_ascii(row) if style.ascii else row for row in (head, *rows)]
    widths = _widths(columns, shown)
    kept = _kept(columns, widths, shown, style)
    room = style.width - sum(widths[i] + _GAP for i in kept)
    texts = _names(shown, max(room, _LEAST), style)
    lines = [
        _Drawn([row.cells[i] for i in kept], [row.looks.get(i, "") for i in kept], text, row.look)
        for row, text in zip(shown, texts, strict=True)
    ]
    aligned = [(widths[i], columns[i].is_right) for i in kept]
    # rich takes 60 ms to import and 70 us a cell: 25 s for 50,000 rows.
    if style.full or len(rows) > _BY_RICH:
        yield from _plain(lines, aligned, style)
    else:
        yield from _by_rich(lines, aligned, style)


def _widths(columns: Sequence[Column], rows: Sequence[GridRow]) -> list[int]:
    return [widest([row.cells[i] for row in rows]) for i in range(len(columns))]


def _in_ascii(row: GridRow) -> GridRow:
    """Escape texts before they are laid out, because escapes take more room."""
    text, suffix, short = map(in_ascii, (row.name.text, row.name.suffix, row.name.short))
    name = replace(row.name, text=text, suffix=suffix, short=short)
    return replace(row, cells=[*map(in_ascii, row.cells)], name=name)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A row ready to draw."""

    cells: Sequence[str]
    looks: Sequence[str]
    name: str
    look: str


def _plain(
    lines: Sequence[_Drawn], columns: Sequence[tuple[int, bool]], style: Style
) -> Iterator[str]:
    """Write rows as rich does, without importing it."""
    for line in lines:
        shown = [
            style.paint(padded(cell, width, right=is_right), look)
            for cell, look, (width, is_right) in zip(line.cells, line.looks, columns, strict=True)
        ]
        yield style.paint((" " * _GAP).join([*shown, line.name]).rstrip(), line.look)


def _by_rich(
    lines: Sequence[_Drawn], columns: Sequence[tuple[int, bool]], style: Style
) -> Iterator[str]:
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, _GAP, 0, 0))
    for width, is_right in columns:
        table.add_column(justify="right" if is_right else "left", width=width, no_wrap=True)
    table.add_column(no_wrap=True)
    for line in lines:
        shown = [Text(cell, look) for cell, look in zip(line.cells, line.looks, strict=True)]
        table.add_row(*shown, Text(line.name), style=line.look)
    names = max(cell_len(line.name) for line in lines)  # some characters take two cells
    console = Console(
        width=sum(width + _GAP for width, _ in columns) + names,
        color_system="standard" if style.colour else None,
        force_terminal=style.colour,
        no_color=not style.colour,
        legacy_windows=False,
    )
    with console.capture() as captured:
        console.print(table)
    for text in captured.get().splitlines():
        yield text.rstrip()


def _kept(
    columns: Sequence[Column], widths: Sequence[int], rows: Iterable[GridRow], style: Style
) -> list[int]:
    """Choose columns so that names have room."""
    kept = [i for i, width in enumerate(widths) if width]
    if style.full:
        return kept
    names = 0
    for row in rows:
        # Shortening takes 0.1 ms, so only names that may be the widest are shortened.
        if _whole(row) > names:
            names = max(names, _wanted(row))
    for i in sorted(kept, key=lambda i: -columns[i].drop):
        is_kept = style.width >= _ROOMY or columns[i].is_firm
        wanted = min(names, _ROOM) if is_kept else names
        if columns[i].drop == 0 or style.width - sum(widths[k] + _GAP for k in kept) >= wanted:
            break
        kept.remove(i)
    return kept


def _whole(row: GridRow) -> int:
    """Count the cells that a row's name takes."""
    return row.name.indent + cells(row.name.suffix) + cells(row.name.text)


def _wanted(row: GridRow) -> int:
    """Count the cells that a row's name needs, at most those that it takes."""
    name = row.name
    short = name.short or (shortened(name.text, _SHORT) if name.is_symbol else name.text)
    return name.indent + cells(name.suffix) + min(cells(short), cells(name.text))


def _names(rows: Sequence[GridRow], room: int, style: Style) -> list[str]:
    if style.full:
        return [row.name.whole() for row in rows]
    texts = distinct([row.name for row in rows], room)
    return [
        f"{' ' * row.name.indent}{text}{row.name.suffix}"
        for row, text in zip(rows, texts, strict=True)
    ]


def distinct(names: Sequence[RowName], room: int) -> list[str]:
    """Shorten names to the room; different names stay different."""
    rooms = [max(room - name.indent - cells(name.suffix), _LEAST // 2) for name in names]
    texts = [_shortened(name, width) for name, width in zip(names, rooms, strict=True)]
    same: dict[str, dict[str, list[int]]] = {}
    for i, text in enumerate(texts):
        same.setdefault(text, {}).setdefault(names[i].text, []).append(i)
    taken = {text for text, of in same.items() if len(of) == 1}
    for of in same.values():
        if len(of) == 1:
            continue
        shorts = [names[places[0]].short or name for name, places in of.items()]
        wholes = shorts if len(set(shorts)) == len(of) else list(of)
        start = _common(wholes)
        for number, (name, places) in enumerate(zip(wholes, of.values(), strict=True)):
            text = _around(name, start, rooms[places[0]])
            if text in taken or cells(text) > rooms[places[0]]:
                text = _numbered(name, number, rooms[places[0]], taken)
            taken.add(text)
            for i in places:
                texts[i] = text
    return texts


def _shortened(name: RowName, width: int) -> str:
    if cells(name.text) <= width:
        return name.text
    if name.short:
        return middle(name.short, width)
    text = shortened(name.text, width) if name.is_symbol else name.text
    if cells(text) <= width:
        return text
    # Arguments say less than the name itself, unless nearly nothing of it has room.
    return middle(text if width > _NARROW else name.text, width)


def _common(names: Sequence[str]) -> int:
    """Count the characters that all names begin with."""
    first, last = min(names), max(names)
    return next((i for i, c in enumerate(first) if i >= len(last) or c != last[i]), len(first))


def _around(name: str, start: int, width: int) -> str:
    """Keep the beginning of a name and the part that differs from other names."""
    begin = first_cells(name, max((width - 2) // 3, 2))
    part = name[max(start - 4, len(begin)) :]
    return cut(f"{begin}…{part}", width)


def _numbered(name: str, number: int, width: int, taken: set[str]) -> str:
    """Add a number to a name that cannot be shortened to a distinct text."""
    while True:
        number += 1
        text = f"{first_cells(name, max(width - len(str(number)) - 2, 2))}…{number}"
        if text not in taken:
            return text
