"""Verdicts on the dtype branches of switches, selected or not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from sizeguard.claims.verdict import (
    ABSENT,
    FAIL,
    INCONCLUSIVE,
    PRESENT,
    STILL_THERE,
    UNKNOWN,
    Verdict,
)
from sizeguard.names.demangle import demangle
from sizeguard.names.short import template_of
from sizeguard.runtimes.sizeguard.native_universe import NativeUniverse
from sizeguard.runtimes.sizeguard.sources.switches import DtypeSwitch
from sizeguard.selection.selection import Selection
from sizeguard.verify.code_presence import FoundCode, explain_any, judge_code, look_for
from sizeguard.verify.evidence.evidence import Evidence, Inlined
from sizeguard.verify.evidence.object_evidence import NamedPiece, ObjectFile
from sizeguard.verify.inlined_cases import Cases, cases_in, compiled_cases

NO_CONSTANT = "compiled although not selected: the check is no constant, or asks another selection"


@dataclass(frozen=True, slots=True)
class Instance:
    """Instance of a template that is a dtype's body, such as binary_loop<float, bool, Greater>."""

    name: str
    arguments: tuple[str, ...]
    piece: NamedPiece


@dataclass(frozen=True, eq=False)
class CaseBodies:
    """Bodies of dtype branches in the objects, and the selected branches that explain them."""

    evidence: Evidence
    universe: NativeUniverse
    selection: Selection

    @cached_property
    def _of_file(self) -> dict[str, list[int]]:
        """Numbers of the objects that were made of a source file, by its name."""
        found: dict[str, list[int]] = {}
        for number, file in enumerate(self.evidence.own_files()):
            found.setdefault(_source_of(file), []).append(number)
        return found

    def source(self, piece: NamedPiece) -> str:
        """Return the name of the source that a piece's object was made of."""
        return _source_of(self.evidence.objects.files[piece.object])

    def objects(self, switch: DtypeSwitch) -> list[int]:
        """Return the objects that may hold a switch.

        The switch of a header may be in any object; with LTO one object may hold all of them.
        """
        own = self._of_file.get(switch.file.name, [])
        return own if own else list(range(self.evidence.own))

    @cached_property
    def instances(self) -> dict[int, list[Instance]]:
        """Instances of bodies in the objects, by the names of their templates."""
        names = {body.name for switch in self.universe.switches for body in switch.bodies}
        found: dict[int, list[Instance]] = {}
        for symbol, pieces in self.evidence.objects.index.items():
            if not any(name in symbol for name in names):
                continue
            name, arguments = template_of(symbol)
            if name in names and arguments:
                for piece in pieces:
                    found.setdefault(piece.object, []).append(Instance(name, arguments, piece))
        return found

    @cached_property
    def explicit(self) -> frozenset[str]:
        """Template arguments that switches name, without those that a switch leaves open."""
        return frozenset(
            a for switch in self.universe.switches for body in switch.bodies for a in body.arguments
        )

    def bodies(self, switch: DtypeSwitch, dtype: str) -> list[Instance]:
        """List the instances that a switch calls for a dtype."""
        c_type = switch.dtypes[dtype]
        return [
            instance
            for number in self.objects(switch)
            for instance in self.instances.get(number, ())
            if any(
                body.matches(instance.name, instance.arguments, c_type, self.explicit)
                for body in switch.bodies
            )
        ]

    @cached_property
    def explained(self) -> set[NamedPiece]:
        """Bodies that a selected branch calls."""
        return {
            instance.piece
            for switch in self.universe.switches
            for dtype in switch.dtypes
            if self.selection.is_kernel_dtype_selected(switch.tag, dtype)
            for instance in self.bodies(switch, dtype)
        }

    @cached_property
    def _cases(self) -> list[Cases]:
        return [compiled_cases(file) for file in self.evidence.own_files()]

    def compiled(self, switch: DtypeSwitch) -> set[str]:
        """Return the dtypes whose case was compiled, according to debug information."""
        return {
            d
            for number in self.objects(switch)
            for d in self._cases[number].of(switch.function, switch.file.name, switch.line)
        }

    def in_image(self, switch: DtypeSwitch) -> dict[str, tuple[int, str]]:
        """Return the dtypes whose case is a part of the image, according to debug information.

        Each has its bytes and the function that holds them.
        """
        found: dict[str, tuple[int, str]] = {}
        for name, part in self._inlined_cases:
            for dtype in Cases(True, (name,)).of(switch.function, switch.file.name, switch.line):
                found[dtype] = (found.get(dtype, (0, ""))[0] + part.bytes, part.host)
        return found

    @cached_property
    def _inlined_cases(self) -> list[tuple[tuple[str, str], Inlined]]:
        return [
            (case, part)
            for name, part in self.evidence.inlined.items()
            for case in cases_in(name.encode())
        ]

    def functions(self, switch: DtypeSwitch) -> list[NamedPiece]:
        """Find the functions around a switch."""
        wanted = switch.function
        found = []
        for number in self.objects(switch):
            for name, section, offset, size in self.evidence.objects.files[number].pieces:
                if wanted and wanted in name and template_of(name)[0] == wanted:
                    found.append(NamedPiece(number, section, offset, size, name))
        return found

    def is_live(self, switch: DtypeSwitch) -> bool:
        """Return whether the switch's function is in the image."""
        return any(
            self.evidence.placement.where(piece) is not None for piece in self.functions(switch)
        )


def _source_of(file: ObjectFile) -> str:
    return (file.member or file.path.name).rpartition("/")[2].removesuffix(".o")


def judge_present_branch(
    branches: CaseBodies, name: str, switches: list[DtypeSwitch], dtype: str
) -> Verdict:
    """Judge that a dtype branch is in the image, by its bodies."""
    pieces = [instance.piece for switch in switches for instance in branches.bodies(switch, dtype)]
    return judge_code(
        branches.evidence, "dtype", name, PRESENT, look_for(branches.evidence, pieces, [])
    )


# Over 40 lines: one claim, decided by evidence in order of strength; the order is the logic.
def judge_absent_branch(
    branches: CaseBodies, name: str, switches: list[DtypeSwitch], dtype: str
) -> Verdict:
    """Judge that a dtype branch is gone, by its bodies and by debug information."""
    pieces = [
        i.piece
        for switch in switches
        for i in branches.bodies(switch, dtype)
        if i.piece not in branches.explained
    ]
    verdict = judge_code(
        branches.evidence, "dtype", name, ABSENT, look_for(branches.evidence, pieces, [])
    )
    compiled = [switch for switch in switches if dtype in branches.compiled(switch)]
    if verdict.verdict == FAIL:
        return replace(
            verdict, cause=f"{NO_CONSTANT}; {verdict.cause}" if compiled else verdict.cause
        )
    for switch in switches:
        if dtype in branches.in_image(switch):
            size, host = branches.in_image(switch)[dtype]
            note = (
                f"debug information of the image has {size} bytes of the case of {dtype} in"
                f" {demangle(host)}"
            )
            return Verdict(
                "dtype",
                name,
                ABSENT,
                FAIL,
                STILL_THERE,
                size,
                (note, *verdict.evidence),
                (),
                NO_CONSTANT,
            )
    live = [switch for switch in compiled if branches.is_live(switch)]
    if live:
        function = next(
            p
            for p in branches.functions(live[0])
            if branches.evidence.placement.where(p) is not None
        )
        found = FoundCode((), (), (function,), ())
        note = (
            f"debug information names the case of {dtype} in {demangle(function.symbol)}, which is"
            " in the image"
        )
        return Verdict(
            "dtype",
            name,
            ABSENT,
            FAIL,
            STILL_THERE,
            0,
            (note, *verdict.evidence),
            explain_any(branches.evidence, found)[1],
            NO_CONSTANT,
        )
    referring = _referring(branches, switches, dtype)
    if referring is not None:
        function, body = referring
        note = (
            f"{demangle(function.symbol)}, which is in the image, refers to {demangle(body.symbol)}"
        )
        chain = explain_any(branches.evidence, FoundCode((), (), (function,), ()))[1]
        return Verdict(
            "dtype",
            name,
            ABSENT,
            FAIL,
            STILL_THERE,
            0,
            (note, *verdict.evidence),
            chain,
            NO_CONSTANT,
        )
    if not any(switch.bodies for switch in switches):
        note = (
            f"no body of {switches[0].tag} ({switches[0].file.name}:{switches[0].line}) is known by"
            " name (SG_DTYPE_BODY)"
        )
        return Verdict("dtype", name, ABSENT, INCONCLUSIVE, UNKNOWN, 0, (note,))
    return verdict


def _referring(
    branches: CaseBodies, switches: list[DtypeSwitch], dtype: str
) -> tuple[NamedPiece, NamedPiece] | None:
    """Find a function with such a switch that refers to the dtype's body.

    A selected branch of another function calls the body, too. clang names no case in its debug
    information that is one jump to a body.
    """
    evidence = branches.evidence
    selected = {
        (other.file.name, other.function)
        for other in branches.universe.switches
        if dtype in other.dtypes and branches.selection.is_kernel_dtype_selected(other.tag, dtype)
    }
    for switch in switches:
        if (switch.file.name, switch.function) in selected:
            continue
        bodies = {
            (i.piece.object, i.piece.section): i.piece
            for i in branches.bodies(switch, dtype)
            if i.piece in branches.explained
        }
        for function in branches.functions(switch) if bodies else ():
            node = (function.object, function.section)
            if evidence.placement.where(function) is None:
                continue
            for edge in evidence.reasons.edges_from(node):
                is_table = (
                    "switch.table" in evidence.placement.section(edge.target).name
                    or "switch.table" in edge.symbol
                )
                for target in (
                    (inner.target for inner in evidence.reasons.edges_from(edge.target))
                    if is_table
                    else (edge.target,)
                ):
                    if target in bodies:
                        return function, bodies[target]
    return None


def judge_other_bodies(branches: CaseBodies) -> Verdict:
    """Judge the bodies that no selected branch calls and that no other claim covers."""
    claimed = {
        instance.piece
        for switch in branches.universe.switches
        for dtype in switch.dtypes
        for instance in branches.bodies(switch, dtype)
    }
    others = [
        instance.piece
        for found in branches.instances.values()
        for instance in found
        if instance.piece not in claimed
        and (branches.source(instance.piece), instance.name, instance.arguments)
        not in branches.universe.written
    ]
    return judge_code(
        branches.evidence, "dtype", "any other", ABSENT, look_for(branches.evidence, others, [])
    )


# A function of at most so many bytes continues in another: gcc merges functions that are alike.
_THUNK_BYTES = 16


def called(evidence: Evidence, piece: NamedPiece, depth: int = 0) -> set[str]:
    """Return the names, without arguments, of the functions that a piece refers to."""
    file = evidence.objects.files[piece.object]
    table = file.relocations.get(piece.section)
    if table is None:
        return set()
    symbols = {
        file.symbols[symbol]
        for offset, symbol in zip(table.offset.tolist(), table.symbol.tolist(), strict=True)
        if piece.offset <= offset < piece.offset + piece.size and symbol < len(file.symbols)
    }
    names = {template_of(symbol.name)[0] for symbol in symbols if symbol.name}
    if piece.size <= _THUNK_BYTES and depth < 4:
        for symbol in symbols:
            if 0 < symbol.section < len(file.elf.sections) and symbol.size:
                names |= called(
                    evidence,
                    NamedPiece(
                        piece.object, symbol.section, symbol.address, symbol.size, symbol.name
                    ),
                    depth + 1,
                )
    return names
