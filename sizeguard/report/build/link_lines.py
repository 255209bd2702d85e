"""Write the result of a recording of links, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sizeguard.builds.link_record import LinkRecord
from sizeguard.report.writers.printable import plain_text

_MOST_SHOWN = 20  # a large build has thousands of links


def link_lines(
    links: Sequence[LinkRecord], failed: int, folder: Path, here: Path, *, has_ended_well: bool
) -> str:
    """Write a line for each link with an existing output, and the number of all links.

    failed: number of failed linker runs
    folder: folder of the records
    here:   the current folder; paths below it are written relative to it
    has_ended_well: whether the build succeeded, so that the absence of links needs an explanation
    """
    return plain_text(_lines(links, failed, folder, here, has_ended_well=has_ended_well))


def _lines(
    links: Sequence[LinkRecord], failed: int, folder: Path, here: Path, *, has_ended_well: bool
) -> Iterator[str]:
    existing = [link for link in links if link.output is not None and link.output.exists()]
    for link in existing[:_MOST_SHOWN]:
        copied = f", {len(link.copies)} copied" if link.copies else ""
        linker = link.linker or "an unknown linker"
        yield f"{_shown(link.output, here)}  {linker}  {len(link.inputs)} inputs{copied}"
    if len(existing) > _MOST_SHOWN:
        yield f"… and {len(existing) - _MOST_SHOWN} more"
    gone = len(links) - len(existing)
    exceptions = [
        *([f"{gone} of images that were removed or moved"] if gone else []),
        *([f"{failed} failed"] if failed else []),
    ]
    if links:
        more = f" ({', '.join(exceptions)})" if exceptions else ""
        count = f"{len(links)} link{'s' if len(links) > 1 else ''}"
        yield f"recorded {count}{more} in {_shown(folder, here)}"
    else:
        more = f"; {failed} failed" if failed else ""
        if not has_ended_well:
            return
        yield (
            f"nothing was linked{more}: everything was up to date, or the linkers ran outside of "
            f"this build's processes; build from clean"
        )


def _shown(path: Path | None, here: Path) -> str:
    """Write a path relative to `here` if it is below it."""
    if path is None:
        return "?"
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
