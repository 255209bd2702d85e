"""A name means the same symbols for verify, why, filters, limits, metrics and --fail-if.

The links are recorded: one of ELF, two of Mach-O, whose symbols have another underscore.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.filters import matching_rows, parse_filters, symbol_names
from sizeguard.attribution.open_analysis import analysis_of_files
from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.open_build import Files, files_of
from sizeguard.claims.verdict import ABSENT, FAIL, INCONCLUSIVE, PASS, PRESENT
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.open_graph import graph_of_objects
from sizeguard.linkgraph.subjects import find_subject, operators
from sizeguard.measurement.measured_analysis import measurement_of
from sizeguard.measurement.metric import Metric, has_name, metric_value
from sizeguard.names.dtype_of import dtype_of
from sizeguard.names.short import without_parameters, without_templates
from sizeguard.names.spelling import shown_symbol
from sizeguard.verify.evidence.gather_evidence import gather
from sizeguard.verify.known_names import ClaimNames
from sizeguard.verify.named_symbols import judge_named
from tests.support.builds.recorded_builds import recorded_runtime, unpack

DRAWN = 25


@dataclass(frozen=True)
class Link:
    """One link as each user of names reads it; underscore: what the format puts before a name."""

    analysis: Analysis
    names: ClaimNames
    graph: SectionGraph
    underscore: str

    def nodes(self, symbols: set[str]) -> set[int]:
        wanted = {f"{self.underscore}{symbol}".encode() for symbol in symbols}
        table = self.graph.symbols
        pairs = zip(table.names, table.node.tolist(), strict=True)
        return {node for name, node in pairs if name in wanted and node >= 0}


def opened(files: Files, underscore: str) -> Link:
    graph = graph_of_objects(files.image, files.objects)
    return Link(analysis_of_files(files), ClaimNames(gather(files)), graph, underscore)


@pytest.fixture(scope="module", params=["elf", "app-arm64", "lib-x86_64"])
def link(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Link:
    folder = tmp_path_factory.mktemp("recorded")
    if request.param == "elf":
        return opened(files_of(recorded_runtime(folder).build), "")
    place, arch = unpack("macho", folder), request.param.partition("-")[2]
    objects = tuple(place / f"{name}-{arch}.o" for name in ("shapes", "main"))
    image = place / request.param
    return opened(Files(image, None, objects, Path(f"{image}.map"), None, place), "_")


def symbols_of(link: Link) -> list[str]:
    """Draw symbols with loaded bytes in the image and a section in the graph."""
    label, load = link.analysis.label("symbol"), link.analysis.load
    used = sorted({*label.ids[load > 0].tolist()})
    here = {label.texts[i].removeprefix(link.underscore) for i in used}
    known = sorted(name for name in here if name and link.nodes({name}))
    return random.Random(DRAWN).sample(known, min(DRAWN, len(known)))


def spellings(symbol: str, underscore: str) -> Iterator[str]:
    shown = shown_symbol(symbol)
    yield from dict.fromkeys((symbol, f"{underscore}{symbol}", shown))
    if shown != symbol and "{" not in shown and "'" not in shown and " for " not in shown:
        plain = without_parameters(shown)
        yield from dict.fromkeys((plain, f"::{plain}", without_templates(plain)))


def test_every_user_of_a_name_means_the_same_symbols(link: Link) -> None:
    here = {name.removeprefix(link.underscore) for name in symbol_names(link.analysis).names}
    drawn = symbols_of(link)
    assert len(drawn) == DRAWN
    for symbol in drawn:
        for text in spellings(symbol, link.underscore):
            meant = symbol_names(link.analysis).meant(text).names
            plain = {name.removeprefix(link.underscore) for name in meant}
            assert symbol in plain, text
            assert here & {*link.names.resolve(text).names} == plain, text
            subject = find_subject(link.graph, text, dtype_of)
            assert subject.kind == "symbol", text
            assert link.nodes({symbol}) <= {*subject.nodes}, text
            assert link.nodes(plain) & {*subject.nodes} == {*subject.nodes}, text


def test_limits_metrics_and_filters_have_the_bytes_of_the_symbol(link: Link) -> None:
    for symbol in symbols_of(link):
        size = metric_value(link.analysis, Metric("symbol", symbol))
        assert size
        for text in (shown_symbol(symbol), f"{link.underscore}{symbol}"):
            metric = Metric("symbol", text)
            assert has_name(link.analysis, metric)
            assert metric_value(link.analysis, metric) == size, text
            rows = matching_rows(link.analysis, parse_filters(metric.filters))
            assert rows is not None
            assert link.analysis.load[rows].sum() == size, text
            limits = measurement_of(link.analysis, [str(metric)], levels=())
            assert (limits.symbols[text], limits.unmatched) == (size, {}), text


def test_a_name_with_a_wrong_letter_is_unknown_to_every_user(link: Link) -> None:
    for symbol in symbols_of(link)[:8]:
        shown = shown_symbol(symbol)
        for text in (f"{symbol}x", shown.replace("s", "q", 1) if "s" in shown else f"{shown}q"):
            metric = Metric("symbol", text)
            assert not has_name(link.analysis, metric), text
            assert not link.names.resolve(text).names, text
            assert text in measurement_of(link.analysis, [str(metric)], levels=()).unmatched
            rows = matching_rows(link.analysis, parse_filters(metric.filters))
            assert rows is not None
            assert not rows.any(), text
            with pytest.raises(InconclusiveError, match="nothing is called"):
                find_subject(link.graph, text, dtype_of)


def test_the_global_scope_is_exact_for_every_user(link: Link) -> None:
    """`::f` is unknown if only `ns::f` exists; `::ns::f` means it."""
    every = {symbol: shown_symbol(symbol).partition("(")[0] for symbol in symbols_of(link)}
    inner = {symbol: path for symbol, path in every.items() if re.fullmatch(r"(\w+::)+\w+", path)}
    assert inner
    for symbol, path in inner.items():
        text = f"::{path.partition('::')[2]}"
        metric = Metric("symbol", text)
        assert not has_name(link.analysis, metric), text
        assert text in measurement_of(link.analysis, [str(metric)], levels=()).unmatched
        rows = matching_rows(link.analysis, parse_filters(metric.filters))
        assert rows is not None
        assert not rows.any(), text
        with pytest.raises(InconclusiveError, match=f"nothing is called {text}; nearest is"):
            find_subject(link.graph, text, dtype_of)
        for expect in (ABSENT, PRESENT):
            (found,) = judge_named(link.names, text, expect)
            assert found.verdict == INCONCLUSIVE
            assert "nearest is" in found.cause
        (there,) = judge_named(link.names, f"::{path}", PRESENT)
        assert there.verdict == PASS, symbol


def test_only_a_name_of_an_operator_means_a_kernel(tmp_path: Path) -> None:
    """`aten::gelu` may be unregistered and its kernel linked; `other::gelu` means nothing."""
    build = files_of(recorded_runtime(tmp_path).build)
    graph = graph_of_objects(build.image, build.objects)
    kernels = {
        found[1]
        for name in graph.symbols.names
        if (found := re.fullmatch(r"sg::kernels::(\w+)\(.*", shown_symbol(name.decode())))
    }
    registered = {name.partition("::")[2].partition(".")[0] for name in operators(graph)}
    unregistered = sorted(kernels - registered)
    assert unregistered
    for name in unregistered:
        assert find_subject(graph, f"aten::{name}", dtype_of).kind == "kernel"
        with pytest.raises(InconclusiveError, match="nothing is called"):
            find_subject(graph, f"other::{name}", dtype_of)


def test_the_kernel_of_another_overload_is_not_that_of_an_operator(tmp_path: Path) -> None:
    build = files_of(recorded_runtime(tmp_path).build)
    graph = graph_of_objects(build.image, build.objects)
    for text in ("aten::relu.out", "prim::relu"):
        with pytest.raises(InconclusiveError, match=f"nothing is called {text}"):
            find_subject(graph, text, dtype_of)


def test_an_operator_may_begin_with_the_global_scope(tmp_path: Path) -> None:
    build = files_of(recorded_runtime(tmp_path).build)
    graph = graph_of_objects(build.image, build.objects)
    plain, scoped = (find_subject(graph, text, dtype_of) for text in ("aten::relu", "::aten::relu"))
    assert (scoped.kind, scoped.nodes) == (plain.kind, plain.nodes) == ("operator", plain.nodes)
    for expect, verdict in ((PRESENT, PASS), (ABSENT, FAIL)):
        (found,) = judge_named(ClaimNames(gather(build)), "::aten::relu", expect)
        assert (found.kind, found.name, found.verdict) == ("operator", "aten::relu", verdict)
    with pytest.raises(InconclusiveError, match="nothing is called ::relu"):
        find_subject(graph, "::relu", dtype_of)
