"""Compare lld's chains (--why-live) of the runtime's symbols with the section graph's."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from sizeguard.builds.build_record import Build
from sizeguard.formats.elf import STT_FUNC
from sizeguard.linkgraph.chains import why
from sizeguard.linkgraph.graph import ENTRY, SectionGraph
from sizeguard.linkgraph.live import live
from sizeguard.linkgraph.subjects import GraphSubject
from sizeguard.toolchains.links.asked_link import link_command
from tests.support.links.link_cases import Linked, model
from tests.support.links.map_links import linker_flags

_LINE = re.compile(
    r"(live symbol|>>> referenced by|>>> in live section): (.*):\((.*?)\)( \(.*\))?$"
)


@dataclass(frozen=True, slots=True)
class LldChain:
    """A chain of references.

    links: object as lld names it, and symbol or section, from the symbol to the root
    how:   lld's text about the last link
    """

    symbol: str
    links: tuple[tuple[str, str], ...]
    how: str


def driver_of(build: Build) -> list[str]:
    return driver_words(build.image.parent, build.image.name)


def driver_words(folder: Path, image: str) -> list[str]:
    """Return the compiler driver's command that links an image."""
    done = subprocess.run(
        ["ninja", "-C", str(folder), "-t", "commands", image],
        capture_output=True,
        text=True,
        check=True,
    )
    words = shlex.split(done.stdout.rstrip().rsplit("\n", 1)[-1])
    start = next(i for i, word in enumerate(words) if word.endswith("link_logged.sh")) + 1
    return words[start : words.index("&&", start)]


def relinked(
    driver: list[str], folder: Path, output: Path, linker: str, extra: tuple[str, ...] = ()
) -> tuple[list[str], str]:
    """Run a recorded link command again with another linker.

    Returns the command and the linker's output.
    """
    words = [
        w
        for w in driver
        if not w.startswith(("-fuse-ld=", "-B", "-Wl,-Map", "-Wl,-z,noseparate-code"))
    ]
    words[words.index("-o") + 1] = str(output)
    words += [*linker_flags(linker), *extra]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return words, done.stdout + done.stderr


def live_functions(graph: SectionGraph) -> list[tuple[str, int]]:
    """List live functions by name, with their nodes, without names that two objects have."""
    kept = live(graph)
    symbols = graph.symbols
    found: dict[str, set[int]] = {}
    for i in np.flatnonzero((symbols.type == STT_FUNC) & (symbols.node >= 0)).tolist():
        node = int(symbols.node[i])
        if kept[node]:
            found.setdefault(symbols.names[i].decode(), set()).add(node)
    return sorted((name, nodes.pop()) for name, nodes in found.items() if len(nodes) == 1)


def chains_of(text: str) -> list[LldChain]:
    chains: list[LldChain] = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match and match[1] == "live symbol":
            chains.append(LldChain(match[3], ((match[2], match[3]),), ""))
        elif match and chains:
            last = chains[-1]
            chains[-1] = LldChain(last.symbol, (*last.links, (match[2], match[3])), match[4] or "")
    return chains


def disagreements(graph: SectionGraph, folder: Path, chains: list[LldChain]) -> list[str]:
    """List links of lld that are not edges, ends that are not roots, and shorter chains."""
    nodes_of = _nodes(graph, folder)
    pairs = _edges(graph)
    wrong = []
    for chain in chains:
        way = [nodes_of.get((folder_path(folder, file), name), -1) for file, name in chain.links]
        if -1 in way:
            wrong.append(f"{chain.symbol}: no node for {chain.links[way.index(-1)]}")
            continue
        way = [node for i, node in enumerate(way) if i == 0 or node != way[i - 1]]
        wrong += [
            f"{chain.symbol}: no edge {b} -> {a}" for a, b in pairwise(way) if (b, a) not in pairs
        ]
        if way[-1] not in graph.root_kind:
            wrong.append(f"{chain.symbol}: {way[-1]} is not a root")
            continue
        ours = [
            c
            for c in why(graph, GraphSubject(chain.symbol, "symbol", (way[0],)), 0).chains
            if c.steps[0].node == way[-1]
        ]
        sections = (
            [step for step in ours[0].steps if graph.nodes.kind[step.node] != ENTRY] if ours else []
        )
        if not ours or len(sections) > len(way):
            wrong.append(
                f"{chain.symbol}: lld's chain has {len(way)} sections, ours {len(sections)}"
            )
    return wrong


def folder_path(folder: Path, file: str) -> str:
    path, bracket, member = file.partition("(")
    return str((folder / path).resolve()) + bracket + member


def _nodes(graph: SectionGraph, folder: Path) -> dict[tuple[str, str], int]:
    labels = [folder_path(folder, label) for label in graph.objects]
    found: dict[tuple[str, str], int] = {}
    for node in range(graph.nodes.sections):
        if graph.nodes.is_alloc[node]:
            found.setdefault((labels[graph.nodes.object[node]], graph.names[node]), node)
    for name, node in zip(graph.symbols.names, graph.symbols.node.tolist(), strict=True):
        if node >= 0 and name and graph.nodes.is_alloc[node]:
            found.setdefault(
                (labels[graph.nodes.object[node]], name.decode("utf-8", "replace")), node
            )
    return found


def _edges(graph: SectionGraph) -> set[tuple[int, int]]:
    """Return the edges as pairs of sections; an entry of a table counts as its table."""
    section = [
        graph.section_of(n) if graph.nodes.kind[n] == ENTRY else n for n in range(len(graph.nodes))
    ]
    source = graph.edges.source.tolist()
    return {
        (section[a], section[b]) for a, b in zip(source, graph.edges.target.tolist(), strict=True)
    }


def ask_lld(
    driver: list[str], folder: Path, output: Path, names: list[str]
) -> tuple[Linked, list[LldChain]]:
    words, text = relinked(
        driver, folder, output, "lld-22", tuple(f"-Wl,--why-live={name}" for name in names)
    )
    plain = [word for word in words if not word.startswith("-Wl,--why-live")]
    return model(link_command(plain, folder), text, output), chains_of(text)
