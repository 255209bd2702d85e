"""Sentences about the changes, sizes and waivers that a gate finds."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sizeguard.claims.verdict import MATCHES_NOTHING, PASS
from sizeguard.gate.gate_result import (
    ABSOLUTE,
    CREEP,
    GROWTH,
    SNAPSHOT,
    AppResult,
    Check,
    LibrarySize,
    ShippedSection,
)
from sizeguard.gate.policy.terms_result import PolicyChange, WaiverUse
from sizeguard.report.writers.style import change_text

_ERROR = re.compile(r"(?:^|\s)([^\s:]+:[1-9][0-9]*)(?::[0-9]+)?: (?:fatal )?error: ")


def place_of_error(message: str) -> str:
    """Return the place of the first compiler's error in the message of a failed build, or ""."""
    found = _ERROR.search(message)
    return found[1] if found else ""


def policy_text(change: PolicyChange) -> str:
    """Describe a change of terms.

    limit loosened: load growth of vision: max(1%, 512B) → max(5%, 4 KiB)
    """
    old, new = change.old or "none", change.new or "none"
    number = "" if change.bytes is None else f" ({change.bytes:+,} bytes)"
    accepted = f", accepted by {change.accepted}" if change.accepted else ""
    return f"{change.what}: {change.name}: {old} → {new}{number}{accepted}"


def growth_text(app: AppResult) -> str:
    """Write the growth since the base; empty if it was not measured."""
    grown = app.growth_since_base
    if grown is None:
        return ""
    sizes = (("load", grown.load), ("ram", grown.ram), ("file", grown.file))
    return ", ".join(f"{name} {size:+,}" for name, size in sizes)


def since_text(apps: Iterable[AppResult]) -> str:
    """Name what `growth_since_base` of apps is counted from: merge base."""
    found = {"snapshot" if app.base == SNAPSHOT else "merge base" for app in apps}
    return " or ".join(sorted(found))


def section_text(section: ShippedSection) -> str:
    """Describe an unknown section in one sentence."""
    return f"section {section.name} of {section.bytes:,} bytes is neither loaded nor known"


def unmatched_patterns(app: AppResult) -> dict[str, str]:
    """Return the patterns that pass because no name matches them, with their place."""
    found = {
        check.metric: check.place
        for check in app.checks
        if check.verdict == PASS and check.advice == f"{check.metric} {MATCHES_NOTHING}"
    }
    for claim in app.verification.verdicts if app.verification else ():
        if claim.verdict == PASS and claim.evidence[:1] == (f"{MATCHES_NOTHING}: {claim.name}",):
            found.setdefault(claim.name, "")
    return found


def library_text(library: LibrarySize) -> str:
    """Describe a library that ships with an app in one sentence."""
    return (
        f"{library.name} ships with the image and counts for its sizes: load {library.load:,}, "
        f"ram {library.ram:,}, file {library.file:,}"
    )


def limit_message(check: Check) -> str:
    """Compare the size with its limit, in words.

    load is 41,204 bytes, 204 more than a growth of max(1%, 512B) since merge base 4f2a91c allows
    (41,000): +1,204 (+3.0%) from 40,000
    """
    if check.limit is None:
        return (
            f"{check.metric} is {check.actual:,} bytes, but there is no base to compare it with: "
            f"{rule_text(check)}"
        )
    over = check.actual - check.limit
    is_grown = check.kind in (GROWTH, CREEP) and check.base is not None
    since = f": {change_text(check.base, check.actual)} from {check.base:,}" if is_grown else ""
    waived = f", {check.waived:,} of them waived" if check.waived else ""
    waived += f", {check.moved:,} moved from other operators" if check.moved else ""
    if over <= 0:
        return (
            f"{check.metric} is {check.actual:,} bytes, {rule_text(check)} allows"
            f" {check.limit:,}{waived}{since}"
        )
    return (
        f"{check.metric} is {check.actual:,} bytes, {over:,} more than {rule_text(check)} allows"
        f" ({check.limit:,}{waived}){since}"
    )


def rule_text(check: Check) -> str:
    """Write the rule: a growth of max(1%, 512B) since merge base 4f2a91c."""
    rule = f"a {'maximum' if check.kind == ABSOLUTE else check.kind} of {check.rule}"
    if check.set_for:
        return f"{rule} set for {check.set_for}"
    return f"{rule} since {check.since}" if check.since and check.kind in (GROWTH, CREEP) else rule


def waiver_text(use: WaiverUse) -> str:
    """Describe the use of a waiver.

    Used: 204 of 300 bytes used, until 2027-01-31, owner: reason.
    """
    waiver = use.waiver
    return (
        f"{use.state}: {use.used:,} of {waiver.bytes:,} bytes used, until {waiver.expires},"
        f" {waiver.owner}: {waiver.reason}"
    )
