"""Read and write the reviewed sizes in baselines/."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_write, locked, write_if_changed
from sizeguard.base.input_files import read_input
from sizeguard.base.yaml.nodes import Listing, Node, Scalar, YamlTable, parse_nodes
from sizeguard.base.yaml.text import single_quoted
from sizeguard.builds.build_record import Build
from sizeguard.builds.sizes import Sizes
from sizeguard.gate.review_result import LENGTHS, Baseline
from sizeguard.measurement.measurement import ASKED_LEVELS, LEVELS, Measurement
from sizeguard.measurement.metric_kinds import TOTALS
from sizeguard.measurement.snapshot_origin import RULES, rules_part
from sizeguard.toolchains.toolchain import Toolchain

FOLDER = "baselines"
WAIVERS = "waivers.yaml"
_LOCK = Path(".sizeguard") / "baselines.lock"

# Order in the file: operators first, because readers look first for the operator that grew.
_TABLES = {f"{level}s": level for level in (*LEVELS, *ASKED_LEVELS, "region", "symbol")}
_TABLES[f"{LENGTHS}s"] = LENGTHS
_NEEDED = "needed"
_PLAIN = re.compile(r"[A-Za-z0-9][\w.,+~ ()-]*", re.ASCII)  # strings that YAML needs no quotes for
_TEXTS = ("app", "target", "toolchain")
_OPTIONAL_TEXTS = ("tools", "machine", "kind", "rules")  # files of older versions lack them
_REQUIRED = (*_TEXTS, "load", "ram", "file", "operators")
_RENEW = "write it again with sizeguard baseline update"


def toolchain_key(build: Build) -> str:
    """Name the toolchain: gcc-12.2-bfd-2.40-Os.

    Shared libraries and LTO are named, too; an executable without LTO is not.
    """
    parts = [build.toolchain, *([f"O{build.optimize}"] if build.optimize else [])]
    if build.link != "executable":
        parts.append(build.link)
    if build.lto:
        parts.append("lto" if build.lto == "full" else "thinlto")
    return "-".join(parts)


def tools_text(toolchain: Toolchain | None, build: Build) -> str:
    """Name the tools' full versions: gcc 12.2.0, bfd 2.40.

    Parts outside the key can also change sizes.

    toolchain: None for another project's build; then the image names its tools
    """
    if toolchain is None:
        return build.tools
    tools = [
        f"{toolchain.compiler} {toolchain.compiler_version}",
        f"{toolchain.linker} {toolchain.linker_version}",
    ]
    return ", ".join([*tools, *filter(None, [toolchain.headers_version])])


def inseparable(then: str, now: str) -> str:
    """Say that sizes by the tools `then` cannot be compared with those by the tools `now`."""
    return (
        f"{then}, but this is {now}: effects of the compiler and of the change cannot be separated"
    )


def made_otherwise(baseline: Baseline, toolchain: Toolchain | None, build: Build) -> str:
    """Say what else made a baseline than a build; empty if nothing is known to differ."""
    tools = tools_text(toolchain, build)
    if baseline.tools not in ("", tools):
        return f"is for {inseparable(baseline.tools, tools)}"
    if baseline.rules == rules_part(build).get(RULES, ""):
        return ""
    if baseline.rules:
        return "has names by other rules than the project's"
    # Older versions did not state the rules; without components, growth counts from 0
    has_names = bool((baseline.tables or {}).get("component"))
    return "does not state by which rules its components are named" if has_names else ""


def baseline_path(root: Path, build: Build) -> Path:
    """Return the path of the build's baseline."""
    return (
        root / FOLDER / f"{build.app or build.variant}.{build.target}.{toolchain_key(build)}.yaml"
    )


def is_named_for(path: str, baseline: Baseline) -> bool:
    """Return whether a file has the name for the app, target and toolchain that it states."""
    parts = (baseline.app, baseline.target, baseline.toolchain, "yaml")
    return path.rpartition("/")[2] == ".".join(parts)


def baseline_files(root: Path) -> list[Path]:
    """List the files of all baselines."""
    return sorted(path for path in (root / FOLDER).glob("*.yaml") if path.name != WAIVERS)


def has_baseline(root: Path, app: str) -> bool:
    """Return whether an app has a baseline, of any target and toolchain."""
    return any(path.name.startswith(f"{app}.") for path in baseline_files(root))


def other_toolchains(root: Path, build: Build) -> list[str]:
    """List the toolchains that have baselines for this app and target.

    A file that cannot be read counts by its name.
    """
    prefix = f"{build.app or build.variant}.{build.target}."
    found = []
    for path in sorted((root / FOLDER).glob(f"{prefix}*.yaml")):
        try:
            baseline = read_baseline(path)
        except InputError:
            baseline = None
        # The file may be for another target, such as x86_64-linux.debug
        if baseline is None or f"{baseline.app}.{baseline.target}." == prefix:
            found.append(path.name.removeprefix(prefix).removesuffix(".yaml"))
    return found


def baseline_of(build: Build, toolchain: Toolchain | None, measured: Measurement) -> Baseline:
    """Make a baseline of a build and its measurement; `toolchain` as in tools_text."""
    sizes = build.sizes
    tables = {level: table for level, table in measured.tables.items() if level != "operator"}
    if measured.symbols:
        tables["symbol"] = measured.symbols
    if lengths := {name: measured.region_size(name) for name in measured.tables.get("region", ())}:
        tables[LENGTHS] = {name: length for name, length in lengths.items() if length}
    name, operators = build.app or build.variant, measured.tables["operator"]
    key, tools = toolchain_key(build), tools_text(toolchain, build)
    return Baseline(
        name,
        build.target,
        key,
        sizes.load,
        sizes.ram,
        sizes.file,
        operators,
        sizes.page_slack,
        tools,
        tables,
        measured.needed,
        measured.machine,
        measured.kind,
        rules_part(build).get(RULES, ""),
    )


@contextmanager
def locked_baselines(root: Path) -> Iterator[None]:
    """Lock baselines/ for reading and writing, so that no change is lost.

    A second process waits. Raises InputError if the lock cannot be made.
    """
    path, hint = root / _LOCK, "; updates of baselines need this lock"
    try:
        path.parent.mkdir(exist_ok=True)
        write_if_changed(path.with_name(".gitignore"), "*\n")
    except OSError as error:
        raise cannot_write(path, error, hint) from error
    with locked(path, hint):
        yield


def write_baseline(path: Path, baseline: Baseline) -> bool:
    """Write a baseline in sorted order, so that diffs of it are readable.

    True if the file changed.
    """
    return write_if_changed(path, baseline_text(baseline))


def baseline_text(baseline: Baseline) -> str:
    """Format a baseline as YAML."""
    lines = [
        f"# Reviewed sizes of {baseline.app}, in bytes. `sizeguard baseline update` writes them.",
        f"app: {baseline.app}",
        f"target: {baseline.target}",
        f"toolchain: {baseline.toolchain}",
        *(
            f"{key}: {_plain_or_quoted(text)}"
            for key in _OPTIONAL_TEXTS
            if (text := getattr(baseline, key))
        ),
        *(f"{size}: {baseline.size(size)}" for size in TOTALS),
    ]
    if baseline.needed is not None:
        lines.append(f"{_NEEDED}:" if baseline.needed else f"{_NEEDED}: []")
        lines += [f"  - {single_quoted(name)}" for name in baseline.needed]
    tables = {"operator": baseline.operators, **(baseline.tables or {})}
    for key, level in _TABLES.items():
        if level in tables:
            lines.append(f"{key}:" if tables[level] else f"{key}: {{}}")
            lines += [
                f"  {single_quoted(name)}: {tables[level][name]}" for name in sorted(tables[level])
            ]
    return "\n".join(lines) + "\n"


def _plain_or_quoted(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else single_quoted(text)


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises InputError, with file and line, for a file that is no baseline. The same holds for a
    baseline of another app, target or toolchain than its name says.
    """
    data = read_input(path)
    found = parse_baseline(data, path)
    if not is_named_for(path.name, found):
        stated = f"{found.app} for {found.target} by {found.toolchain}"
        raise InputError(
            f"{path}: states the sizes of {stated}, but is named for another build; remove it, and "
            f"run sizeguard baseline update"
        )
    return found


# A gate reads each baseline twice; parsing takes 2 ms, and 100 apps for 3 targets have 300.
@functools.lru_cache(512)
def parse_baseline(data: bytes, path: Path | str) -> Baseline:
    """Parse a baseline; `path` is for error messages."""
    root = parse_nodes(data, path, "baseline")
    known = (*_TEXTS, *_OPTIONAL_TEXTS, *TOTALS, _NEEDED, *_TABLES)
    fields = _pairs(path, root)
    for key in fields:
        if key not in known:
            raise InputError(
                f"{path}: not a baseline: unknown '{key}', expected one of {', '.join(known)}; "
                f"{_RENEW}"
            )
    for key in _REQUIRED:
        if key not in fields:
            raise InputError(f"{path}: not a baseline: it lacks {key}; {_RENEW}")
    tables = {level: _sizes(path, fields[key]) for key, level in _TABLES.items() if key in fields}
    sizes = {size: _size(path, fields[size]) for size in TOTALS if size in fields}
    names = (*_TEXTS, *_OPTIONAL_TEXTS)
    texts = {key: _text(path, fields[key]) for key in names if key in fields}
    operators = tables.pop("operator")
    return Baseline(
        app=texts["app"],
        target=texts["target"],
        toolchain=texts["toolchain"],
        load=sizes["load"],
        ram=sizes["ram"],
        file=sizes["file"],
        operators=operators,
        page_slack=sizes.get("page_slack", 0),
        tools=texts.get("tools", ""),
        tables=tables,
        needed=_names(path, fields[_NEEDED]) if _NEEDED in fields else None,
        machine=texts.get("machine", ""),
        kind=texts.get("kind", ""),
        rules=texts.get("rules", ""),
    )


def _pairs(path: Path | str, node: Node) -> Mapping[str, Node]:
    if not isinstance(node, YamlTable):
        raise InputError(f"{path}:{node.line}: not a baseline: expected a table; {_RENEW}")
    found: dict[str, Node] = {}
    for key, value in node.pairs:
        if key.text in found:
            raise InputError(f"{path}:{key.line}: duplicate key '{key.text}'")
        found[key.text] = value
    return found


def _sizes(path: Path | str, node: Node) -> Mapping[str, int]:
    return {name: _size(path, value) for name, value in _pairs(path, node).items()}


def _names(path: Path | str, node: Node) -> tuple[str, ...]:
    if not isinstance(node, Listing):
        raise InputError(f"{path}:{node.line}: expected a list of libraries; {_RENEW}")
    return tuple(_text(path, each) for each in node.items)


def _size(path: Path | str, node: Node) -> int:
    if (
        not isinstance(node, Scalar)
        or not node.text.isascii()
        or not node.text.isdigit()
        or len(node.text) > 18
    ):
        raise InputError(f"{path}:{node.line}: sizes are whole numbers of bytes")
    return int(node.text)


def _text(path: Path | str, node: Node) -> str:
    if not isinstance(node, Scalar):
        raise InputError(f"{path}:{node.line}: expected text")
    return node.text


def measurement_of_baseline(baseline: Baseline) -> Measurement:
    """Make a measurement of a baseline."""
    tables = dict(baseline.tables or {})
    symbols, lengths = tables.pop("symbol", {}), tables.pop(LENGTHS, {})
    sizes = Sizes(baseline.load, baseline.ram, baseline.file, baseline.page_slack)
    levels = {**tables, "operator": baseline.operators}
    machine, kind = baseline.machine, baseline.kind
    return Measurement(
        sizes,
        levels,
        symbols,
        needed=baseline.needed,
        machine=machine,
        kind=kind,
        region_lengths=lengths,
    )
