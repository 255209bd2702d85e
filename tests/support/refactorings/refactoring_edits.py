"""The types of refactorings, and the sources that they edit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

KERNELS = "native/operators/kernels"
UNARY = f"{KERNELS}/unary.cpp"
BINARY = f"{KERNELS}/binary.cpp"
REDUCTION = f"{KERNELS}/reduction.cpp"
NORMALIZATION = f"{KERNELS}/normalization.cpp"
MATRIX = f"{KERNELS}/matrix.cpp"
QUANTIZATION = f"{KERNELS}/quantization.cpp"
COPY = "native/operators/copy.cpp"
GEMM = "native/operators/gemm.cpp"

# The body and the comment of the function that adds elements, in reduction.cpp
ADDED = """\
    if constexpr (std::is_floating_point_v<T>) {
      total.number += element;
    } else {
      total.integer = static_cast<int64_t>(static_cast<uint64_t>(total.integer) +
                                           static_cast<uint64_t>(element));
    }
"""
ADD_HEAD = "/// Adds elements. Integers wrap around; floats accumulate in a double.\n"


@dataclass(frozen=True)
class Edit:
    """A change of a file, from the old text to the new; without an old text, a new file."""

    file: str
    old: str
    new: str
    is_pattern: bool = False

    def applied(self, text: str, name: str) -> str:
        if not self.is_pattern:
            assert self.old in text, f"{name}: {self.file} has no {self.old!r}"
            return text.replace(self.old, self.new) if self.old else self.new
        return re.sub(self.old, self.new, text)


@dataclass(frozen=True)
class Refactoring:
    """Edits; then files that move, and files whose code moves to the end of others."""

    name: str
    edits: tuple[Edit, ...]
    moved: tuple[tuple[str, str], ...] = ()
    joined: tuple[tuple[str, str], ...] = ()

    def files(self) -> set[str]:
        """Return the paths of all files that the refactoring reads or writes."""
        pairs = (*self.moved, *self.joined)
        return {edit.file for edit in self.edits} | {file for pair in pairs for file in pair}

    def apply(self, root: Path) -> None:
        for edit in self.edits:
            path = root / edit.file
            text = path.read_text() if path.is_file() else ""
            path.write_text(edit.applied(text, self.name))
        for old, new in self.moved:
            (root / old).rename(root / new)
        for old, new in self.joined:
            text = (root / old).read_text()
            includes = "".join(f"{line}\n" for line in text.splitlines() if line[:1] == "#")
            code = text[text.index("namespace sg") :]
            with (root / new).open("a") as file:
                file.write(f"\n{includes}\n{code}")
            (root / old).unlink()


def one_edit(name: str, file: str, old: str, new: str) -> Refactoring:
    return Refactoring(name, (Edit(file, old, new),))
