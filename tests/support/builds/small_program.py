"""A small program in C++, with symbols and stripped."""

from __future__ import annotations

import subprocess
from pathlib import Path


def small_program(folder: Path) -> Path:
    """Build `a` and `a.stripped` in a folder; return the former."""
    source = folder / "a.cpp"
    source.write_text(
        "template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }\n"
        "char table[300];\n"
        "int main(int n, char**) { return twice(n) + (int)twice((double)n) + table[n]; }\n"
    )
    subprocess.run(["g++", "-Os", str(source), "-o", str(folder / "a")], check=True)
    subprocess.run(["strip", "-o", str(folder / "a.stripped"), str(folder / "a")], check=True)
    return folder / "a"
