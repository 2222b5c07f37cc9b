"""What a person reads when a gate is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.routing.refused import gate, refusal_of
from tests.routing.support import document

FAULTY = [
    (
        gate(mode="checks"),
        "gates[0].mode: “checks” is not known (known: auto, manual, checks_then_manual, skip)",
    ),
    (gate(requires_approval="no"), "gates[0].requires_approval: has to be true or false, not a string"),
    (
        gate(offers=["accept"]),
        "gates[0].offers[0]: has to be one of approve, send_back, reject, rework, abort",
    ),
    (
        gate(offers=[]),
        "gates[0].offers: a gate offers at least one word (leave the key out for the usual ones)",
    ),
    (gate(on_reject="route:z"), "gates[0].on_reject: the line has no station “z” (known: a, b)"),
    (
        gate(on_reject="halt"),
        "gates[0].on_reject: “halt” is not known (known: fail, rework, reviewer_chooses, route:<station>)",
    ),
    (gate(due={"then": "remind"}), "gates[0].due.after: is missing"),
    (
        gate(due={"after": "1h", "then": "approve"}),
        "gates[0].due.then: “approve” is not known (known: remind, escalate, reject)",
    ),
    (
        gate(approval={"who": [{"count": 1}]}),
        "gates[0].approval.who[0]: has to name one of role, group, user, owner",
    ),
    (
        gate(approval={"who": [{"role": "a", "group": "b"}]}),
        "gates[0].approval.who[0]: has to name one of role, group, user, owner",
    ),
    (
        gate(approval={"who": [{"role": "a", "count": 0}]}),
        "gates[0].approval.who[0].count: has to be a whole number, 1 or more",
    ),
    (
        gate(approval={"who": [{"user": "a", "count": 2}]}),
        "gates[0].approval.who[0].count: is at most 1 for one person",
    ),
    (gate(approval={"who": []}), "gates[0].approval.who: names nobody (leave the key out for one reviewer)"),
    (gate(checks=[]), "gates[0].checks: a group of checks is {all: […]} or {any: […]}"),
    (gate(checks={"all": [], "any": []}), "gates[0].checks: a group of checks is {all: […]} or {any: […]}"),
    (gate(checks={"all": [{"field": "x"}]}), "gates[0].checks.all[0].operator: is missing"),
    (
        gate(checks={"all": [{"field": "x", "operator": "equals"}]}),
        "gates[0].checks.all[0].value: is missing",
    ),
    (
        gate(checks={"all": [{"field": "x", "operator": "gt", "value": 1}]}),
        "gates[0].checks.all[0].operator: “gt” is not known (known: equals, not_equals, "
        "less_than, less_than_or_equal, greater_than, greater_than_or_equal, contains, matches, "
        "in, exists)",
    ),
    (
        gate(checks={"all": [{"field": "x", "operator": "matches", "value": "("}]}),
        "gates[0].checks.all[0].value: not an RE2 pattern: missing ): (",
    ),
    (
        gate(checks={"all": [{"field": "x", "operator": "in", "value": "abc"}]}),
        "gates[0].checks.all[0].value: wants a list",
    ),
    (
        gate(checks={"all": [{"field": "x", "operator": "exists", "action": "blocked"}]}),
        "gates[0].checks.all[0].action: “blocked” is not known (known: proceed, hold, rework, "
        "abort, notify, escalate)",
    ),
    (
        gate(checks={"all": [{"any": [{"all": [{"any": []}]}]}]}),
        "gates[0].checks.all[0].any[0].all[0]: groups of checks nest at most 3 deep",
    ),
    (document({}, gates=[{"key": "g"}, {"key": "g"}]), "gates[1]: the gate “g” appears twice"),
    (gate(modes="auto"), "gates[0].modes: unknown key (did you mean mode?)"),
    (gate(offers=["approve", "approve"]), "gates[0].offers[1]: the word “approve” appears twice"),
    (gate(offers="approve"), "gates[0].offers: has to be a list of texts, not a string"),
    (gate(notify="lead@example.com"), "gates[0].notify: has to be a list of texts, not a string"),
    (gate(on_reject="route:"), "gates[0].on_reject: route: names no station"),
    (gate(on_reject=5), "gates[0].on_reject: has to be a text, not a number"),
    (gate(due="1h"), "gates[0].due: has to be an object, not a string"),
    (
        gate(due={"after": "1h", "now": True}),
        "gates[0].due.now: unknown key (known: after, then, business, before, every, times)",
    ),
    (gate(approval={"whom": []}), "gates[0].approval.whom: unknown key (did you mean who?)"),
    (
        gate(approval={"max_rounds": -1, "requester_may": 1, "producer_may": 1, "reason_required": 1}),
        "gates[0].approval.max_rounds: has to be a whole number, 0 or more\n"
        "gates[0].approval.requester_may: has to be true or false, not a number\n"
        "gates[0].approval.producer_may: has to be true or false, not a number\n"
        "gates[0].approval.reason_required: has to be true or false, not a number",
    ),
    (gate(approval={"who": [{"role": "a", "count": 101}]}), "gates[0].approval.who[0].count: is at most 100"),
    (gate(approval={"who": [{"role": ""}]}), "gates[0].approval.who[0].role: is empty"),
    (
        gate(approval={"who": [{"role": "x" * 151}]}),
        "gates[0].approval.who[0].role: is longer than 150 characters",
    ),
    (
        gate(approval={"who": [{"role": "a", "counts": 2}]}),
        "gates[0].approval.who[0].counts: unknown key (did you mean count?)",
    ),
    (gate(checks={"all": {}}), "gates[0].checks.all: has to be a list of checks, not an object"),
    (gate(checks={"none": []}), "gates[0].checks: a group of checks is {all: […]} or {any: […]}"),
    (gate(checks={"all": [5]}), "gates[0].checks.all[0]: has to be an object, not a number"),
    (gate(checks={"all": [{"operator": "exists"}]}), "gates[0].checks.all[0].field: is missing"),
    (
        gate(
            checks={
                "all": [{"field": "x", "operator": "exists", "severity": "high", "label": 5, "lable": ""}]
            }
        ),
        "gates[0].checks.all[0].severity: “high” is not known (known: warn, required, block)\n"
        "gates[0].checks.all[0].label: has to be a text, not a number\n"
        "gates[0].checks.all[0].lable: unknown key (did you mean label?)",
    ),
    (
        gate(checks={"all": [{"field": "x", "operator": "matches", "value": 5}]}),
        "gates[0].checks.all[0].value: a pattern is a text",
    ),
]


@pytest.mark.parametrize(("faulty", "told"), FAULTY)
def test_a_fault_is_told_with_its_place_and_its_remedy(faulty: Any, told: str) -> None:
    assert refusal_of(faulty) == told
