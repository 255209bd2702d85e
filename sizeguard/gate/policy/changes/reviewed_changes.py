"""Differences between reviewed files: baselines, waivers, records of selections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sizeguard.gate.policy.baselines import is_named_for
from sizeguard.gate.policy.terms import Terms
from sizeguard.gate.policy.terms_result import BASELINE, RECORD, WAIVER, PolicyChange, Waiver
from sizeguard.gate.review_result import LENGTHS, Baseline
from sizeguard.measurement.metric_kinds import TOTALS

_SLACK = "page_slack"
_OF_IMAGE = ("machine", "kind")
_NAMED = 3  # sizes to name besides the totals
_SHOWN_ID = 7  # digits of a content id


def baseline_changes(old: Terms, new: Terms) -> Iterator[PolicyChange]:
    """Yield the baselines that were added, removed or replaced.

    A new baseline for a new app or target loosens nothing.
    """
    for path in sorted({*old.baselines, *new.baselines}):
        if path not in new.baselines:
            sizes = _totals(old.baselines[path])
            yield PolicyChange(f"{BASELINE} removed", path, sizes, "", True)
        elif path not in old.baselines:
            found = new.baselines[path]
            is_new = (
                found is not None
                and is_named_for(path, found)
                and (found.app, found.target) not in old.pairs()
            )
            yield PolicyChange(
                f"{BASELINE} added", path, "", _totals(found), not is_new, place=path
            )
        elif old.baselines[path] != new.baselines[path]:
            yield _replaced(path, old.baselines[path], new.baselines[path])


def _replaced(path: str, old: Baseline | None, new: Baseline | None) -> PolicyChange:
    what = f"{BASELINE} replaced"
    if old is None or new is None:
        return PolicyChange(what, path, _totals(old), _totals(new), True, place=path)
    before, after = _numbers(old), _numbers(new)
    changed = [name for name in {**before, **after} if before.get(name, 0) != after.get(name, 0)]
    moved = [name for name in changed if name not in TOTALS]
    largest = sorted(moved, key=lambda name: -abs(before.get(name, 0) - after.get(name, 0)))
    regions = [name for name in changed if name.startswith(f"{LENGTHS}/")]
    named = sorted({*largest[:_NAMED], *regions})
    other_tools = (old.tools, old.toolchain) != (new.tools, new.toolchain)
    others = (old.app, old.target) != (new.app, new.target)
    uncounted = {_SLACK, *(regions if LENGTHS not in (old.tables or {}) else ())}
    grown = any(after.get(name, 0) > before.get(name, 0) for name in {*changed} - uncounted)
    # The file's limit allows for the bytes that are not loaded, and for filled gaps
    grown |= any(b > a for a, b in zip(_parts(old), _parts(new), strict=True))
    of_image = [name for name in _OF_IMAGE if getattr(old, name) != getattr(new, name)]
    others |= any(getattr(old, name) for name in of_image)
    adds = bool({*(new.needed or ())} - {*(old.needed or ())})
    was = _sizes(old, before, named, other_tools) + _needed(old, new) + _image(old, of_image)
    now = _sizes(new, after, named, other_tools) + _needed(new, old) + _image(new, of_image)
    if was == now:
        was, now = was + _rest(old, new), now + _rest(new, old)
    return PolicyChange(
        what,
        path,
        was,
        now,
        grown or other_tools or others or adds,
        bytes=new.load - old.load,
        place=path,
    )


def _rest(baseline: Baseline, other: Baseline) -> str:
    """Write the fields that are seldom the only difference to the other baseline."""
    fields = ("app", "target", "toolchain", _SLACK)
    differing = (name for name in fields if getattr(baseline, name) != getattr(other, name))
    return "".join(f", {name} {_value(getattr(baseline, name))}" for name in differing)


def _value(value: str | int) -> str:
    return f"{value:,}" if isinstance(value, int) else value


def _parts(baseline: Baseline) -> tuple[int, int]:
    """Return the bytes that are loaded, with the gaps between segments, and all others."""
    loaded = baseline.load + baseline.page_slack
    return loaded, baseline.file - loaded


def _sizes(
    baseline: Baseline, numbers: Mapping[str, int], named: Iterable[str], with_tools: bool
) -> str:
    """Write the totals, the sizes of the names, and the tools if they differ."""
    sizes = [_totals(baseline), *(f"{name} {numbers.get(name, 0):,}" for name in named)]
    tools = f" by {baseline.tools or baseline.toolchain}" if with_tools else ""
    return ", ".join(sizes) + tools


def _needed(baseline: Baseline, other: Baseline) -> str:
    """Write a baseline's needed libraries if they differ from the other's."""
    if baseline.needed == other.needed:
        return ""
    return ", needed " + ("not said" if baseline.needed is None else _listed(baseline.needed))


def _image(baseline: Baseline, names: Iterable[str]) -> str:
    """Write the machine and kind of the image, if they differ."""
    return "".join(f", {name} {getattr(baseline, name) or 'not said'}" for name in names)


def _listed(names: Iterable[str]) -> str:
    return " ".join(names) or "nothing"


def _numbers(baseline: Baseline) -> Mapping[str, int]:
    tables = {"operator": baseline.operators, **(baseline.tables or {})}
    return {size: baseline.size(size) for size in TOTALS} | {
        f"{level}/{name}": size for level, table in tables.items() for name, size in table.items()
    }


def _totals(baseline: Baseline | None) -> str:
    if baseline is None:
        return "cannot be read"
    return f"load {baseline.load:,}, ram {baseline.ram:,}, file {baseline.file:,}"


def waiver_changes(old: Sequence[Waiver], new: Sequence[Waiver]) -> Iterator[PolicyChange]:
    """Yield the waivers that were added, removed or changed; their places do not count."""
    left = list(old)
    added: list[Waiver] = []
    for waiver in new:
        same = next((each for each in left if _content(each) == _content(waiver)), None)
        if same is None:
            added.append(waiver)
        else:
            left.remove(same)
    for waiver in added:
        before = next((each for each in left if _scope(each) == _scope(waiver)), None)
        if before is not None:
            left.remove(before)
        yield _waiver_change(before, waiver)
    for waiver in left:
        yield PolicyChange(
            f"{WAIVER} removed", _name(waiver), _waiver(waiver), "", False, -waiver.bytes
        )


def _waiver_change(old: Waiver | None, new: Waiver) -> PolicyChange:
    looser = old is None or new.bytes > old.bytes or new.expires > old.expires
    more = new.bytes - (old.bytes if old else 0)
    return PolicyChange(
        f"{WAIVER} {'added' if old is None else 'changed'}",
        _name(new),
        _waiver(old) if old else "",
        _waiver(new),
        looser,
        more,
        accepted=new.source if new.is_trailer else "",
        place="" if new.is_trailer else new.source,
    )


def _scope(waiver: Waiver) -> tuple[str, str, str]:
    return waiver.metric, waiver.app, waiver.target


def _content(waiver: Waiver) -> tuple[object, ...]:
    return (*_scope(waiver), waiver.bytes, waiver.reason, waiver.owner, waiver.expires)


def _name(waiver: Waiver) -> str:
    app = f" of {waiver.app}" if waiver.app else ""
    return f"{waiver.metric}{app}{f' for {waiver.target}' if waiver.target else ''}"


def _waiver(waiver: Waiver) -> str:
    return f"{waiver.bytes:,} bytes until {waiver.expires}, {waiver.owner}: {waiver.reason}"


def record_changes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[PolicyChange]:
    """Yield the trace records of selections that differ."""
    for path in sorted({*old, *new}):
        before, after = old.get(path, ""), new.get(path, "")
        if before != after:
            how = "added" if not before else "removed" if not after else "replaced"
            yield PolicyChange(
                f"{RECORD} {how}", path, before[:_SHOWN_ID], after[:_SHOWN_ID], bool(before),
                place=path if after else "",
            )  # fmt: skip
