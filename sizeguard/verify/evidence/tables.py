"""Read the names that an image registers, stripped or not.

It does not use symbols: an operator's entry is its schema and its kernel, a custom class's entry is
its name and its constructor, anywhere and under any name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.binary import Binary
from sizeguard.formats.elf import ET_EXEC, Elf
from sizeguard.names.pointers import Pointers, data_words, relative_pointers, symbolic_pointers
from sizeguard.names.registered import (
    LONGEST_NAMESPACE,
    NAMES,
    SCHEMAS,
    Registration,
    TableShape,
    exact_names,
    read_entries,
)
from sizeguard.verify.evidence.code_search import ImageBytes
from sizeguard.verify.evidence.macho import MachoImage

_SCOPE = b"::"


@dataclass(frozen=True, slots=True)
class Registered:
    """Entries of an image.

    operators: by schema name
    classes:   by name
    """

    operators: Mapping[str, tuple[Registration, ...]]
    classes: Mapping[str, tuple[Registration, ...]]


def registered_in(image: Binary, classes: Iterable[str]) -> Registered:
    """Find every entry in the image. classes: names that count as class names."""
    pointers, names = pointers_of(image), tuple(classes)

    def entries(shape: TableShape) -> dict[str, tuple[Registration, ...]]:
        return _by_name(read_entries(image, pointers, shape, in_code=True))

    return Registered(entries(SCHEMAS), entries(exact_names(names)) if names else {})


def named_in(image: Binary) -> Mapping[str, tuple[Registration, ...]]:
    """Find every entry in the image of a table that pairs names with functions, in any way.

    A name is that of an operator, unless it is one of a symbol, as in a table of tests.
    """
    return _by_name(read_entries(image, pointers_of(image), NAMES))


def written_operators(image: ImageBytes) -> dict[str, int]:
    """Return the texts that may be names of operators, each with an address.

    Code may register an operator without a table, from its name and a function, as the constructors
    of ExecuTorch's kernels do.
    """
    found: dict[str, int] = {}
    for part in image.parts:
        at = part.content.find(_SCOPE)
        while at >= 0:
            start = part.content.rfind(b"\0", max(0, at - LONGEST_NAMESPACE), at) + 1
            if match := NAMES.text.match(part.content, start):
                found[match[1].decode()] = part.address + start
            at = part.content.find(_SCOPE, at + len(_SCOPE))
    return found


def _by_name(entries: Sequence[Registration]) -> dict[str, tuple[Registration, ...]]:
    found: dict[str, list[Registration]] = {}
    for entry in entries:
        found.setdefault(entry.name, []).append(entry)
    return {name: tuple(found[name]) for name in sorted(found)}


def pointers_of(image: Binary) -> Pointers:
    """Return the words of an image that may be addresses, as the program sees them."""
    if isinstance(image, MachoImage):
        at, target = image.pointers.keys(), image.pointers.values()
        return Pointers.of([Pointers(np.array([*at], np.int64), np.array([*target], np.int64))])
    if not isinstance(image, Elf):
        return Pointers.of([])
    # In an image that is not loaded where it was linked, only relocated words are addresses.
    words = [data_words(image, in_code=True)] if image.type == ET_EXEC else []
    return Pointers.of([*words, relative_pointers(image), symbolic_pointers(image)])
