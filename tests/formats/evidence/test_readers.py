"""Reports of tools: what is counted, and that hostile ones do no harm."""

from __future__ import annotations

import json
import time

import pytest

from pipelines.formats.evidence.readers import cobertura, image, junit, lcov, lint, markdown, sarif, tables
from pipelines.formats.evidence.readers.reader_table import (
    READERS,
    display_kind_or_empty,
    merged_facts_with_lowest_coverage,
)
from pipelines.formats.evidence.readers.report import MOST_BYTES, CaseProblem, ToolFinding, UnreadableReport

JUNIT = b"""<?xml version="1.0"?>
<testsuites tests="1000" failures="0">
  <testsuite name="all" tests="999" failures="0">
    <testcase classname="tests.test_a" name="one"/>
    <testcase classname="tests.test_a" name="two"><failure message="1 != 2">E  boom</failure></testcase>
    <testcase classname="tests.test_b" name="three" file="tests/test_b.py" line="7"><error message="no db"/></testcase>
    <testcase classname="tests.test_b" name="four"><skipped message="later"/></testcase>
    <testcase name="five"><failure message="first"/><error message="then"/></testcase>
  </testsuite>
</testsuites>"""
RUN = {
    "tool": {
        "driver": {
            "name": "semgrep",
            "rules": [
                {"id": "CWE-348", "properties": {"security-severity": "7.5"}},
                {"id": "CWE-1", "defaultConfiguration": {"level": "note"}},
            ],
        }
    },
    "results": [
        {
            "ruleId": "CWE-348",
            "message": {"text": "Client IP from a header"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "file:///app/a%20b.py"},
                        "region": {"startLine": 31},
                    }
                }
            ],
        },
        {"ruleIndex": 1, "message": {"text": "Magic"}},
        {"ruleId": "x", "level": "error", "message": {"text": "Bad"}},
        {"ruleId": "x", "properties": {"security-severity": "9.8"}, "message": {"text": "Worse"}},
        {"ruleId": "x", "kind": "pass", "message": {"text": "Fine"}},
        {"ruleId": "x", "suppressions": [{"kind": "inSource"}], "message": {"text": "Known"}},
    ],
}
COBERTURA = b"""<coverage line-rate="1.0" branch-rate="0.5"><packages><package><classes>
<class filename="a.py"><methods><method><lines><line number="1" hits="9"/></lines></method></methods>
<lines><line number="1" hits="3"/><line number="2" hits="0" condition-coverage="50% (1/2)"/></lines></class>
</classes></package></packages></coverage>"""
LCOV = b"TN:\nSF:a.js\nDA:1,2\nDA:2,0\nDA:3,1\nBRDA:1,0,0,1\nBRDA:1,0,1,-\nLF:99\nLH:99\nend_of_record\n"


def test_junit_counts_the_cases_and_believes_no_total() -> None:
    found = junit.read_junit(JUNIT)
    assert found.facts == {"tests": {"passed": 1, "failed": 2, "skipped": 1, "errors": 1, "suites": 3}}
    assert found.tests[0] == CaseProblem("failed", "tests.test_a", "two", "1 != 2")
    assert [each.kind for each in found.tests] == ["failed", "failed", "error", "skipped"]
    assert found.tests[2].path == "tests/test_b.py" and found.tests[2].line == 7


def test_sarif_counts_what_was_found_and_not_suppressed() -> None:
    found = sarif.read_sarif(json.dumps({"version": "2.1.0", "runs": [RUN]}).encode())
    assert found.facts == {"findings": {"critical": 1, "high": 2, "medium": 0, "low": 1, "total": 4}}
    assert (
        ToolFinding("high", "Client IP from a header", "CWE-348", "/app/a b.py", 31, "semgrep")
        in found.findings
    )
    assert found.findings[0].severity == "critical"


LINES = b"""./shop/a.py:3:1: F401 'os' imported but unused
shop/a.py:10:80: E501 line too long (91 > 79 characters)
shop/b.py:7:5: F821 undefined name 'price'
************* Module shop.b
shop/b.py:9:0: E1101: Module 'os' has no 'gone' member (no-member)
C:\\no line of a linter
1     E501 line too long
"""


def test_lines_of_flake8_and_pylint_are_findings_and_style_is_no_risk() -> None:
    found = lint.read_lint(LINES)
    assert found.facts == {"findings": {"critical": 0, "high": 1, "medium": 2, "low": 1, "total": 4}}
    assert found.findings[0] == ToolFinding("high", "undefined name 'price'", "F821", "shop/b.py", 7)
    assert found.findings[-1].rule == "E501" and found.findings[1].path == "shop/a.py"
    assert lint.read_lint(b"").facts["findings"]["total"] == 0, (
        "flake8 leaves an empty file where it finds nothing"
    )
    with pytest.raises(UnreadableReport):
        lint.read_lint(b" " * (MOST_BYTES + 1))


def test_sarif_of_ruff_calls_style_no_high_risk() -> None:
    """To ruff every finding is an error."""
    rules = ("E501", "F401", "F821", "S105")
    results = [{"ruleId": rule, "level": "error", "message": {"text": rule}} for rule in rules]
    run = {"tool": {"driver": {"name": "ruff"}}, "results": results}
    counts = sarif.read_sarif(json.dumps({"version": "2.1.0", "runs": [run]}).encode()).facts["findings"]
    assert counts == {"critical": 0, "high": 2, "medium": 1, "low": 1, "total": 4}


def test_coverage_is_counted_from_the_lines() -> None:
    assert cobertura.read_cobertura(COBERTURA).facts == {"coverage": {"lines": 50.0, "branches": 50.0}}
    assert cobertura.read_cobertura(b'<coverage line-rate="0.8"/>').facts == {"coverage": {"lines": 80.0}}
    assert cobertura.read_cobertura(b'<coverage line-rate="80"/>').facts == {}
    assert lcov.read_lcov(LCOV).facts == {"coverage": {"lines": 66.67, "branches": 50.0}}


def test_tables_texts_and_pictures_are_shown_and_count_nothing() -> None:
    assert tables.read_table(b"a;b\n1;2\n").rows == [("1", "2")]
    assert tables.read_table(b'[{"a": 1, "b": {"c": 2}}, {"a": null}]').rows == [("1", '{"c": 2}'), ("", "")]
    assert tables.read_table(b'{"x": 1}').rows == [("x", "1")]
    assert markdown.read_markdown(b"# A <b>").text == "# A <b>"
    assert image.read_image(b"\x89PNG\r\n\x1a\n").kind == "image"
    for report in (tables.read_table(b"a\n"), markdown.read_markdown(b""), image.read_image(b"GIF89a")):
        assert report.facts == {}


def test_several_reports_are_one_fact() -> None:
    facts = merged_facts_with_lowest_coverage(
        [
            junit.read_junit(JUNIT),
            junit.read_junit(JUNIT),
            cobertura.read_cobertura(COBERTURA),
            lcov.read_lcov(LCOV),
        ]
    )
    assert facts["tests"]["failed"] == 4 and facts["coverage"]["lines"] == 50.0


LAUGHS = b"""<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><testsuites>&b;</testsuites>"""
EXTERNAL = b"""<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><testsuites><testcase name="&e;"/></testsuites>"""
HOSTILE = [
    b"",
    b"\x00" * 100,
    b"\xff\xfe<",
    LAUGHS,
    EXTERNAL,
    b"<a>" * 100_000,
    b"<testsuites>" * 61 + b"</testsuites>" * 61,
    b"[" * 100_000,
    b'{"runs":' * 200,
    b'{"runs": [{"results": [{"locations": [7], "ruleIndex": -1, "message": 3, "level": [], "kind": {}}]}]}',
    b'{"runs": [{"tool": 5, "results": {"a": 1}}, 7, null]}',
    b'{"runs": [{"results": [{"ruleId": {"a": 1}, "properties": {"security-severity": {}}}]}]}',
    b'{"runs": NaN}',
    b"<html><script>alert(1)</script></html>",
    b"<coverage><class><line number='x' hits='-1' condition-coverage='(9/1)'/></class></coverage>",
    b"SF:\nDA:x,y\nBRDA:1\nend_of_record",
    b"SF:a\nDA:99999999999999999999,1\nend_of_record",
    b'"' * 70_000,
    b"[" + b'\\"' * 200_000,
    b"a," * 100_000,
    b"x" * (17 << 20),
]


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_report_is_refused_or_small(kind: str, data: bytes) -> None:
    began = time.process_time()
    try:
        found = READERS[kind](data)
    except UnreadableReport as refused:
        assert str(refused)
    else:
        assert len(repr(found)) < 2_000_000
        numbers = [value for group in found.facts.values() for value in group.values()]
        assert all(value >= 0 for value in numbers)
    assert time.process_time() - began < 4


def test_kinds_are_guessed_by_name_for_showing_only() -> None:
    assert [
        display_kind_or_empty(name) for name in ("a/junit.xml", "x.SARIF", "notes.md", "page.html", "a.svg")
    ] == [
        "junit",
        "sarif",
        "markdown",
        "",
        "",
    ]
