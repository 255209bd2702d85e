"""Every format names patterns that pass because no name matches them: they may be misspelt."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import ABSENT, OK, PASS, Verdict
from sizeguard.gate.gate_result import ABSOLUTE, AppResult, Check, GateResult
from sizeguard.report.gate.findings.gate_findings import findings, is_note
from sizeguard.report.gate.render import gate_text
from sizeguard.verify.verification import Verification

ADVICE = "symbol/nobody::* matches nothing"
LIMIT = Check("a/b/symbol", "a", "b", "symbol/nobody::*", 0, 0, 0, PASS, "0", ADVICE, kind=ABSOLUTE)
CLAIM = Verdict("symbol", "zork*", ABSENT, PASS, "not_generated", 0, ("matches nothing: zork*",))
OTHER = Verdict("symbol", "gone", ABSENT, PASS, "not_generated", 0, ("in the base alone",))


def result_of(*claims: Verdict, limit: Check = LIMIT) -> GateResult:
    verified = Verification("a", "a", claims, (), OK, ())
    sizes = Sizes(100, 10, 200, 0)
    app = AppResult("a", "b", "gcc", PASS, sizes, sizes, (limit,), (), (), (), verified)
    return GateResult(PASS, (app, replace(app, target="c")))


@pytest.mark.parametrize("format_", ["terminal", "markdown", "junit", "sarif", "github", "html"])
def test_a_pattern_without_a_match_is_named(format_: str) -> None:
    text = re.sub(r"[\\`]|</?code>|<wbr>", "", gate_text(result_of(CLAIM, OTHER), format_))
    assert ADVICE in text
    assert "zork* matches nothing" in text
    assert "gone matches" not in text


def test_what_matches_is_no_note() -> None:
    quiet = result_of(OTHER, limit=replace(LIMIT, advice=""))
    assert not any(map(is_note, findings(quiet)))
    assert [f.name for f in findings(result_of(CLAIM)) if is_note(f)] == [
        "pattern symbol/nobody::*", "pattern zork*"
    ] * 2  # fmt: skip


def test_the_terminal_names_it_once_for_all_targets() -> None:
    assert gate_text(result_of(CLAIM), "terminal").count(ADVICE) == 1
