"""broken-guarantee"""

from __future__ import annotations

from typing import Any

from pipelines.formats.line_lint import lint_text
from pipelines.routing.analysis.lint.examination import Examination, examine_line
from pipelines.routing.analysis.lint.finding import ERROR, Finding
from pipelines.routing.guarantees.guarantee_proofs import guarantee_answers
from tests.routing.lint.support import examples
from tests.routing.support import line


def told(check: str, of: Examination) -> list[Finding]:
    return [finding for finding in of.findings if finding.check == check]


def test_the_page_shows_a_promise_that_is_broken_and_one_that_is_kept() -> None:
    bad, good = examples("broken-guarantee")
    [finding] = told("broken-guarantee", examine_line(bad, prove=guarantee_answers))
    assert finding.severity == ERROR
    assert finding.path == "guarantees[0]"
    assert (
        finding.message
        == "“Nothing reaches merge without approval” is refuted: review (blocked, rule on) → merge"
    )
    assert [bad.rules_by_id[rule][0].key for rule in finding.rules] == ["review"]
    assert told("broken-guarantee", examine_line(good, prove=guarantee_answers)) == []


def test_the_finding_stands_at_the_line_of_its_guarantee() -> None:
    text = "key: x\nstations:\n  - key: a\nguarantees:\n  - {id: p, at_most: {visit: a, times: 4}}\n"
    assert told("broken-guarantee", lint_text(text)) == []
    text = text.replace("times: 4", "times: 3")
    [finding] = told("broken-guarantee", lint_text(text))
    assert (finding.line, finding.column) == (5, 5)


def test_without_somebody_who_proves_nothing_is_said() -> None:
    broken: dict[str, Any] = {"guarantees": [{"id": "p", "at_most": {"visit": "a", "times": 0}}]}
    assert told("broken-guarantee", examine_line(line({}, **broken))) == []
    assert len(told("broken-guarantee", examine_line(line({}, **broken), prove=guarantee_answers))) == 1
