"""Find the symbols that a spelling means, among candidates that contain its words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sizeguard.names.spelling import Spelling, spelling_of, spells
from sizeguard.names.spellings.plain_paths import compared_text, is_scoped

_AFTER_WORD = re.compile(r"(?!\A~)\W")
_FIRST_BREAK = re.compile(r"[ (]")  # before it, removing spaces and scopes has no effect

Candidates = Sequence[tuple[str, str]]  # a symbol, and its demangled spelling


def same_text(candidates: Candidates, text: str) -> tuple[str, ...]:
    """Find the symbols with the same demangled spelling, ignoring spaces, and their clones."""
    wanted = text.replace(" ", "")
    found = []
    for name, shown in candidates:
        first = _FIRST_BREAK.split(shown, 1)[0]
        if not wanted.startswith(first) and not first.startswith(wanted):
            continue
        tight = shown.replace(" ", "")
        for each in (tight, tight.replace("(anonymousnamespace)::", "")):
            rest = each[len(wanted) :] if each.startswith(wanted) else None
            if rest == "" or (rest is not None and rest.startswith((".", "[clone"))):
                found.append(name)
                break
    return tuple(found)


def demangled_long(candidates: Candidates) -> list[tuple[str, str]]:
    """Demangle the names that are too long to show."""
    long = [(name, compared_text(name)) for name, shown in candidates if name == shown]
    return [(name, shown) for name, shown in long if name != shown]


def spelled(candidates: Candidates, written: Spelling) -> tuple[str, ...]:
    """Find the symbols that a spelling means; an entire path wins over the end of one."""
    last = written.parts[-1].name.partition("[")[0].replace(" ", "")
    if not last.startswith("operator") or "::" in last:
        last = _AFTER_WORD.split(last, 1)[0]  # template arguments may be left out
    parsed = [
        (name, spelling_of(shown)) for name, shown in candidates if last in shown.replace(" ", "")
    ]
    local = written.without_parameters()
    for ends in (False, True):
        found = [name for name, shown in parsed if spells(written, shown, ends=ends)]
        if ends or not found:  # the end of a path may mean several functions
            found += [
                name
                for name, shown in parsed
                if is_scoped(name) and name not in found and spells(local, shown, ends=ends)
            ]
        if found:
            return tuple(found)
    return ()
