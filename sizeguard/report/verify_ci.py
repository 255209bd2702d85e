"""Turns a verification into what CI systems read: JUnit, SARIF, GitHub's annotations."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from sizeguard.report.verify_terminal import headline
from sizeguard.verify.result import ABSENT, FAIL, INCONCLUSIVE, OK, PASS, Verdict, Verification


def junit_text(result: Verification) -> str:
    """A test case for each claim; undecided ones are errors, so that no CI takes them for passed."""
    broken = result.canary != OK
    suite = ElementTree.Element(
        "testsuite",
        name=f"sizeguard verify {result.subject}",
        tests=str(len(result.verdicts) + 1),
        failures=str(result.count(FAIL)),
        errors=str(result.count(INCONCLUSIVE) + broken),
    )
    for verdict in result.verdicts:
        case = ElementTree.SubElement(suite, "testcase", classname=f"{verdict.kind}.{verdict.expect}", name=_printable(verdict.name))
        if verdict.verdict != PASS:
            tag = "failure" if verdict.verdict == FAIL else "error"
            ElementTree.SubElement(case, tag, message=_printable(_message(verdict))).text = _printable("\n".join(verdict.evidence))
    case = ElementTree.SubElement(suite, "testcase", classname="canary", name="a claim that must fail fails")
    if broken:
        ElementTree.SubElement(case, "error", message=_printable("; ".join(result.canary_notes)))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode")


def _printable(text: str) -> str:
    """XML has no control characters."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _message(verdict: Verdict) -> str:
    if verdict.verdict == INCONCLUSIVE:
        return f"{verdict.kind} {verdict.name} ({verdict.expect}) cannot be decided: {'; '.join(verdict.evidence[:2])}"
    what = "is still there" if verdict.expect == ABSENT else "is not there"
    size = f" ({verdict.bytes} bytes)" if verdict.bytes else ""
    return f"{verdict.kind} {verdict.name} {what}{size}" + (f": {verdict.cause}" if verdict.cause else "")


def sarif_json(result: Verification) -> dict[str, object]:
    wrong = [verdict for verdict in result.verdicts if verdict.verdict != PASS]
    results: list[dict[str, object]] = [
        {
            "ruleId": f"{verdict.kind}/{verdict.expect}",
            "level": "error" if verdict.verdict == FAIL else "warning",
            "message": {"text": _message(verdict)},
            "locations": [{"logicalLocations": [{"fullyQualifiedName": verdict.name, "kind": verdict.kind}]}],
        }
        for verdict in wrong
    ]
    results += [{"ruleId": "canary", "level": "error", "message": {"text": note}} for note in result.canary_notes]
    rules = sorted({str(row["ruleId"]) for row in results})
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "sizeguard", "rules": [{"id": rule} for rule in rules]}}, "results": results}],
    }


def github_text(result: Verification) -> str:
    """Annotations of a workflow run."""
    return "\n".join(_annotations(result))


def _annotations(result: Verification) -> Iterator[str]:
    level = "notice" if result.verdict == PASS and result.canary == OK else "error"
    yield f"::{level} title=sizeguard verify::{_escaped(headline(result))}"
    for verdict in result.verdicts:
        if verdict.verdict != PASS:
            level = "error" if verdict.verdict == FAIL else "warning"
            yield f"::{level} title={_escaped(verdict.kind)} {_property(verdict.name)}::{_escaped(_message(verdict))}"
    for note in result.canary_notes:
        yield f"::error title=canary::{_escaped(note)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
