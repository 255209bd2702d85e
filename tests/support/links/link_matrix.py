"""Ways to compile and link the runtime, with builds that share objects.

Rows that only differ in the link are only linked again.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import Build
from sizeguard.projects.root import project_root
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import (
    Variant,
    check_combination,
    checked_variant,
)
from sizeguard.toolchains.targets import find_target
from sizeguard.toolchains.toolchain import Toolchain, find_toolchain

VALUES = {
    "app": ("core", "mlp"),
    "compiler": ("gcc", "clang"),
    "optimize": ("s", "2"),
    "linker": ("bfd", "gold", "lld", "mold"),
    "form": ("executable", "stripped", "static", "static-pie", "shared", "lto"),
}


@dataclass(frozen=True, slots=True, order=True)
class Row:
    """A way to build an app: core, full or a model's.

    form: the file to check; stripped is the executable's shipped twin
    target: empty for this machine
    """

    app: str
    compiler: str
    optimize: str
    form: str
    linker: str
    target: str = ""

    def __str__(self) -> str:
        return "-".join(filter(None, astuple(self)))

    @property
    def is_possible(self) -> bool:
        """Return whether `sizeguard build` accepts the row; it refuses what a linker cannot do.

        It does not look for tools, so that tests can be listed without them.
        """
        target = find_target(self.target or None)
        if target.is_macho and (self.compiler != "clang" or not self.linker.startswith("lld")):
            return False
        named = Toolchain(self.compiler, self.linker, target.name, "", "", "", "")
        try:
            check_combination(self.variant(None), named)
        except InputError:
            return False
        return True

    @property
    def objects(self) -> str:
        """Return the key of the row's objects; rows with the same key are compiled once."""
        kind = {"shared": "pic", "lto": "lto", "thinlto": "thinlto"}.get(self.form, "pie")
        return "-".join(
            filter(None, [self.target, self.app, self.compiler, f"O{self.optimize}", kind])
        )

    def toolchain(self) -> Toolchain:
        return _toolchain(self.compiler, self.linker, self.target)

    def variant(self, selection: Path | None) -> Variant:
        link = self.form if self.form in ("static", "static-pie", "shared") else "executable"
        lto = {"lto": "full", "thinlto": "thin"}.get(self.form, "")
        if selection is None:
            return Variant(
                "full" if self.app == "full" else "core", optimize=self.optimize, link=link, lto=lto
            )
        return checked_variant(
            project_root(),
            Variant(
                "selective",
                self.app,
                selection,
                dtypes=True,
                optimize=self.optimize,
                sanitize="",
                link=link,
                lto=lto,
            ),
        )

    def pairs(self) -> set[tuple[str, str, str, str]]:
        """Yield every pair of choices, such as compiler gcc and linker lld."""
        chosen = [(name, getattr(self, name)) for name in VALUES]
        return {(*one, *other) for one, other in itertools.combinations(chosen, 2)}


@functools.cache
def _toolchain(compiler: str, linker: str, target: str) -> Toolchain:
    return find_toolchain(compiler, linker, target or None)


def product() -> Iterator[Row]:
    """List every possible row."""
    for choice in itertools.product(*VALUES.values()):
        row = Row(**dict(zip(VALUES, choice, strict=True)))
        if row.is_possible:
            yield row


def covering_rows() -> list[Row]:
    """List a few rows that cover every possible pair of choices, ordered by shared objects.

    Four sets of objects cover every pair of app, compiler and optimization; each linker and form of
    an executable is used with all four. Shared libraries and LTO need objects of their own, so two
    sets without a common choice cover their pairs.
    """
    sets = (
        ("core", "gcc", "s"),
        ("core", "clang", "2"),
        ("mlp", "gcc", "2"),
        ("mlp", "clang", "s"),
    )
    two = (("core", "gcc", "s"), ("mlp", "clang", "2"))
    rows = []
    for i, linker in enumerate(VALUES["linker"]):
        for j, form in enumerate(VALUES["form"][:4]):
            rows.append(Row(*sets[(i + j) % 4], form, linker))
        rows.append(Row(*two[i % 2], "shared", linker))
        rows.append(Row(*two[i // 2], "lto", linker))
    return sorted((row for row in rows if row.is_possible), key=lambda row: (row.objects, row))


def build_row(row: Row, selection: Callable[[], Path], folder: Path) -> Build:
    """Build below `folder`, in the one for the row's objects."""
    variant = row.variant(None if row.app in ("core", "full") else selection())
    return build(project_root(), variant, row.toolchain(), folder / row.objects)


def image_of(row: Row, built: Build) -> Path:
    return built.shipped if row.form == "stripped" else built.image
