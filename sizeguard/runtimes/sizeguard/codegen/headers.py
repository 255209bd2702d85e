"""Generate the selection headers that kernels and registrations are compiled against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sizeguard.operators.dtypes import DTYPES
from sizeguard.selection.selection import Selection

TAG_HEADER = """\
#pragma once
#include "native/selective/dtype_set.h"
namespace sg::selected {{ inline constexpr DtypeSet {tag}{{{dtypes}}}; }}
"""

NAMES_HEADER = """\
#pragma once
namespace sg::selected {{
inline constexpr bool all_{what} = {everything};
inline constexpr char {what}[] = "{names}";
}}
"""


FEATURES_HEADER = """\
namespace sg::selected {{ inline constexpr char known_features[] = "{known}"; }}
"""


def selection_headers(
    selection: Selection, tags: Iterable[str], features: Iterable[str]
) -> Mapping[str, str]:
    """Make the files of selected/ by name: one per tag, operators.h, classes.h, features.h.

    features: all known features
    """
    everything = selection.all_non_operators_included
    files = {
        f"{tag}.h": TAG_HEADER.format(tag=tag, dtypes=_dtype_set(selection, tag)) for tag in tags
    }
    files["operators.h"] = _names("operators", selection.operators, selection.include_all_operators)
    files["classes.h"] = _names("classes", selection.custom_classes, everything)
    files["features.h"] = _names("features", selection.build_features, everything)
    files["features.h"] += FEATURES_HEADER.format(known=", ".join(sorted(features)))
    return files


def _dtype_set(selection: Selection, tag: str) -> str:
    chosen = selection.selected_dtypes(tag, DTYPES)
    if chosen == DTYPES:
        return "DtypeSet::all()"
    if not chosen:
        return "DtypeSet::none()"
    return f"DtypeSet::of({{{', '.join(f'ScalarType::{dtype}' for dtype in chosen)}}})"


def _names(what: str, names: Iterable[str], everything: bool) -> str:
    text = "" if everything else "".join(f"{name};" for name in sorted(names))
    return NAMES_HEADER.format(what=what, everything=str(everything).lower(), names=text)
