"""Hostile artifacts and false results: archives by name."""

from __future__ import annotations

import functools
import io
import json
import os
import struct
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

from sizeguard.report.gate.render import gate_text
from tests.support.results.consistent_results import consistent
from tests.support.results.gate_samples import failing, passing
from tests.support.services.local_hub import HEAD, MERGE, zipped

REFUSED, CONTRADICTION = "refused", "contradiction"


def document(sample: Callable[[], Any] = passing) -> dict[str, Any]:
    """Return the JSON of a sample with consistent numbers."""
    content: dict[str, Any] = json.loads(_text(sample))
    return content


@functools.cache
def _text(sample: Callable[[], Any]) -> str:
    return gate_text(consistent(sample()), "json")


def packed(content: Any, number: str = "7\n") -> bytes:
    """Pack a result and the number of a pull request."""
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    return zipped({"gate.json": text, "pull-request": number})


def edited(path: str, value: Any, sample: Callable[[], Any] = failing) -> bytes:
    """Pack a sample with one changed value."""
    content = document(sample)
    at: Any = content
    *keys, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in keys:
        at = at[key]
    at[last] = value
    return packed(content)


def with_method(method: int) -> bytes:
    """Pack with another method than deflate."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        archive.writestr("gate.json", json.dumps(document()))
        archive.writestr("pull-request", "7\n")
    return content.getvalue()


def broken_lzma() -> bytes:
    data = bytearray(with_method(zipfile.ZIP_LZMA))
    at = data.index(b"gate.json") + len("gate.json")
    data[at : at + 60] = b"\xff" * 60
    return bytes(data)


def encrypted() -> bytes:
    data = bytearray(packed(document()))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(mark, at + 4)
    return bytes(data)


def doubled() -> bytes:
    content = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(content, "w") as archive:
        warnings.simplefilter("ignore")
        for number in ("7\n", "8\n"):
            archive.writestr("pull-request", number)
        archive.writestr("gate.json", json.dumps(document()))
    return content.getvalue()


def many_files() -> bytes:
    return zipped({f"{i}": "" for i in range(5_000)} | {"pull-request": "7\n"})


def lying_count() -> bytes:
    """Pack 50,000 files; the end record of the archive claims one."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for i in range(50_000):
            archive.writestr(f"{i}", "")
    data = bytearray(content.getvalue())
    at = data.rindex(b"PK\x05\x06")
    data[at + 8 : at + 12] = struct.pack("<HH", 1, 1)
    return bytes(data)


def rows(count: int, row: Any, name: str = "checks") -> bytes:
    """Pack a result with many rows of one kind: some KB of zip, many MB of JSON."""
    content = document()
    head, tail = json.dumps({**content, name: ["@"]}).split('"@"')
    return packed(head + ",".join([json.dumps(row)] * count) + tail)


def apps_and_rows() -> bytes:
    """Pack 1,000 builds and 500,000 rows; comparing each with each once took 97 s."""
    content = document()
    content["apps"] = [{"app": str(i), "target": ""} for i in range(1000)]
    head, tail = json.dumps({**content, "checks": ["@"]}).split('"@"')
    return packed(head + ",".join(["{}"] * 500_000) + tail)


def failing_times_causes() -> bytes:
    """Pack checks that fail, each of which shows the causes of all."""
    content = document(failing)
    check = next(row for row in content["checks"] if row["metric"] == "load")
    content["checks"] = [
        {**check, "id": str(i), "metric": f"section/{i}", "pattern": ""} for i in range(4_000)
    ]
    cause = content["apps"][0]["causes"][0]
    content["apps"][0]["causes"] = [{**cause, "symbol": f"f{i}"} for i in range(9_000)]
    content["apps"][0]["verification"] = None
    return packed(content)


def long_texts(text: str) -> bytes:
    """Pack problems with long messages, together 12 MB."""
    content = document(failing)
    count = (12 << 20) // (2 * len(json.dumps(text)))
    content["problems"] = [
        {"app": "", "target": "", "message": f"{i}{text}", "advice": text, "exit_code": 1}
        for i in range(count)
    ]
    return packed(content)


def many_builds() -> bytes:
    content = document()
    app, checks = content["apps"][0], content["checks"][:1]
    small = {**app, "verification": None, "causes": [], "growth": []}
    content |= {"models": [], "saved": []}
    content["apps"] = [{**small, "app": f"a{i % 40}", "target": f"t{i // 40}"} for i in range(999)]
    content["checks"] = [{**checks[0], "app": "a1", "target": "t1"}]
    return packed(content)


def waivers_times_checks() -> bytes:
    content = document(failing)
    check = next(row for row in content["checks"] if row["metric"] == "load")
    waiver = {
        "metric": "load", "app": "", "target": "", "bytes": 1, "reason": "r", "owner": "o",
        "expires": "2999-01-01", "source": "s", "nearest": "",
    }  # fmt: skip
    use = {"state": "used", "verdict": "pass", "used": 0, "message": "", "advice": ""}
    content["waivers"] = [{**use, "waiver": waiver} for _ in range(5_000)]
    content["checks"] += [{**check, "id": str(i), "waived": 1} for i in range(4_000)]
    return packed(content)


def without(*keys: str) -> bytes:
    content = document(failing)
    for key in keys:
        del content[key]
    return packed(content)


def lie(path: str, value: Any) -> Callable[[], bytes]:
    return lambda: edited(path, value)


def all_pass() -> bytes:
    """Set each verdict of a failing result to pass; the numbers stay."""
    text = json.dumps(document(failing)).replace('"fail"', '"pass"')
    return packed(text.replace('"exit_code": 1', '"exit_code": 0'))


def without_failing_checks() -> bytes:
    """Remove the failing check, and keep the verdicts of the build and of the result."""
    content = document(failing)
    content["checks"] = [row for row in content["checks"] if row["verdict"] == "pass"]
    return packed(content)


def loads(**more: Any) -> Callable[[], bytes]:
    """Let the check of the load pass, with other fields."""

    def make() -> bytes:
        content = document(failing)
        for row in content["checks"]:
            if row["metric"] == "load":
                row |= {"verdict": "pass", **more}
                row["headroom"] = row["limit"] - row["actual"]
        content["apps"][0]["verdict"] = content["verdict"] = "pass"
        return packed({**content, "exit_code": 0})

    return make


def expired_waiver() -> bytes:
    content = document(passing)
    waiver = {
        "metric": "load", "app": "", "target": "", "bytes": 500, "reason": "r", "owner": "o",
        "expires": "1999-01-01", "source": "s", "nearest": "",
    }  # fmt: skip
    use = {"state": "used", "verdict": "pass", "used": 5, "message": "", "advice": ""}
    return packed({**content, "waivers": [{**use, "waiver": waiver}]})


def wrong_checksum() -> bytes:
    data = bytearray(packed(document()))
    for mark, offset in ((b"PK\x03\x04", 14), (b"PK\x01\x02", 16)):
        at = data.find(mark)
        while at >= 0:
            data[at + offset] ^= b"gate.json" in data[at : at + 60]
            at = data.find(mark, at + 4)
    return bytes(data)


def entries(*named: tuple[str, str], mode: int = 0o100644) -> Callable[[], bytes]:
    """Pack files whose names or modes are not those of plain files."""

    def make() -> bytes:
        content = io.BytesIO()
        with warnings.catch_warnings(), zipfile.ZipFile(content, "w") as archive:
            warnings.simplefilter("ignore")
            for name, text in (("pull-request", "7\n"), *named):
                entry = zipfile.ZipInfo(name)
                entry.external_attr = mode << 16
                archive.writestr(entry, text)
        return content.getvalue()

    return make


def text_with(old: str, new: str) -> Callable[[], bytes]:
    """Pack a passing result with another text, where values cannot be written otherwise."""

    def make() -> bytes:
        text = json.dumps(document())
        assert old in text
        return packed(text.replace(old, new, 1))

    return make


def of_ghost(rows_: str) -> Callable[[], bytes]:
    """Give the rows that fail to an app that is not there."""

    def make() -> bytes:
        content = document(failing)
        for row in content[rows_]:
            row |= {"app": "ghost"} if row["verdict"] == "fail" or rows_ == "models" else {}
        content["apps"][0]["verdict"] = content["verdict"] = "pass"
        return packed({**content, "exit_code": 0})

    return make


def twin() -> bytes:
    """Add an app whose name looks like that of another one."""
    content = document()
    content["apps"].append({**content["apps"][0], "app": "vision\u200b"})
    return packed(content)


def counted_from(commit: str) -> Callable[[], bytes]:
    base = {"commit": commit, "ref": "origin/main", "subject": "", "text": ""}
    return lambda: packed({**document(), "base": base})


ARTIFACTS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "nothing": (REFUSED, lambda: b""),
    "no archive": (REFUSED, lambda: b"#!/bin/sh\ntouch owned\n"),
    "cut": (REFUSED, lambda: packed(document())[:-40]),
    "flipped": (
        REFUSED, lambda: packed(document()).replace(b"PK\x01\x02", b"PK\x01\x03"),
    ),
    "bomb": (REFUSED, lambda: packed(b"[" + b" " * (64 << 20))),
    "too large": (REFUSED, lambda: os.urandom((8 << 20) + 1)),
    "LZMA": (REFUSED, lambda: with_method(zipfile.ZIP_LZMA)),
    "LZMA that is broken": (REFUSED, broken_lzma),
    "bzip2": (REFUSED, lambda: with_method(zipfile.ZIP_BZIP2)),
    "encrypted": (REFUSED, encrypted),
    "two numbers": (REFUSED, doubled),
    "many files": (REFUSED, many_files),
    "many files, one is said": (REFUSED, lying_count),
    "no result": (REFUSED, lambda: zipped({"pull-request": "7\n"})),
    "outside": (REFUSED, lambda: zipped({"../gate.json": "{}", "/pull-request": "7\n"})),
    "result is a script": (REFUSED, lambda: packed("$(touch owned)")),
    "result is a list": (REFUSED, lambda: packed("[]")),
    "result is null": (REFUSED, lambda: packed("null")),
    "result is deep": (REFUSED, lambda: packed("[" * 200_000)),
    "nulls everywhere": (REFUSED, lambda: packed(dict.fromkeys(document()))),
    "a row is null": (REFUSED, lie("checks.0", None)),
    "an app is null": (REFUSED, lie("apps.0", None)),
    "sizes are text": (REFUSED, lie("apps.0.sizes.load", "<img>")),
    "a size of 60 bits": (REFUSED, lie("apps.0.sizes.load", 1 << 60)),
    "verdict of another word": (REFUSED, lie("verdict", "✅")),
    "half a character": (REFUSED, lie("checks.0.metric", "\ud800")),
    "no verdicts": (REFUSED, lambda: without("verdict")),
    "1,000 builds and 500,000 rows": (REFUSED, apps_and_rows),
    "a million rows": (REFUSED, lambda: rows(1_000_000, {})),
    "a million numbers": (REFUSED, lambda: rows(1_000_000, 1, "waivers")),
    "another pull request": (REFUSED, lambda: packed(document(), "8\n")),
    "number in Arabic digits": (REFUSED, lambda: packed(document(), "٧")),
    "number that commands": (REFUSED, lambda: packed(document(), "7\r\n::set-output x")),
    "number that is a path": (REFUSED, lambda: packed(document(), "../7")),
    "pass on top alone": (CONTRADICTION, lie("verdict", "pass")),
    "pass everywhere": (CONTRADICTION, all_pass),
    "a check that fails is left out": (CONTRADICTION, without_failing_checks),
    "a raised limit": (CONTRADICTION, lie("checks.0.limit", 99_999)),
    "a raised limit and headroom": (
        CONTRADICTION,
        lambda: packed(
            {
                **document(failing),
                "checks": [
                    {**row, "limit": 99_999, "headroom": 99_999 - row["actual"], "verdict": "pass"}
                    if row["metric"] == "load" else row
                    for row in document(failing)["checks"]
                ],
            }
        ),
    ),
    "a lower size": (CONTRADICTION, lie("checks.0.actual", 1)),
    "a higher base": (CONTRADICTION, lie("checks.0.base", 41_000)),
    "waived by nobody": (CONTRADICTION, lie("checks.0.waived", 500)),
    "another rule": (CONTRADICTION, lie("checks.0.rule", "max(50%, 4 KiB)")),
    "no rule": (CONTRADICTION, lie("checks.0.rule", "whatever")),
    "another exit code": (CONTRADICTION, lie("exit_code", 0)),
    "an exit code of text": (CONTRADICTION, lie("exit_code", "0\n::error::x")),
    "negative sizes": (CONTRADICTION, lie("apps.0.sizes.ram", -1)),
    "growth of nothing": (
        CONTRADICTION, lie("apps.0.growth_since_base", {"load": 0, "ram": 0, "file": 0}),
    ),
    "a model that compared nothing": (CONTRADICTION, lie("models.0.cases", 0)),
    "an app that passes": (CONTRADICTION, lie("apps.0.verdict", "pass")),
    "a verification that fails": (
        CONTRADICTION, lie("apps.0.verification.verdicts.0.verdict", "fail"),
    ),
    "a verifier that is broken": (CONTRADICTION, lie("apps.0.verification.canary", "broken")),
    "no verification": (CONTRADICTION, lie("apps.0.verification", None)),
    "growth from the head itself": (CONTRADICTION, counted_from(HEAD)),
    "growth from the merge itself": (CONTRADICTION, counted_from(MERGE)),
    "a base that is not there": (
        CONTRADICTION, lambda: edited("apps.0.old_sizes", None, passing),
    ),
    "moved bytes of the load": (CONTRADICTION, loads(moved=204, limit=41_204)),
    "growth that is not run": (CONTRADICTION, loads(verdict="not_run")),
    "growth for other tools": (CONTRADICTION, loads(verdict="not_run", set_for="gcc 99")),
    "a kind of check that nobody knows": (CONTRADICTION, loads(kind="magic", actual=0)),
    "a rule that is the file's": (
        CONTRADICTION,
        loads(rule="load in pages + max(1%, 512B) of the rest", limit=99_999),
    ),
    "a waiver that expired": (CONTRADICTION, expired_waiver),
    "no claims": (
        CONTRADICTION, lambda: edited("apps.0.verification.verdicts", [], passing),
    ),
    "a key twice": (
        REFUSED,
        lambda: packed(json.dumps(document()).replace('"verdict"', '"verdict": "", "verdict"', 1)),
    ),
    "UTF-16": (REFUSED, lambda: packed(json.dumps(document()).encode("utf-16"))),
    "a wrong checksum": (REFUSED, wrong_checksum),
    "a link": (REFUSED, entries(("gate.json", "/etc/passwd"), mode=0o120777)),
    "a name that ends early": (
        REFUSED, entries(("gate.json", json.dumps(document())), ("gate.json\0.txt", "{}")),
    ),
    "a path of Windows": (REFUSED, entries(("..\\gate.json", json.dumps(document())))),
    "two documents": (REFUSED, lambda: packed(2 * json.dumps(document()))),
    "a mark of byte order": (REFUSED, lambda: packed("\ufeff" + json.dumps(document()))),
    "a number of 5,000 digits": (REFUSED, text_with('"actual": ', f'"actual": {"9" * 5000}')),
    "not a number": (REFUSED, text_with('"actual": ', '"actual": NaN, "x": ')),
    "infinite": (REFUSED, lie("checks.0.limit", float("inf"))),
    "a size that is true": (REFUSED, lie("apps.0.sizes.ram", True)),
    "a key twice in a row": (REFUSED, text_with('"limit": ', '"limit": 9, "limit": ')),
    "deep in a field": (REFUSED, text_with('"waivers": []', '"waivers": ' + "[" * 5000)),
    "checks of a ghost": (REFUSED, of_ghost("checks")),
    "models of a ghost": (REFUSED, of_ghost("models")),
    "a twin with a zero-width name": (CONTRADICTION, twin),
    "growth from a script": (CONTRADICTION, counted_from("javascript:alert(1)")),
    "growth from a branch": (CONTRADICTION, counted_from("main")),
    "an exit code that is false": (
        CONTRADICTION, lambda: edited("exit_code", False, passing),
    ),
    "a head in capitals": (CONTRADICTION, lambda: edited("head", MERGE.upper(), passing)),
    "two results in folders": (
        REFUSED, lambda: zipped({"gate.json": "{}", "x/gate.json": "{}", "pull-request": "7"}),
    ),
    "pass of nothing": (
        CONTRADICTION,
        lambda: packed(
            {**document(), "apps": [], "checks": [], "models": [], "saved": [], "selection": []}
        ),
    ),
    "nothing to be measured": (
        CONTRADICTION,
        lambda: packed(
            {
                **document(), "apps": [], "checks": [], "models": [], "saved": [], "selection": [],
                "skipped": "only README.md changed ✅ @everyone",
            }
        ),
    ),
    "many builds": (CONTRADICTION, many_builds),
    "waivers times checks": (CONTRADICTION, waivers_times_checks),
    "failures times causes": (CONTRADICTION, failing_times_causes),
    "long words": (CONTRADICTION, lambda: long_texts("a" * 19_000)),
    "long runs of dashes": (CONTRADICTION, lambda: long_texts("a-" * 9_000)),
    "long runs of backticks": (CONTRADICTION, lambda: long_texts("`" * 19_000)),
    "long runs of brackets": (CONTRADICTION, lambda: long_texts("(<" * 9_000)),
    "long commands": (CONTRADICTION, lambda: long_texts("sizeguard " + "'a' " * 4_500)),
    "long bidi": (CONTRADICTION, lambda: long_texts("\u202e" * 19_000)),
}  # fmt: skip
