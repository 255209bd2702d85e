"""The universe of our runtime, read from its sources, with the places of switches and features."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sizeguard.claims.universe import Universe
from sizeguard.operators.library import Operator, read_operator_libraries
from sizeguard.runtimes.sizeguard.codegen.registration import is_generated
from sizeguard.runtimes.sizeguard.native_tree import FOLDER, operator_files
from sizeguard.runtimes.sizeguard.sources.feature_sites import FeatureSite, read_features
from sizeguard.runtimes.sizeguard.sources.switches import (
    DtypeSwitch,
    read_switches,
    written_instances,
)
from sizeguard.runtimes.sizeguard.sources.tags import source_files

_CLASS = re.compile(r'\bSG_SELECTIVE_CLASS\("(\w+)"\)')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NativeUniverse(Universe):
    """The universe with what verification needs of the sources.

    sites:   where features are asked for
    written: instances of dtype bodies that sources spell out with their types (file, name,
             arguments), outside of switches
    """

    switches: tuple[DtypeSwitch, ...]
    sites: tuple[FeatureSite, ...]
    written: frozenset[tuple[str, str, tuple[str, ...]]] = frozenset()

    def kernel_object(self, operator: Operator) -> str:
        """Return the file whose object alone may hold the kernel.

        Kernels that are registered by hand may be local to it; empty for others.
        """
        by_hand = operator.kind == "primitive" and not is_generated(operator)
        return "primitive.cpp" if by_hand else ""


def read_universe(root: Path) -> NativeUniverse:
    """Read the universe of the runtime in root/native, as its build reads it."""
    kernels = _kernels(root)
    switches = read_switches(kernels, root / FOLDER / "selective" / "dtype_switch.h")
    sites = read_features(asking_sources(root))
    dtypes: dict[str, dict[str, None]] = {}
    for switch in switches:
        dtypes.setdefault(switch.tag, {}).update(dict.fromkeys(switch.dtypes))
    return NativeUniverse(
        operators=read_operator_libraries(operator_files(root)),
        dtypes={tag: tuple(names) for tag, names in dtypes.items()},
        classes=tuple(
            sorted({name for path in source_files(kernels) for name in _CLASS.findall(_code(path))})
        ),
        features=tuple(sorted({site.feature for site in sites})),
        switches=switches,
        sites=sites,
        written=written_instances(
            kernels, {body.name for switch in switches for body in switch.bodies}
        ),
    )


def asking_sources(root: Path) -> list[Path]:
    """Folders and files whose code may ask for a build feature: kernels and run_program."""
    names = ("run_program.cpp", "app.cpp", "app.h", "npy.cpp")
    programs = [root / FOLDER / "apps" / name for name in names]
    return [*_kernels(root), *(path for path in programs if path.is_file())]


def _kernels(root: Path) -> list[Path]:
    return [root / FOLDER / name for name in ("runtime", "operators", "prepacked")]


def _code(path: Path) -> str:
    return _COMMENT.sub("", path.read_text(encoding="utf-8", errors="replace"))
