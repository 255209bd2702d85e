"""Write findings as SARIF 2.1.0."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from sizeguard import __version__
from sizeguard.base.dataclass import dataclass
from sizeguard.report.writers.source_place import SourcePlace

ERROR, WARNING, NOTE = "error", "warning", "note"


@dataclass(frozen=True, slots=True)
class Alert:
    """One result of SARIF.

    name, kind: of its subject
    identity: the same for the same finding in all runs, without numbers; the fingerprint is its
    hash
    related:    other places, each with a text
    """

    rule: str
    level: str
    message: str
    name: str
    kind: str
    identity: str
    place: SourcePlace | None = None
    related: Sequence[tuple[SourcePlace, str]] = ()


def sarif_document(alerts: Sequence[Alert], rules: Mapping[str, str]) -> dict[str, object]:
    """Make the document.

    rules: the description of each rule; rules without alerts are left out
    """
    used = sorted({alert.rule for alert in alerts})
    driver = {
        "name": "sizeguard",
        "version": __version__,
        "rules": [_rule(rule, rules) for rule in used],
    }
    results = [_result(alert, used.index(alert.rule)) for alert in alerts]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }


def _rule(rule: str, rules: Mapping[str, str]) -> dict[str, object]:
    return {"id": rule} | ({"shortDescription": {"text": rules[rule]}} if rule in rules else {})


def _result(alert: Alert, rule: int) -> dict[str, object]:
    logical = [{"fullyQualifiedName": alert.name, "kind": alert.kind}]
    location: dict[str, object] = {"logicalLocations": logical}
    if alert.place:
        location["physicalLocation"] = _physical(alert.place)
    result: dict[str, object] = {
        "ruleId": alert.rule,
        "ruleIndex": rule,
        "level": alert.level,
        "message": {"text": alert.message},
        "locations": [location],
        "partialFingerprints": {
            "sizeguard/v1": (
                hashlib.sha256(alert.identity.encode("utf-8", "replace")).hexdigest()[:32]
            )
        },
    }
    if alert.related:
        result["relatedLocations"] = [
            {"id": i + 1, "physicalLocation": _physical(place), "message": {"text": text}}
            for i, (place, text) in enumerate(alert.related)
        ]
    return result


def _physical(place: SourcePlace) -> dict[str, object]:
    artifact = {"uri": quote(place.file, safe="/-._~+"), "uriBaseId": "%SRCROOT%"}
    if not place.line:
        return {"artifactLocation": artifact}
    region = {"startLine": place.line} | ({"startColumn": place.column} if place.column else {})
    return {"artifactLocation": artifact, "region": region}
