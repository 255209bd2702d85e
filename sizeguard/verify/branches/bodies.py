"""Functions that serve a dtype of a tag: those that cases call, and instances of the same template.

A pattern is a template's name with its arguments, with T for the case's type: `binary_loop<T, bool,
Greater>`, `loop<Wrapped<T>>`; a name of overloads, `totals(T)`; or a dtype and a function that
serves only this dtype, `Double: app::totals(char*)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from sizeguard.base.dataclass import dataclass
from sizeguard.names.demangle import function_text, without_clones
from sizeguard.names.short import bare_name, member_of_template, template_of
from sizeguard.verify.branches.dtype_arguments import (
    OVERLOADS,
    dtype_argument,
    parameter_dtypes,
    plain_patterns,
)
from sizeguard.verify.branches.noted_code import Branch, NotedCode
from sizeguard.verify.branches.references import References
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece

_NOWHERE = -1  # object of a function without a definition

Template = tuple[str, tuple[str, ...]]  # name and arguments


@dataclass(frozen=True, slots=True)
class Instance:
    """A function of the objects: its name without scopes, and its template arguments."""

    name: str
    arguments: tuple[str, ...]
    piece: NamedPiece

    @property
    def text(self) -> str:
        """The text of the instance, as in patterns."""
        return _written(self.name, self.arguments)


def _written(name: str, arguments: Iterable[str]) -> str:
    return f"{name}<{', '.join(arguments)}>"


def dtype_in(pattern: str, instance: Instance) -> str:
    """Return the dtype that an instance serves according to a pattern; empty if none."""
    dtype, colon, function = pattern.partition(": ")
    if colon and "<" not in dtype:
        names = (instance.name, function_text(instance.piece.symbol))
        return dtype if not instance.arguments and function in names else ""
    if pattern.endswith(OVERLOADS):
        served = parameter_dtypes(instance.piece.symbol)
        is_overload = not instance.arguments and instance.name == _head(pattern)
        return served.pop() if is_overload and len(served) == 1 else ""
    name, _, inside = pattern.removesuffix(">").partition("<")
    wanted = _split(inside)
    if instance.name != name or len(wanted) != len(instance.arguments):
        return ""
    dtypes: set[str] = set()
    for want, actual in zip(wanted, instance.arguments, strict=True):
        if want == actual:
            continue
        found = dtype_argument(actual)
        if found is None or found.written != want:
            return ""
        dtypes.add(found.dtype)
    return dtypes.pop() if len(dtypes) == 1 else ""


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


@dataclass(frozen=True, eq=False)
class DtypeBodies:
    """Bodies of the dtype branches in the objects of a build.

    known: patterns of each tag in a full build
    """

    evidence: Evidence
    noted: NotedCode
    references: References
    known: Mapping[str, tuple[str, ...]]

    def host_pieces(self, tag: str) -> list[NamedPiece]:
        """Find the functions of the image that contain a switch of a tag, with their cold parts."""
        found: dict[NamedPiece, None] = {}
        for host, address in self.noted.hosts(tag).items():
            names = {host, without_clones(host)}
            pieces = [p for name in sorted(names) for p in self.evidence.objects.find(name)]
            if not pieces:
                node = self.evidence.placement.owner(address)
                base = self.evidence.placement.address[node] if node else 0
                piece = self.references.at(node, address - base) if node else None
                pieces = [piece] if piece else []
            found.update(dict.fromkeys(pieces))
        return [piece for piece in found if self.evidence.placement.where(piece) is not None]

    def of_host(self, piece: NamedPiece) -> set[str]:
        """Return the symbols that a function with a switch refers to."""
        return self.references.called(self.references.place_of(piece))

    @cached_property
    def in_cases(self) -> Mapping[Branch, frozenset[str]]:
        """Return the functions of the objects that the code of each case refers to."""
        found: dict[Branch, set[str]] = {}
        for branch, ranges in self.noted.cases.items():
            for code in ranges:
                place = self.references.between(code.start, code.end)
                if place is not None:
                    found.setdefault(branch, set()).update(self.references.called(place))
        index = self.evidence.objects.index
        return {
            branch: frozenset(s for s in symbols if s in index) for branch, symbols in found.items()
        }

    @cached_property
    def patterns(self) -> Mapping[str, tuple[str, ...]]:
        """Patterns of each tag: those of the full build, and those of this build's cases."""
        found = {tag: dict.fromkeys(patterns) for tag, patterns in self.known.items()}
        for tag, patterns in self.own_patterns().items():
            found.setdefault(tag, {}).update(dict.fromkeys(patterns))
        return {tag: tuple(patterns) for tag, patterns in found.items()}

    def own_patterns(self) -> dict[str, tuple[str, ...]]:
        """Make patterns from the functions that this build's cases call."""
        found: dict[str, tuple[str, ...]] = {}
        for tag, dtypes in self.noted.switches.items():
            called = {dtype: self._called(tag, dtype) for dtype in dtypes}
            if any(called.values()):
                found[tag] = _patterns(called)
        return found

    def _called(self, tag: str, dtype: str) -> set[str]:
        """Return the functions of a case; if its code is unknown, those of its type."""
        own = self.in_cases.get((tag, dtype))
        if own is not None:
            return set(own)
        if (tag, dtype) in self.noted.cases:
            return set()
        others = {s for (t, d), names in self.in_cases.items() if t == tag for s in names}
        return {
            symbol
            for piece in self.host_pieces(tag)
            for symbol in self.of_host(piece) - others
            if any(_written_of(argument, dtype) for argument in template_of(symbol)[1])
        }

    def unused(self, kept: Iterable[Branch], gone: Iterable[Branch]) -> dict[str, frozenset[str]]:
        """Map the names of bodies to the dtypes of absent branches that no kept branch has."""
        found: list[dict[str, set[str]]] = []
        for branches in (kept, gone):
            dtypes: dict[str, set[str]] = {}
            for tag, dtype in branches:
                for pattern in self.patterns.get(tag, ()):
                    dtypes.setdefault(_head(pattern), set()).add(dtype)
            found.append(dtypes)
        used, left = found
        return {name: frozenset(left[name] - used.get(name, set())) for name in left}

    @cached_property
    def _heads(self) -> frozenset[str]:
        """Names that occur in patterns."""
        return frozenset(
            _head(pattern) for patterns in self.patterns.values() for pattern in patterns
        )

    @cached_property
    def instances(self) -> list[Instance]:
        """Functions of the objects with a name that occurs in patterns."""
        return self._defined(template_of)

    @cached_property
    def _members(self) -> list[Instance]:
        """Members of class templates with such a name: add of Sums<double>::add."""
        return [each for each in self._defined(member_of_template) if each.arguments]

    def _defined(self, read: Callable[[str], Template]) -> list[Instance]:
        """List the functions of the objects with such a name, as `read` divides their symbols."""
        index = self.evidence.objects.index
        return [
            Instance(name, arguments, piece)
            for symbol, name, arguments in _named(index, self._heads, read)
            for piece in index[symbol]
        ]

    @cached_property
    def _inlined(self) -> list[Instance]:
        """Templates with such a name that are only inside of other functions.

        Not lambdas: LTO inlines the cases of each switch, and all are called operator().
        """
        inlined = {
            name: part
            for name, part in self.evidence.inlined.items()
            if name not in self.evidence.objects.index
        }
        return [
            Instance(name, arguments, NamedPiece(_NOWHERE, 0, 0, inlined[symbol].bytes, symbol))
            for read in (template_of, member_of_template)
            for symbol, name, arguments in _named(inlined, self._heads, read)
            if arguments and not name.startswith("operator")
        ]

    @cached_property
    def of_branch(self) -> Mapping[Branch, list[Instance]]:
        """Instances that serve each dtype of each tag."""
        return self._by_branch([*self.instances, *self._members])

    @cached_property
    def inlined_of_branch(self) -> Mapping[Branch, list[Instance]]:
        """Instances without a definition, which are inlined everywhere."""
        return self._by_branch(self._inlined)

    def _by_branch(self, instances: Iterable[Instance]) -> Mapping[Branch, list[Instance]]:
        by_name: dict[str, list[Instance]] = {}
        for instance in instances:
            by_name.setdefault(instance.name, []).append(instance)
        found: dict[Branch, dict[Instance, None]] = {}
        for tag, patterns in self.patterns.items():
            for pattern in patterns:
                for instance in by_name.get(_head(pattern), ()):
                    dtype = dtype_in(pattern, instance)
                    if dtype:
                        found.setdefault((tag, dtype), {})[instance] = None
        return {branch: list(instances) for branch, instances in found.items()}

    def are_of_other_dtypes(self, tag: str, dtype: str) -> bool:
        """Return whether all known bodies of a tag are functions for one other dtype each."""
        parts = [pattern.partition(": ") for pattern in self.patterns.get(tag, ())]
        return bool(parts) and all(
            colon and "<" not in head and head != dtype for head, colon, _ in parts
        )

    def pieces(self, tag: str, dtype: str) -> list[NamedPiece]:
        """List the definitions that serve a dtype of a tag."""
        return [instance.piece for instance in self.of_branch.get((tag, dtype), ())]


def _head(pattern: str) -> str:
    """Return the name of the functions of a pattern."""
    dtype, colon, function = pattern.partition(": ")
    if colon and "<" not in dtype:
        return bare_name(function)
    return pattern.removesuffix(OVERLOADS).partition("<")[0]


def _named(
    symbols: Iterable[str], heads: frozenset[str], read: Callable[[str], Template]
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the symbols with a name among `heads`, as `read` divides them."""
    is_unnamed = any(head.startswith("operator") for head in heads)
    for symbol in symbols:
        if is_unnamed or any(head in symbol for head in heads):
            name, arguments = read(symbol)
            if name in heads:
                yield symbol, name, arguments


def _patterns(called: Mapping[str, set[str]]) -> tuple[str, ...]:
    """Make patterns from the functions that the cases of one tag call.

    An argument has T for the type of the case, in all dtypes whose instances differ in it.
    """
    rows: dict[tuple[str, int], list[tuple[str, tuple[str, ...]]]] = {}
    plain: dict[str, dict[str, set[str]]] = {}
    for dtype, symbols in called.items():
        for symbol in symbols:
            name, arguments = template_of(symbol)
            if any(_written_of(argument, dtype) for argument in arguments):
                rows.setdefault((name, len(arguments)), []).append((dtype, arguments))
            elif not arguments:
                plain.setdefault(name, {}).setdefault(dtype, set()).add(symbol)
    found: dict[str, None] = {}
    for (name, _), instances in sorted(rows.items()):
        of_type = [
            frozenset(i for i, a in enumerate(arguments) if _written_of(a, dtype))
            for dtype, arguments in instances
        ]
        common = frozenset.intersection(*of_type)
        for (dtype, arguments), places in zip(instances, of_type, strict=True):
            chosen = common or places
            written = (_written_of(a, dtype) if i in chosen else a for i, a in enumerate(arguments))
            found[_written(name, written)] = None
    if len(called) > 1:
        for name, of_dtype in sorted(plain.items()):
            found.update(dict.fromkeys(plain_patterns(name, of_dtype)))
    return tuple(sorted(found))


def _written_of(argument: str, dtype: str) -> str:
    """Write an argument with T if it names a dtype; empty if it does not."""
    found = dtype_argument(argument)
    return found.written if found is not None and found.dtype == dtype else ""
