"""Verdicts on features by their signs: texts, functions and options."""

from __future__ import annotations

from typing import Any

import pytest

from sizeguard.claims.listed_names import FeatureMarks
from sizeguard.claims.verdict import ABSENT, FAIL, INCONCLUSIVE, NOT_APPLICABLE, PASS, PRESENT
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.features.feature_verdicts import (
    FeatureSigns,
    judge_absent_feature,
    judge_feature,
    judge_present_feature,
    lost_signs,
    signs_of,
)
from tests.support.builds.recorded_evidence import Opener

FOR, AGAINST = ("it is there",), ("it is not",)


@pytest.mark.parametrize(
    ("for_", "against", "lacks", "present", "absent"),
    [
        ((), (), False, INCONCLUSIVE, INCONCLUSIVE),
        ((), (), True, INCONCLUSIVE, INCONCLUSIVE),
        (FOR, (), False, PASS, FAIL),
        (FOR, (), True, PASS, FAIL),
        ((), AGAINST, False, FAIL, PASS),
        ((), AGAINST, True, FAIL, INCONCLUSIVE),
        (FOR, AGAINST, False, FAIL, FAIL),
    ],
)
def test_signs_decide_a_feature(
    opened: Opener,
    for_: tuple[str, ...],
    against: tuple[str, ...],
    lacks: bool,
    present: str,
    absent: str,
) -> None:
    evidence = opened("00", lacks=lacks)
    signs = FeatureSigns(for_, against, 7)
    on = judge_present_feature(evidence, "f", signs)
    off = judge_absent_feature(evidence, "f", signs)
    assert (on.verdict, on.expect) == (present, PRESENT)
    assert (off.verdict, off.expect) == (absent, ABSENT)
    assert on.bytes == (7 if present == PASS else 0)
    assert off.bytes == (7 if absent == FAIL else 0)
    if absent == INCONCLUSIVE:
        nothing = "nothing in the image shows whether it is there"
        assert off.evidence == (*(against or (nothing,)), *evidence.gaps)


def test_signs_are_read_from_the_image(opened: Opener) -> None:
    """`main` is in the program; its constants have the text of the version of the compiler."""
    evidence = opened("00")
    gone = "a text that nobody wrote"

    def signs(**marks: tuple[str, ...]) -> tuple[int, int]:
        found = signs_of(evidence, FeatureMarks(**marks), ())
        return len(found.for_), len(found.against)

    assert signs() == (0, 0)
    assert signs(texts=(gone,)) == (0, 1)
    assert signs(functions=("main",)) == (1, 0)
    assert signs(functions=("nobody",)) == (0, 0)
    # Builds without the feature have a text that is not here, in a function that is
    assert signs(without=(gone,), hosts=("main",)) == (1, 0)
    assert signs(without=(gone,), hosts=("nobody",)) == (0, 0)
    assert signs(hosts=("main",)) == (0, 0)
    shared = signs_of(evidence, FeatureMarks(texts=(gone,)), (gone,))
    assert (shared.for_, shared.against) == ((), ())
    marks = {"a": FeatureMarks(texts=(gone,)), "b": FeatureMarks(texts=(gone,))}
    assert judge_feature(evidence, "a", PRESENT, marks).verdict == INCONCLUSIVE
    assert judge_feature(evidence, "a", PRESENT, {"a": marks["a"]}).verdict == FAIL
    assert judge_feature(evidence, "a", ABSENT, {"a": marks["a"]}).verdict == PASS
    assert judge_feature(evidence, "none", ABSENT, marks).verdict == INCONCLUSIVE


def test_a_text_that_needs_two_features_shows_each(opened: Opener) -> None:
    """Both builds that leave out one of them lack the text."""
    evidence = opened("15")
    shared = FeatureMarks(texts=("failure",))
    own = FeatureMarks(texts=("failure", "a text that nobody wrote"))
    for expect, verdict in ((ABSENT, FAIL), (PRESENT, PASS)):
        for each in ({"a": own, "b": shared}, {"a": shared, "b": own}):
            assert judge_feature(evidence, "a", expect, each).verdict == verdict


@pytest.mark.parametrize(
    "marks, lost",
    [
        ({}, []),
        ({"texts": ("failure", "a text that nobody wrote")}, []),
        ({"texts": ("a text that nobody wrote",)}, ["none of the 1 texts"]),
        ({"functions": ("main", "nobody")}, []),
        ({"functions": ("nobody",)}, ["none of the 1 functions"]),
        ({"texts": ("failure",), "functions": ("nobody",)}, ["none of the 1 functions"]),
        ({"calls": {"clock": ("nobody",)}}, ["no call of clock"]),
        ({"hosts": ("nobody",), "without": ("nothing",)}, []),
    ],
)
def test_the_full_build_shows_each_kind_of_sign(
    opened: Opener, marks: dict[str, Any], lost: list[str]
) -> None:
    """Code of a feature would not show in an app's build if all its texts had changed."""
    evidence = opened("15")
    evidence.__dict__["undescribed_notes"] = ()
    assert [*lost_signs(evidence, FeatureMarks(**marks))] == lost
    evidence.__dict__["undescribed_notes"] = ("code without debug information",)
    told = [said for said in lost if "functions" not in said]
    assert [*lost_signs(evidence, FeatureMarks(**marks))] == told


@pytest.mark.parametrize(
    "changed, is_library, verdict",
    [
        ({}, True, NOT_APPLICABLE),
        ({}, False, FAIL),
        ({"texts": ("--gone", "a text")}, True, FAIL),
        ({"hosts": ("nobody",)}, True, FAIL),
        ({"calls": {"clock": frozenset({"nobody"})}}, True, FAIL),
        ({"without": ("failure",)}, True, FAIL),
        ({"functions": ("_ZNK7Failure7subjectEv",)}, True, PASS),
    ],
)
def test_a_library_has_no_options(
    opened: Opener,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, Any],
    is_library: bool,
    verdict: str,
) -> None:
    """A feature of a program's command line was said to be missing in libraries."""
    evidence = opened("15")
    if is_library:
        monkeypatch.setattr(Evidence, "is_program", False)
    marks = {"f": FeatureMarks(**{"texts": ("--gone",), **changed})}
    assert judge_feature(evidence, "f", PRESENT, marks).verdict == verdict
    assert judge_feature(evidence, "f", ABSENT, marks).verdict != NOT_APPLICABLE


@pytest.mark.parametrize(
    "options, verdict",
    [((), FAIL), (("--absent", "--missing"), NOT_APPLICABLE), (("--absent", "failure"), FAIL)],
)
def test_a_program_with_its_own_main_has_other_options(
    opened: Opener, options: tuple[str, ...], verdict: str
) -> None:
    """An app that selects the comparison of outputs lacked the options of run_program."""
    marks = {"f": FeatureMarks(texts=("--gone",), options=options)}
    found = judge_feature(opened("15"), "f", PRESENT, marks)
    assert (found.verdict, found.expect) == (verdict, PRESENT)
    if verdict == NOT_APPLICABLE:
        why = "a program with its own main has no --absent or --missing"
        assert found.evidence == (f"{why}, and the feature is the option --gone",)
    assert judge_feature(opened("15"), "f", ABSENT, marks).verdict != NOT_APPLICABLE


def test_texts_of_the_image_and_of_the_toolchain(opened: Opener) -> None:
    """The program has the constants `failure` and `7Failure`."""

    def signs(evidence: Evidence, **marks: tuple[str, ...]) -> tuple[int, int, int]:
        found = signs_of(evidence, FeatureMarks(**marks), ())
        return len(found.for_), len(found.against), found.bytes

    evidence = opened("15")
    assert signs(evidence, texts=("failure", "nobody wrote")) == (1, 0, 8)
    assert signs(evidence, without=("failure",)) == (0, 1, 0)
    assert signs(evidence, without=("failure",), hosts=("main",)) == (0, 1, 0)
    assert signs(evidence, without=("nobody wrote",), hosts=("main",)) == (1, 0, 0)
    # A part of a constant may be a text of the feature, but is no text of another build
    assert signs(evidence, texts=("7Failur",)) == (1, 0, 8)
    assert signs(evidence, without=("7Failur",)) == (0, 0, 0)
    evidence = opened("15")
    evidence.__dict__["foreign_data"] = b"failure\0"
    assert signs(evidence, texts=("failure",)) == (0, 1, 0)
    assert signs(evidence, without=("failure",)) == (0, 0, 0)
    assert signs(evidence, texts=("7Failure",)) == (1, 0, 9)
