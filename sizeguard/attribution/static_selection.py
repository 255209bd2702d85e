"""Turns a full build and models into what the models can reach: operators by the section graph, dtypes as far as a model tells them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sizeguard.build.record import read_build
from sizeguard.codegen.headers import DTYPES
from sizeguard.codegen.tags import source_files
from sizeguard.errors import InconclusiveError, InputError
from sizeguard.linkgraph.branches import read_source_facts, tag_holders
from sizeguard.linkgraph.closure import Dependencies, Unknown, call_graph, dependencies
from sizeguard.linkgraph.dispatch import BY_NAME
from sizeguard.linkgraph.sources import graph_of_path
from sizeguard.linkgraph.subjects import operators
from sizeguard.model_import.dtypes import INTEGRAL
from sizeguard.model_import.op_info import OperatorInfo
from sizeguard.selection.merge import merge
from sizeguard.selection.provenance import Provenance
from sizeguard.selection.selection import SelectedOperator, Selection

_FEATURE = re.compile(r"\bSG_BUILD_FEATURE\((\w+)\)")
_NAME = re.compile(r"[A-Za-z_][\w.]*::\w+(?:\.\w+)?")


@dataclass(frozen=True, slots=True)
class FullBuild:
    """What a full build says of its operators.

    operators: registered; classes: custom classes; tags: of each operator and class the tags of the switches that it runs itself
    """

    dependencies: Dependencies
    operators: frozenset[str]
    classes: frozenset[str]
    tags: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class StaticSelection:
    """What models can reach.

    whole_tags: tags that keep every dtype, since the models do not tell which their switches see
    unknown:    calls in reach whose operator is not constant, with the operator that makes them
    absent:     names handed to the dispatcher that no library registers
    """

    selection: Selection
    whole_tags: tuple[str, ...]
    unknown: tuple[tuple[str, Unknown], ...]
    absent: tuple[str, ...]


def read_full_build(path: Path, dispatchers: Iterable[str] = BY_NAME) -> FullBuild:
    """Of a full build, by its folder or build.json."""
    build = read_build(path)
    if build.variant != "full":
        raise InputError(f"{path}: a build of {build.variant}; what models can reach is read from the variant full")
    graph = graph_of_path(path)
    holders = tag_holders(graph, read_source_facts(build.selection.parent / "kernel_tags.json"))
    calls = call_graph(graph, dispatchers)
    tags = {}
    for owner, nodes in operators(graph).items():
        reached = calls.reached(nodes)
        tags[owner] = frozenset(tag for tag, where in holders.items() if reached[where].any())
    names = frozenset(owner for owner in tags if _NAME.fullmatch(owner))
    return FullBuild(dependencies(calls), names, frozenset(tags) - names, tags)


def features_of(sources: Iterable[Path]) -> frozenset[str]:
    """The build features that code asks for."""
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in source_files(sources))
    return frozenset(name for text in texts for name in _FEATURE.findall(text)) - {"feature"}


def static_selection(full: FullBuild, models: Sequence[OperatorInfo], features: frozenset[str]) -> StaticSelection:
    """The models' operators and all that these can call, each credited to its models. Features are kept, all of them."""
    selections = []
    whole: set[str] = set()
    for info in models:
        selection, all_dtypes = _of_model(full, info, features)
        selections.append((info.model, selection))
        whole |= all_dtypes
    merged = merge(selections).selection
    reached = {*merged.operators, *merged.custom_classes, ""}
    unknown = [(owner, where) for owner, places in sorted(full.dependencies.unknown.items()) if owner in reached for where in places]
    called = {name for owner in reached for name in full.dependencies.calls.get(owner, ())} | full.dependencies.at_load
    return StaticSelection(merged, tuple(sorted(whole)), tuple(unknown), tuple(sorted(called - full.operators)))


def reachable_operators(full: FullBuild, info: OperatorInfo) -> dict[str, str]:
    """What a model can reach, each with the operator that calls it; "" for what the model names and what is called at load."""
    check_roots(full, info)
    found = full.dependencies.callers([*info.operators, *(name for name in info.classes if name in full.classes)])
    return {name: caller for name, caller in found.items() if name in full.operators}


def check_roots(full: FullBuild, info: OperatorInfo) -> None:
    """Raises InputError for operators that the full build lacks."""
    missing = sorted(set(info.operators) - full.operators)
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise InputError(f"{info.model}: the full build has no operator {', '.join(missing[:5])}{more}")
    classes = sorted(info.classes - full.classes)
    if classes:
        raise InconclusiveError(f"{info.model}: the full build has no custom class {', '.join(classes)}")


def _of_model(full: FullBuild, info: OperatorInfo, features: frozenset[str]) -> tuple[Selection, frozenset[str]]:
    """The selection of one model, and its tags that keep every dtype."""
    reached = reachable_operators(full, info)
    called = {name for owner in (*reached, *info.classes) for name in full.dependencies.calls.get(owner, ())} | full.dependencies.at_load
    entries = {
        name: SelectedOperator(
            name in info.operators, is_used_for_training=False, include_all_overloads=False, debug_info=frozenset({info.model})
        )
        for name in reached
    }
    tags: dict[str, frozenset[str]] = {}
    whole: set[str] = set()
    for owner in (*reached, *info.classes):
        # What another operator calls may meet any dtype: a caller converts as it likes.
        known = frozenset() if owner in called else _met(info.operators.get(owner, frozenset()))
        for tag in full.tags[owner]:
            tags[tag] = tags.get(tag, frozenset()) | (known or frozenset(DTYPES))
            if not known:
                whole.add(tag)
    asked = Provenance(kernel_metadata=tags, custom_classes=info.classes, build_features=features)
    selection = Selection(
        operators=entries, kernel_metadata=tags, custom_classes=info.classes, build_features=features, provenance={info.model: asked}
    )
    return selection, frozenset(whole)


def _met(dtypes: Collection[str]) -> frozenset[str]:
    """The dtypes that a kernel's switches can meet if the tensors that it takes and returns have these."""
    found = set(dtypes)
    if found & INTEGRAL:
        found |= {"Long", "Float"}  # sums of integers; integers with a number that is none
    if found & {"Half", "BFloat16"}:
        found.add("Float")  # what they are computed in
    if {"Byte", "Char"} <= found:
        found.add("Short")
    return frozenset(found)
