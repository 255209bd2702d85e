"""Findings of one cause in several builds, so that a report shows them once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sizeguard.base.dataclass import dataclass
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE
from sizeguard.gate.causes.growth_result import Cause
from sizeguard.report.gate.findings.finding_texts import place_of_error
from sizeguard.report.gate.findings.gate_findings import GateFinding

_LOG = "; log: "  # before the path of a build's log, which differs between builds
_BYTES = re.compile(r"\d[\d,]* bytes")
_ONLY = re.compile(r" --(?:app|target) \S+")
_OWN_SECTIONS = ("policy/", "waiver")  # findings that belong to no build
_COMPARED = 3  # largest causes of a growth; with one in common, two builds grew for one reason


@dataclass(frozen=True, slots=True)
class SharedFinding:
    """A failing finding of several builds.

    found: one or more for each build, in the order of the builds
    """

    found: tuple[GateFinding, ...]

    @property
    def first(self) -> GateFinding:
        """The finding of the first build; the others differ in names and sizes only."""
        return self.found[0]

    @property
    def builds(self) -> tuple[tuple[str, str], ...]:
        """The builds by app and target, each once."""
        return tuple(dict.fromkeys((each.app, each.target) for each in self.found))

    @property
    def is_size(self) -> bool:
        """Return whether it is about a limit."""
        return _is_size(self.first)

    @property
    def lacks_base(self) -> bool:
        """Return whether the size has no base."""
        return _lacks_base(self.first)

    @property
    def message(self) -> str:
        """The message of the first build, with the sizes of all builds."""
        return _with_ranges([each.message for each in self.found])

    @property
    def advice(self) -> tuple[str, ...]:
        """The distinct pieces of advice; for a failed build, one that covers all of them."""
        texts = dict.fromkeys(each.advice for each in self.found if each.advice)
        if len(texts) > 1 and self.first.rule == "problem":
            texts = dict.fromkeys(map(for_all_builds, texts))
        return tuple(texts)


def for_all_builds(command: str) -> str:
    """Leave the app and the target out of a command."""
    return _ONLY.sub("", command)


def shared_findings(found: Iterable[GateFinding]) -> list[SharedFinding]:
    """Group the failing findings that more than one build has, in the order of the findings."""
    listed = [each for each in found if _can_be_shared(each)]
    apps = {each.app for each in listed}
    targets = {each.target for each in listed}
    names = _names({*apps, *targets})
    groups: dict[tuple[str, ...], list[list[GateFinding]]] = {}
    for each in listed:
        candidates = groups.setdefault(_key(each, names), [])
        group = next((group for group in candidates if _is_of(each, group[0])), None)
        if group is None:
            candidates.append([each])
        else:
            group.append(each)
    together = [SharedFinding(tuple(group)) for groups_ in groups.values() for group in groups_]
    return [each for each in together if len(each.builds) > 1]


def once_per_cause(found: Sequence[GateFinding]) -> list[GateFinding]:
    """Select the findings to count: limits one by one, others once for all their builds."""
    return [each for each, _ in with_builds(found)]


def with_builds(
    found: Sequence[GateFinding],
) -> list[tuple[GateFinding, SharedFinding | None]]:
    """Return the first finding of each cause, with the builds that share the cause, if several do.

    Findings on limits are listed one by one, as each build has other sizes.
    """
    shared = [each for each in shared_findings(found) if not each.is_size]
    again = {id(finding) for each in shared for finding in each.found[1:]}
    first = {id(each.first): each for each in shared}
    return [(each, first.get(id(each))) for each in found if id(each) not in again]


def _can_be_shared(finding: GateFinding) -> bool:
    is_bad = finding.verdict in (FAIL, INCONCLUSIVE)
    is_of_build = bool(finding.app) or finding.rule == "problem"
    return is_bad and is_of_build and not finding.rule.startswith(_OWN_SECTIONS)


def _names(names: set[str]) -> re.Pattern[str]:
    """Match the names of apps and targets, also as parts of folders such as vision-arm."""
    longest = sorted(filter(None, names), key=len, reverse=True)
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, longest))})(?![^\W_])")


def _key(finding: GateFinding, names: re.Pattern[str]) -> tuple[str, ...]:
    """Describe a finding without its build."""
    if _lacks_base(finding):
        return ("no base", finding.verdict)
    if _is_size(finding) and finding.check is not None:
        return (finding.rule, finding.verdict, finding.check.metric)
    if finding.rule == "problem" and (place := place_of_error(finding.message)):
        return (finding.rule, finding.verdict, place)  # compilers word one error differently
    message = names.sub("·", finding.message.partition(_LOG)[0])
    return (finding.rule, finding.verdict, _BYTES.sub("·", message))


def _is_of(finding: GateFinding, first: GateFinding) -> bool:
    """Return whether two findings of one key have one cause: sizes grew by the same code."""
    mine, others = _largest(finding.related), _largest(first.related)
    return mine == others or not mine.isdisjoint(others)


def _largest(causes: Sequence[Cause]) -> set[tuple[str, str, str]]:
    grown = [cause for cause in causes if cause.delta > 0 and cause.symbol]
    return {(cause.operator, cause.dtype, cause.symbol) for cause in grown[:_COMPARED]}


def _is_size(finding: GateFinding) -> bool:
    return finding.rule.startswith("limit/")


def _lacks_base(finding: GateFinding) -> bool:
    return _is_size(finding) and finding.check is not None and finding.check.headroom is None


def _with_ranges(texts: Sequence[str]) -> str:
    """Write the first text, with the smallest and largest size where the texts differ."""
    sizes = [_BYTES.findall(text) for text in texts]
    count = len(sizes[0])
    columns = iter(zip(*[each for each in sizes if len(each) == count], strict=True))
    return _BYTES.sub(lambda match: _range(next(columns)), texts[0])


def _range(sizes: Iterable[str]) -> str:
    numbers = sorted(int(size.removesuffix(" bytes").replace(",", "")) for size in sizes)
    low, high = numbers[0], numbers[-1]
    return f"{low:,} bytes" if low == high else f"{low:,} to {high:,} bytes"
