"""Turns the dtype branches of the runtime's switches, selected or not, into verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from sizeguard.attribution.names import short_name
from sizeguard.formats.demangle import demangle
from sizeguard.selection.selection import Selection
from sizeguard.verify.cases import Cases, cases_in, compiled_cases
from sizeguard.verify.evidence import Evidence, Inlined
from sizeguard.verify.judge import Found, explain_any, judge_code, look_for
from sizeguard.verify.objects import ObjectFile, Piece
from sizeguard.verify.result import ABSENT, FAIL, INCONCLUSIVE, PRESENT, STILL_THERE, UNKNOWN, Verdict
from sizeguard.verify.switches import Switch
from sizeguard.verify.universe import Universe

NO_CONSTANT = "compiled although not selected: the check is no constant, or asks another selection"


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a dtype body: binary_loop<float, bool, Greater>."""

    name: str
    arguments: tuple[str, ...]
    piece: Piece


@dataclass(frozen=True, eq=False)
class Branches:
    """The dtype bodies in the objects, and which selected branch each is explained by."""

    evidence: Evidence
    universe: Universe
    selection: Selection

    @cached_property
    def _of_file(self) -> dict[str, list[int]]:
        """Source file's name → numbers of the objects that were made of it."""
        found: dict[str, list[int]] = {}
        for number, file in enumerate(self.evidence.own_files()):
            found.setdefault(_source_of(file), []).append(number)
        return found

    def source(self, piece: Piece) -> str:
        """The name of the file that its object was made of."""
        return _source_of(self.evidence.objects.files[piece.object])

    def objects(self, switch: Switch) -> list[int]:
        """Objects with this switch. A header's may be in any; with LTO one object may hold them all."""
        own = self._of_file.get(switch.file.name, [])
        return own if own else list(range(self.evidence.own))

    @cached_property
    def instances(self) -> dict[int, list[Instance]]:
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
        """Template arguments that switches name; what a switch leaves open is none of them."""
        return frozenset(a for switch in self.universe.switches for body in switch.bodies for a in body.arguments)

    def bodies(self, switch: Switch, dtype: str) -> list[Instance]:
        c_type = switch.dtypes[dtype]
        return [
            instance
            for number in self.objects(switch)
            for instance in self.instances.get(number, ())
            if any(body.matches(instance.name, instance.arguments, c_type, self.explicit) for body in switch.bodies)
        ]

    @cached_property
    def explained(self) -> set[Piece]:
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

    def compiled(self, switch: Switch) -> set[str]:
        """Dtypes of which debug information says that their case was compiled."""
        return {d for number in self.objects(switch) for d in self._cases[number].of(switch.function, switch.file.name, switch.line)}

    def in_image(self, switch: Switch) -> dict[str, tuple[int, str]]:
        """Dtypes whose case is part of the image, by its debug information: the bytes, and the function that has them."""
        found: dict[str, tuple[int, str]] = {}
        for name, part in self._inlined_cases:
            for dtype in Cases(True, (name,)).of(switch.function, switch.file.name, switch.line):
                found[dtype] = (found.get(dtype, (0, ""))[0] + part.bytes, part.host)
        return found

    @cached_property
    def _inlined_cases(self) -> list[tuple[tuple[str, str], Inlined]]:
        return [(case, part) for name, part in self.evidence.inlined.items() for case in cases_in(name.encode())]

    def functions(self, switch: Switch) -> list[Piece]:
        """The function that the switch stands in."""
        wanted = switch.function
        found = []
        for number in self.objects(switch):
            for name, section, offset, size in self.evidence.objects.files[number].pieces:
                if wanted and wanted in name and template_of(name)[0] == wanted:
                    found.append(Piece(number, section, offset, size, name))
        return found

    def is_live(self, switch: Switch) -> bool:
        return any(self.evidence.placement.where(piece) is not None for piece in self.functions(switch))


def _source_of(file: ObjectFile) -> str:
    return (file.member or file.path.name).rpartition("/")[2].removesuffix(".o")


def template_of(symbol: str) -> tuple[str, tuple[str, ...]]:
    """binary_loop and (float, bool, Greater); no arguments for what is no template. int64_t is long everywhere: macOS has long long."""
    text = short_name(symbol.partition(".")[0]).replace("long long", "long")
    head, angle, inside = text.partition("<")
    if not angle:
        return head.rpartition("::")[2], ()
    arguments = []
    depth = start = 0
    for i, character in enumerate(inside):
        if (character == "," and depth == 0) or (character == ">" and depth == 0):
            arguments.append(inside[start:i].strip().rpartition("::")[2])
            start = i + 1
        if character == ">" and depth == 0:
            break
        depth += (character in "<(") - (character in ">)")
    return head.rpartition("::")[2], tuple(arguments)


def judge_dtypes(branches: Branches) -> Iterator[Verdict]:
    """Every dtype of every tag, and bodies that no switch accounts for."""
    by_tag: dict[str, list[Switch]] = {}
    for switch in branches.universe.switches:
        by_tag.setdefault(switch.tag, []).append(switch)
    for tag, switches in by_tag.items():
        for dtype in dict.fromkeys(dtype for switch in switches for dtype in switch.dtypes):
            having = [switch for switch in switches if dtype in switch.dtypes]
            if branches.selection.is_kernel_dtype_selected(tag, dtype):
                if any(branches.is_live(switch) for switch in having):
                    yield _present(branches, f"{tag}:{dtype}", having, dtype)
            else:
                yield _absent(branches, f"{tag}:{dtype}", having, dtype)
    yield _unaccounted(branches)


def _present(branches: Branches, name: str, switches: list[Switch], dtype: str) -> Verdict:
    pieces = [instance.piece for switch in switches for instance in branches.bodies(switch, dtype)]
    return judge_code(branches.evidence, "dtype", name, PRESENT, look_for(branches.evidence, pieces, []))


def _absent(branches: Branches, name: str, switches: list[Switch], dtype: str) -> Verdict:
    pieces = [i.piece for switch in switches for i in branches.bodies(switch, dtype) if i.piece not in branches.explained]
    verdict = judge_code(branches.evidence, "dtype", name, ABSENT, look_for(branches.evidence, pieces, []))
    compiled = [switch for switch in switches if dtype in branches.compiled(switch)]
    if verdict.verdict == FAIL:
        return replace(verdict, cause=f"{NO_CONSTANT}; {verdict.cause}" if compiled else verdict.cause)
    for switch in switches:
        if dtype in branches.in_image(switch):
            size, host = branches.in_image(switch)[dtype]
            note = f"debug information of the image has {size} bytes of the case of {dtype} in {demangle(host)}"
            return Verdict("dtype", name, ABSENT, FAIL, STILL_THERE, size, (note, *verdict.evidence), (), NO_CONSTANT)
    live = [switch for switch in compiled if branches.is_live(switch)]
    if live:
        function = next(p for p in branches.functions(live[0]) if branches.evidence.placement.where(p) is not None)
        found = Found((), (), (function,), ())
        note = f"debug information names the case of {dtype} in {demangle(function.symbol)}, which is in the image"
        return Verdict(
            "dtype", name, ABSENT, FAIL, STILL_THERE, 0, (note, *verdict.evidence), explain_any(branches.evidence, found)[1], NO_CONSTANT
        )
    referring = _referring(branches, switches, dtype)
    if referring is not None:
        function, body = referring
        note = f"{demangle(function.symbol)}, which is in the image, refers to {demangle(body.symbol)}"
        chain = explain_any(branches.evidence, Found((), (), (function,), ()))[1]
        return Verdict("dtype", name, ABSENT, FAIL, STILL_THERE, 0, (note, *verdict.evidence), chain, NO_CONSTANT)
    if not any(switch.bodies for switch in switches):
        note = f"no body of {switches[0].tag} ({switches[0].file.name}:{switches[0].line}) is known by name (SG_DTYPE_BODY)"
        return Verdict("dtype", name, ABSENT, INCONCLUSIVE, UNKNOWN, 0, (note,))
    return verdict


def _referring(branches: Branches, switches: list[Switch], dtype: str) -> tuple[Piece, Piece] | None:
    """A function of such a switch in the image that refers to the dtype's body, which a selected branch of another function calls, too.

    clang names no case in its debug information that is one jump to a body.
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
        bodies = {(i.piece.object, i.piece.section): i.piece for i in branches.bodies(switch, dtype) if i.piece in branches.explained}
        for function in branches.functions(switch) if bodies else ():
            node = (function.object, function.section)
            if evidence.placement.where(function) is None:
                continue
            for edge in evidence.reasons.edges_from(node):
                is_table = "switch.table" in evidence.placement.section(edge.target).name or "switch.table" in edge.symbol
                for target in (inner.target for inner in evidence.reasons.edges_from(edge.target)) if is_table else (edge.target,):
                    if target in bodies:
                        return function, bodies[target]
    return None


def _unaccounted(branches: Branches) -> Verdict:
    """Bodies in the image that no selected branch calls and no claim above is about."""
    claimed = {
        instance.piece for switch in branches.universe.switches for dtype in switch.dtypes for instance in branches.bodies(switch, dtype)
    }
    others = [
        instance.piece
        for found in branches.instances.values()
        for instance in found
        if instance.piece not in claimed
        and (branches.source(instance.piece), instance.name, instance.arguments) not in branches.universe.written
    ]
    return judge_code(branches.evidence, "dtype", "any other", ABSENT, look_for(branches.evidence, others, []))


def judge_handlers(branches: Branches, handler: str) -> Iterator[Verdict]:
    """Each switch in the image with a deselected dtype must be able to reach the shared handler."""
    evidence = branches.evidence
    if evidence.has_lto:
        # Calls may have moved into other functions: that the handler is there is all that can be asked, if any branch is.
        bodies = (instance.piece for found in branches.instances.values() for instance in found)
        if not any(evidence.placement.where(piece) is not None for piece in bodies):
            return
        names = [name for name in evidence.objects.index if handler in name and template_of(name)[0] == handler]
        names += [name for name in evidence.inlined if handler in name and template_of(name)[0] == handler]
        pieces = [piece for name in names for piece in evidence.objects.find(name)]
        yield judge_code(evidence, "handler", handler, PRESENT, look_for(evidence, pieces, names))
        return
    for switch in branches.universe.switches:
        left_out = [d for d in switch.dtypes if not branches.selection.is_kernel_dtype_selected(switch.tag, d)]
        placed = [piece for piece in branches.functions(switch) if evidence.placement.where(piece) is not None]
        if not left_out or not placed:
            continue
        name = f"{switch.tag}:{handler}"
        calling = [piece for piece in placed if handler in called(evidence, piece)]
        if calling:
            address = evidence.placement.where(calling[0]) or 0
            note = f"{demangle(calling[0].symbol)} at {address:#x} refers to it"
            yield Verdict("handler", name, PRESENT, "pass", "present", 0, (note,))
        else:
            note = f"{switch.function} leaves {', '.join(left_out)} out, and refers to no {handler}"
            yield Verdict("handler", name, PRESENT, FAIL, "not_generated", 0, (note,), (), "deselected dtypes end elsewhere")


# A function of so few bytes goes on in another: gcc makes one of two that are alike.
_THUNK_BYTES = 16


def called(evidence: Evidence, piece: Piece, depth: int = 0) -> set[str]:
    """Plain names of the functions that a piece refers to."""
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
                names |= called(evidence, Piece(piece.object, symbol.section, symbol.address, symbol.size, symbol.name), depth + 1)
    return names
