"""Results of the gate with Markdown, HTML, escapes and workflow commands in their texts."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from typing import Any

import cmarkgfm
from cmarkgfm.cmark import Options
from markdown_it import MarkdownIt

from sizeguard.gate.gate_result import GateResult
from tests.support.results.gate_samples import everything, terms

HOSTILE = [
    "a | b", "||", "\\|", "\\", "`", "``` ```", "`a`", "*b* _c_ ~d~", "[x](y)",
    "![i](http://h/i.png)", "<img src=x onerror=alert(1)>", "<!--", "-->", "</details>",
    "</code></summary><script>alert(1)</script>", "@everyone", "a@b.example", "#123", "GH-123",
    "owner/repo#1", "http://evil.example/x", "www.evil.example", "&lt;b&gt;", "&#64;x", ":tada:",
    "4f2a91cdeadbeef4f2a91cdeadbeef4f2a91cde", "---", "# h", "1. x", "+ x", "=====", "> q", "```sh",
    "~~~", "    code", "a\nb", "a\r\nb", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\u202egnp.exe",
    "\x00", "\ufffe", "\u2028", "::set-output name=x::y", "\n::error::x", "%0A::error::x",
    "##[error]x", "##vso[task.setvariable]x", "::stop-commands::t", "]]>", "<![CDATA[", "&amp;",
    "<?xml?>", "=cmd|' /C calc'!A0", "+1", "-1", "@SUM(1)", "$(touch x)", "`touch x`",
    "'; rm -rf x", "${{ github.token }}", "..\\..\\x", "../../etc/passwd:1", "/etc/passwd:3",
    "file:1:2", "javascript:alert(1)", "C:\\x:1", "operator||(a, b)", "\t", " ", "",
]  # fmt: skip


KEPT = frozenset({"verdict", "kind", "state", "expect"})
# Without other texts here a result contradicts itself, and its numbers are not shown
SHOWN = KEPT | {"rule", "commit", "metric", "expires", "canary"}


def poisoned(
    value: Any,
    draw: Any,
    kept: frozenset[str] = KEPT,
    name: str = "",
    names: dict[str, str] | None = None,
) -> Any:
    """Replace every text in a value, except in the fields of `kept`.

    Each app and target keeps a unique name.
    """
    names = {} if names is None else names
    if isinstance(value, str):
        if name in ("app", "target") and value:
            if value not in names:
                names[value] = f"{draw()}{len(names)}"
            return names[value]
        return value if name in kept or not value else draw()
    if isinstance(value, tuple):
        return tuple(poisoned(each, draw, kept, name, names) for each in value)
    if is_dataclass(value):
        return replace(
            value,
            **{
                f.name: poisoned(getattr(value, f.name), draw, kept, f.name, names)
                for f in fields(value)
            },
        )
    return value


def small() -> GateResult:
    """Return the sample with every failure, with few claims and causes."""
    result = everything()
    apps = []
    for app in result.apps:
        found = app.verification
        apps.append(
            replace(
                app,
                verification=replace(found, verdicts=found.verdicts[-3:]) if found else None,
                causes=app.causes[:6],
            )
        )
    return replace(result, apps=tuple(apps), policy_changes=terms().policy_changes)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.comments: list[str] = []
        self.free: list[str] = []  # texts outside of code
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.depth += tag in ("code", "pre")

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag in ("code", "pre")

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        if not self.depth:
            self.free.append(data)


OURS = {
    "h3", "h4", "p", "br", "table", "thead", "tbody", "tr", "th", "td", "code", "strong", "em",
    "ul", "li", "pre", "details", "summary",
}  # fmt: skip


# Text that GitHub converts after Markdown became HTML, outside of code: mentions, references,
# addresses, emoji, commits.
LIVE = re.compile(r"@\w|#\d|\bgh-\d|://|www\.|:\w+:|\b[0-9a-f]{7,40}\b", re.IGNORECASE)


def rendered(text: str) -> Tags:
    found = Tags()
    found.feed(cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE))
    return found


def check_markdown(text: str) -> None:
    found = rendered(text)
    assert {tag for tag, _ in found.tags} <= OURS
    assert {attribute for _, attributes in found.tags for attribute in attributes} <= {
        "align",
        "lang",
    }
    assert found.comments == [" sizeguard gate "]
    assert found.depth == 0
    live = [part for part in found.free if LIVE.search(part)]
    assert not live
    # Another renderer must also find no foreign markup.
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    kinds = {token.type for token in tokens} | {
        child.type for token in tokens for child in token.children or ()
    }
    assert not kinds & {
        "link_open",
        "image",
        "blockquote_open",
        "s_open",
        "code_block",
        "hr",
        "ordered_list_open",
    }
    inline = {
        child.content
        for token in tokens
        for child in token.children or ()
        if child.type == "html_inline"
    }
    assert inline <= {"<br>"}
