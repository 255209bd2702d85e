"""Ways to change the gate's terms: each is reported with the old and the new value."""

from __future__ import annotations

import pytest

from sizeguard.claims.verdict import FAIL, PASS
from sizeguard.gate.changed_terms import with_changed_terms
from sizeguard.gate.gate_result import GateResult
from sizeguard.gate.policy.changes.policy_changes import compare_terms
from tests.support.tricks.changed_projects import (
    CONFIG,
    HARMLESS,
    PROJECT,
    REVIEWED,
    TRICKS,
    Files,
    config,
)
from tests.support.tricks.given_terms import changed, terms
from tests.support.tricks.policy_repository import difference


@pytest.mark.parametrize("way", TRICKS)
def test_each_change_of_terms_is_named(way: str) -> None:
    trick = TRICKS[way]
    found = difference(trick.files)
    named = [change for change in found if (change.what, change.name) == (trick.what, trick.name)]
    assert [(change.old, change.new, change.loosens) for change in named] == [
        (trick.old, trick.new, trick.loosens)
    ], found
    assert {change.verdict for change in found} == {PASS}  # the base's policy only reports
    assert any(change.loosens for change in found) == trick.loosens


@pytest.mark.parametrize("way", TRICKS)
def test_the_way_back_is_named_as_well(way: str) -> None:
    trick = TRICKS[way]
    there = compare_terms(terms(PROJECT), terms(changed(trick.files)))
    back = compare_terms(terms(changed(trick.files)), terms(PROJECT))
    pairs = sorted((change.name, change.old, change.new) for change in there)
    assert sorted((change.name, change.new, change.old) for change in back) == pairs


@pytest.mark.parametrize("way", HARMLESS)
def test_what_changes_no_term_is_not_named(way: str) -> None:
    assert difference(HARMLESS[way]) == ()


def test_two_overlapping_families_do_not_hide_a_name() -> None:
    """aten::relu was in a family limited to 1 %; a longer pattern now matches it."""
    old = config(("  operator/*:\n", "  operator/*relu*: {growth: 1%}\n  operator/*:\n"))
    both = edited_limits("  operator/*relu*: {growth: 1%}\n  operator/aten::rel*: {growth: 30%}\n")
    found = compare_terms(terms(changed(old)), terms(changed(both)))
    assert ("limit loosened", "operator/aten::relu growth", "1%", "30%") in {
        (change.what, change.name, change.old, change.new) for change in found
    }


def edited_limits(lines: str) -> Files:
    return config(("  operator/*:\n", f"{lines}  operator/*:\n"))


def test_a_limit_for_one_app_on_one_target_is_named_so() -> None:
    targets = "    targets:\n      linux: {limits: {load: 41 KiB}}\n      board:\n"
    found = difference({"sizeguard.yaml": CONFIG + targets})
    assert [(change.what, change.name) for change in found] == [
        ("limit loosened", "load maximum of language for linux")
    ]
    assert found[0].bytes == 1024


def test_bytes_are_those_that_the_term_allows_more() -> None:
    by_name = {way: difference(TRICKS[way].files)[0].bytes for way in TRICKS}
    assert by_name["baseline replaced"] == 4000
    assert by_name["waiver of more bytes"] == 800
    assert by_name["waiver added"] == 100
    assert by_name["maximum"] == 1024
    assert by_name["waiver removed"] == -100
    assert by_name["dtype"] is None


def test_an_app_that_is_new_may_bring_its_baseline() -> None:
    app = "  other: {selection: native/apps/vision/selected_operators.yaml, models: []}\n"
    files = {
        "sizeguard.yaml": CONFIG + app,
        "baselines/other.linux.gcc-12.2-bfd-2.40-Os.yaml": PROJECT[REVIEWED].replace(
            "app: vision", "app: other"
        ),
    }
    assert [(change.what, change.loosens) for change in difference(files)] == [
        ("app added", False),
        ("baseline added", False),
    ]


def strict(files: Files) -> dict[str, str]:
    """Return the project with changed files and with `policy_changes: fail`."""
    found = changed(files)
    return {**found, "sizeguard.yaml": f"policy_changes: fail\n{found['sizeguard.yaml']}"}


@pytest.mark.parametrize("way", TRICKS)
def test_a_loosening_fails_where_the_base_says_so(way: str) -> None:
    trick = TRICKS[way]
    after = changed(trick.files) if way == "strict" else strict(trick.files)
    found = compare_terms(terms(strict({})), terms(after))
    assert {change.verdict for change in found if change.loosens} <= {FAIL}
    assert {change.verdict for change in found if not change.loosens} <= {PASS}
    result = with_changed_terms(GateResult(PASS, ()), found)
    assert (result.verdict, result.exit_code) == ((FAIL, 1) if trick.loosens else (PASS, 0))


def test_a_change_cannot_allow_itself_to_loosen() -> None:
    """The base's `policy_changes` applies, even if the change sets another value."""
    found = compare_terms(terms(strict({})), terms(changed(TRICKS["maximum"].files)))
    assert [(change.what, change.verdict) for change in found] == [
        ("policy changed", FAIL),
        ("limit loosened", FAIL),
    ]
    # If the change itself sets `fail`, that applies only from the next change on.
    found = compare_terms(terms(PROJECT), terms(strict(TRICKS["maximum"].files)))
    assert {change.verdict for change in found} == {PASS}


@pytest.mark.parametrize(
    ("way", "trailer", "accepted"),
    [
        ("baseline replaced", REVIEWED, True),
        ("baseline replaced", "baselines/vision.*", True),
        ("baseline replaced", "baselines/language.*", False),
        ("baseline replaced", "vision", False),
        ("baseline removed", REVIEWED, True),
        ("waiver added", "ram of vision", True),
        ("waiver added", "load of vision", False),
        ("maximum", "load maximum", False),  # trailers do not accept limits
        ("maximum", "*", False),
        ("dtype", "vision dtypes of add_stub", False),
        ("app removed", "language", False),
    ],
)
def test_a_trailer_accepts_waivers_and_baselines_alone(
    way: str, trailer: str, accepted: bool
) -> None:
    found = compare_terms(
        terms(strict({})), terms(strict(TRICKS[way].files)), [("4f2a91cdeadbeef", trailer)]
    )
    (change,) = [change for change in found if change.loosens]
    assert (change.verdict, change.accepted) == (
        (PASS, "commit 4f2a91cdea") if accepted else (FAIL, "")
    )
