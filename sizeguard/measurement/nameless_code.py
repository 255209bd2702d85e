"""Count the code whose names or places an image does not tell, as if it was stripped.

A sum over symbols misses this code, which may include instances of a limited template. So does the
size of a component.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.group import group
from sizeguard.attribution.teams.team_levels import derived_label
from sizeguard.columns.label import Label

_STARTS = "function starts"  # analyzer of functions without names
_SCOPE = "(anonymous namespace)"  # begins a name; other texts in parentheses describe bytes
_CONTENT = frozenset(["code", "rodata", "data", "string"])  # kinds that symbols name


def nameless_code(analysis: Analysis) -> int:
    """Return the loaded bytes of code in functions without a name.

    Each image has a few hundred bytes of start-up code and stubs outside of functions. Code outside
    of functions counts only if it exceeds all named code: then the image has no names, and its data
    counts, too.
    """
    kinds = analysis.label("kind")
    is_code = _rows(kinds, lambda text: text == "code")
    is_start = _rows(analysis.label("analyzer"), lambda text: text == _STARTS)
    is_named = _rows(analysis.label("symbol"), _is_name) & ~is_start
    load = analysis.load
    starts, named = int(load[is_code & is_start].sum()), int(load[is_code & is_named].sum())
    if int(load[is_code & ~is_named].sum()) - starts <= named:
        return starts
    return int(load[_rows(kinds, _CONTENT.__contains__) & ~is_named].sum())


def _is_name(text: str) -> bool:
    return bool(text) and (text[0] != "(" or text.startswith(_SCOPE))


def _rows(label: Label, fits: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
    texts = [fits(label.texts[i]) for i in range(len(label.texts))]
    found: npt.NDArray[np.bool_] = np.array(texts or [False], np.bool_)[label.ids]
    return found


def unplaced_components(analysis: Analysis, rules: str) -> Mapping[str, str]:
    """Return the components that need a level which the image does not tell, and that level.

    rules: text of the project's own rules. Without debug information, an image has no sources but
           those that follow from the names of its objects, and without a map no objects.
    """
    if not rules:
        return {}
    from sizeguard.names.rules_reader import parse_preset  # 8 ms, and few projects have rules

    places = parse_preset(rules, Path("rules")).places
    missing = {
        level
        for level, is_missing in (("source", _lacks_sources), ("object", _lacks_objects))
        if any(level == each for rule in places for each, _ in rule.globs) and is_missing(analysis)
    }
    return {rule.component: level for rule in places for level, _ in rule.globs if level in missing}


def _lacks_objects(analysis: Analysis) -> bool:
    return not any(row.keys[0] for row in group(analysis, ("object",)).rows)


def _lacks_sources(analysis: Analysis) -> bool:
    found, derived = analysis.label("source"), derived_label("source", analysis.label)
    pairs = np.unique(np.column_stack([found.ids, derived.ids]), axis=0).tolist()
    return all(found.texts.raw(a) == derived.texts.raw(b) for a, b in pairs)
