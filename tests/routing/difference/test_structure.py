"""What routes and is no region of one station: each named once, with a sample where a decision shows it."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.analysis.difference.compare import line_difference
from pipelines.routing.document.line import ParsedLine
from tests.routing.difference.support import routed
from tests.routing.support import line, ruled

REVIEW = {"key": "review", "name": "Review"}
CHECKED = {
    "key": "clean",
    "mode": "auto",
    "checks": {"all": [{"field": "exit_code", "operator": "equals", "value": 0}]},
}


def found(old: ParsedLine, new: ParsedLine) -> dict[str, Any]:
    """What is defined otherwise, with its sample; each sample is decided otherwise by the tool itself."""
    said = line_difference(old, new).structure
    for each in said:
        if each.sample is not None:
            given = each.sample.situation
            assert routed(old, given) != routed(new, given)
    return {f"{each.what} {each.key}".strip(): each.sample for each in said}


RULE = {"when": {"result": "success"}, "to": "b"}
CASES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("a cap of visits", {"policy": {"visit_cap": 5}}, {}, "visit_cap"),
    ("the revisit policy", {"policy": {"revisit": "forbid"}}, {}, "revisit"),
    ("a station gate", {"station": {"gate": "review"}}, {}, "station_gate a"),
    (
        "the definition of a station gate",
        {"station": {"gate": "clean"}},
        {"station": {"gate": "clean"}},
        "station_gate a",
    ),
    ("entries of a station", {"station": {"limits": {"max_visits": 2}}}, {}, "max_visits a"),
    ("reworks by signal", {"station": {"limits": {"max_retries": 1}}}, {}, "signal_reworks a"),
    ("a result document", {"station": {"result_document": "required"}}, {}, "result_document a"),
    (
        "an end of another kind",
        {"ends": [{"key": "out", "kind": "failed"}]},
        {"ends": [{"key": "out", "kind": "completed"}]},
        "end out",
    ),
    ("an end", {"ends": [{"key": "out", "kind": "failed"}]}, {}, "end out"),
    ("the review of jumps", {"gates": [REVIEW]}, {"gates": []}, "jump_review"),
    ("jumps that are allowed", {"jumps": ["c"]}, {"jumps": []}, "jumps"),
]


@pytest.mark.parametrize(
    ("old", "new", "what"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_it_is_named_with_a_sample(old: dict[str, Any], new: dict[str, Any], what: str) -> None:
    gates = {"gates": [REVIEW, CHECKED], "jumps": "all"}
    changed = {**CHECKED, "checks": {"all": [{"field": "exit_code", "operator": "equals", "value": 1}]}}
    again = {**gates, "gates": [REVIEW, changed]} if what == "station_gate a" and new else gates
    samples = found(ruled(RULE, **{**gates, **old}), ruled(RULE, **{**again, **new}))
    assert list(samples) == [what]
    assert samples[what] is not None


def test_stations_that_come_and_go_are_named() -> None:
    old, new = line({}, {}, {}), line({}, {"key": "z"}, {"key": "c"})
    assert list(found(old, new)) == ["station b", "station z"]
    gone, came = line_difference(old, new).structure
    assert (gone.old, gone.new, came.old, came.new) == ("b", None, None, "z")
    assert came.to_dict() == {
        "what": "station",
        "key": "z",
        "old": None,
        "new": "z",
        "sample": came.sample.to_dict() if came.sample else None,
    }


def test_a_join_is_named_by_its_station() -> None:
    joined = {"join": {"wait_for": ["a", "b"], "aggregation": "any-pass"}}
    [said] = line_difference(line({}, {}, {}), line({}, {}, joined)).structure
    assert (said.what, said.key, said.old) == ("join", "c", None)
    assert said.new == {"wait_for": ["a", "b"], "aggregation": "any-pass"}


def test_the_order_counts_where_it_makes_a_move_a_forward_one() -> None:
    a, b, c = ({"key": key, "rules": [{"id": f"from-{key}", "to": "completed"}]} for key in "abc")
    old, new = line(a, b, c, jumps="all"), line(a, c, b, jumps="all")
    samples = found(old, new)
    assert samples["order"].situation["facts"]["open_escalations"] == 1


def test_who_may_approve_is_named_although_no_decision_reads_it() -> None:
    rule = {"to": "b", "gates": ["review"]}
    old = ruled(rule, gates=[REVIEW])
    new = ruled(rule, gates=[{**REVIEW, "approval": {"who": [{"role": "admin", "count": 2}]}}])
    said = line_difference(old, new)
    assert said.sentences() == [
        "Gate Review asks otherwise: who was [[role, reviewer, 1]], now [[role, admin, 2]]."
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"name": "One"}, {"name": "Another"}),
        ({"station": {"name": "One"}}, {"station": {"name": "Another", "labels": ["x"]}}),
        ({"station": {"limits": {"max_timeout": 5}}}, {"station": {"limits": {"expected": 5}}}),
        ({"station": {"work": {"kind": "noop"}}}, {"station": {"work": {"kind": "manual"}}}),
        (
            {"ends": [{"key": "out", "kind": "failed", "label": "OUT"}]},
            {"ends": [{"key": "out", "kind": "failed"}]},
        ),
        ({"policy": {"on_exhausted": "stuck"}}, {}),
    ],
)
def test_what_does_not_route_is_no_difference(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert line_difference(ruled(RULE, **old), ruled(RULE, **new)).verdict == "none"
