"""Output of sizeguard bisect in each format: for people, with hostile texts, and the plot."""

from __future__ import annotations

import html.parser
import re
from pathlib import Path

import pytest

from tests.support.histories.bisect_runs import BUILD, BUILD_IGNORING, run
from tests.support.histories.small_history import SmallRepository


def test_what_a_person_sees(spike: tuple[SmallRepository, dict[str, str]]) -> None:
    repository, names = spike
    done = run(
        repository.path,
        "bisect",
        names["good"][:10],
        "main",
        *BUILD_IGNORING,
        "--metric",
        "symbol/table",
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("table grew 8 bytes in 16 commits: 4 changes did it")
    assert any(line.split()[:2] == ["+4,000", names["spike"][:7]] for line in lines)
    assert any("3 commits, 2 of them do not build (main.c:1:" in line for line in lines)
    assert any(f"= {names['good'][:10]} 40 → main 48" in line for line in lines)
    assert "for symbol/table" in done.stderr
    csv = run(
        repository.path,
        "bisect",
        names["good"],
        "main",
        *BUILD_IGNORING,
        "--metric",
        "symbol/table",
        "--format",
        "csv",
    )
    assert len(csv.stdout.splitlines()) == 5
    markdown = run(
        repository.path,
        "bisect",
        names["good"],
        "main",
        *BUILD_IGNORING,
        "--format",
        "markdown",
    ).stdout
    assert f"`{names['spike'][:7]}`" in markdown
    for command in ("bisect", "bisect-step"):
        assert "Example" in run(repository.path, command, "--help").stdout


class _Page(html.parser.HTMLParser):
    """Collect the names of elements and attributes on a page."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attributes}


HOSTILE = "<script>alert(1)</script> | `x` [a](javascript:1) \x1b[31m ‮ ::error:: \"'"


@pytest.mark.native
def test_hostile_texts_come_out_inert(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    good = repository.sized(40)
    repository.git("config", "user.name", "x")
    source = (
        (repository.path / "main.c").read_text().replace("[40]", "[140]").replace("% 40", "% 140")
    )
    repository.commit(HOSTILE, {"main.c": source})
    repository.git(
        "commit", "-q", "--amend", "--no-edit", "--author", "|`img src=x onerror=1` <b@example.org>"
    )
    repository.git("tag", "a`b|c<d")
    for format_ in ("terminal", "markdown", "html", "csv", "json"):
        text = run(repository.path, "bisect", good, "a`b|c<d", *BUILD, "--format", format_).stdout
        assert "\x1b" not in text
        if format_ != "json":
            assert "‮" not in text
        if format_ == "html":
            page = _Page()
            page.feed(text)
            assert not page.elements & {"script", "img", "iframe", "link", "object"}
            assert not {name for name in page.attributes if name.startswith("on")}
            assert "default-src 'none'" in text
            assert "http" not in re.sub(r"http-equiv|viewBox", "", text)
        if format_ == "markdown":
            for line in text.splitlines():
                assert "<script>" not in re.sub(r"(`+).*?\1", "", line)
            rows = [line for line in text.splitlines() if line.startswith("| +100")]
            assert rows
            assert all(len(re.split(r"(?<!\\)\|", line)) == 8 for line in rows[:1])


def test_the_plot_marks_culprits(
    spike: tuple[SmallRepository, dict[str, str]], tmp_path: Path
) -> None:
    repository, names = spike
    page = tmp_path / "plot.html"
    run(
        repository.path,
        "bisect",
        names["good"],
        "main",
        *BUILD_IGNORING,
        "--format",
        "html",
        "--output",
        str(page),
    )
    text = page.read_text()
    assert text.count('class="mark ') == 4
    assert text.count('class="failed"') == 2
    assert "+4,000" in text
    assert len(text) < 60_000
