"""Archives: GNU, BSD, Darwin and thin ones, and one with nested archives."""

from __future__ import annotations

from pathlib import Path

from sizeguard.formats.archive import read_archive
from tests.support.links.map_links import run

KINDS = {
    "gnu": ["ar", "rcD"],
    "thin": ["ar", "rcDT"],
    "bsd": ["llvm-ar-19", "--format=bsd", "rcD"],
    "darwin": ["llvm-ar-19", "--format=darwin", "rcD"],
}


def _seeds(folder: Path) -> list[Path]:
    names = ["a.o", "a_name_that_does_not_fit_into_sixteen_characters.o", "a name with blanks.o"]
    for i, name in enumerate(names):
        (folder / "x.c").write_text(f"int function_{i}(int x) {{ return x + {i}; }}\n")
        run("gcc", "-c", "x.c", "-o", name, cwd=folder)
    for kind, command in KINDS.items():
        run(*command, f"{kind}.a", *names, cwd=folder)
    run("ar", "rcDT", "nested.a", *names, "gnu.a", cwd=folder)
    # Thin archives are read in the folder of their members, beside the mutated file.
    for kind in ("gnu", "nested"):
        (folder / f"{kind}-copy.a").write_bytes((folder / f"{kind}.a").read_bytes())
    return [folder / f"{name}.a" for name in ("gnu-copy", "thin", "bsd", "darwin", "nested-copy")]


def _read(path: Path) -> None:
    for _ in read_archive(path):
        pass


TARGETS = {"archives": (_seeds, _read)}
