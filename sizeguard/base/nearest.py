"""Suggest known names for a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

_CUTOFF = 0.65
_LISTED = 20  # names that a message lists
_FILES = 2_000  # names in a folder to compare


def nearest_names(text: str, known: Iterable[str], count: int = 1) -> tuple[str, ...]:
    """List the known names that are most like a text, the nearest first; empty if none is near.

    Case is ignored. If no name is like the whole text, its last part is compared with whole names,
    since another runtime may use other namespaces. A text without a namespace may mean any.
    """
    import difflib  # 3 ms

    names = sorted(known)
    whole = _folded((name, name) for name in names)
    space, _, part = text.rpartition("::")
    last = {} if space else _folded(_last_parts(names))
    for wanted, found in ((text, whole), (part.rpartition(".")[2], whole), (text, last)):
        near = difflib.get_close_matches(wanted.casefold(), found, n=count, cutoff=_CUTOFF)
        if near:
            return tuple(dict.fromkeys(name for each in near for name in found[each]))[:count]
    return ()


def _last_parts(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the last part of each name in a namespace, with and without its overload."""
    for name in names:
        space, _, last = name.rpartition("::")
        if space:
            yield last, name
            yield last.partition(".")[0], name


def _folded(rows: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names of each text in lower case."""
    found: dict[str, list[str]] = {}
    for text, name in rows:
        found.setdefault(text.casefold(), []).append(name)
    return found


def nearest_is(text: str, known: Iterable[str]) -> str:
    """End a message on an unknown word of a file: name the nearest, or list all words if few."""
    names = list(dict.fromkeys(known))
    near = _longer(text, names) or nearest_names(text, names)
    return f"; nearest is '{near[0]}'" if near else _listing(names)


def did_you_mean(text: str, known: Iterable[str]) -> str:
    """End a message on an unknown name: suggest the nearest name, or list all names if few."""
    names = list(dict.fromkeys(known))
    near = _longer(text, names) or nearest_names(text, names)
    return f"; did you mean '{near[0]}'?" if near else _listing(names)


def _longer(text: str, names: Sequence[str]) -> list[str]:
    """List the names that begin with a text, such as `verbose_errors` for `verbose`."""
    return [name for name in names if text and name.startswith(text)]


def _listing(names: Sequence[str]) -> str:
    if 0 < len(names) <= _LISTED:
        return f"; there {'is' if len(names) == 1 else 'are'} {', '.join(names)}"
    return ""


def nearest_file(path: Path) -> str:
    """End a message on a missing file: suggest the most similar name in its folder, if any.

    For a symbolic link to a missing file, name that file. Windows paths are tried with slashes.
    """
    if path.parts[:1] in (("http:",), ("https:",)):
        return "; an address is not read: download the file first"
    slashed = Path(str(path).replace("\\", "/"))
    if slashed != path and slashed.exists():
        return f"; did you mean '{slashed}'?"
    folder = path.parent
    try:
        return f": it is a symbolic link to '{path.readlink()}'"
    except OSError:
        pass  # the usual case: no link
    try:
        names = [each.name for each in islice(folder.iterdir(), _FILES)]
    except OSError:
        above = next((each for each in path.parents if each.is_dir()), None)
        missing = folder if above is None else path.parents[path.parents.index(above) - 1]
        return f"; there is no folder '{missing}'"
    near = nearest_names(path.name, (each for each in names if each.startswith(f"{path.stem}.")))
    if not near:
        near = (path.stem,) if path.stem in names else nearest_names(path.name, names)
    return f"; did you mean '{folder / near[0]}'?" if near else ""
