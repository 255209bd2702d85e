"""Functions that serve a dtype: patterns, cases with and without known code, and hosts of switches.

The objects are made up: a symbol is at an address, and a table says what each place refers to.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.formats.elf import parse_elf
from sizeguard.names.short import template_of
from sizeguard.verify.branches.bodies import DtypeBodies, Instance, dtype_in
from sizeguard.verify.branches.dtype_arguments import dtype_argument, plain_patterns
from sizeguard.verify.branches.noted_code import Branch, CodeRange, strings
from sizeguard.verify.evidence.evidence import Inlined
from sizeguard.verify.evidence.object_evidence import NamedPiece
from tests.support.images.made_elf import Form, MadeSection, make_elf

# Manglings of sg::loop<T>(), of sg::pair<T, U>(), and of functions that are not templates
LOOP = {"Float": "_ZN2sg4loopIfEEvv", "Double": "_ZN2sg4loopIdEEvv", "Int": "_ZN2sg4loopIiEEvv"}
PAIR = {ends: f"_ZN2sg4pairI{ends}EEvv" for ends in ("ff", "fb", "db")}
THING = "_ZN2sg4loopI5ThingEEvv"
LOOP2 = "_ZN2sg5loop2IfEEvv"
TOTALS, SHARED = "_ZN2sg6totalsEv", "_ZN2sg6sharedEv"
# Overloads sg::sums(T const*, long), functions of one name in two scopes, and templates that name
# the dtype otherwise: loop<Wrapped<T>>, loop<ScalarType::Float>
OVERLOADS = {"Float": "_ZN2sg4sumsEPKfl", "Double": "_ZN2sg4sumsEPKdl"}
SCOPED = {"Float": "_ZN2of1f3addEPc", "Double": "_ZN2of1d3addEPc"}
WRAPPED = {"Float": "_ZN2sg4loopI7WrappedIfEEEvv", "Double": "_ZN2sg4loopI7WrappedIdEEEvv"}
NUMBERED = {"Float": "_ZN2sg4loopILNS_10ScalarTypeE6EEEvv"}
SYMBOLS = (*LOOP.values(), LOOP2, TOTALS, SHARED)
FULL = {"add": ("loop<T>",)}


@dataclass
class Made:
    """A build: what the code of cases and of hosts of switches refers to.

    cases: addresses of the code of each case. refers: what an address or a host refers to.
    """

    switches: dict[str, tuple[str, ...]] = field(default_factory=dict)
    cases: dict[Branch, list[CodeRange]] = field(default_factory=dict)
    hosts: dict[str, dict[str, int]] = field(default_factory=dict)
    refers: dict[str | int, set[str]] = field(default_factory=dict)
    symbols: tuple[str, ...] = SYMBOLS
    unplaced: frozenset[str] = frozenset()
    foreign: frozenset[int] = frozenset()
    inlined: tuple[str, ...] = ()

    def piece(self, symbol: str) -> NamedPiece:
        return NamedPiece(0, self.symbols.index(symbol), 0, 16, symbol)

    def bodies(self, known: Mapping[str, tuple[str, ...]] | None = None) -> DtypeBodies:
        index = {symbol: [self.piece(symbol)] for symbol in self.symbols}
        address = {(0, i): 0x100 * (i + 1) for i in range(len(self.symbols))}

        def where(piece: NamedPiece) -> int | None:
            is_placed = piece.symbol not in self.unplaced
            return address[piece.object, piece.section] if is_placed else None

        def owner(at: int) -> tuple[int, int] | None:
            return next((n for n, base in address.items() if base <= at < base + 16), None)

        def at(node: tuple[int, int], offset: int) -> NamedPiece | None:
            assert 0 <= offset < 16
            return self.piece(self.symbols[node[1]])

        evidence = SimpleNamespace(
            objects=SimpleNamespace(index=index, find=lambda name: index.get(name, [])),
            placement=SimpleNamespace(where=where, owner=owner, address=address),
            inlined={symbol: Inlined(0x300, 40, "main") for symbol in self.inlined},
        )
        references = SimpleNamespace(
            between=lambda start, end: None if start in self.foreign else start,
            called=lambda place: self.refers.get(place, set()),
            place_of=lambda piece: piece.symbol,
            at=at,
        )
        noted = SimpleNamespace(
            switches=self.switches, cases=self.cases, hosts=lambda tag: self.hosts.get(tag, {})
        )
        made: Any = DtypeBodies
        found: DtypeBodies = made(evidence, noted, references, known or {})
        return found


def code(start: int) -> list[CodeRange]:
    return [CodeRange(start, start + 8, "host")]


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("float", ("T", "Float")),
        ("c10::Half", ("T", "Half")),
        ("Wrapped<float>", ("Wrapped<T>", "Float")),
        ("(ScalarType)7", ("(ScalarType)T", "Double")),
        ("(ScalarType)99", None),
        ("pair<float, double>", None),
        # Functions
        ("&sg::f<float>", None),
        ("f(float)::'lambda'(int)", None),
    ],
)
def test_an_argument_names_one_dtype_or_none(
    argument: str, expected: tuple[str, str] | None
) -> None:
    assert dtype_argument(argument) == expected


def test_lambdas_of_several_dtypes_make_no_patterns() -> None:
    """Compilers number them."""
    lambdas = [f"_ZZN2sg{len(name)}{name}EvENKUliE_clEi" for name in ("f", "g")]
    first = "Double: sg::f()::'lambda'(int)::operator()(int) const"
    assert plain_patterns("operator()", {"Double": lambdas[:1]}) == [first]
    assert plain_patterns("operator()", {"Double": lambdas[:1], "Float": lambdas[1:]}) == []
    assert plain_patterns("operator()", {"Double": lambdas[:1], "Float": [TOTALS]}) == []


@pytest.mark.parametrize(
    ("pattern", "name", "arguments", "dtype"),
    [
        ("loop<T>", "loop", ("float",), "Float"),
        ("loop<T>", "pool", ("float",), ""),
        ("loop<T>", "loop", (), ""),
        ("loop<T>", "loop", ("float", "float"), ""),
        ("loop<T>", "loop", ("Thing",), ""),
        ("pair<T, bool>", "pair", ("float", "bool"), "Float"),
        ("pair<T, bool>", "pair", ("float", "int"), ""),
        ("pair<T, bool>", "pair", ("bool", "bool"), "Bool"),
        ("pair<T, T>", "pair", ("double", "double"), "Double"),
        ("pair<T, T>", "pair", ("double", "float"), ""),
        ("pair<bool, int>", "pair", ("bool", "int"), ""),
        ("Double: totals", "totals", (), "Double"),
        ("Double: totals", "totals", ("float",), ""),
        ("Double: totals", "sums", (), ""),
        ("loop<Wrapped<T>>", "loop", ("Wrapped<float>",), "Float"),
        ("loop<Wrapped<T>>", "loop", ("float",), ""),
        ("loop<Wrapped<T>>", "loop", ("Wrapped<long double>",), ""),
        ("loop<(ScalarType)T>", "loop", ("(ScalarType)7",), "Double"),
        ("loop<(ScalarType)T>", "loop", ("(ScalarType)99",), ""),
        ("loop<(ScalarType)T>", "loop", ("(Order)7",), ""),
        ("sums(T)", OVERLOADS["Double"], (), "Double"),
        ("sums(T)", OVERLOADS["Double"], ("double",), ""),
        ("sums(T)", "_ZN2sg4sumsEPKfPKd", (), ""),
        ("sums(T)", SCOPED["Double"], (), ""),
        ("Double: of::d::add(char*)", SCOPED["Double"], (), "Double"),
        ("Double: of::d::add(char*)", SCOPED["Float"], (), ""),
        ("fold<T, at: end>", "fold", ("float", "at: end"), "Float"),
    ],
)
def test_a_pattern_tells_the_dtype_of_an_instance(
    pattern: str, name: str, arguments: tuple[str, ...], dtype: str
) -> None:
    instance = Instance(template_of(name)[0], arguments, NamedPiece(0, 0, 0, 1, name))
    assert dtype_in(pattern, instance) == dtype


def test_instances_of_a_known_pattern_serve_their_dtypes() -> None:
    found = Made().bodies({**FULL, "sum": ("Double: totals",)})
    assert {(each.name, each.arguments) for each in found.instances} == {
        ("loop", ("float",)), ("loop", ("double",)), ("loop", ("int",)), ("totals", ()),
    }  # fmt: skip
    symbols = {branch: [each.piece.symbol for each in of] for branch, of in found.of_branch.items()}
    assert symbols == {
        **{("add", dtype): [symbol] for dtype, symbol in LOOP.items()},
        ("sum", "Double"): [TOTALS],
    }
    assert [piece.symbol for piece in found.pieces("add", "Int")] == [LOOP["Int"]]
    assert found.pieces("add", "Bool") == found.pieces("mul", "Int") == []


@pytest.mark.parametrize(
    ("function", "symbol"),
    [("of::d::add(char*)", SCOPED["Double"]), ("of::add", "_RNvC2of3add"), ("add", "add")],
)
def test_a_function_of_one_dtype_is_found_by_its_name_in_patterns(
    function: str, symbol: str
) -> None:
    """Functions of Rust have scopes and no parameters, those of C neither."""
    found = Made(symbols=(symbol, *SYMBOLS)).bodies({"sum": (f"Double: {function}",)})
    assert [piece.symbol for piece in found.pieces("sum", "Double")] == [symbol]


def test_an_instance_of_a_type_without_a_dtype_serves_none() -> None:
    found = Made(symbols=(THING,)).bodies(FULL)
    assert [each.arguments for each in found.instances] == [("Thing",)]
    assert found.of_branch == {}


def test_a_function_with_an_operators_name_is_an_instance() -> None:
    """The mangled name has no part of `operator()`."""
    symbol = "_ZN2sg3AddclIfEEvT_"  # void sg::Add::operator()<float>(float)
    known = {"add": ("operator()<T>",), "sum": ("totals<T>",)}
    found = Made(symbols=(symbol, SHARED)).bodies(known)
    assert [piece.symbol for piece in found.pieces("add", "Float")] == [symbol]


def test_a_member_of_a_class_template_serves_the_dtype_of_its_class() -> None:
    symbols = ("_ZN2sg4SumsIdE4loopEv", "_ZN2sg4SumsIdE4loopIbEEvv", "_ZN2sg4SumsIdE5otherEv")
    found = Made(symbols=symbols).bodies({"add": ("loop<T>",)})
    assert [piece.symbol for piece in found.pieces("add", "Double")] == [symbols[0]]
    assert found.pieces("add", "Bool") == []
    assert found.instances == []  # it is no body outside of branches


def test_templates_that_are_only_inlined_serve_dtypes() -> None:
    case = "_ZZN2sg3addEvENK3$_0clIfEEDav"  # auto sg::add()::$_0::operator()<float>() const
    inlined = (LOOP["Double"], "_ZN2sg4SumsIiE4loopEv", LOOP["Float"], TOTALS, LOOP2, case)
    made = Made(symbols=(LOOP["Float"],), inlined=inlined)
    found = made.bodies({"add": ("loop<T>", "operator()<T>"), "sum": ("Double: totals",)})
    symbols = {
        branch: [each.piece.symbol for each in of] for branch, of in found.inlined_of_branch.items()
    }
    assert symbols == {("add", "Double"): [inlined[0]], ("add", "Int"): [inlined[1]]}
    assert [each.piece.size for each in found.inlined_of_branch["add", "Int"]] == [40]


def test_cases_call_functions_of_the_objects() -> None:
    made = Made(
        switches={"add": ("Float", "Double"), "none": ("Int",)},
        cases={("add", "Float"): code(1), ("add", "Double"): code(2), ("none", "Int"): code(3)},
        refers={1: {LOOP["Float"], "memcpy", SHARED}, 2: {LOOP["Double"], TOTALS, SHARED}},
    )
    found = made.bodies()
    assert found.in_cases == {
        ("add", "Float"): {LOOP["Float"], SHARED},
        ("add", "Double"): {LOOP["Double"], TOTALS, SHARED},
        ("none", "Int"): frozenset(),
    }
    # A function that both cases call serves no dtype alone
    assert found.own_patterns() == {"add": ("Double: sg::totals()", "loop<T>")}
    assert [piece.symbol for piece in found.pieces("add", "Int")] == [LOOP["Int"]]


@pytest.mark.parametrize(
    ("called", "patterns"),
    [
        # With one dtype, nothing shows whether a plain function is for it alone
        ({"Float": {TOTALS}}, ()),
        ({"Float": {TOTALS}, "Double": {SHARED}}, ("Double: sg::shared()", "Float: sg::totals()")),
        ({"Float": {OVERLOADS["Float"]}, "Double": set()}, ("sums(T)",)),
        ({dtype: {symbol} for dtype, symbol in OVERLOADS.items()}, ("sums(T)",)),
        ({"Float": {OVERLOADS["Double"]}, "Double": {OVERLOADS["Double"]}}, ()),
        (
            {dtype: {symbol} for dtype, symbol in SCOPED.items()},
            ("Double: of::d::add(char*)", "Float: of::f::add(char*)"),
        ),
        ({dtype: {symbol} for dtype, symbol in WRAPPED.items()}, ("loop<Wrapped<T>>",)),
        ({"Float": {NUMBERED["Float"]}}, ("loop<(ScalarType)T>",)),
        ({"Float": {PAIR["fb"]}, "Double": {PAIR["db"]}}, ("pair<T, bool>",)),
        # The second type is the case's by chance
        ({"Float": {PAIR["ff"]}, "Double": {PAIR["db"]}}, ("pair<T, bool>", "pair<T, float>")),
        ({"Float": {PAIR["fb"]}, "Bool": {PAIR["fb"]}}, ("pair<T, bool>", "pair<float, T>")),
        # An instance for another type
        ({"Float": {LOOP["Float"], THING}, "Double": {LOOP["Double"]}}, ("loop<T>",)),
    ],
)
def test_patterns_are_made_of_what_the_cases_call(
    called: dict[str, set[str]], patterns: tuple[str, ...]
) -> None:
    cases = {("add", dtype): code(at) for at, dtype in enumerate(called)}
    refers: dict[str | int, set[str]] = dict(enumerate(called.values()))
    others = (table.values() for table in (PAIR, OVERLOADS, SCOPED, WRAPPED, NUMBERED))
    symbols = (*SYMBOLS, *(symbol for table in others for symbol in table), THING)
    made = Made({"add": tuple(called)}, cases, refers=refers, symbols=symbols)
    assert made.bodies().own_patterns()["add"] == patterns


def test_one_empty_case_does_not_hide_the_others() -> None:
    cases = {("add", "Float"): code(1), ("add", "Double"): code(2)}
    made = Made({"add": ("Float", "Double")}, cases, refers={1: {LOOP["Float"]}})
    assert made.bodies().own_patterns() == {"add": ("loop<T>",)}


def test_a_case_of_other_objects_calls_nothing() -> None:
    """Its code is in the image, so the functions of its type in the host say nothing more."""
    made = Made(
        switches={"add": ("Float",)},
        cases={("add", "Float"): code(1)},
        hosts={"add": {SHARED: 0}},
        refers={1: {LOOP["Float"]}, SHARED: {LOOP["Float"]}},
        foreign=frozenset({1}),
    )
    found = made.bodies()
    assert (found.in_cases, found.own_patterns()) == ({}, {})


@pytest.mark.parametrize(
    ("tag", "patterns"), [("add", {"add": ("loop<T>",)}), ("mul", {"add": ("loop<T>",)})]
)
def test_a_case_without_known_code_calls_what_its_host_does(
    tag: str, patterns: dict[str, tuple[str, ...]]
) -> None:
    """Its functions are those of its type, except for those that other cases of its tag call."""
    made = Made(
        switches={"add": ("Float", "Double")},
        cases={(tag, "Int"): code(1)},
        hosts={"add": {SHARED: 0}},
        refers={1: {LOOP["Double"]}, SHARED: {LOOP["Float"], LOOP["Double"], TOTALS}},
    )
    found = made.bodies()
    assert found.own_patterns() == patterns
    assert found._called("add", "Float") == {LOOP["Float"]}
    assert found._called("add", "Double") == (set() if tag == "add" else {LOOP["Double"]})


@pytest.mark.parametrize(
    ("host", "address", "unplaced", "expected"),
    [
        (SHARED, 0, (), [SHARED]),
        (f"{SHARED}.cold", 0, (), [SHARED]),
        (SHARED, 0, (SHARED,), []),
        ("renamed", 0x108, (), [LOOP["Double"]]),
        ("renamed", 0x108, (LOOP["Double"],), []),
        ("renamed", 0x50, (), []),
    ],
)
def test_hosts_are_found_by_name_or_else_by_address(
    host: str, address: int, unplaced: tuple[str, ...], expected: list[str]
) -> None:
    symbols = (LOOP["Double"], SHARED)
    made = Made(hosts={"add": {host: address}}, symbols=symbols, unplaced=frozenset(unplaced))
    assert [piece.symbol for piece in made.bodies().host_pieces("add")] == expected
    assert made.bodies().host_pieces("mul") == []


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ((), False),
        (("Double: of::d::add(char*)",), True),
        (("Float: of::f::add(char*)",), False),
        (("Double: of::d::add(char*)", "loop<T>"), False),
        (("sums(T)",), False),
    ],
)
def test_functions_for_other_dtypes_tell_nothing_of_a_dtype(
    patterns: tuple[str, ...], expected: bool
) -> None:
    found = Made().bodies({"add": patterns} if patterns else {})
    assert found.are_of_other_dtypes("add", "Float") is expected


def test_names_are_read_from_old_compressed_sections() -> None:
    """gcc -gz=zlib-gnu puts .debug_str into .zdebug_str."""
    text = b"run_case<(ScalarType)6>\0"
    packed = b"ZLIB" + len(text).to_bytes(8, "big") + zlib.compress(text)
    made = [MadeSection(".zdebug_str", content=packed), MadeSection(".debug_line", content=b"x")]
    assert [*strings(parse_elf(Path("a.o"), make_elf(Form(), made)))] == [text]
