"""JUnit XML: what each test case says, never the totals that a suite claims of itself.

junitparser knows the dialects of the format; the document itself is read by defusedxml before it sees an element."""

from __future__ import annotations

from collections import defaultdict
from xml.etree.ElementTree import Element

from junitparser import Error, Failure, Skipped, TestCase

from pipelines.formats.evidence.readers.report import (
    MOST_ROWS,
    CaseProblem,
    ReadReport,
    SuiteCount,
    UnreadableReport,
    shortened_text,
)
from pipelines.formats.evidence.readers.xml import int_or_zero, parsed_elements

KIND = "junit"
KINDS = ((Failure, "failed"), (Error, "error"), (Skipped, "skipped"))


def read_junit(data: bytes) -> ReadReport:
    """Raises UnreadableReport."""
    counts: dict[str, dict[str, int]] = defaultdict(
        lambda: dict.fromkeys(("passed", "failed", "errors", "skipped"), 0)
    )
    problems: list[CaseProblem] = []
    suites: list[str] = []
    root = ""
    for event, element, _depth in parsed_elements(data):
        if event == "start":
            root = root or element.tag
            if element.tag == "testsuite":
                suites.append(shortened_text(element.get("name"), 200))
        elif element.tag == "testsuite" and suites:
            suites.pop()
            element.clear()
        elif element.tag == "testcase":
            suite = shortened_text(element.get("classname"), 200) or (suites[-1] if suites else "")
            problem = _case_problem(element, suite)
            counts[suite][{"error": "errors", "": "passed"}.get(problem.kind, problem.kind)] += 1
            if problem.kind:
                problems.append(problem)
            # What was counted is let go: a report may have more elements than there is room for
            element.clear()
    if root not in ("testsuites", "testsuite"):
        raise UnreadableReport("no JUnit report")
    suite_counts = [SuiteCount(name, **outcomes) for name, outcomes in sorted(counts.items())]
    facts = {
        key: sum(getattr(suite_count, key) for suite_count in suite_counts)
        for key in ("passed", "failed", "skipped", "errors")
    }
    order = {"failed": 0, "error": 1, "skipped": 2}
    problems.sort(key=lambda case_problem: order[case_problem.kind])
    return ReadReport(
        KIND,
        {"tests": {**facts, "suites": len(suite_counts)}},
        suites=suite_counts[:MOST_ROWS],
        tests=problems[:MOST_ROWS],
        left=max(0, len(problems) - MOST_ROWS),
    )


def _case_problem(element: Element, suite: str) -> CaseProblem:
    """`kind` is empty of a test that passed. One that failed and broke in its tear-down failed."""
    case = TestCase.fromelem(element)
    # Backwards, so that of several of one type the first stays
    results = {type(case_result): case_result for case_result in reversed(case.result)}
    for result, kind in KINDS:
        if result in results:
            case_result = results[result]
            message = shortened_text(case_result.message or case_result.text)
            place = (shortened_text(element.get("file"), 400), int_or_zero(element.get("line")))
            return CaseProblem(kind, suite, shortened_text(case.name, 400), message, *place)
    return CaseProblem("", suite, "")
