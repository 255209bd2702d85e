"""Count the code whose names or places an image does not tell, as if it was stripped.

A sum over symbols misses this code, which may include instances of a limited template. So does the
size of a component.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.group import group
from sizeguard.attribution.teams.team_levels import derived_label
from sizeguard.columns.label import Label, rows_with
from sizeguard.columns.sums import sum_by
from sizeguard.measurement.metric_kinds import JOINED, OBJECTS, SOURCES
from sizeguard.names.demangle import ANONYMOUS

# What linkers call the objects that link-time optimization makes: a.lto.o, lto-llvm-0cc7f5.o,
# ltrans0.ltrans.o
_JOINED_OBJECT = re.compile(r"(?:^|[./-])(?:lto|ltrans\d*)[.-][^/]*$")

_START_UP = 1024  # bytes of an image's code outside of functions
_STARTS = "function starts"  # analyzer of functions without names
_CONTENT = frozenset(["code", "rodata", "data", "string"])  # kinds that symbols name


def nameless_code(analysis: Analysis) -> int:
    """Return the loaded bytes of code without a name.

    Each image has a few hundred bytes of start-up code and stubs outside of functions: at most 739
    in 350 programs and libraries. More is of functions without a name and an unwind record, as of
    a library that was stripped before it was linked. Objects have none. If it exceeds all named
    code, the images have no names, and their data counts, too.
    """
    kinds = analysis.label("kind")
    is_code = rows_with(kinds, lambda text: text == "code")
    is_start = rows_with(analysis.label("analyzer"), lambda text: text == _STARTS)
    is_named = _have_names(analysis.label("symbol")) & ~is_start
    load = analysis.load
    starts, named = int(load[is_code & is_start].sum()), int(load[is_code & is_named].sum())
    is_outside = is_code & ~is_named & ~is_start
    if int(load[is_outside].sum()) <= named:
        images = analysis.label("image")
        outside = sum_by(load[is_outside], images.ids[is_outside], len(images.texts))
        start_up = 0 if analysis.image.is_of_objects else _START_UP
        return starts + int(outside[outside > start_up].sum())
    return int(load[rows_with(kinds, _CONTENT.__contains__) & ~is_named].sum())


def _have_names(symbols: Label) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows that have a name; other texts in parentheses describe bytes."""
    texts = symbols.texts
    initials = texts.initials()
    is_name = (texts.lengths() > 0) & (initials != ord("("))
    for i in np.flatnonzero(initials == ord("(")).tolist():
        is_name[i] = texts[i].startswith(ANONYMOUS)
    found: npt.NDArray[np.bool_] = is_name[symbols.ids]
    return found


def lost_places(analysis: Analysis, rules: str) -> Mapping[str, str]:
    """Return what the image does not tell of metrics: SOURCES, OBJECTS or JOINED.

    By the metric's path for components that rules name by these places, and for the levels object
    and archive. Without debug information, an image has no sources but those that follow from the
    names of its objects.

    rules: text of the project's own rules
    """
    objects = _of_objects(analysis)
    found = dict.fromkeys(("object", "archive"), objects) if objects else {}
    by_source = _components_by("source", rules)
    if by_source and _is_untold(analysis).all():
        found |= dict.fromkeys(by_source, SOURCES)
    return found | dict.fromkeys(_components_by("object", rules) if objects else (), objects)


def sourceless_code(analysis: Analysis, rules: str) -> Mapping[str, int]:
    """Return the bytes of code whose sources are not in debug information.

    By the metric's path, for components that rules name by sources.
    """
    by_source = _components_by("source", rules)
    if not by_source:
        return {}
    is_code = rows_with(analysis.label("kind"), lambda text: text == "code")
    return dict.fromkeys(by_source, int(analysis.load[is_code & _is_untold(analysis)].sum()))


def _components_by(level: str, rules: str) -> Sequence[str]:
    """List the metrics of the components that rules name by a level."""
    if not rules:
        return ()
    from sizeguard.names.rules_reader import parse_preset  # 8 ms, and few projects have rules

    places = parse_preset(rules, Path("rules")).places
    return [f"component/{each.component}" for each in places if level in dict(each.globs)]


def _of_objects(analysis: Analysis) -> str:
    names = [row.keys[0] for row in group(analysis, ("object",)).rows if row.keys[0]]
    return OBJECTS if not names else JOINED if any(map(_JOINED_OBJECT.search, names)) else ""


def _is_untold(analysis: Analysis) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows whose source is only that of their object's name."""
    found, derived = analysis.label("source"), derived_label("source", analysis.label)
    pairs, row = np.unique(np.column_stack([found.ids, derived.ids]), axis=0, return_inverse=True)
    same = [found.texts.raw(a) == derived.texts.raw(b) for a, b in pairs.tolist()]
    untold: npt.NDArray[np.bool_] = np.array(same or [True], np.bool_)[row.reshape(-1)]
    return untold
