"""Compare ld64.lld's chains (-why_live) of symbols with the section graph's.

It prints demangled names, from the symbol to the root. Assembler labels (ltmp0) name an atom
without another name. It prints no line for atoms without a name, such as x86_64's pointers to
initializers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from sizeguard.linkgraph.chains import why
from sizeguard.linkgraph.graph import ENTRY, SectionGraph
from sizeguard.linkgraph.live import live
from sizeguard.linkgraph.subjects import GraphSubject
from sizeguard.names.demangle import demangle

_LINE = re.compile(r"( *)(.*) from (\S+)$")


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain from the symbol to the root: names, each with its file."""

    links: tuple[tuple[str, str], ...]


def chains_of(text: str) -> list[Chain]:
    chains: list[Chain] = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match and not match[1]:
            chains.append(Chain(((match[2], match[3]),)))
        elif match and chains and len(match[1]) == 2 * len(chains[-1].links):
            chains[-1] = Chain((*chains[-1].links, (match[2], match[3])))
    return chains


def live_functions(graph: SectionGraph) -> list[str]:
    """List the names of live functions.

    Names in two objects, and ambiguous demangled names, are left out.
    """
    kept = live(graph)
    found: dict[str, set[str]] = {}
    for name, node in zip(graph.symbols.names, graph.symbols.node.tolist(), strict=True):
        text = name.decode()
        if node >= 0 and kept[node] and graph.nodes.is_exec[node] and not text.startswith("ltmp"):
            found.setdefault(demangle(text), set()).add(text)
    return sorted(names.pop() for names in found.values() if len(names) == 1)


def _nodes(graph: SectionGraph) -> dict[tuple[str, str], set[int]]:
    """Map spelling and file to atoms."""
    labels = [Path(label).name for label in graph.objects]
    found: dict[tuple[str, str], set[int]] = {}
    for name, node in zip(graph.symbols.names, graph.symbols.node.tolist(), strict=True):
        if node >= 0:
            text = name.decode("utf-8", "replace")
            for spelled in {text, text.removeprefix("_"), demangle(text)}:
                found.setdefault((spelled, labels[graph.nodes.object[node]]), set()).add(node)
    return found


# More than 40 lines: one chain at a time, with a message for each way to disagree.
def disagreements(graph: SectionGraph, chains: list[Chain]) -> list[str]:
    """List links of ld64 that are not edges, ends that are not roots, and shorter chains."""
    nodes = _nodes(graph)
    named = set(graph.symbols.node.tolist())
    sections = [
        graph.section_of(n) if graph.nodes.kind[n] == ENTRY else n for n in range(len(graph.nodes))
    ]
    edges = {
        (sections[a], sections[b])
        for a, b in zip(graph.edges.source.tolist(), graph.edges.target.tolist(), strict=True)
    }
    wrong = []
    for chain in chains:
        name = chain.links[0][0]
        way = [nodes.get((spelled, Path(file).name), set()) for spelled, file in chain.links]
        if not all(way):
            wrong.append(f"{name}: no atom for {chain.links[way.index(set())]}")
            continue
        # For each line, the atoms that keep an atom of the line before.
        reached = way[0]
        for line, (_, holders) in zip(chain.links[1:], pairwise(way), strict=True):
            keeping = {a for a in holders if a in reached or any((a, b) in edges for b in reached)}
            if not keeping:
                wrong.append(f"{name}: no edge from {line}")
                break
            reached = keeping
        else:
            roots = reached & graph.root_kind.keys()
            length = len(way)
            if not roots:  # a last line that is not printed
                roots = {
                    a for a, b in edges if b in reached and a not in named
                } & graph.root_kind.keys()
                length += 1
            if not roots:
                wrong.append(f"{name}: {chain.links[-1]} is not a root")
                continue
            ours = [
                c
                for c in why(graph, GraphSubject(name, "symbol", tuple(way[0])), 0).chains
                if c.steps[0].node in roots
            ]
            steps = min((len({sections[s.node] for s in c.steps}) for c in ours), default=0)
            if not 0 < steps <= length:
                wrong.append(f"{name}: ld64.lld's chain has {length} atoms, ours {steps}")
    return wrong


def options(names: list[str]) -> list[str]:
    """Return the options for the linker itself."""
    return [word for name in names for word in ("-why_live", name)]


def linker(arch: str) -> list[str]:
    """Return the beginning of a link command that removes dead code."""
    platform = ("-arch", arch, "-platform_version", "macos", "13.0", "13.0")
    return ["ld64.lld-19", *platform, "-dead_strip", "-undefined", "dynamic_lookup"]
