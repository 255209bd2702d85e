"""Exact output of commands at several widths and in a pipe; no line is too wide."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from sizeguard.attribution.group import group
from sizeguard.attribution.size_report import ByteSums
from sizeguard.doctor.diagnosis import Diagnosis, SizeFinding
from sizeguard.gate.causes.growth_result import Cause
from sizeguard.linkgraph.why_result import Chain, Why, WhyStep
from sizeguard.report.diff.render import _without_scopes, diff_chunks
from sizeguard.report.doctor.render import doctor_chunks
from sizeguard.report.gate.gate_sections import cause_texts
from sizeguard.report.screen.fit import fit
from sizeguard.report.screen.legend import legend_lines
from sizeguard.report.sizes.render import report_chunks
from sizeguard.report.sizes.size_terminal import smaller_text
from sizeguard.report.sizes.size_tree import Rest, rest_text
from sizeguard.report.verify.verify_words import headline
from sizeguard.report.why.render import why_chunks
from sizeguard.report.writers.style import Style, change_text
from tests.support.images.made_up import MadeUp, Part
from tests.support.results.gate_samples import verification
from tests.support.results.golden_sample import diff, new, old
from tests.support.results.screen_samples import FOLDER, PIPED, file_of, prepare, screens

pytestmark = pytest.mark.native

_COMMAND = re.compile(r"(?:^|  |→ |: )(?:sizeguard \S|Size-)")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = prepare(tmp_path_factory.mktemp("screens"))
    return {file_of(name, width): text for name, width, text in screens(root)}


def test_screens_are_the_reviewed_ones(shown: dict[str, str]) -> None:
    """To accept changes, run python -m tests.support.results.screen_samples and review the diff."""
    assert set(shown) == {path.name for path in FOLDER.iterdir()}
    for name, text in shown.items():
        assert text == (FOLDER / name).read_text("utf-8"), name


def test_no_line_is_wider_than_asked(shown: dict[str, str]) -> None:
    for name, text in shown.items():
        width = name.rpartition("-")[2].partition(".")[0]
        if width == PIPED:
            continue
        for line in text.splitlines():
            assert len(line) <= int(width) or _COMMAND.search(line), f"{name}: {line}"


def test_nothing_is_shortened_in_a_pipe(shown: dict[str, str]) -> None:
    """Check only reports and diffs: other screens print … between bounds and as a placeholder."""
    for name, text in shown.items():
        if name.endswith(f"{PIPED}.txt") and name.startswith(("report", "diff")):
            assert "…" not in text, name


@pytest.mark.parametrize("width", [40, 61, 80])
def test_broken_lines_lose_nothing(width: int) -> None:
    lines = [
        "a sentence of several words that is longer than the terminal is wide, and goes on " * 3,
        f"  \x1b[31m✗ {'word ' * 40}\x1b[0m",
        "x" * 200,
        "short",
    ]
    broken = list(fit(lines, Style(width=width)))
    plain = [re.sub(r"\x1b\[\d*m", "", line) for line in broken]
    assert max(map(len, plain)) <= width
    assert "".join("".join(broken).split()) == "".join("".join(lines).split())
    assert list(fit(lines, Style(width=width, full=True))) == lines


def test_commands_to_copy_stay_whole() -> None:
    line = f"  accept it        sizeguard waive load --reason '{'x' * 80}'"
    assert list(fit([line], Style(width=60))) == [line]


NARROW_CAUSES = [
    Cause("(C++ library)", "", f"std::_Rb_tree<int, long>::_M_get_insert_{part}(int, char)", 0, 9)
    for part in ("hint_unique_pos", "unique_pos", "equal_pos")
]


@pytest.mark.parametrize("width", [60, 70, 80, 100])
def test_causes_stay_apart_on_narrow_screens(width: int) -> None:
    texts = cause_texts(NARROW_CAUSES, Style(width=width))
    assert len(set(texts)) == len(texts)
    assert max(map(len, texts)) <= width - 30
    whole = cause_texts(NARROW_CAUSES, Style(full=True))
    assert all(
        cause.symbol.partition("(")[0] in text
        for cause, text in zip(NARROW_CAUSES, whole, strict=True)
    )


@pytest.mark.parametrize("width", [60, 70, 80, 100])
def test_a_reason_goes_below_its_name_on_narrow_screens(width: int) -> None:
    steps = tuple(
        WhyStep(i, ".text", name, "registration.cpp.o", "address taken by the function", 0)
        for i, name in enumerate(("_Z12a_first_rootv", "_ZN2ns24a_function_of_some_lengthEii"))
    )
    why = Why("ns::f", True, 8, 8, 1, (Chain("no --gc-sections", steps),))
    lines = "".join(why_chunks(why, "terminal", Style(width=width))).splitlines()
    assert max(map(len, lines)) <= width
    text = " ".join(lines)
    assert text.count("linked without --gc-sections") == 1
    assert text.count("address taken by the function") == 1


@pytest.mark.parametrize("width", [40, 60, 80, 82, 100])
def test_a_legend_breaks_between_its_words(width: int) -> None:
    lines = [line for line in legend_lines(["load", "n", "core"], Style(width=width)) if line]
    assert all(len(line) <= width for line in lines)
    assert lines[-1].endswith("more: sizeguard explain load")
    entries = " · ".join(lines).split(" · ")
    assert [entry.partition(":")[0] for entry in entries] == ["load", "n", "core", "more"]


def test_options_of_a_change_stay_whole() -> None:
    change = "compile with -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions"
    finding = SizeFinding("unwind-tables", "tables", 90, 100, "load", (), 0, change)
    text = "".join(
        doctor_chunks(Diagnosis("app", 1000, 2000, (finding,), ()), 0, "terminal", Style(width=60))
    )
    words = text.split()
    assert all(word in words for word in change.split())
    assert "90–100 bytes of load (tight bounds)" in text


@pytest.mark.parametrize(
    ("groups", "largest", "text"),
    [
        (1, 28, "1 smaller symbol"),
        (6, 0, "6 smaller symbols"),
        (6, 28, "6 smaller symbols, at most"),
    ],
)
def test_the_largest_of_the_others_is_named_if_the_row_does_not_say_it(
    groups: int, largest: int, text: str
) -> None:
    rest = Rest(groups, largest, ByteSums(0, 0, 0, 0))
    what = text.partition(",")[0]
    assert smaller_text(rest, "symbol") == what
    many = what.replace("symbols", "directories").replace("symbol", "directory")
    assert smaller_text(rest, "directory") == many
    assert rest_text(what, rest).startswith(text)
    assert ("at most" in rest_text(what, rest)) == ("at most" in text)


@pytest.mark.parametrize("width", [50, 56, 60, 80])
def test_instances_are_never_cut_inside_a_number(width: int) -> None:
    change = diff(old(), new(), ["operator"])
    lines = "".join(diff_chunks(change, "terminal", 0, Style(width=width))).splitlines()
    counts = [line for line in lines if re.match(r" +n \d", line)]
    assert counts
    for line in counts:
        assert re.fullmatch(r" +n [\d,]+ → [\d,]+(, mean [\d,]+ → [\d,]+)?", line), line


def test_no_change_is_written_in_one_way(shown: dict[str, str]) -> None:
    assert not [name for name, text in shown.items() if "±0" in text]
    assert change_text(5, 5) == "+0"


@pytest.mark.parametrize("format_", ["terminal", "markdown", "html"])
def test_a_missing_build_id_is_left_out(format_: str) -> None:
    def without_id(made: MadeUp) -> MadeUp:
        made.image = replace(made.image, id="")
        return made

    report = group(without_id(new()), ["symbol"])
    change = diff(without_id(old()), without_id(new()), ["symbol"])
    for chunks in (report_chunks(report, format_, 3), diff_chunks(change, format_, 3)):
        text = "".join(chunks)
        assert "id none" not in text and "id `none`" not in text and "8f3c2d10" not in text
    assert "8f3c2d10" in "".join(report_chunks(group(new(), ["symbol"]), format_, 3))


@pytest.mark.parametrize("width", [60, 70, 80, 120])
def test_many_other_changes_are_counted_whole(width: int) -> None:
    names = [f"engine::detail::a_function_of_some_length_{i:04}" for i in range(1_300)]
    parts = [Part({"operator": "engine::detail", "symbol": name}, 9) for name in names]
    change = diff(MadeUp([], "a"), MadeUp(parts, "b"), ["operator", "symbol"])
    text = "".join(diff_chunks(change, "terminal", 2, Style(width=width)))
    assert re.search(r"^ *\+11,682 +1,298 smaller changes(, at most 9 each)?$", text, re.M)
    # The scope is a part of the symbol, so it makes room for it
    assert ("engine::detail  engine" in text) == (width == 120)


def test_a_scope_is_left_out_only_of_its_own_names() -> None:
    keys = [("operator", "aten::add"), ("namespace", "ns"), ("symbol", "nsx::f")]
    assert _without_scopes(keys) == keys
    assert _without_scopes([*keys[:2], ("symbol", "ns::f")]) == [keys[0], ("symbol", "ns::f")]


@pytest.mark.parametrize(("wrong", "text"), [(1, "1 does not hold"), (2, "2 do not hold")])
def test_claims_are_counted_in_grammar(wrong: int, text: str) -> None:
    assert f"; {text} (" in headline(verification("vision", wrong))


@pytest.mark.parametrize(("level", "is_explained"), [("package", False), ("component", True)])
def test_a_crate_named_core_is_not_the_runtime(level: str, is_explained: bool) -> None:
    image = MadeUp([Part({level: "core", "symbol": "fmt"}, 64, 64, 0)])
    text = "".join(report_chunks(group(image, (level,)), "terminal", 0, Style(width=100)))
    assert ("core: runtime without operators" in text) is is_explained
