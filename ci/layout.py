"""Check the layout of sizeguard/: imports between rooms, files in folders, sizes of functions.

In tests, the sizes of folders are checked, and in tests/support those of functions, too.

Run by `make lint`. A room is a folder below sizeguard/. It may import only the rooms that
ROOMS lists for it, which come before it. Imports inside functions and for type checkers count.
An import inside a function must save time: its module may not be loaded anyway.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from function_sizes import large_functions

PACKAGE = "sizeguard"
LARGEST_FOLDER = 15  # maximum files at one level

# Rooms, lowest first, and the rooms that each may use besides base and columns.
ROOMS: Mapping[str, str] = {
    "base": "",
    "columns": "",
    "formats": "",
    "operators": "",
    "names": "formats operators",
    "builds": "formats",
    "ledger": "formats",
    "linkgraph": "formats operators names builds",
    "models": "operators",
    "selection": "operators names models",
    "claims": "operators names selection",
    "git": "",
    "toolchains": "formats git builds",
    "runtimes": "operators names builds models selection claims git toolchains",
    "attribution": "formats operators names builds ledger linkgraph runtimes",
    "doctor": "formats names builds linkgraph",
    "snapshots": "formats ledger attribution",
    "diff": "ledger attribution",
    "predict": (
        "formats operators names builds linkgraph models selection claims runtimes attribution"
    ),
    "verify": "formats operators names builds linkgraph selection claims",
    "projects": "names builds git toolchains runtimes",
    "proposals": "formats builds selection git toolchains runtimes projects",
    "measurement": (
        "operators names builds claims git toolchains runtimes attribution snapshots projects"
    ),
    "bisect": "git toolchains attribution snapshots diff projects measurement",
    "gate": (
        "operators names builds linkgraph models selection claims git toolchains runtimes"
        " attribution snapshots diff predict verify projects measurement"
    ),
    "history": (
        "builds git toolchains runtimes attribution snapshots diff projects measurement gate"
    ),
    # Only types: see REPORT_TYPES.
    "report": (
        "names builds operators ledger linkgraph models selection claims git attribution diff"
        " snapshots predict proposals bisect gate history doctor"
    ),
    "cli": "*",
}

# Modules with the results that report prints; it may also use all of names and operators.
REPORT_TYPES = frozenset(
    {
        "attribution.size_report",
        "bisect.bisect_result",
        "builds.build_record",
        "builds.link_record",
        "builds.sizes",
        "claims.claim",
        "claims.verdict",
        "diff.diff_result",
        "doctor.diagnosis",
        "gate.causes.growth_result",
        "gate.gate_result",
        "gate.policy.terms_result",
        "gate.review_result",
        "git.commits",
        "history.history_result",
        "ledger.ledger",
        "ledger.region_use",
        "linkgraph.why_result",
        "models.operator_info",
        "predict.prediction",
        "predict.reach_result",
        "proposals.proposal",
        "selection.finding",
        "selection.foreign.triage_result",
        "snapshots.cleaning_result",
    }
)

# Commands only for our own runtime, which may import from its folder.
OF_OUR_RUNTIME = frozenset(
    {"cli.build.build", "cli.build.codegen", "cli.build.import_model", "cli.build.trace"}
)

# File names that several folders may have. Folders of formats may share all names.
REPEATED_NAMES = frozenset({"__init__", "__main__", "runtime", "reader", "render"})

# Words that strings outside runtimes/ may not contain, except for docstrings.
RUNTIME_WORDS = re.compile(
    r"\bsg::|2sg7kernels|\b7kernels|\bSG_[A-Z]|\btorch::executor|\bat::native"
)


AT_ONCE, ON_CALL, FOR_TYPES = range(3)


@dataclass(frozen=True, slots=True)
class Arrow:
    """An import.

    source, target: dotted modules below the package
    when:           AT_ONCE, ON_CALL inside a function, or FOR_TYPES
    """

    source: str
    target: str
    line: int
    when: int


def modules(root: Path) -> dict[str, Path]:
    """Return the package's modules by dotted name; the name of a package ends in `.__init__`."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts): path
        for path in sorted(root.rglob("*.py"))
    }


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def arrows(root: Path) -> list[Arrow]:
    """Return all imports between modules of the package."""
    known = modules(root)
    found = []
    for source, path in known.items():
        for node, when in _statements(_tree(path)):
            for name in _imported(node):
                target = _module_of(name, known)
                if target and target != source:
                    found.append(Arrow(source, target, getattr(node, "lineno", 0), when))
    return found


def _statements(tree: ast.AST) -> Iterator[tuple[ast.AST, int]]:
    """Yield all statements, and when they run: AT_ONCE, ON_CALL or FOR_TYPES."""
    left = [(tree, AT_ONCE)]
    while left:
        node, when = left.pop()
        yield node, when
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            when = ON_CALL
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            when = FOR_TYPES
        left += ((child, when) for child in ast.iter_child_nodes(node) if _holds_imports(child))


def _holds_imports(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case)


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _module_of(name: str, known: Mapping[str, Path]) -> str:
    """Find the module that an imported name comes from; empty for other packages."""
    head, _, inside = name.partition(".")
    if head != PACKAGE:
        return ""
    parts = inside.split(".") if inside else []
    for end in range(len(parts), 0, -1):
        for module in (".".join(parts[:end]), ".".join([*parts[:end], "__init__"])):
            if module in known:
                return module
    return "__init__"


def room_of(module: str) -> str:
    """Return the room of a module; empty for the package's own __init__ and __main__."""
    return module.partition(".")[0] if "." in module else ""


def arrow_problem(arrow: Arrow) -> str:
    """Return the rule that an import breaks; empty if it breaks none."""
    source, target = room_of(arrow.source), room_of(arrow.target)
    if not target or source == target:
        return _runtime_problem(arrow)
    if source and source not in ROOMS:
        return f"{source} is no room: add it to ROOMS of ci/layout.py"
    allowed = ROOMS.get(source, "*")
    if allowed != "*" and target not in ("base", "columns", *allowed.split()):
        return f"{source} may not use {target}"
    if source == "base" or (source == "columns" and target != "base"):
        return f"{source} may not use {target}"
    is_open = target in ("base", "columns", "names", "operators") or arrow.target in REPORT_TYPES
    if source == "report" and not is_open:
        return "report takes results alone, and this is not a module of results"
    return _runtime_problem(arrow)


def _runtime_problem(arrow: Arrow) -> str:
    """Check that only runtimes/NAME/ imports its own modules; other runtimes may not."""
    home = arrow.target.split(".")
    if home[0] != "runtimes" or len(home) < 3 or arrow.source in OF_OUR_RUNTIME:
        return ""
    return "" if arrow.source.split(".")[:2] == home[:2] else f"nobody outside enters {home[1]}"


def circles(found: Iterable[Arrow]) -> list[list[str]]:
    """Return the first circle of imports, or nothing."""
    targets: dict[str, set[str]] = defaultdict(set)
    for arrow in found:
        targets[arrow.source].add(arrow.target)
    sorter = graphlib.TopologicalSorter(targets)
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        return [error.args[1]]
    return []


def late_import_problems(found: Iterable[Arrow], root: Path) -> Iterator[str]:
    """Yield imports inside functions of modules that the file's other imports load anyway."""
    targets: dict[str, set[str]] = defaultdict(set)
    late: dict[str, list[Arrow]] = defaultdict(list)
    for arrow in found:
        if arrow.when == AT_ONCE:
            targets[arrow.source].add(arrow.target)
        elif arrow.when == ON_CALL:
            late[arrow.source].append(arrow)
    known = modules(root).keys()
    for source, imports in late.items():
        loaded = _loaded_with(source, targets, known)
        if room_of(source) == "cli":
            loaded |= _loaded_with("cli.main", targets, known)
        for arrow in imports:
            if arrow.target in loaded:
                yield (
                    f"{arrow.source}:{arrow.line}: imports {arrow.target} inside a function, which"
                    " other imports load anyway; import it at the top"
                )


def _loaded_with(source: str, targets: Mapping[str, set[str]], known: Collection[str]) -> set[str]:
    """Return the modules that are loaded once a module is, the packages around them included."""
    loaded: set[str] = set()
    left = [source]
    while left:
        name = left.pop()
        parts = name.split(".")
        around = {".".join([*parts[:end], "__init__"]) for end in range(len(parts))}
        new = ((targets.get(name, set()) | around) & set(known)) - loaded
        loaded |= new
        left += new
    return loaded


def folder_problems(root: Path) -> Iterator[str]:
    """Yield folders with too many files, and file names that two folders have."""
    yield from full_folders(root, "**/*")
    homes: dict[str, list[str]] = defaultdict(list)
    for module in modules(root):
        folder, _, name = module.rpartition(".")
        if name not in REPEATED_NAMES and not folder.startswith("formats."):
            homes[name].append(module)
    for name, places in sorted(homes.items()):
        if len(places) > 1:
            yield f"file name {name} is there {len(places)} times: {', '.join(places)}"


def full_folders(root: Path, pattern: str) -> Iterator[str]:
    """Yield folders that have too many files whose paths match the pattern."""
    files = [path for path in root.glob(pattern) if path.is_file()]
    counts = Counter(path.parent for path in files if "__pycache__" not in path.parts)
    for folder, count in sorted(counts.items()):
        if count > LARGEST_FOLDER:
            yield f"{folder.relative_to(root.parent)}: {count} files at one level"


def problems_of_tests(tests: Path) -> list[str]:
    """Return full folders of tests and of what they share, and large functions of the latter."""
    lines = [*full_folders(tests, "**/test_*.py"), *full_folders(tests, "support/**/*.py")]
    lines += full_folders(tests, "soak/**/*.py")
    for path in sorted((tests / "support").rglob("*.py")):
        lines += large_functions(path, _tree(path))
    return lines


def word_problems(root: Path) -> Iterator[str]:
    """Yield a message for each string with a runtime's words outside runtimes/."""
    for module, path in modules(root).items():
        if room_of(module) == "runtimes":
            continue
        tree = _tree(path)
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or id(node) in prose:
                continue
            text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
            if isinstance(text, str) and RUNTIME_WORDS.search(text):
                yield f"{path}:{node.lineno}: a runtime's words outside runtimes/: {text!r}"


def problems(root: Path) -> list[str]:
    """Return a line for each violation of the layout."""
    found = arrows(root)
    lines = [
        f"{arrow.source}:{arrow.line}: imports {arrow.target}: {problem}"
        for arrow in found
        if (problem := arrow_problem(arrow))
    ]
    lines += [f"circle of files: {' → '.join(circle)}" for circle in circles(found)]
    lines += folder_problems(root)
    lines += late_import_problems(found, root)
    lines += word_problems(root)
    for path in modules(root).values():
        lines += large_functions(path, _tree(path))
    return lines


def main() -> int:
    """Print violations of the layout; return 1 if there are any."""
    root = Path(__file__).resolve().parents[1] / PACKAGE
    lines = problems(root) + problems_of_tests(root.parent / "tests")
    for line in lines:
        print(line)
    if not lines:
        print(f"layout: {len(modules(root))} files, {len(arrows(root))} imports, 0 problems")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
