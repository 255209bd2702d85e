"""Documentation pages: blocks are run or checked, here or elsewhere, and links resolve."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.support.places import ROOT
from tests.support.services.documents import KINDS, Block, blocks_of, follow, indented_code, pages

ALL = [block for page in pages() for block in blocks_of(page)]
# test_tutorial.py follows the tutorial and checks its results.
FOLLOWED = sorted({b.page for b in ALL if b.kind == "run" and b.page.name != "tutorial.md"})


def of_kind(kind: str) -> list[Block]:
    return [block for block in ALL if block.kind == kind]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_every_block_says_how_it_is_checked() -> None:
    assert [str(block) for block in ALL if block.kind not in KINDS] == []


@pytest.mark.parametrize("page", pages(), ids=named)
def test_code_is_fenced(page: Path) -> None:
    assert indented_code(page) == []


@pytest.mark.parametrize("block", of_kind("elsewhere"), ids=str)
def test_what_is_checked_elsewhere_says_where(block: Block) -> None:
    assert len(block.argument.split()) >= 3
    for path in re.findall(r"\b(?:tests|docs|ci)/[\w/.]+\w", block.argument):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("block", of_kind("schema"), ids=str)
def test_configuration_keeps_to_its_schema(block: Block) -> None:
    schema = ROOT / "sizeguard" / "report" / "schemas" / block.argument
    content = (json.loads if block.language == "json" else yaml.safe_load)(block.text)
    if block.argument == "config.schema.json":
        content = {"apps": {"app": {"image": "app"}}, **content}  # a page shows a part of the file
    jsonschema.validate(content, json.loads(schema.read_text(encoding="utf-8")))


@pytest.mark.parametrize("block", of_kind("make"), ids=str)
def test_targets_of_make_exist(block: Block) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    asked = re.findall(r"^make ([\w-]+)", block.text, re.M)
    assert asked
    assert set(asked) <= targets


def links(page: Path) -> Iterator[tuple[Path, str]]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" not in target:
            yield (page.parent / path if path else page), anchor


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", pages(), ids=named)
def test_links_lead_to_pages_and_headings(page: Path) -> None:
    for target, anchor in links(page):
        generated = "reference" in target.parts  # only on the site; see test_site.py
        assert generated or target.exists(), target
        if anchor and not generated:
            assert anchor in anchors(target), f"{target}#{anchor}"


def test_the_site_lists_every_page() -> None:
    listed = re.findall(
        r"^ +- (\w+\.md)$", (ROOT / "ci" / "site" / "mkdocs.yml").read_text(encoding="utf-8"), re.M
    )
    assert sorted(listed) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))


@pytest.mark.native
@pytest.mark.parametrize("page", FOLLOWED, ids=named)
def test_a_page_is_followed_to_the_letter(page: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "native" / "models" / "mlp" / "model.pt2", tmp_path)
    follow([block for block in ALL if block.page == page], tmp_path)


@pytest.mark.native
@pytest.mark.parametrize(
    "page",
    [
        "<!-- run -->\n```sh\nfalse\n```\n",
        "<!-- run: exit 1 -->\n```sh\ntrue\n```\n",
        "<!-- run -->\n```sh\necho a\n```\n<!-- output -->\n```text\nb\n```\n",
    ],
)
def test_a_page_that_lies_is_seen(page: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        follow(list(blocks_of(ROOT / "README.md", page)), tmp_path)


@pytest.mark.native
def test_an_output_can_leave_out_what_is_not_stable(tmp_path: Path) -> None:
    page = "<!-- file: a -->\n```c\n1\n```\n<!-- run -->\n```sh\ncat a; date; echo end\n```\n"
    page += "<!-- output -->\n```text\n1\n…end\n```\n"
    follow(list(blocks_of(ROOT / "README.md", page)), tmp_path)


def test_a_block_without_a_marker_is_found() -> None:
    page = ROOT / "README.md"
    found = list(blocks_of(page, "<!-- run -->\n```sh\na\n```\n\n```sh\nb\n```\n"))
    assert [block.kind for block in found] == ["run", ""]
