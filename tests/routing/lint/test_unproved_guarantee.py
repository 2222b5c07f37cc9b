"""unproved-guarantee"""

from __future__ import annotations

from pipelines.routing.analysis.lint.examination import examine_line
from pipelines.routing.analysis.lint.finding import WARNING
from pipelines.routing.guarantees.guarantee_proofs import guarantee_answers
from tests.routing.lint.support import examples


def test_the_page_shows_a_promise_that_is_not_proved_and_one_that_is() -> None:
    bad, good = examples("unproved-guarantee")
    [finding] = [
        f for f in examine_line(bad, prove=guarantee_answers).findings if f.check == "unproved-guarantee"
    ]
    assert finding.severity == WARNING
    assert finding.path == "guarantees[0]"
    assert "is unknown: rule on may break it" in finding.message
    assert "no path that breaks it was found" in finding.message
    assert [promise.answer for promise in examine_line(good, prove=guarantee_answers).guarantee_findings] == [
        "proved"
    ]
