"""Turns the runtime's sources into all that a selection chooses from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sizeguard.codegen.registration import is_generated
from sizeguard.codegen.resolve import check_names, effective_selection
from sizeguard.codegen.tags import source_files
from sizeguard.operator_library import Operator, read_operator_libraries
from sizeguard.selection.selection import Selection
from sizeguard.verify.features import Site, read_features
from sizeguard.verify.switches import Switch, read_switches, written_instances

_CLASS = re.compile(r'\bSG_SELECTIVE_CLASS\("(\w+)"\)')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Universe:
    """operators: by name with overload. classes: names. sites: where features are asked for.

    written: instances of dtype bodies that sources spell out with their types (file, name, arguments), outside of switches
    """

    operators: Mapping[str, Operator]
    switches: tuple[Switch, ...]
    classes: tuple[str, ...]
    sites: tuple[Site, ...]
    written: frozenset[tuple[str, str, tuple[str, ...]]] = frozenset()

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(sorted({switch.tag for switch in self.switches}))

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(sorted({site.feature for site in self.sites}))

    def resolve(self, selection: Selection, source: str, *, dtypes: bool = True) -> Selection:
        """What a build of this selection keeps. Raises InputError for names that do not exist."""
        check_names(selection, source, self.operators, self.tags)
        return effective_selection(selection, self.operators, self.tags, all_dtypes=not dtypes)

    def kernel_object(self, operator: Operator) -> str:
        """The file whose object alone may hold the kernel: kernels that are registered by hand may be local to it; empty for others."""
        return "primitive.cpp" if operator.kind == "primitive" and not is_generated(operator) else ""


def read_universe(root: Path) -> Universe:
    """What the runtime in root/native is made of, read as its build reads it."""
    native = root / "native"
    libraries = [native / "operators" / "operators.yaml", native / "prepacked" / "operators.yaml"]
    kernels = [native / name for name in ("runtime", "operators", "prepacked")]
    programs = [native / "apps" / name for name in ("run_program.cpp", "app.cpp", "app.h", "npy.cpp")]
    asking = [*kernels, *(path for path in programs if path.is_file())]
    switches = read_switches(kernels, native / "selective" / "dtype_switch.h")
    return Universe(
        operators=read_operator_libraries(libraries),
        switches=switches,
        classes=tuple(sorted({name for path in source_files(kernels) for name in _CLASS.findall(_code(path))})),
        sites=read_features(asking),
        written=written_instances(kernels, {body.name for switch in switches for body in switch.bodies}),
    )


def _code(path: Path) -> str:
    return _COMMENT.sub("", path.read_text(encoding="utf-8", errors="replace"))
