"""Filters of a command line, and the rows of an analysis that meet them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.alias_rows import with_their_aliases
from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.levels import LEVELS, OTHER_NAMES, level_hint
from sizeguard.attribution.size_report import UNATTRIBUTED
from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.nearest import nearest_names
from sizeguard.columns.label import rows_with, used_texts
from sizeguard.names.demangle import demangle

if TYPE_CHECKING:
    from sizeguard.names.resolve_names import SymbolNames

Mask = npt.NDArray[np.bool_]

_COMPARED = 20_000  # names to compare with a filter that no row meets
# Levels with a label for rows that nothing explains; cheap ones first.
_SAY_UNATTRIBUTED = ("analyzer", "kind", "operator")


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on rows: LEVEL=TEXT, LEVEL!=TEXT, symbol==NAME, or `unattributed`.

    text:    as given
    level:   empty for `unattributed`
    matches: whether a value of the level meets LEVEL=TEXT; used for these alone
    symbol:  the name in symbol==NAME, in any spelling, or a glob
    """

    text: str
    level: str
    negated: bool
    matches: Callable[[str], bool] = bool
    symbol: str = ""


def parse_filters(texts: Sequence[str]) -> tuple[Filter, ...]:
    """Read filters; a row must meet all of them.

    Raises InputError for a text that is not a filter.
    """
    return tuple(_parse(text) for text in texts)


def _parse(text: str) -> Filter:
    if text == UNATTRIBUTED:
        return Filter(text, "", False)
    level, equals, pattern = text.partition("=")
    negated = level.endswith("!")
    level = level.removesuffix("!")
    level = OTHER_NAMES.get(level, level)
    if not equals and level in LEVELS:
        raise InputError(
            f"--filter {text}: '{text}' has no value; write {level}=TEXT, {level}=GLOB* or"
            f" {level}=/REGEX/"
        )
    if not level:
        raise InputError(f"--filter {text}: names no level; write LEVEL=TEXT, such as symbol=main")
    if level not in LEVELS:
        start = next((each for each in LEVELS if level.startswith(each)), "")
        rest = level.removeprefix(start).lstrip(" ~:")
        if start and rest and not equals:
            raise InputError(f"--filter {text}: lacks '='; write {start}={rest}")
        hint = level_hint(level, LEVELS if equals else (*LEVELS, UNATTRIBUTED))
        raise InputError(f"--filter {text}: unknown level '{level}'{hint}")
    if level == "symbol" and pattern.startswith("=") and len(pattern) > 1:
        return Filter(text, level, negated, symbol=pattern[1:])
    if not pattern:
        raise InputError(f"--filter {text}: the text is empty; every name contains it")
    return Filter(text, level, negated, _matcher(text, pattern))


def _matcher(text: str, pattern: str) -> Callable[[str], bool]:
    """Return the test of a value: a regular expression, a glob, or a part of the value.

    text: the filter, for messages
    """
    if len(pattern) > 1 and pattern[0] == pattern[-1] == "/":
        try:
            found = re.compile(pattern[1:-1])
        except re.error as error:
            raise InputError(f"--filter {text}: not a regular expression: {error}") from error
        return lambda value: found.search(value) is not None
    if "*" in pattern or "?" in pattern:
        # Brackets are common in names, so they stand for themselves.
        whole = re.compile(fnmatch.translate(pattern.replace("[", "[[]")))
        return lambda value: whole.match(value) is not None
    return lambda value: pattern in value


def matching_rows(analysis: Analysis, filters: Sequence[Filter]) -> Mask | None:
    """Return a mask of the rows that meet all filters; None without filters."""
    if not filters:
        return None
    mask = np.ones(len(analysis.load), np.bool_)
    for each in filters:
        if each.symbol:
            mask &= _rows_of_symbol(analysis, each.symbol) ^ each.negated
        elif each.level:
            mask &= _rows(analysis, each.level, each.matches) ^ each.negated
        else:
            mask &= unattributed_rows(analysis)
    return mask


def no_match(analysis: Analysis, filters: Sequence[Filter]) -> InputError:
    """Make the error for filters that no row meets, with the nearest name."""
    for each in filters:
        mask = matching_rows(analysis, [each])
        if mask is None or mask.any():
            continue
        level = each.level or "section,symbol"
        hint = _nearest(analysis, each) if each.level and not each.negated else ""
        return InputError(
            f"--filter: no row of {analysis.image.title} meets {each.text}"
            f"{hint or f'; --by {level} -n 0 lists all'}"
        )
    texts = " and ".join(each.text for each in filters)
    return InputError(f"--filter: no row of {analysis.image.title} meets all of {texts}")


def _nearest(analysis: Analysis, wrong: Filter) -> str:
    """End a message with the name most like a filter's text; empty if none is near."""
    text = wrong.symbol or wrong.text.partition("=")[2]
    if wrong.level == "symbol":
        found = symbol_names(analysis).nearest(text)
        return f"; did you mean '{found}'?" if found else ""
    label = analysis.label(wrong.level)
    names = {label.texts[i] for i in range(min(len(label.texts), _COMPARED))}
    near = nearest_names(text, names)
    return f"; did you mean '{near[0]}'?" if near else ""


def unattributed_rows(analysis: Analysis) -> Mask:
    """Return a mask of the rows that nothing explains."""
    mask = np.zeros(len(analysis.load), np.bool_)
    for level in _SAY_UNATTRIBUTED:
        mask |= _rows(analysis, level, lambda value: value == UNATTRIBUTED)
    return mask


def symbol_names(analysis: Analysis) -> SymbolNames:
    """Index the symbols that have bytes."""
    from sizeguard.names.resolve_names import KEPT, NOT_ADDED, SymbolNames  # 8 ms
    from sizeguard.names.spellings.second_readings import data_model

    image = analysis.image
    underscore = KEPT if image.adds_underscore else NOT_ADDED
    model = data_model(image.arch, is_windows=image.format in ("pe", "coff"))
    label = analysis.label("symbol")
    names = (text for i in used_texts(label).tolist() if (text := label.texts[i]))
    return SymbolNames.of(names, underscore, model)


def _rows_of_symbol(analysis: Analysis, name: str) -> Mask:
    """Return a mask of the rows of the symbols that a name means, in any spelling."""
    label = analysis.label("symbol")
    meant = frozenset(symbol_names(analysis).meant(name).names)
    return with_their_aliases(analysis, rows_with(label, meant.__contains__))


def _rows(analysis: Analysis, level: str, matches: Callable[[str], bool]) -> Mask:
    """Return a mask of the rows with a label that matches; each text is tried once.

    A symbol matches by its name in the symbol table or by its displayed name.
    """
    label = analysis.label(level)
    if level != "symbol":
        return rows_with(label, matches)
    mask = rows_with(label, lambda text: matches(text) or matches(demangle(text)))
    return with_their_aliases(analysis, mask)
