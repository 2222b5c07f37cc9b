"""base-not-taken-in"""

from __future__ import annotations

from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.document.line import ParsedLine, read_line
from tests.routing.lint.support import examples


def warned(line: ParsedLine) -> list[tuple[str, str | None, str]]:
    findings = (finding for finding in lint_line(line) if finding.check == "base-not-taken-in")
    return [(finding.severity, finding.rule, finding.path) for finding in findings]


def test_the_page_is_right() -> None:
    bad, good = examples("base-not-taken-in")
    assert warned(bad) == [("warning", "moved", "stations[2].rules[1].to")]
    assert warned(good) == []


def test_a_rule_back_to_the_delivery_itself_takes_nothing_in() -> None:
    _bad, good = examples("base-not-taken-in")
    document = good.to_document()
    document["stations"][2]["rules"][1]["to"] = "deliver"
    assert warned(read_line(document)) == [("warning", "moved", "stations[2].rules[1].to")]
    document["stations"][2]["rules"][1]["to"] = "failed"
    assert warned(read_line(document)) == []
