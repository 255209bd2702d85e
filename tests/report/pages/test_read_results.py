"""Results are read back from JSON; other texts and results that are too large are refused."""

from __future__ import annotations

import json

import pytest

from sizeguard.base.errors import InputError
from sizeguard.base.plain_data import LONGEST
from sizeguard.report.gate.gate_json import result_of
from sizeguard.report.gate.render import gate_text
from sizeguard.report.result_formats import JUDGED_FORMATS
from tests.support.results.gate_samples import SAMPLES, failing


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_way_back_from_json(sample: str) -> None:
    result = SAMPLES[sample]()
    text = gate_text(result, "json")
    assert result_of(text.encode(), "x") == result
    for format_ in JUDGED_FORMATS:
        assert gate_text(result_of(text.encode(), "x"), format_) == gate_text(result, format_)


BAD = [
    b"", b"[]", b"nul", b"\xff", b"{", b"[" * 100_000, b'{"schema_version": 1}',
    b'{"schema_version": 2}', b'{"a": 1, "a": 2}', b'{"a": NaN}', b'{"a": 1.5}',
    b'{"a": ' + b"9" * 5000 + b"}",
]  # fmt: skip


@pytest.mark.parametrize("data", BAD, ids=range(len(BAD)))
def test_what_is_no_result_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^artifact"):
        result_of(data, "artifact")


def changed(path: str, value: object) -> bytes:
    content = json.loads(gate_text(failing(), "json"))
    at = content
    *keys, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in keys:
        at = at[key]
    at[last] = value
    return json.dumps(content).encode()


def test_a_claim_that_does_not_apply_is_read() -> None:
    data = changed("apps.0.verification.verdicts.0.verdict", "not_applicable")
    (app,) = result_of(data, "x").apps
    assert app.verification
    assert app.verification.verdicts[0].verdict == "not_applicable"


TERM = {"what": "x", "name": "y", "old": "", "new": "", "loosens": True}
WRONG = [
    ("checks.0.verdict", "not_applicable"), ("apps.0.verdict", "not_applicable"),
    ("verdict", "maybe"), ("apps", {}), ("apps.0", []), ("apps.0.app", "other"),
    ("apps.0.sizes.load", "1"), ("apps.0.sizes.load", 1 << 60), ("apps.0.verdict", "</details>"),
    ("checks.0.metric", None), ("checks.0.actual", True), ("checks.0.headroom", 1.5),
    ("checks.0.app", "none"), ("checks.0.verdict", "\x1b[31m"),
    ("checks.0.metric", "x" * (LONGEST + 1)), ("checks.0.id", "\ud800"),
    ("models.0.missing", "aten::add"), ("models.0.cached", 1), ("base", []), ("waivers", [1]),
    ("policy_changes", [{"what": "x"}]), ("policy_changes", [{**TERM, "verdict": "maybe"}]),
    ("apps.0.causes", [{}]), ("apps.0.verification", {"subject": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value"), WRONG, ids=range(len(WRONG)))
def test_a_result_of_the_wrong_form_is_refused(path: str, value: object) -> None:
    with pytest.raises(InputError) as caught:
        result_of(changed(path, value), "artifact")
    assert str(caught.value).startswith("artifact: ")
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.native
def test_too_much_is_refused() -> None:
    with pytest.raises(InputError, match="more than 200,000 values"):
        result_of(
            changed(
                "apps.0.causes",
                [json.loads(gate_text(failing(), "json"))["apps"][0]["causes"][0]] * 30_000,
            ),
            "x",
        )
    app = json.loads(gate_text(failing(), "json"))["apps"][0]
    with pytest.raises(InputError, match="more than 1,000 builds"):
        few = {**app, "verification": None, "causes": []}
        result_of(changed("apps", [{**few, "target": str(i)} for i in range(1001)]), "x")


def test_a_build_that_is_there_twice_is_refused() -> None:
    app = json.loads(gate_text(failing(), "json"))["apps"][0]
    with pytest.raises(InputError, match="twice"):
        result_of(changed("apps", [app, app]), "x")
