"""Find a switch function's code for one dtype by the debug information of the image."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.build_record import Build
from sizeguard.formats.linkmap import read_map
from sizeguard.formats.linkmap.link_map import InputSection, LinkMap
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.predict.savings.kept_ranges import case_ranges
from sizeguard.runtimes.runtime import Runtime


@dataclass(frozen=True, slots=True)
class CasePiece:
    """Code [start, end) of a function that serves one dtype; offsets in its section.

    node:     section of the function that contains the code
    function: bare name of the function that contains the switch, which may be inlined there
    """

    node: int
    start: int
    end: int
    function: str
    dtype: str


@dataclass(frozen=True, slots=True)
class CaseCode:
    """Pieces of all switches, and the places where functions were inlined.

    inlined: (inlined function, with its template arguments; node that contains it) → bytes
    """

    pieces: tuple[CasePiece, ...]
    inlined: Mapping[tuple[str, int], int]


def read_case_code(
    graph: SectionGraph,
    build: Build,
    runtime: Runtime,
    functions: Collection[str],
    link_map: LinkMap | None,
) -> CaseCode:
    """Read the pieces of a build.

    functions: bare names of functions with switches
    link_map:  the build's map, if it was read before

    Raises InconclusiveError for a build without debug information or without a map.
    """
    if build.map is None:
        raise InconclusiveError(f"{build.image}: this build has no linker map")
    ranges = case_ranges(build, runtime, functions)
    places = _Places(graph, read_map(build.map) if link_map is None else link_map.placed)
    pieces: list[CasePiece] = []
    inlined: dict[tuple[str, int], int] = {}
    for start, end, function in ranges.inlined:
        node, _ = places.at(start)
        if node >= 0:
            inlined[function, node] = inlined.get((function, node), 0) + end - start
    for start, end, function, dtype in ranges.cases:
        node, offset = places.at(start)
        if node >= 0:
            pieces.append(CasePiece(node, offset, offset + end - start, function, dtype))
    return CaseCode(tuple(pieces), inlined)


class _Places:
    """Sections of the graph by address in the image, from the linker's map."""

    def __init__(self, graph: SectionGraph, rows: Iterable[InputSection]) -> None:
        nodes: dict[tuple[str, str], list[int]] = {}
        for node in range(graph.nodes.sections):
            if graph.nodes.is_exec[node] and not graph.nodes.is_duplicate[node]:
                label = graph.objects[int(graph.nodes.object[node])]
                nodes.setdefault((_leaf(label), graph.names[node]), []).append(node)
        found = []
        for row in rows:
            here = nodes.get((_leaf(row.file), row.name), ())
            if len(here) == 1 and int(graph.nodes.size[here[0]]) == row.size:
                found.append((row.address, row.size, here[0]))
        found.sort()
        self._rows = found
        self._starts = [address for address, _, _ in found]

    def at(self, address: int) -> tuple[int, int]:
        """Return the section at an address and the offset in it; -1 if not known."""
        k = bisect_right(self._starts, address) - 1
        if k < 0:
            return -1, 0
        start, size, node = self._rows[k]
        return (node, address - start) if address < start + size else (-1, 0)


def _leaf(label: str) -> str:
    """Return archive and member, or the last two path parts, since roots may differ."""
    return "/".join(label.rsplit("/", 3)[-1 if label.endswith(")") else -3 :])
