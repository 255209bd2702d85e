"""The site builds without a warning, and its reference matches the commands' help."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.support.pages.browser import Browser
from tests.support.places import ROOT

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    config = ["--config-file", str(ROOT / "ci" / "site" / "mkdocs.yml"), "--site-dir", str(folder)]
    done = subprocess.run(  # --strict exits with 1 after a warning
        [*command, *config], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def text_of(page: Path) -> str:
    text = re.sub(
        r"<(style|script)\b.*?</\1>|<[^>]+>", "", page.read_text(encoding="utf-8"), flags=re.S
    )
    return " ".join(html.unescape(text).split())


def commands(words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield all commands that --help lists."""
    done = subprocess.run(
        [sys.executable, "-m", "sizeguard", *words, "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    if words:
        yield words
    listed = done.stdout.partition("\nCommands:\n")[2].partition("\n\n")[0]
    for name in re.findall(r"^  ([\w-]+)", listed, re.M):
        yield from commands((*words, name))


def test_every_option_of_every_command_is_in_the_reference(site: Path) -> None:
    for words in commands():
        name = "_".join(words).replace("-", "_")
        page = text_of(site / "reference" / "commands" / f"{name}.html")
        done = subprocess.run(
            [sys.executable, "-m", "sizeguard", *words, "--help"],
            capture_output=True,
            text=True,
            check=True,
        )
        options = re.findall(r"^  (-[\w-]+(?:, --[\w-]+)?)", done.stdout, re.M)
        assert options
        assert [option for option in options if option not in page] == [], words
        codes = re.findall(r"^    (\d+)  +(\S.*)", done.stdout.partition("Exit codes:")[2], re.M)
        assert [what for _, what in codes if what not in page] == [], words


def test_no_link_of_the_site_is_dead(site: Path) -> None:
    dead = []
    for page in site.rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text(encoding="utf-8")):
            if page.name != "404.html" and not re.match(r"\w+:|//", target):
                path = page.parent / unquote(html.unescape(target))
                if not path.exists():
                    dead.append(f"{page.relative_to(site)}: {target}")
    assert dead == []


def test_a_page_asks_no_other_machine(site: Path) -> None:
    asked = {
        address
        for page in site.rglob("*.html")
        for address in re.findall(
            r'<(?:script|img|link rel="(?:stylesheet|preload)")[^>]+"(https?://[^"]+)',
            page.read_text(),
        )
    }
    assert asked == set()


WIDER = """[...document.querySelectorAll('body *')].filter(e => {
  const box = e.getBoundingClientRect();
  if (!box.width || box.right <= innerWidth + 1) return false;
  if (getComputedStyle(e).position === 'fixed') return false;
  for (let p = e; p; p = p.parentElement) {
    if (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(p).overflowX)) return false;
  }
  return true;
}).map(e => e.tagName + '.' + e.className).slice(0, 5).join(' ')"""


@pytest.mark.parametrize("width", [480, 1280])
def test_no_page_is_wider_than_the_screen(site: Path, width: int, tmp_path: Path) -> None:
    wide = {}
    with Browser(tmp_path / "profile") as browser:
        for page in sorted(site.rglob("*.html")):
            here = f"location.href == '{page.as_uri()}' && document.readyState == 'complete'"
            browser.open(page, width, 900, ready=here)
            if browser.run("document.documentElement.scrollWidth > innerWidth"):
                wide[str(page.relative_to(site))] = browser.run(WIDER) or "the document"
    assert wide == {}
