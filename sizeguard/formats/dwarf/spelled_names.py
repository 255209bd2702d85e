"""Tell whether a symbol's name spells a function's name in the source."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Classes of std that mangled names abbreviate: Sa, Sb and Ss, Si, So, Sd
_ABBREVIATED = frozenset(
    (b"allocator", b"basic_string", b"basic_istream", b"basic_ostream", b"basic_iostream")
)
# Between the words of a symbol: f.cold, f@4 and f$variant are clones; Ada writes rows__f, Fortran
# __rows_MOD_f.
_WORDS = re.compile(rb"[.$@]|__+|_MOD_")
_LENGTH = re.compile(rb"[1-9]\d{0,3}")
# Their names have the length before each identifier: C++, Rust, D
_WITH_LENGTHS = re.compile(rb"__?(?:Z|R[BCIMNXY]|D\d)")
_SWIFT = (b"$s", b"_$s", b"$S", b"_$S", b"_T0")  # abbreviates words of identifiers


def spells(linkage: bytes, source: bytes) -> bool:
    """Return whether a symbol's name has a function's name in the source.

    True also if that cannot be told: of operators, closures, classes that have abbreviations, and
    in Swift.
    """
    name = re.split(rb"[<(!]", source, maxsplit=1)[0].removeprefix(b"~")
    if source == linkage or not name or name in _ABBREVIATED:
        return True
    if name.startswith((b"operator", b"{")) or linkage.startswith(_SWIFT):
        return True
    if _WITH_LENGTHS.match(linkage):
        name = name.rpartition(b".")[2]  # D: app.run
        return (
            name in _identifiers(linkage)
            or re.search(rb"(?<!\d)%d_?%s" % (len(name), re.escape(name)), linkage) is not None
        )
    wanted = name.strip(b"_")
    return any(word.strip(b"_") == wanted for word in _WORDS.split(linkage))


def _identifiers(mangled: bytes) -> Iterator[bytes]:
    """Yield the identifiers of a mangled name, as if each number was the length of one.

    4vec23add contains vec2 and add; 13add_to_others does not contain add.
    """
    at = 0
    while found := _LENGTH.search(mangled, at):
        at = found.end() + int(found[0])
        yield mangled[found.end() : at]
