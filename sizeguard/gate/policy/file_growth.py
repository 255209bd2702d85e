"""The default limit of the file's growth, if sizeguard.yaml has none.

A file grows by whole pages, so a limit in bytes would fail by chance. Loaded bytes are judged by
`load`, so their growth is allowed here, rounded up to the pages of segments. Bytes that are not
loaded may grow by max(1%, 512B), so that a change cannot hide bytes there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import FAIL, PASS
from sizeguard.gate.gate_result import GROWTH, NOT_RUN, Check
from sizeguard.gate.policy.checks import CheckedApp, SizeReference
from sizeguard.gate.policy.limits import Limit, parse_limit

METRIC = "file"
RULE = "load in pages + max(1%, 512B) of the rest"
_REST = parse_limit("max(1%, 512B)", "the default limit")


def file_check(
    subject: CheckedApp, limits: Iterable[Limit], reference: SizeReference, pages: int
) -> tuple[Check, ...]:
    """Check the growth of the file, unless the policy has a limit for it.

    pages: sum of one page for each segment of the file, in bytes

    Without a base, the check is not run if the policy has no growth limits, unless it has an
    absolute limit of the file.
    """
    limits = list(limits)
    growths = [limit for limit in limits if limit.kind == GROWTH]
    if any(limit.metric == METRIC for limit in growths):
        return ()
    now, old = subject.now.sizes, reference.measured
    if old is None and not growths and any(limit.metric == METRIC for limit in limits):
        return ()
    waived = subject.waived_growth(METRIC)
    limit = None
    if old is not None:
        limit = old.sizes.file + allowed_growth(old.sizes, now, pages) + waived
    passes = limit is not None and now.file <= limit
    check = Check(
        id=f"{subject.app}/{subject.target}/{METRIC}/{GROWTH}",
        app=subject.app,
        target=subject.target,
        metric=METRIC,
        limit=limit,
        actual=now.file,
        headroom=None if limit is None else limit - now.file,
        verdict=(PASS if passes else FAIL) if limit is not None else _unknown(growths, reference),
        rule=RULE,
        advice=reference.why if limit is None else "",
        kind=GROWTH,
        base=old.sizes.file if old is not None else None,
        since=reference.text,
        pattern=METRIC,
        waived=waived if limit is not None else 0,
    )
    return (check,)


def _unknown(growths: Collection[Limit], reference: SizeReference) -> str:
    """Return the verdict for a file without a base."""
    return reference.verdict if growths else NOT_RUN


def allowed_growth(old: Sizes, new: Sizes, pages: int) -> int:
    """Return the bytes that the file may grow.

    The gaps between segments grow and shrink with the loaded bytes. They may grow to a page each,
    in all changes together; else small changes could add up to gaps of any size.
    """
    load = max(0, new.load - old.load)
    loaded = (new.load + new.page_slack) - (old.load + old.page_slack)
    rest = max(0, old.file - old.load - old.page_slack)
    gaps = max(0, pages - old.page_slack)
    return min(max(0, loaded), load + gaps) + _REST.allowed(rest)
