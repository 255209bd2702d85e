"""Causes of size changes, for a comment: each cause once, with all its builds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sizeguard.base.errors import listed
from sizeguard.gate.causes.growth_result import Cause
from sizeguard.gate.gate_result import AppResult
from sizeguard.report.gate.comment_blocks import Block
from sizeguard.report.gate.gate_words import cause_name, operator_of
from sizeguard.report.gate.moved_code import changed, dependency_text, file_text
from sizeguard.report.gate.shared.shared_causes import SharedCause, shared_causes
from sizeguard.report.screen.grid import RowName, distinct
from sizeguard.report.writers.markdown import code, linked, prose, row
from sizeguard.report.writers.printable import counted, middle, printable
from sizeguard.report.writers.source_links import SourceLinks

CAUSES = 5  # largest causes of a growth
_NAME = 32  # characters that fit beside the change on a screen 480 px wide
_NAMED = 3  # builds to name


def cause_block(apps: Sequence[AppResult], links: SourceLinks | None, rank: int) -> Iterator[Block]:
    """Write the largest causes of all builds, and the number of the others."""
    apps = [app for app in apps if changed(app)]
    shared = shared_causes(apps)
    if not shared:
        return
    total = sum(cause.delta for app in apps for cause in changed(app))
    head = [
        "",
        f"**{'What grew' if total > 0 else 'What changed'}**",
        "",
        row(["change", "cause"]),
        "|---:|---|",
    ]
    shown = shared[:CAUSES]
    causes = [each.causes[0] for each in shown]
    names = [RowName(printable(cause_name(each)), is_symbol=bool(each.symbol)) for each in causes]
    texts = distinct(names, _NAME)  # different symbols stay different
    rows = [
        row([_change(each), _cause(each, text, apps, links)])
        for each, text in zip(shown, texts, strict=True)
    ]
    yield Block(rank, head, rows, [*_rest(shared[CAUSES:], apps)])


def part_blocks(apps: Sequence[AppResult], rank: int) -> Iterator[Block]:
    """Write the growth by source file of a single build, and of dependencies of all builds."""
    files = apps[0].growth_by_file if len(apps) == 1 else ()
    if len(files) > 1 and any(each.file for each in files):
        yield _part("By source file", [(each.delta, file_text(each)) for each in files], rank)
    rows = (each for app in apps for each in app.growth_by_dependency)
    found = {(each.delta, dependency_text(each)) for each in rows}
    if found:
        yield _part("By dependency", sorted(found, key=lambda each: (-abs(each[0]), each[1])), rank)


def _part(title: str, lines: Sequence[tuple[int, str]], rank: int) -> Block:
    head = ["", f"**{title}**", "", row(["change", "where"]), "|---:|---|"]
    rows = [row([f"{delta:+,}", prose(middle(text, 2 * _NAME))]) for delta, text in lines[:CAUSES]]
    rest = lines[CAUSES:]
    more = [row([f"{sum(delta for delta, _ in rest):+,}", f"{len(rest):,} more"])] if rest else []
    return Block(rank, head, rows, more)


def _change(shared: SharedCause) -> str:
    old, new = shared.sizes
    both = f" ({old}\N{NO-BREAK SPACE}→\N{NO-BREAK SPACE}{new})" if old else ""
    return f"{shared.change}{both}"


def _cause(
    shared: SharedCause, name: str, apps: Sequence[AppResult], links: SourceLinks | None
) -> str:
    """Write operator, symbol, place and builds on separate lines; phones are too narrow."""
    cause = shared.causes[0]
    words = (operator_of(cause), cause.dtype)
    owner = " ".join(code(middle(text, _NAME)) for text in words if text)
    symbol = code(name) if cause.symbol else prose(name) if name else ""
    place = next((_place(each, links) for each in shared.causes if each.place), "")
    builds = _builds(shared.builds, apps) if len(apps) > 1 else ""
    return "<br>".join(part for part in (owner, symbol, place, builds) if part) or "–"


def _place(cause: Cause, links: SourceLinks | None) -> str:
    place = cause.edited or cause.place
    address = links.address(place) if links else ""
    return linked(middle(place, _NAME), address) if address else code(middle(place, _NAME))


def _builds(builds: Sequence[AppResult], apps: Sequence[AppResult]) -> str:
    if len(builds) == len(apps):
        return f"in all {len(apps):,} builds that changed"
    names = [code(middle(f"{app.app} {app.target}", _NAME)) for app in builds]
    return f"in {listed(names, _NAMED)}"


def _rest(rest: Sequence[SharedCause], apps: Sequence[AppResult]) -> Iterator[str]:
    """Write the number of omitted causes; those of a single build sum to its change of load."""
    if len(apps) == 1 and rest:
        left = sum(cause.delta for each in rest for cause in each.causes)
        yield row([f"{left:+,}", counted(len(rest), "more change")])
    elif rest:
        yield row(["", counted(len(rest), "more change")])
    if len(apps) == 1:
        total = sum(cause.delta for cause in changed(apps[0]))
        yield row([f"**{total:+,}**", "= the change of the load"])
