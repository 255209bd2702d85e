"""Write test cases as JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from sizeguard.base.dataclass import dataclass

PASSED, FAILED, BROKEN, SKIPPED = "passed", "failure", "error", "skipped"


@dataclass(frozen=True, slots=True)
class Case:
    """One test case.

    text: the note of a passed case
    outcome: passed, failure, error or skipped. An undecided case is an error, so that no CI treats
    it as passed
    """

    classname: str
    name: str
    outcome: str = PASSED
    message: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """Test cases under a common name."""

    name: str
    cases: Sequence[Case]

    def count(self, outcome: str) -> int:
        """Count the cases with this outcome."""
        return sum(case.outcome == outcome for case in self.cases)


def junit_document(name: str, suites: Sequence[Suite]) -> str:
    """Write the XML document."""
    cases = [case for suite in suites for case in suite.cases]
    root = ElementTree.Element(
        "testsuites", {"name": xml_text(name), **_counts(Suite(name, cases))}
    )
    for suite in suites:
        # Jenkins' schema has no total of skipped cases over all suites.
        counts = {
            "name": xml_text(suite.name),
            **_counts(suite),
            "skipped": str(suite.count(SKIPPED)),
        }
        element = ElementTree.SubElement(root, "testsuite", counts)
        for case in suite.cases:
            child = ElementTree.SubElement(
                element, "testcase", classname=xml_text(case.classname), name=xml_text(case.name)
            )
            if case.outcome != PASSED:
                ElementTree.SubElement(child, case.outcome, message=xml_text(case.message)).text = (
                    xml_text(case.text) or None
                )
            elif case.text:
                ElementTree.SubElement(child, "system-out").text = xml_text(case.text)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(
        root, encoding="unicode"
    )


def _counts(suite: Suite) -> dict[str, str]:
    return {
        "tests": str(len(suite.cases)),
        "failures": str(suite.count(FAILED)),
        "errors": str(suite.count(BROKEN)),
    }


def xml_text(text: str) -> str:
    """Replace characters that are not printable.

    XML has no control characters, and characters that change the text direction could hide a name.
    """
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
