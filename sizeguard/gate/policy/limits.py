"""Parse limits such as 40 KiB, max(1%, 512B) and max(2%, 1 KiB) since v1.0."""

from __future__ import annotations

import re

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError

_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_SIZE = re.compile(r"(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d{1,3}))? ?(B|KiB|MiB|GiB)", re.ASCII)
_PERCENT = re.compile(r"(\d{1,6})(?:\.(\d{1,3}))? ?%", re.ASCII)
_SINCE = re.compile(r"(.*\S)\s+since\s+(\S+)")
LARGEST = 1 << 50  # bytes; more is a typing error, and sums of smaller sizes fit into 64 bits
_DIGITS = len(str(LARGEST))

SIZE_FORMS = "41,000 B, 40 KiB or 0"
GROWTH_FORMS = "max(1%, 512B), 1% or 512B"
CREEP_FORMS = "max(2%, 1 KiB) since TAG"


@dataclass(frozen=True, slots=True)
class GrowthLimit:
    """Allowed growth: the larger of a share and a number of bytes.

    text: as written in the policy
    milli_percent: the share, in thousandths of a percent; for a maximum, of the memory region
    """

    text: str
    milli_percent: int
    bytes: int

    def allowed(self, base: int) -> int:
        """Return the bytes that `base` may grow."""
        return max(base * self.milli_percent // 100_000, self.bytes)


def parse_size(text: str, where: str) -> int:
    """Parse 41,000 B, 40 KiB, 2.5 MiB or 0 into bytes.

    `where` begins the message of the InputError.
    """
    inner = text.strip()
    found = _SIZE.fullmatch(inner)
    size = 0 if inner == "0" else _bytes(found) if found else None
    if size is None and inner.replace(",", "").isdecimal():
        raise InputError(f"{where}: '{text}' has no unit; write {inner} B")
    if size is None:
        raise InputError(f"{where}: '{text}' is not a size in whole bytes; write {SIZE_FORMS}")
    return size


def parse_limit(text: str, where: str) -> GrowthLimit:
    """Parse max(1%, 512B), 1%, 512B or 0.

    `where` begins the message of the InputError.
    """
    inner = text.strip()
    if inner == "0":
        return GrowthLimit(inner, 0, 0)
    match = re.fullmatch(r"max\((.*)\)", inner)
    parts = _parts(match[1]) if match else _parts(inner)
    if not parts or (len(parts) > 1 and not match):
        raise InputError(f"{where}: '{text}' is not a limit; write {GROWTH_FORMS}")
    percents, sizes = [p for p, _ in parts], [b for _, b in parts]
    return GrowthLimit(inner, max(percents), max(sizes))


def parse_most(metric: str, text: str, where: str) -> GrowthLimit:
    """Parse a maximum: a size, or a share of a memory region such as 90%.

    `where` begins the message of the InputError.
    """
    if metric.startswith("region/") and (found := _PERCENT.fullmatch(text.strip())):
        return GrowthLimit(text.strip(), _milli_percent(found), 0)
    return GrowthLimit(text, 0, parse_size(text, where))


def parse_creep(text: str, where: str) -> tuple[GrowthLimit, str]:
    """Parse max(2%, 1 KiB) since TAG into the limit and the tag.

    `where` begins the message of the InputError.
    """
    match = _SINCE.fullmatch(text.strip())
    if not match or match[2].startswith("-"):
        raise InputError(f"{where}: '{text}' is not a creep limit; write {CREEP_FORMS}")
    return parse_limit(match[1], where), match[2]


def _parts(text: str) -> list[tuple[int, int]]:
    """Parse comma-separated parts, each into thousandths of a percent and bytes.

    Empty if they cannot be read. Commas group digits, too.
    """
    parts = []
    at = 0
    text = text.strip()
    while at < len(text):
        if found := _PERCENT.match(text, at):
            parts.append((_milli_percent(found), 0))
        elif found := _SIZE.match(text, at):
            size = _bytes(found)
            if size is None:
                return []
            parts.append((0, size))
        else:
            return []
        at = found.end()
        if at < len(text):
            comma = re.compile(r"\s*,\s*").match(text, at)
            if not comma or comma.end() == len(text):
                return []
            at = comma.end()
    return parts


def _milli_percent(found: re.Match[str]) -> int:
    return int(found[1]) * 1000 + int((found[2] or "").ljust(3, "0"))


def _bytes(found: re.Match[str]) -> int | None:
    """Convert a size to bytes; None unless it is a whole number of bytes, at most LARGEST."""
    digits = found[1].replace(",", "")
    if len(digits) > _DIGITS:  # Python refuses to parse thousands of digits
        return None
    thousandths = (int(digits) * 1000 + int((found[2] or "").ljust(3, "0"))) * _UNITS[found[3]]
    whole, rest = divmod(thousandths, 1000)
    return whole if not rest and whole <= LARGEST else None


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of a metric.

    metric: a metric path; one with * is a limit for each matching name (operator/aten::*), except
    symbol/GLOB, which is one sum
    kind:      absolute, growth or creep, as in gate_result.CHECK_KINDS
    allowance: the maximum of an absolute limit; the allowed increase of a growth or creep limit
    since:     a tag or commit, for a creep limit
    app, target: empty for all
    place:     in sizeguard.yaml
    unknown_ok: whether the name may be unknown
    nearest:   for a name that the runtime's sources do not have, the most similar known metric,
               empty if none is near; None for a known name
    only_images_know: whether only images, not the runtime's sources, show if the name is misspelt
    """

    metric: str
    kind: str
    allowance: GrowthLimit
    since: str = ""
    app: str = ""
    target: str = ""
    place: str = ""
    unknown_ok: bool = False
    nearest: str | None = None
    only_images_know: bool = False

    def applies_to(self, app: str, target: str) -> bool:
        """Return whether this is a limit of an app on a target."""
        return self.app in ("", app) and self.target in ("", target)
