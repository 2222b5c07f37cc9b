"""unapproved-delivery"""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import read_line
from tests.routing.lint.support import examples, found, the_page_is_right

ID = "unapproved-delivery"


def test_the_page_is_right() -> None:
    finding = the_page_is_right(ID)
    assert (finding.severity, finding.path) == ("warning", "stations[1].work.gate")
    assert str(finding.message).endswith("not delivered then: tests → deliver")


def good_document() -> dict[str, Any]:
    _bad, good = examples(ID)
    return good.to_document()


def findings(document: dict[str, Any]) -> list[str]:
    return [str(finding.message) for finding in found(ID, read_line(document))]


def test_a_rule_without_the_gate_before_one_with_it_shadows_it() -> None:
    document = good_document()
    first, last = {"id": "all"}, {"id": "asked", "gates": ["review"]}
    document["stations"][0]["rules"] = [{**rule, "to": "deliver"} for rule in (first, last)]
    assert len(findings(document)) == 1
    document["stations"][0]["rules"].reverse()
    assert findings(document) == []


def test_an_approval_on_an_earlier_way_or_at_a_station_is_one() -> None:
    document = good_document()
    document["stations"][0]["rules"][0]["to"] = "stamp"
    stamp: dict[str, Any] = {"key": "stamp", "work": {"kind": "noop"}}
    stamp["rules"] = [{"id": "stamped", "to": "deliver"}]
    document["stations"].insert(1, stamp)
    assert findings(document) == []
    del document["stations"][0]["rules"][0]["gates"]
    [message] = findings(document)
    assert message.endswith("tests → stamp → deliver")
    stamp["gate"] = "review"
    assert findings(document) == []


@pytest.mark.parametrize("answer", ["failed", "tests"])
def test_a_line_that_says_where_not_approved_leads_is_left_alone(answer: str) -> None:
    document = good_document()
    del document["stations"][0]["rules"][0]["gates"]
    assert len(findings(document)) == 1
    refused = {"id": "refused", "when": {"eval": {"op": "equals", "value": "not_approved"}}, "to": answer}
    document["stations"][1]["rules"].append(refused)
    assert findings(document) == []
