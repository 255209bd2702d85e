"""Update an app's selection and its record from a new trace of its models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sizeguard.gate.cache.traces import Model, Tracer
from sizeguard.gate.review_result import SelectionUpdate
from sizeguard.gate.selection.review_record import (
    SelectionRecord,
    read_record,
    record_of,
    record_path,
    write_record,
)
from sizeguard.gate.selection.selection_case import distinct_models
from sizeguard.predict.full_build import FullBuild
from sizeguard.predict.reachable import static_selection
from sizeguard.projects.project import App
from sizeguard.runtimes.known import source_tree, translated
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import Selection
from sizeguard.selection.union import merge
from sizeguard.selection.write import write_selection

TRACED, WIDENED, REACHABLE = "traced", "widened", "reachable"


def update_selection(
    root: Path, app: App, models: Iterable[Model], full: FullBuild, tracer: Tracer, how: str
) -> SelectionUpdate:
    """Write both files.

    how: TRACED keeps only what the traces used, and the build features of the selection: people ask
         for features that no model uses. WIDENED adds what the traces used to the selection.
         REACHABLE also adds everything that models and their kernels can call.

    Raises InputError for models of one name.
    """
    traced = distinct_models(app, models)
    before_file = read_selection(app.selection).selection if app.selection.is_file() else None
    # Traces use this runtime's names; those of other tools in the file are translated.
    old = translated(tracer.source or tracer.root, before_file or Selection())
    is_translated = before_file is not None and old != before_file
    used = [(model.program.name, tracer.trace(model)) for model in traced]
    if how == REACHABLE:
        features = source_tree(root, tracer.source)[1].features()
        reachable = static_selection(full, [model.info for model in traced], features)
        used.append(("", reachable.selection))
    new = merge([*_kept_parts(app, old, used, how), *used]).selection
    path = record_path(root, app)
    before = read_record(path)
    is_kept = _same(old, new) and not is_translated
    changed = [app.selection] if not is_kept and write_selection(app.selection, new) else []
    after = record_of(root, app, read_selection(app.selection).selection, full)
    if write_record(path, app.name, after):
        changed.append(path)
    had, has = _things(old), _things(new)
    return SelectionUpdate(
        app.name,
        app.selection,
        path,
        tuple(changed),
        tuple(sorted(has - had)),
        tuple(sorted(had - has)),
        _new_calls(before, after),
        is_translated,
    )


def _kept_parts(
    app: App, old: Selection, used: Sequence[tuple[str, Selection]], how: str
) -> Iterator[tuple[str, Selection]]:
    """Yield the parts of the old selection to keep: all, or the features that no model uses."""
    if how != TRACED:
        yield app.selection.name, old
        return
    asked = old.build_features.difference(*(part.build_features for _, part in used))
    if asked:
        yield app.selection.name, Selection(build_features=asked)


def _new_calls(before: SelectionRecord | None, after: SelectionRecord) -> tuple[str, ...]:
    """List the calls that kernels of the record have gained."""
    known = before.kernels if before is not None else {}
    return tuple(
        f"{name} → {callee}"
        for name, kernel in after.kernels.items()
        if name in known
        for callee in sorted(kernel.calls - known[name].calls)
    )


def _same(old: Selection, new: Selection) -> bool:
    """Return whether two selections keep the same; then the file is not rewritten."""
    return _things(old) == _things(new)


def _things(selection: Selection) -> set[str]:
    found = {*selection.operators, *(f"class {name}" for name in selection.custom_classes)}
    found |= {f"feature {name}" for name in selection.build_features}
    found |= {
        f"{tag} {dtype}" for tag, dtypes in selection.kernel_metadata.items() for dtype in dtypes
    }
    for name, entry in selection.operators.items():
        if entry.is_root_operator:
            found.add(f"root {name}")
        if entry.include_all_overloads and "." not in name:
            found.add(f"all overloads of {name}")
    return found | {
        flag
        for flag in ("include_all_operators", "include_all_non_op_selectives")
        if getattr(selection, flag)
    }
