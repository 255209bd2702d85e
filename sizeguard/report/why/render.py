"""Write why a subject is in an image: terminal, json, csv, markdown, html."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath

from sizeguard.base.errors import listed
from sizeguard.linkgraph.why_result import Chain, Why, WhyStep
from sizeguard.report.screen.fit import screen_lines
from sizeguard.report.writers.markdown import prose
from sizeguard.report.writers.printable import NOTHING, middle, printable, shown
from sizeguard.report.writers.style import Style
from sizeguard.report.writers.table import csv_rows, markdown_cell

SCHEMA_VERSION = 1
_MOST_ALIASES = 8
_NAME = 32  # characters that a name should have on a narrow screen
_LEAST_NAME = 24  # characters that it has on any screen
ROOTS = {
    "init_array": "run at start-up",
    "preinit_array": "run at start-up",
    "fini_array": "run at exit",
    "entry": "the program starts here",
    "exported": "exported",
    "retain attribute": "is marked as retained",
    "no --gc-sections": "linked without --gc-sections",
    "not removed": "kept; the link's options are not recorded",
}


def why_chunks(why: Why, format_: str, style: Style) -> Iterator[str]:
    """Write the chains in pieces that end with a line."""
    if format_ == "json":
        yield json.dumps(_json(why), indent=2) + "\n"
    elif format_ == "csv":
        rows = [
            (
                str(i),
                chain.root_kind,
                str(k),
                step.section,
                step.symbol,
                step.object,
                step.how,
                str(step.frees),
            )
            for i, chain in enumerate(why.chains)
            for k, step in enumerate(chain.steps)
        ]
        yield from csv_rows(
            ["chain", "root_kind", "step", "section", "symbol", "object", "how", "frees"], rows
        )
    elif format_ == "markdown":
        yield "".join(f"{line}\n" for line in _markdown(why))
    elif format_ == "html":
        # Imported here: it takes 0.04 s, and no other format needs it.
        from sizeguard.report.writers.markdown_page import markdown_page

        text = "".join(f"{line}\n" for line in _markdown(why))
        yield from markdown_page(f"Why is {why.subject} in the image?", text, (NOTHING,))
    else:
        yield "".join(f"{line}\n" for line in screen_lines(_terminal(why, style), style))


def _json(why: Why) -> dict[str, object]:
    chains: list[dict[str, object]] = [
        {"root_kind": chain.root_kind, "chain": [_step_json(s) for s in chain.steps]}
        for chain in why.chains
    ]
    first = chains[0] if chains else {"root_kind": "", "chain": []}
    return {
        "schema_version": SCHEMA_VERSION,
        "subject": why.subject,
        "live": why.live,
        "root_kind": first["root_kind"],
        "chain": first["chain"],
        "frees": why.frees,
        "size": why.size,
        "roots": why.roots,
        "chains": chains,
        "without_function_sections": list(why.coarse),
        "aliases": list(why.aliases),
    }


def _step_json(step: WhyStep) -> dict[str, object]:
    return {
        "section": step.section,
        "symbol": step.symbol,
        "object": step.object,
        "how": step.how,
        "frees": step.frees,
    }


def _verdict(why: Why, subject: str) -> str:
    """Say whether it is in the image. subject: its name, as the format shows names."""
    if not why.live:
        return f"{subject} is not in the image: nothing in it refers to it"
    return (
        f"{subject} is in the image: {why.size:,} bytes, {why.frees:,} including what only it keeps"
    )


def _also_called(why: Why) -> str:
    aliases = list(why.aliases)
    if why.subject in aliases:  # the chain has another name
        aliases[aliases.index(why.subject)] = why.chains[0].steps[-1].symbol
    names = listed([shown("symbol", name) for name in aliases], _MOST_ALIASES)
    return f"the same bytes are called {names}"


def _name(step: WhyStep, style: Style) -> str:
    return shown("symbol", step.symbol, style.room(60)) if step.symbol else printable(step.section)


def _object(label: str) -> str:
    """Return the name of the file or archive member; CSV and JSON have the whole path."""
    return printable(PurePath(label.rpartition("(")[2].rstrip(")") or label).name)


def _objects(why: Why) -> dict[str, str]:
    """Name the objects of all steps by the shortest ends of their paths that tell them apart."""
    labels = {step.object for chain in why.chains for step in chain.steps}
    most = max((len(PurePath(label).parts) for label in labels), default=0)
    named = {label: label for label in labels}
    for parts in range(most, -1, -1):
        ends = {label: _end(label, parts) for label in labels}
        counts = Counter(ends.values())
        named |= {label: end for label, end in ends.items() if counts[end] == 1}
    return named


def _end(label: str, parts: int) -> str:
    """Return the last parts of a path, or with 0 the name of an archive's member."""
    return "/".join(PurePath(label).parts[-parts:]) if parts else _object(label)


def _terminal(why: Why, style: Style) -> Iterator[str]:
    yield style.bold(_verdict(why, printable(why.subject)))
    if why.aliases:
        yield _also_called(why)
    for chain in why.chains:
        yield ""
        texts = [
            f"{' ' * i}→ {_name(step, style)}" if i else _name(step, style)
            for i, step in enumerate(chain.steps)
        ]
        objects = [_object(step.object) for step in chain.steps]
        hows = [ROOTS.get(chain.root_kind, chain.root_kind), *(s.how for s in chain.steps[1:])]
        files = max(map(len, objects))
        rest = 6 + files + max(map(len, hows))
        is_narrow = not style.full and style.width - rest < min(max(map(len, texts)), _NAME)
        if is_narrow:  # the reason goes below the name
            rest = 4 + files
        width = min(max(map(len, texts)), style.room(max(style.width - rest, _LEAST_NAME)))
        for text, file, how in zip(texts, objects, hows, strict=True):
            text = text if len(text) <= width else middle(text, width)
            yield f"  {text.ljust(width)}  {file if is_narrow else f'{file:{files}}  {how}'}"
            if is_narrow:
                yield f"{' ' * (len(text) - len(text.lstrip()) + 6)}{how}"
        yield from _advice(why, chain)
    for note in _notes(why):
        yield ""
        yield note


def _advice(why: Why, chain: Chain) -> Iterator[str]:
    if len(chain.steps) == 1:
        root = ROOTS.get(chain.root_kind, chain.root_kind)
        others = "others refer to it, too" if why.is_referred else "nothing refers to it"
        yield f"  it is a root itself, {others}: {root}"
        return
    last = chain.steps[-1]
    if last.frees:
        rest = last.frees - why.size
        parts = (
            f"{why.size:,} of its own, {rest:,} that only it uses"
            if rest > 0
            else "nothing else depends only on it"
        )
        yield f"  removing the last reference frees {last.frees:,} bytes: {parts}"
    else:
        others = "it is a root itself" if why.is_root else "others also refer to it"
        yield f"  removing the last reference frees nothing, because {others}"


def _notes(why: Why) -> Iterator[str]:
    """Count the chains that are not shown, and name objects without a section per function."""
    hidden = why.roots - len(why.chains)
    if hidden > 0:
        reach = "1 more root reaches" if hidden == 1 else f"{hidden} more roots reach"
        yield f"{reach} it (--roots 0 shows all)"
    if not why.coarse:
        return
    names = listed([_object(label) for label in why.coarse], 3)
    yield (
        "note: compiled without -ffunction-sections, so their functions stay or go together:"
        f" {names}"
    )


def _markdown(why: Why) -> Iterator[str]:
    yield _verdict(why, markdown_cell(why.subject))
    if why.aliases:
        yield ""
        yield markdown_cell(_also_called(why))
    objects = _objects(why)
    for chain in why.chains:
        yield ""
        yield f"Root: {markdown_cell(ROOTS.get(chain.root_kind, chain.root_kind))}"
        yield ""
        yield "| section | symbol | object | how | removal frees |"
        yield "| --- | --- | --- | --- | ---: |"
        for step in chain.steps:
            cells = (
                step.section,
                shown("symbol", step.symbol) if step.symbol else "",
                objects[step.object],
            )
            names = " | ".join(markdown_cell(cell) for cell in cells)
            yield f"| {names} | {prose(step.how) or NOTHING} | {step.frees:,} |"
    for note in _notes(why):
        yield ""
        yield prose(note)
