"""Turns builds into the reviewed text files of baselines/, and those into what a build is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from sizeguard.build.record import Build
from sizeguard.errors import InputError
from sizeguard.files import write_if_changed
from sizeguard.gate.result import Baseline

FOLDER = "baselines"


def toolchain_key(build: Build) -> str:
    """gcc-12.2-bfd-2.40-Os, and how it is linked unless that is an executable without LTO."""
    parts = [build.toolchain, f"O{build.optimize}"]
    if build.link != "executable":
        parts.append(build.link)
    if build.lto:
        parts.append("lto" if build.lto == "full" else "thinlto")
    return "-".join(parts)


def baseline_path(root: Path, build: Build) -> Path:
    return root / FOLDER / f"{build.app or build.variant}.{build.target}.{toolchain_key(build)}.yaml"


def other_toolchains(root: Path, build: Build) -> list[str]:
    """Toolchains that there are baselines of, for this app and target."""
    prefix = f"{build.app or build.variant}.{build.target}."
    return sorted(path.name.removeprefix(prefix).removesuffix(".yaml") for path in (root / FOLDER).glob(f"{prefix}*.yaml"))


def baseline_of(build: Build, operators: Mapping[str, int]) -> Baseline:
    sizes = build.sizes
    return Baseline(build.app or build.variant, build.target, toolchain_key(build), sizes.load, sizes.ram, sizes.file, operators)


def write_baseline(path: Path, baseline: Baseline) -> bool:
    """Sorted, so that a change reads as its diff. True if the file changed."""
    lines = [
        f"# Reviewed sizes of {baseline.app}, in bytes. `sizeguard baseline update` writes them.",
        f"app: {baseline.app}",
        f"target: {baseline.target}",
        f"toolchain: {baseline.toolchain}",
        f"load: {baseline.load}",
        f"ram: {baseline.ram}",
        f"file: {baseline.file}",
        "operators:" if baseline.operators else "operators: {}",
        *(f"  '{name}': {baseline.operators[name]}" for name in sorted(baseline.operators)),
    ]
    return write_if_changed(path, "\n".join(lines) + "\n")


def read_baseline(path: Path) -> Baseline:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: not YAML: {str(error).splitlines()[0]}") from error
    numbers = ("load", "ram", "file")
    texts = ("app", "target", "toolchain")
    if not isinstance(content, dict) or set(content) != {*numbers, *texts, "operators"}:
        raise InputError(f"{path}: not a baseline: it has the keys {', '.join([*texts, *numbers, 'operators'])}")
    operators = content["operators"]
    if not isinstance(operators, dict) or not all(type(value) is int for value in [*operators.values(), *(content[n] for n in numbers)]):
        raise InputError(f"{path}: sizes are whole numbers of bytes")
    return Baseline(
        app=str(content["app"]),
        target=str(content["target"]),
        toolchain=str(content["toolchain"]),
        load=content["load"],
        ram=content["ram"],
        file=content["file"],
        operators=operators,
    )
