"""Read which sections a linker folded, from its output with --print-icf-sections."""

from __future__ import annotations

import re
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.formats.gc_log import file_and_section, plain_file

_FOLDING = "ICF folding section "
_SELECTED = "selected section "
_IDENTICAL = "removing identical section "

_GOLD = re.compile(r"'([^']*)' in file '([^']*)' into '([^']*)' in file '([^']*)'")


@dataclass(frozen=True, slots=True)
class Folded:
    """A section that was folded, and the identical section that was kept."""

    section: str
    file: str
    kept_section: str
    kept_file: str


def parse_icf_log(path: Path, text: str) -> tuple[Folded, ...]:
    """Parse the folds of gold, lld and mold, in the log's order; GNU ld does not fold sections.

    path appears in messages. Raises InputError for a fold that is truncated or unreadable.
    """
    folded = []
    kept: tuple[str, str] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        _, folding, what = line.partition(_FOLDING)
        if folding:
            gold = _GOLD.fullmatch(what)
            if gold is None:
                raise InputError(
                    f"{path}:{number}: a damaged linker log: no two sections after"
                    f" '{_FOLDING.strip()}'"
                )
            folded.append(Folded(gold[1], plain_file(gold[2]), gold[3], plain_file(gold[4])))
            continue
        _, identical, what = line.partition(_IDENTICAL)
        if not identical:
            _, selected, what = line.partition(_SELECTED)
            if not selected:
                continue
        file, section = file_and_section(what)
        if not file:
            raise InputError(
                f"{path}:{number}: a damaged linker log: no section and file: {line.strip()[:60]}"
            )
        if not identical:
            kept = section, plain_file(file)
        elif kept is None:
            raise InputError(f"{path}:{number}: a damaged linker log: a section folded into none")
        else:
            folded.append(Folded(section, plain_file(file), *kept))
    return tuple(folded)
