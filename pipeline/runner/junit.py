"""Test results from JUnit XML, read as what it is: a file that a machine we do not control wrote."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from xml.etree.ElementTree import Element, ParseError

import defusedxml.ElementTree
from defusedxml import DefusedXmlException

LARGEST = 64 * 1024 * 1024
_UNEXPECTED = "unexpected success"


class TestOutcome(Enum):
    """EXPECTED_FAILURE: a test marked so failed; UNEXPECTED_SUCCESS: it passed, so the mark has to go."""

    __test__ = False

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    EXPECTED_FAILURE = "expected failure"
    UNEXPECTED_SUCCESS = "unexpected success"


@dataclass(frozen=True)
class TestResult:
    """`suite` is the class, dotted; `message` the first line of a failure."""

    __test__ = False

    suite: str
    name: str
    outcome: TestOutcome
    message: str = ""


class NotJUnit(Exception):
    """The file is no test report: cut off, not XML, or with entities."""


def read_junit(content: bytes) -> tuple[TestResult, ...]:
    """Every test case of a report, in order. DTDs, entities and external references are refused. Raises NotJUnit."""
    if len(content) > LARGEST:
        raise NotJUnit(f"{len(content)} bytes are more than a test report has")
    try:
        root = defusedxml.ElementTree.fromstring(content, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        raise NotJUnit(f"{type(error).__name__}: {error}") from None
    if root.tag not in ("testsuites", "testsuite"):
        raise NotJUnit(f"the root element is {root.tag!r}")
    return tuple(_read_case(case) for case in root.iter("testcase"))


def _read_case(case: Element) -> TestResult:
    suite, name = case.get("classname", ""), case.get("name", "")
    for problem in [*case.findall("failure"), *case.findall("error")]:
        said = " ".join((problem.get("type") or "", problem.get("message") or "", problem.text or ""))
        # pytest writes message="Unexpected success", unittest-xml-reporting type="UnexpectedSuccess".
        unexpected = _UNEXPECTED in said.lower() or "unexpectedsuccess" in said.lower()
        outcome = TestOutcome.UNEXPECTED_SUCCESS if unexpected else TestOutcome.FAILED
        message = (problem.get("message") or problem.text or "").strip().partition("\n")[0][:300]
        return TestResult(suite, name, outcome, message)
    skipped = case.find("skipped")
    if skipped is not None:
        expected = skipped.get("type") == "pytest.xfail"
        outcome = TestOutcome.EXPECTED_FAILURE if expected else TestOutcome.SKIPPED
        return TestResult(suite, name, outcome, (skipped.get("message") or "")[:300])
    return TestResult(suite, name, TestOutcome.PASSED)
