"""Explain an error line of a device, for the terminal and as JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from sizeguard.report.writers.printable import printable
from sizeguard.selection.foreign.triage_result import DESELECTED, SELECTED, Named

SCHEMA_VERSION = 1


def triage_text(found: Sequence[Named], format_: str, *, has_apps: bool) -> str:
    """Describe everything that the line names, and the next steps.

    has_apps: the selections belong to apps, so commands can name them
    """
    if format_ == "json":
        rows = [asdict(each) for each in found]
        return json.dumps({"schema_version": SCHEMA_VERSION, "named": rows}, indent=2)
    return "\n".join(line for each in found for line in _lines(each, has_apps))


def _lines(named: Named, has_apps: bool) -> Iterator[str]:
    name = printable(named.name)
    if not named.is_known:
        near = f"; nearest are {', '.join(map(printable, named.near))}" if named.near else ""
        yield f"{named.kind} {name}: unknown to this runtime{near}"
        if named.kind == "operator":
            yield "  export the model without it, or add a kernel for it"
        return
    kept = [app for app, state in named.state.items() if state == SELECTED]
    if kept:
        yield f"{named.kind} {name}: in the selection of {', '.join(map(printable, kept))}"
        yield "  if it fails there, the device runs another build: compare build ids"
        yield "  (sizeguard report FILE shows the build id of an image)"
    missing = [app for app, state in named.state.items() if state == DESELECTED]
    if missing:
        yield f"{named.kind} {name}: not in the selection of {', '.join(map(printable, missing))}"
        yield from dict.fromkeys(
            line for app in missing for line in _additions(named, app, has_apps)
        )


def _additions(named: Named, app: str, has_apps: bool) -> Iterator[str]:
    if not has_apps:
        yield "  add it to that file: trace the model with inputs that cause this error"
        return
    word = shlex.quote(printable(app))
    yield f"  add it: sizeguard select update --app {word} (with inputs that cause this error)"
    if named.kind in ("operator", "dtype"):
        what = shlex.quote(printable(named.name))
        yield f"  its cost: sizeguard predict --app {word} --add {what}"
