"""Find the source file and line of a symbol from its object file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from sizeguard.runtimes.known import short_name, source_tree

_MEMBER = re.compile(r".*\((.+)\)")


@dataclass
class SourceLines:
    """The sources of the runtime in a folder; objects are named after them."""

    root: Path
    lines: dict[str, list[str]] = field(default_factory=dict)

    @cached_property
    def paths(self) -> dict[str, list[str]]:
        """Paths from the root, by file name."""
        found: dict[str, list[str]] = {}
        for path in source_tree(self.root)[1].code_files():
            found.setdefault(path.name, []).append(path.relative_to(self.root).as_posix())
        return found

    def place(self, object_: str, symbol: str) -> str:
        """Find file and line of a symbol.

        native/operators/kernels/convolution.cpp:88 for libsg_kernels.a(convolution.cpp.o). Empty
        unless exactly one source fits.
        """
        member = _MEMBER.fullmatch(object_)
        source = (member[1] if member else object_).removesuffix(".o")
        known = self.paths.get(Path(source).name, [])
        fitting = (
            known if len(known) == 1 else [path for path in known if _ending(path, source) >= 2]
        )
        if len(fitting) != 1:
            return ""
        line = self._line(fitting[0], symbol)
        return f"{fitting[0]}:{line}" if line else fitting[0]

    def _line(self, path: str, symbol: str) -> int:
        """Find the line where the function of that name begins; 0 unless exactly one does.

        The text of the source is the only evidence: objects may lack debug information.
        """
        name = re.search(r"([A-Za-z_]\w*)(?:<.*>)?$", short_name(symbol))
        if not name:
            return 0
        if path not in self.lines:
            self.lines[path] = (
                (self.root / path).read_text(encoding="utf-8", errors="replace").split("\n")
            )
        begins = re.compile(
            rf"^(?:[A-Za-z_][^=;(){{}}]*[\s*&:]){re.escape(name[1])}\s*\((?!.*;\s*$)"
        )
        found = [i + 1 for i, line in enumerate(self.lines[path]) if begins.match(line)]
        return found[0] if len(found) == 1 else 0


def _ending(path: str, source: str) -> int:
    """Count the parts that two paths have in common at their ends."""
    count = 0
    for a, b in zip(reversed(path.split("/")), reversed(source.split("/")), strict=False):
        if a != b:
            break
        count += 1
    return count
