"""Builds of dtype selections, and the bytes that deselecting a dtype should save."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass
from pathlib import Path

import pytest

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.attribution.owners.inlined import case_dtypes
from sizeguard.builds.build_record import Build
from sizeguard.formats.dwarf import inline_frames
from sizeguard.formats.elf import SHT_RELA
from sizeguard.formats.linkmap import read_map
from sizeguard.operators.dtypes import NAME_OF_CPP_TYPE
from sizeguard.operators.library import read_operator_libraries
from sizeguard.runtimes.known import runtime_named, short_name
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, checked_variant
from sizeguard.runtimes.sizeguard.native_sources import NativeSources
from sizeguard.runtimes.sizeguard.sources.tags import TagUse, scan_tags
from sizeguard.toolchains.toolchain import Toolchain
from tests.support.links.object_graph import Node, ObjectGraph, read_graph
from tests.support.places import DATA

INDEX, FLOATING = ("Int", "Long"), ("Float", "Double")
INTEGRAL = ("Byte", "Char", "Short", *INDEX)
REAL = (*INTEGRAL, *FLOATING)
CASES = {  # of native/selective/dtype_switch.h
    "INDEX": INDEX,
    "INTEGRAL": INTEGRAL,
    "BITS": (*INTEGRAL, "Bool"),
    "FLOATING": FLOATING,
    "ACCUMULATE": (*FLOATING, "Long"),
    "REAL": REAL,
    "ALL": (*REAL, "Bool"),
    "STORED": (*REAL, "Bool", "Half", "BFloat16"),
}

# Bytes of an imported function beside its name: .dynsym, .rela.dyn, .got, .gnu.version
IMPORT = 24 + 24 + 8 + 2


@dataclass(frozen=True, slots=True)
class Branch:
    tag: str
    dtype: str


def native_folders(root: Path) -> list[Path]:
    return [root / "native" / "operators", root / "native" / "prepacked"]


def branches(root: Path) -> list[Branch]:
    """List every branch of every dtype switch."""
    found = {
        Branch(tag, dtype)
        for tag, uses in scan_tags(native_folders(root)).items()
        for use in uses
        for dtype in _cases(use)
    }
    return sorted(found, key=lambda branch: (branch.tag, branch.dtype))


def selection_text(root: Path, kept: dict[str, list[str]]) -> str:
    """List all operators by name, because `include_all_operators` would keep all dtypes."""
    flags = "{is_root_operator: true, is_used_for_training: false, include_all_overloads: false}"
    lines = ["include_all_operators: false", "include_all_non_op_selectives: false", "operators:"]
    lines += [
        f"  {name}: {flags}"
        for name in sorted(
            read_operator_libraries(sorted((root / "native").glob("*/operators.yaml")))
        )
    ]
    lines += [
        f"build_features: [{', '.join(sorted(NativeSources(root, root).features()))}]",
        "custom_classes: [LinearOpContext]",
        "kernel_metadata:",
    ]
    return (
        "\n".join(
            [*lines, *(f"  {tag}: [{', '.join(dtypes)}]" for tag, dtypes in sorted(kept.items()))]
        )
        + "\n"
    )


def build_with(
    root: Path, toolchain: Toolchain, optimize: str, folder: Path, kept: dict[str, list[str]]
) -> Build:
    """Build all operators with these dtypes.

    It uses one folder and one selection file, so only changed parts are compiled again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    selection = folder / "selected_operators.yaml"
    selection.write_text(selection_text(root, kept))
    variant = checked_variant(
        root, Variant("selective", "dtypes", selection, dtypes=True, optimize=optimize, sanitize="")
    )
    return build(root, variant, toolchain, folder / "build")


def build_without_dtypes(
    root: Path, toolchain: Toolchain, optimize: str, folder: Path, tags: Iterable[str]
) -> Build:
    """Build without a branch in any switch, and without losing neutral code for other reasons.

    A switch without branches never returns, so the compiler would drop the neutral code after it,
    8,000 bytes with gcc -Os. Therefore the handlers of deselected dtypes are declared as returning.
    Also, kernels that differ only in their branches become equal, such as bitwise_or and
    bitwise_xor, and gcc would merge them (2,800 bytes), so that is switched off.
    """
    flags = [
        "-include",
        str(DATA / "dtype_truth" / "returning_handlers.h"),
    ]
    if toolchain.compiler == "gcc":
        flags.append("-fno-ipa-icf")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CXXFLAGS", " ".join(flags))
        return build_with(root, toolchain, optimize, folder, {tag: [] for tag in tags})


def everything(root: Path) -> dict[str, list[str]]:
    kept: dict[str, list[str]] = {}
    for branch in branches(root):
        kept.setdefault(branch.tag, []).append(branch.dtype)
    return kept


class Predictor:
    """Predicts the bytes that leave a build with a branch.

    These are its bodies, everything that only they reach, the imports that only those use, and the
    code of its case. They come from the objects; the case's code comes from the inline frames
    (run_case<ScalarType::Float>) of the same build with debug information, if any. Debug
    information changes no code.
    """

    def __init__(self, root: Path, built: Build, debug: Build | None = None) -> None:
        self.cases = case_code(debug) if debug is not None else {}
        self.graph: ObjectGraph = read_graph(built.objects, built.image.parent)
        self.sizes = {
            (row.file, row.name): row.size for row in read_map(built.map) if not row.is_merged
        }
        self.uses = scan_tags(native_folders(root))
        self._imports: dict[Node, set[str]] = {}
        self.live = self.graph.closure(self.starts())

    def starts(self) -> list[Node]:
        return [*self.graph.roots(), *(entry.function for entry in self.graph.entries)]

    def predicted(self, branch: Branch) -> int:
        gone = {node for use in self.uses[branch.tag] for node in self.bodies(branch, use)}
        left = self.graph.closure(self.starts(), without=gone)
        imports = {name for node in self.live - left for name in self.imports(node)} - {
            name for node in left for name in self.imports(node)
        }
        cases = sum(self.case(branch, use) for use in self.uses[branch.tag])
        return (
            sum(self.size(node) for node in self.live - left)
            + sum(IMPORT + len(name) + 1 for name in imports)
            + cases
        )

    def imports(self, node: Node) -> set[str]:
        """List names of shared libraries that a section refers to."""
        elf = self.graph.objects[node[0]][1]
        if node not in self._imports:
            rows = [s for s in elf.sections if s.type == SHT_RELA and s.info == node[1]]
            tables = [elf.relocation_table(row) for row in rows]
            symbols = [elf.symbols[i] for table in tables for i in table.symbol.tolist()]
            self._imports[node] = {
                s.name
                for s in symbols
                if s.name and not s.section and s.name not in self.graph.globals
            }
        return self._imports[node]

    def case(self, branch: Branch, use: TagUse) -> int:
        """Return the bytes of a switch's case in the neutral function around it."""
        function = _function_around(use)
        marks = (f"::{function}(", f"{len(function)}{function}E")
        return sum(
            size
            for (name, dtype), size in self.cases.items()
            if dtype == branch.dtype and any(mark in name for mark in marks)
        )

    def size(self, node: Node) -> int:
        """Return the bytes, with the padding that the linker puts after it.

        The next section is assumed to have the same alignment.
        """
        file, elf = self.graph.objects[node[0]]
        section = elf.sections[node[1]]
        align = max(section.alignment, 1)
        return -(-self.sizes.get((file, section.name), 0) // align) * align

    def bodies(self, branch: Branch, use: TagUse) -> set[Node]:
        """List the functions of the switch's file that its lambda names, for the branch's type."""
        wanted = _templates(_switch_text(use))
        neighbours = [
            other
            for tag, uses in self.uses.items()
            if tag != branch.tag
            for other in uses
            if other.file == use.file
        ]
        others = [_templates(_switch_text(other)) for other in neighbours]
        kept_by = [
            found
            for other, found in zip(neighbours, others, strict=True)
            if branch.dtype in _cases(other)
        ]
        parameters = _template_parameters(use)
        found = set()
        for node, name in self.graph.names.items():
            base, cut, rest = short_name(name).partition("<")
            arguments = [part.strip() for part in rest.rstrip(">").split(",")] if cut else []
            if base not in wanted or not arguments:
                continue
            if NAME_OF_CPP_TYPE.get(arguments[0]) != branch.dtype:
                continue
            if use.file.name not in self.graph.objects[node[0]][0] or node not in self.live:
                continue
            parts = [part for part in wanted[base] if part not in parameters]
            if not all(part in arguments for part in parts):
                continue  # the functor of another switch, or of none: binary_loop<bool, bool, And>
            if len(parts) < len(wanted[base]) and any(
                part in arguments for other in others for part in other.get(base, ())
            ):
                # A template parameter means functors that no switch of the file names
                continue
            if any(other.get(base) == wanted[base] for other in kept_by):
                continue  # another switch keeps it: mean and sum add elements by one loop
            found.add(node)
        return found


def case_code(built: Build) -> dict[tuple[str, str], int]:
    """Map (frame name, dtype) to the bytes of inlined cases."""
    preset = runtime_named("sizeguard").rules
    frames = inline_frames(built.image, None)
    names = [frames.names[i] for i in range(len(frames.names))]
    dtypes = case_dtypes(frames.names, preset)
    found: dict[tuple[str, str], int] = {}
    first, frame = frames.first.tolist(), frames.frame.tolist()
    for row, (low, high) in enumerate(zip(frames.start.tolist(), frames.end.tolist(), strict=True)):
        case = next((i for i in frame[first[row] : first[row + 1] - 1] if dtypes[i]), None)
        if case is not None:
            key = names[case], dtypes[case]
            found[key] = found.get(key, 0) + high - low
    return found


@dataclass(frozen=True, slots=True)
class Code:
    """Loaded code by the names of a report.

    named: bytes by dtype; a name with several dtypes counts for the first
    neutral: neutral code of kernels
    total: all code, including code outside of kernels
    """

    named: dict[str, int]
    neutral: int
    total: int

    @property
    def kernels(self) -> int:
        return self.neutral + sum(self.named.values())

    def of(self, dtypes: Set[str]) -> int:
        return sum(size for dtype, size in self.named.items() if dtype in dtypes)


def code_of(built: Build) -> Code:
    analysis = analysis_of(built.image.parent)
    kind, dtype = (analysis.label(level) for level in ("kind", "dtype"))
    named: dict[str, int] = {}
    for row, load in enumerate(analysis.load.tolist()):
        if kind.texts[kind.ids[row]] == "code":
            first = dtype.texts[dtype.ids[row]].partition("+")[0]
            named[first] = named.get(first, 0) + load
    total = sum(named.values())
    named.pop("", 0)
    return Code(named, named.pop("neutral", 0), total)


def _cases(use: TagUse) -> tuple[str, ...]:
    return CASES[use.macro.removeprefix("SG_SWITCH_")]


def _function_around(use: TagUse) -> str:
    """Find the function around a switch: the last unindented line before it that begins one."""
    for line in reversed(use.file.read_text(encoding="utf-8").split("\n")[: use.line]):
        match = re.match(r"[A-Za-z\[].*?\b(\w+)\(", line)
        if match:
            return match[1]
    return ""


def _switch_text(use: TagUse) -> str:
    lines = use.file.read_text(encoding="utf-8").split("\n")[use.line - 1 :]
    text = "\n".join(lines)
    start = text.index("[&]<typename T>()")
    depth = 0
    for i, character in enumerate(text[start:], start):
        depth += (character == "{") - (character == "}")
        if character == "}" and depth == 0:
            return text[start : i + 1]
    return text[start:]


def _templates(text: str) -> dict[str, list[str]]:
    """binary_loop<T, bool, Equal> → binary_loop: [Equal].

    Functions without template arguments map to [].
    """
    found: dict[str, list[str]] = {name: [] for name in re.findall(r"\b([a-z_]\w*)\(", text)}
    for name, arguments in re.findall(r"\b(\w+)<([^<>]*\bT\b[^<>]*)>", text):
        parts = [part.strip() for part in arguments.split(",")]
        found[name] = [
            part
            for part in parts[1:]
            if part in ("true", "false") or (part != "T" and part[:1].isupper())
        ]
    return found


def _template_parameters(use: TagUse) -> set[str]:
    """List the template parameters in the file, such as Op in unary_loop<T, T, Op>."""
    lists = re.findall(r"\btemplate <([^<>]*)>", use.file.read_text(encoding="utf-8"))
    return {name for parameters in lists for name in re.findall(r"\btypename (\w+)", parameters)}


__all__ = [
    "Branch", "Code", "Predictor", "branches", "build_with", "build_without_dtypes", "code_of",
    "everything",
]  # fmt: skip
