"""Rows of the libraries that ship with an image: the library's bytes and its page slack.

Levels without a value for a library are empty; its path is its section, segment, object and
component, so that limits can name it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from sizeguard.attribution.size_report import CORE
from sizeguard.columns.joined_texts import JoinedTexts
from sizeguard.columns.label import Label
from sizeguard.columns.texts import Int, Texts
from sizeguard.formats.elf.needed import INTERPRETER, SEARCH_PATH
from sizeguard.formats.sniff import spelling_of_files
from sizeguard.ledger.ledger import ImageInfo

if TYPE_CHECKING:
    from sizeguard.builds.shipped_libraries import ShippedLibrary
    from sizeguard.builds.sizes import Sizes

KIND, PAGE_SLACK, ANALYZER = "shared library", "page slack", "section"
_PER_LIBRARY = 2  # rows: one of its bytes, one of its page slack


class LibraryRows:
    """The rows, which follow those of the image."""

    def __init__(self, libraries: Sequence[ShippedLibrary]) -> None:
        """Store the measured libraries."""
        self._libraries = libraries

    def __len__(self) -> int:
        """Return the number of rows."""
        return _PER_LIBRARY * len(self._libraries)

    def image(self, image: ImageInfo) -> ImageInfo:
        """Add the libraries' bytes and requirements to the image's.

        A library that is counted here is not needed from elsewhere. If another build takes a
        library of that name from elsewhere, it needs a new one.
        """
        sizes = [library.sizes for library in self._libraries]
        spelled = spelling_of_files(image.format)
        counted = {spelled(name) for library in self._libraries for name in library.names}
        needed = {
            name
            for names in (image.needed or (), *(library.needed for library in self._libraries))
            for name in names
            if name.startswith((INTERPRETER, SEARCH_PATH))
            or spelled(PurePosixPath(name).name) not in counted
        }
        return replace(
            image,
            file=image.file + sum(each.file for each in sizes),
            load=image.load + sum(each.load for each in sizes),
            ram=image.ram + sum(each.ram for each in sizes),
            needed=tuple(sorted(needed)) if image.needed is not None else None,
        )

    def sums(self, what: str) -> Int:
        """Return a column of bytes or counts."""
        columns = {
            "file": [(s.file - s.page_slack, s.page_slack) for s in self._sizes()],
            "load": [(s.load, 0) for s in self._sizes()],
            "ram": [(s.ram, 0) for s in self._sizes()],
            "count": [(1, int(s.page_slack > 0)) for s in self._sizes()],
        }
        return np.array(columns[what], np.int64).reshape(-1)

    def label(self, level: str, label: Label) -> Label:
        """Append the rows' values to those of the image."""
        names = [text for library in self._libraries for text in self._texts(level, library)]
        texts = list(dict.fromkeys(names))
        places = {text: len(label.texts) + i for i, text in enumerate(texts)}
        ids = np.array([places[name] for name in names], np.int32)
        joined = JoinedTexts(label.texts, Texts.of(texts))
        return Label(np.concatenate([label.ids, ids]), joined)

    def _sizes(self) -> Sequence[Sizes]:
        return [library.sizes for library in self._libraries]

    def _texts(self, level: str, library: ShippedLibrary) -> tuple[str, str]:
        if level in ("section", "segment", "object", "component", "image"):
            return library.name, library.name
        if level == "kind":
            return KIND, PAGE_SLACK
        fixed = {"operator": CORE, "analyzer": ANALYZER}.get(level, "")
        return fixed, fixed
