"""Ways to compile and link the runtime, and builds of them that share objects: what only the link differs in is linked again."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

from sizeguard.build.driver import build
from sizeguard.build.record import Build
from sizeguard.build.toolchain import find_toolchain
from sizeguard.build.variants import Variant, make_variant
from sizeguard.project import project_root

VALUES = {
    "app": ("core", "mlp"),
    "compiler": ("gcc", "clang"),
    "optimize": ("s", "2"),
    "linker": ("bfd", "gold", "lld", "mold"),
    "form": ("executable", "stripped", "static", "static-pie", "shared", "lto"),
}


@dataclass(frozen=True, slots=True, order=True)
class Row:
    """A way to build an app. form: what is looked at; stripped is the executable's shipped twin."""

    app: str
    compiler: str
    optimize: str
    form: str
    linker: str

    def __str__(self) -> str:
        return "-".join(astuple(self))

    @property
    def is_possible(self) -> bool:
        """gold knows no --no-dynamic-linker, lld no LTO objects of gcc: `sizeguard build` refuses both."""
        return (self.form, self.linker) != ("static-pie", "gold") and (self.form, self.linker, self.compiler) != ("lto", "lld", "gcc")

    @property
    def link(self) -> str:
        return {"stripped": "executable", "lto": "executable"}.get(self.form, self.form)

    @property
    def objects(self) -> str:
        """Rows of the same are compiled once."""
        kind = {"shared": "pic", "lto": "lto"}.get(self.form, "pie")
        return f"{self.app}-{self.compiler}-O{self.optimize}-{kind}"

    def pairs(self) -> set[tuple[str, str, str, str]]:
        """Every two choices: compiler, gcc, linker, lld."""
        chosen = [(name, getattr(self, name)) for name in VALUES]
        return {(*one, *other) for one, other in itertools.combinations(chosen, 2)}


def product() -> Iterator[Row]:
    """Every row that is possible."""
    for choice in itertools.product(*VALUES.values()):
        row = Row(**dict(zip(VALUES, choice, strict=True)))
        if row.is_possible:
            yield row


def covering_rows() -> list[Row]:
    """A few of them in which every two choices that are possible together meet, ordered by what is compiled once.

    Four sets of objects hold every pair of app, compiler and optimization; each linker and each form meets all four.
    """
    sets = (("core", "gcc", "s"), ("core", "clang", "2"), ("mlp", "gcc", "2"), ("mlp", "clang", "s"))
    rows = []
    for i, linker in enumerate(VALUES["linker"]):
        for j, form in enumerate(VALUES["form"][:4]):
            rows.append(Row(*sets[(i + j) % 4], form, linker))
        rows.append(Row(*sets[i], "shared", linker))
    lto = zip((sets[0], sets[2], sets[1], sets[3]), VALUES["linker"], strict=True)
    rows += [Row(*chosen, "lto", linker) for chosen, linker in lto]
    return sorted((row for row in rows if row.is_possible), key=lambda row: (row.objects, row))


def build_row(row: Row, selection: Callable[[], Path], folder: Path) -> Build:
    """Build below `folder`, in the one for the row's objects."""
    options = {"optimize": row.optimize, "link": row.link, "lto": "full" if row.form == "lto" else ""}
    if row.app == "core":
        variant = Variant("core", **options)
    else:
        variant = make_variant(project_root(), "selective", row.app, selection(), dtypes=True, sanitize="", **options)
    return build(project_root(), variant, find_toolchain(row.compiler, row.linker), folder / row.objects)


def image_of(row: Row, built: Build) -> Path:
    return built.shipped if row.form == "stripped" else built.image
