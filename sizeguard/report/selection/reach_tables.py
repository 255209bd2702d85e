"""Write the operators that models can reach, and how a trace compares with them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sizeguard.predict.reach_result import Adequacy, StaticSelection, Unknown
from sizeguard.report.writers.printable import plain_text, printable
from sizeguard.report.writers.table import format_table

SCHEMA_VERSION = 1


def static_text(result: StaticSelection, calls: Mapping[str, frozenset[str]], format_: str) -> str:
    """List each reachable operator with its calls and models, then the unknown calls."""
    selection = result.selection
    names = sorted(selection.operators)
    called = {name: sorted(calls.get(name, ())) for name in names}
    if format_ == "json":
        operators = [
            {
                "name": name,
                "is_root": selection.operators[name].is_root_operator,
                "calls": called[name],
                "models": sorted(selection.operators[name].debug_info),
            }
            for name in names
        ]
        content = {
            "schema_version": SCHEMA_VERSION,
            "models": sorted(selection.provenance),
            "operators": operators,
            "all_dtypes": list(result.whole_tags),
            "unknown": _unknown_json(result.unknown),
            "not_registered": list(result.absent),
        }
        return json.dumps(content, indent=2)
    rows = [
        (
            name,
            "named" if selection.operators[name].is_root_operator else "called",
            " ".join(called[name]),
            _models(result, name),
        )
        for name in names
    ]
    text = format_table(("operator", "how", "calls", "models"), rows, format_)
    return text if format_ == "csv" else _parts(format_, [], text, static_notes(result))


def static_notes(result: StaticSelection) -> list[str]:
    """List the parts that the selection keeps because they may be used."""
    notes = []
    if result.whole_tags:
        notes.append(
            f"all dtypes of {len(result.whole_tags)} kernel tags are kept, because the models do "
            f"not determine them: {' '.join(result.whole_tags)}"
        )
    if result.selection.build_features:
        notes.append(
            f"all build features are kept: {' '.join(sorted(result.selection.build_features))}"
        )
    notes += _unknown_lines(result.unknown)
    notes += [f"{printable(name)} is called, but no library registers it" for name in result.absent]
    return notes


def adequacy_text(result: Adequacy, format_: str) -> str:
    """List operators that only the graph has, with callers, and those that only the trace has."""
    if format_ == "json":
        return json.dumps(_adequacy_json(result), indent=2)
    wrong = [(name, "seen, not reachable", "") for name in result.observed_not_reachable]
    wrong += [
        (name, "dtype seen, not selected", "") for name in result.dtypes_observed_not_reachable
    ]
    missed = [
        (name, "reachable, not seen", result.callers[name] or "the model")
        for name in result.reachable_not_observed
    ]
    rows = [*wrong, *missed]
    table = format_table(("operator", "what", "asked for by"), rows, format_)
    if format_ == "csv":
        return table
    head = (
        f"{printable(result.model)}: {result.reachable} operators reachable, {result.observed} "
        f"seen by the trace"
    )
    notes = []
    if missed:
        named = [name for name in result.reachable_not_observed if not result.callers[name]]
        count = (
            f"{len(missed)} operator{'s were' if len(missed) > 1 else ' was'} not seen: no input"
            " took the branches that lead to them"
        )
        notes.append(f"{count}; trace with inputs that reach them")
        if named:
            notes.append(f"branches of the model itself that no input took: {' '.join(named)}")
    notes += _unknown_lines(result.unknown)
    return _parts(format_, [head], table if rows else "", notes)


def _parts(format_: str, head: Sequence[str], table: str, notes: Sequence[str]) -> str:
    """Join sentences and a table; Markdown takes a line below a table as one of its rows."""
    if format_ == "markdown":
        from sizeguard.report.writers.markdown import prose  # 5 ms

        lists = "\n".join(f"- {prose(note)}" for note in notes)
        return "\n\n".join(filter(None, [*map(prose, head), table, lists]))
    return "\n".join(filter(None, [plain_text(head), table, plain_text(notes)]))


def _adequacy_json(result: Adequacy) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "model": result.model,
        "reachable": result.reachable,
        "observed": result.observed,
        "reachable_not_observed": list(result.reachable_not_observed),
        "observed_not_reachable": list(result.observed_not_reachable),
        "callers": {name: caller for name, caller in result.callers.items() if caller},
        "dtypes_observed_not_reachable": list(result.dtypes_observed_not_reachable),
        "unknown": _unknown_json(result.unknown),
    }


def _models(result: StaticSelection, name: str) -> str:
    return " ".join(sorted(result.selection.operators[name].debug_info))


def _unknown_json(unknown: Sequence[tuple[str, Unknown]]) -> list[dict[str, str]]:
    return [
        {"operator": owner, "function": where.function, "object": where.object}
        for owner, where in unknown
    ]


def _unknown_lines(unknown: Sequence[tuple[str, Unknown]]) -> list[str]:
    return [
        f"{printable(owner) or 'a static initializer'} may call more: "
        f"{printable(where.function)} passes a name that is not constant"
        for owner, where in unknown
    ]
