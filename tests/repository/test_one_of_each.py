"""Checks that merged code is not duplicated again.

Each check searches the package's syntax trees and lists all definitions but the expected one. Each
must also find something in a made-up source.
"""

from __future__ import annotations

import ast
import copy
import functools
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

import pytest

from sizeguard.operators.dtypes import NAME_OF_CPP_TYPE, SCALAR_TYPES
from tests.support.places import ROOT

pytestmark = pytest.mark.native

# Texts of modules by their dotted names below sizeguard/.
Sources = Mapping[str, str]
Function = ast.FunctionDef | ast.AsyncFunctionDef

FORMAT_ROOMS = frozenset({"formats", "ledger", "linkgraph"})
FORMATS = frozenset({"elf", "macho", "dwarf", "linkmap"})
FEWEST_LINES = 4  # of a duplicated body
# A lookahead at the end of a possessive group or of an atomic one
_POSSESSIVE_LOOKAHEAD = re.compile(r"\(\?[=!](?:[^()\\]|\\.)*\)\)[?*+}]\+|\(\?>[^()]*\(\?[=!]")


@pytest.fixture(scope="module")
def sources() -> Sources:
    package = ROOT / "sizeguard"
    return {
        ".".join(path.relative_to(package).with_suffix("").parts): path.read_text()
        for path in sorted(package.rglob("*.py"))
    }


parsed = functools.cache(ast.parse)


def nodes(sources: Sources, word: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield every node of the modules that contain a word; the others are not parsed."""
    yield from nodes_of({module: text for module, text in sources.items() if word in text})


def nodes_of(sources: Sources) -> Iterator[tuple[str, ast.AST]]:
    """Yield every node."""
    for module, text in sources.items():
        for node in ast.walk(parsed(text)):
            yield module, node


def functions(sources: Sources, word: str) -> Iterator[tuple[str, Function]]:
    """Yield every function and method of the modules that contain a word."""
    for module, node in nodes(sources, word):
        if isinstance(node, Function):
            yield module, node


def where(module: str, node: Function) -> str:
    return f"{module}.{node.name}"


def demanglers(sources: Sources) -> set[str]:
    """Modules that import a demangler's library."""
    return {
        module
        for module, node in nodes(sources, "cxxfilt")
        if (isinstance(node, ast.Import) and any("cxxfilt" in name.name for name in node.names))
        or (isinstance(node, ast.ImportFrom) and "cxxfilt" in (node.module or ""))
    }


def name_scanners(sources: Sources) -> set[str]:
    """Modules that follow angle brackets, or skip the unnamed namespace, in demangled names."""
    compared: dict[str, set[str]] = defaultdict(set)
    for module, function in functions(sources, '"<"'):
        for node in ast.walk(function):
            if isinstance(node, ast.Compare):
                compared[where(module, function)] |= _strings(node)
    following = {place for place, texts in compared.items() if {"<", ">"} <= texts}
    skipping = {
        module
        for module, node in nodes(sources, "(anonymous namespace)::")
        if isinstance(node, ast.Constant) and node.value == "(anonymous namespace)::"
    }
    return {place.rpartition(".")[0] for place in following} | skipping


def dtype_tables(sources: Sources) -> set[str]:
    """Modules with a literal of at least four dtypes, by their names or their C++ types."""
    plain = {"int", "float", "double", "bool", "long", "short"}  # other things have such names
    words = {*SCALAR_TYPES, *NAME_OF_CPP_TYPE} - plain
    kinds = ast.Dict | ast.Tuple | ast.List | ast.Set
    some = {
        module: text for module, text in sources.items() if sum(word in text for word in words) >= 4
    }
    return {
        module
        for module, node in nodes_of(some)
        if isinstance(node, kinds) and len(_strings(node) & words) >= 4
    }


def low_bit_sorts(sources: Sources) -> set[str]:
    """Functions that sort values with an index in their low bits."""
    return {
        where(module, node)
        for module, node in functions(sources, "arange")
        if "sort" in _calls(node) and any(_is_or_with_index(inner) for inner in ast.walk(node))
    }


def sorted_uniques(sources: Sources) -> set[str]:
    """Functions that sort a column and keep values that differ from their neighbour."""
    found = set()
    for module, node in functions(sources, "sort("):
        columns = {
            target.id
            for inner in ast.walk(node)
            if isinstance(inner, ast.Assign) and _name(inner.value) == "sort"
            for target in inner.targets
            if isinstance(target, ast.Name)
        }
        for inner in ast.walk(node) if columns else ():
            neighbours = isinstance(inner, ast.Compare) and isinstance(inner.ops[0], ast.NotEq)
            if (neighbours or _name(inner) == "diff") and columns & _names(inner):
                found.add(where(module, node))
    return found


def releases(sources: Sources) -> set[str]:
    """Functions that release mapped pages."""
    found = functions(sources, "madvise")
    return {where(module, node) for module, node in found if "madvise" in _calls(node)}


def first_errors(sources: Sources) -> set[str]:
    """Functions that look for the first error in a log."""
    found = functions(sources, "first_error")
    return {where(module, node) for module, node in found if node.name.strip("_") == "first_error"}


def table_texts(sources: Sources) -> set[str]:
    """Modules with a pattern that finds names of operators in binaries."""
    return {
        module
        for module, node in nodes(sources, "::")
        if isinstance(node, ast.Constant)
        and isinstance(node.value, bytes)
        and re.search(rb"(?:\]|\\w)[*+]::", node.value)
    }


def possessive_lookaheads(sources: Sources) -> set[str]:
    """Modules with a pattern like (?:a(?=b))?+, which Python 3.11.2 of Debian 12 matches wrongly.

    If the lookahead fails, what the group has read stays read.
    """
    return {
        module
        for module, node in nodes(sources, ")")
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _POSSESSIVE_LOOKAHEAD.search(node.value)
    }


def hashes_of_code(sources: Sources) -> set[str]:
    """Functions that list this package's own files, to hash them."""
    return {
        where(module, node)
        for module, node in functions(sources, "__file__")
        if "__file__" in _names(node) and _calls(node) & {"rglob", "glob", "walk"}
    }


def shared_class_names(sources: Sources) -> set[str]:
    """Classes with one name in several modules, except twins for different formats in one room."""
    found = defaultdict(set)
    for module, node in nodes(sources, "class "):
        if isinstance(node, ast.ClassDef):
            found[node.name].add(module)
    return {
        f"{name}: {', '.join(sorted(modules))}"
        for name, modules in found.items()
        if len(modules) > 1 and not _are_twins(modules)
    }


def equal_bodies(sources: Sources) -> set[str]:
    """Functions of several modules whose bodies differ only in the names of variables."""
    alike = defaultdict(list)
    for module, node in functions(sources, "def "):
        if (node.end_lineno or 0) - node.lineno >= FEWEST_LINES:
            kinds = tuple(type(inner) for statement in node.body for inner in ast.walk(statement))
            shape = kinds[2:] if ast.get_docstring(node) is not None else kinds
            alike[shape].append((module, node))
    found = defaultdict(set)
    for places in alike.values():
        for module, node in places if len(places) > 1 else ():
            body = _body_without_names(node)
            if body.count("\n") + 1 >= FEWEST_LINES:
                found[body].add((module, where(module, node)))
    return {
        ", ".join(sorted(place for _, place in places))
        for places in found.values()
        if len({module for module, _ in places}) > 1
    }


def private_imports(sources: Sources) -> set[str]:
    """Private names that a module imports from another."""
    return {
        f"{module}: {name.name} of {node.module}"
        for module, node in nodes(sources, "import")
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if name.name.startswith("_") and not name.name.startswith("__")
    }


def _are_twins(modules: set[str]) -> bool:
    """Return whether all are in one room, each in the folder of a different format."""
    parts = [module.split(".") for module in modules]
    rooms = {part[0] for part in parts}
    formats = [part[1] for part in parts if len(part) > 2 and part[1] in FORMATS]
    return len(rooms) == 1 and rooms <= FORMAT_ROOMS and len(set(formats)) == len(modules)


def _strings(*nodes: ast.AST) -> set[str]:
    return {
        inner.value
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
    }


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _name(node: ast.AST) -> str:
    """Return the last word of the called name; empty if the node is not a call."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _calls(node: ast.AST) -> set[str]:
    return {_name(inner) for inner in ast.walk(node)}


def _is_or_with_index(node: ast.AST) -> bool:
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.BitOr):
        return "arange" in _calls(node.value)
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.BitOr)
        and bool(_calls(node) & {"arange"})
    )


def _body_without_names(node: Function) -> str:
    """Return a function's code with its variables numbered, without docstring and types."""
    function = copy.deepcopy(node)
    if ast.get_docstring(function) is not None:
        del function.body[0]
    stored = {
        inner.id
        for inner in ast.walk(function)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    }
    own = stored | {inner.arg for inner in ast.walk(function) if isinstance(inner, ast.arg)}
    numbers: dict[str, str] = {}
    for inner in ast.walk(function):
        if isinstance(inner, ast.arg):
            inner.annotation = None
            inner.arg = numbers.setdefault(inner.arg, f"v{len(numbers)}")
        elif isinstance(inner, ast.AnnAssign):
            inner.annotation = ast.Name("type_")
        elif isinstance(inner, ast.Name) and inner.id in own:
            inner.id = numbers.setdefault(inner.id, f"v{len(numbers)}")
    return "\n".join(ast.unparse(statement) for statement in function.body)


ONE_OF_EACH: Mapping[Callable[[Sources], set[str]], set[str]] = {
    demanglers: {"names.demangle"},
    name_scanners: {"names.short"},
    dtype_tables: {"operators.dtypes"},
    low_bit_sorts: set(),  # C does it for columns.sort
    sorted_uniques: {"columns.distinct.distinct"},
    releases: {"base.memory.release"},
    first_errors: {"toolchains.logged.first_error"},
    table_texts: {"names.registered", "operators.name"},
    possessive_lookaheads: set(),
    hashes_of_code: {"base.fingerprint._code_paths"},
    shared_class_names: set(),
    equal_bodies: set(),
    private_imports: set(),
}


@pytest.mark.parametrize("check", ONE_OF_EACH, ids=lambda check: check.__name__)
def test_there_is_one_of_each(check: Callable[[Sources], set[str]], sources: Sources) -> None:
    assert check(sources) == ONE_OF_EACH[check]


COPIES: Mapping[Callable[[Sources], set[str]], tuple[str, str]] = {
    demanglers: (
        "def shown(name):\n    from pycxxfilt import demangle\n    return demangle(name)\n",
        "gate.shown",
    ),
    name_scanners: (
        'def bare(text):\n    return sum((c == "<") - (c == ">") for c in text)\n',
        "gate.shown",
    ),
    dtype_tables: ('SIZES = {"Byte": 1, "Half": 2, "Float": 4, "Long": 8}\n', "gate.shown"),
    low_bit_sorts: (
        "def order(keys):\n    packed = keys << bits | np.arange(len(keys))\n    packed.sort()\n",
        "gate.shown.order",
    ),
    sorted_uniques: (
        "def unique(keys):\n    found = np.sort(keys)\n    return found[np.diff(found) != 0]\n",
        "gate.shown.unique",
    ),
    releases: ("def free(data):\n    data.base.madvise(4)\n", "gate.shown.free"),
    first_errors: ("def _first_error(log):\n    return log[0]\n", "gate.shown._first_error"),
    table_texts: ("NAME = re.compile(rb'[a-z]\\w*::(\\w+)')\n", "gate.shown"),
    possessive_lookaheads: ('NAME = re.compile(r"a(?:b(?=c|$))?+d")\n', "gate.shown"),
    hashes_of_code: (
        "def version():\n    return sum(1 for _ in Path(__file__).parent.rglob('*.py'))\n",
        "gate.shown.version",
    ),
    shared_class_names: ("class Row:\n    pass\n", "Row: gate.shown, report.shown"),
    equal_bodies: (
        (
            "def total(rows: list[int]) -> int:\n    '''Add.'''\n    found = 0\n"
            "    for row in rows:\n        found += row\n    return found\n"
        ),
        "gate.shown.total, report.shown.total",
    ),
    private_imports: ("from sizeguard.base.files import _hidden\n", "gate.shown: _hidden of"),
}


@pytest.mark.parametrize("check", ONE_OF_EACH, ids=lambda check: check.__name__)
def test_a_second_one_is_found(check: Callable[[Sources], set[str]]) -> None:
    text, found = COPIES[check]
    assert any(each.startswith(found) for each in check({"gate.shown": text, "report.shown": text}))
    assert not check({"gate.shown": "def plain(rows):\n    return sorted(set(rows))\n"})


def test_twins_of_two_formats_may_share_a_name() -> None:
    text = "class Section:\n    pass\n"
    twins = ("formats.elf.image", "formats.macho.image")
    assert not shared_class_names(dict.fromkeys(twins, text))
    for others in (
        ("formats.elf.image", "ledger.macho.image"),
        ("formats.elf.image", "formats.elf.reader"),
        ("formats.elf.image", "formats.binary"),
        ("gate.cache.calls", "gate.policy.checks"),
    ):
        assert shared_class_names(dict.fromkeys(others, text))
