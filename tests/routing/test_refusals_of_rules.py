"""What a person reads when a rule is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.routing.refused import refusal_of, rule, station
from tests.routing.support import document

FAULTY = [
    (rule(id=""), "stations[0].rules[0].id: is empty"),
    (rule(id="two words"), "stations[0].rules[0].id: an id has no spaces and only printable characters"),
    (rule(id=5), "stations[0].rules[0].id: has to be a text, not a number"),
    (rule(When={}), "stations[0].rules[0].When: unknown key (did you mean when?)"),
    (rule(max_retries=-1), "stations[0].rules[0].max_retries: has to be a whole number, 0 or more"),
    (rule(max_retries="2"), "stations[0].rules[0].max_retries: has to be a whole number, 0 or more"),
    (rule(allow_revisit="yes"), "stations[0].rules[0].allow_revisit: has to be true or false, not a string"),
    (rule(feedback=1), "stations[0].rules[0].feedback: has to be true or false, not a number"),
    (
        rule(on_exhausted="retry"),
        "stations[0].rules[0].on_exhausted: has to be fail, stuck, escalate or {to: station or end}",
    ),
    (
        rule(on_exhausted={"to": "z"}),
        "stations[0].rules[0].on_exhausted.to: the line has no station or end “z” (known: a, b, "
        "completed, failed, cancelled)",
    ),
    (
        rule(on_exhausted={"to": "@blocked"}),
        "stations[0].rules[0].on_exhausted.to: the line has no station or end “@blocked” (known: "
        "a, b, completed, failed, cancelled)",
    ),
    (rule(on_exhausted={}), "stations[0].rules[0].on_exhausted.to: is missing"),
    (rule(compose=[{"path": "k"}]), "stations[0].rules[0].compose[0].var: is missing"),
    (rule(compose=[{"var": "v"}]), "stations[0].rules[0].compose[0].path: is missing"),
    (
        rule(compose=[{"var": "v", "path": "$["}]),
        "stations[0].rules[0].compose[0].path: not a JSONPath (RFC 9535): unbalanced brackets, "
        "line 1, column 2",
    ),
    (
        rule(compose=[{"var": "v", "strategy": "json_path:$.x"}]),
        "stations[0].rules[0].compose[0].strategy: “json_path:$.x” is not known (known: "
        "override, merge_chat_histories, append_string_to_chat_history)",
    ),
    (
        rule(compose={"var": "v", "path": "k"}),
        "stations[0].rules[0].compose: has to be a list, not an object",
    ),
    (
        rule(to="z"),
        "stations[0].rules[0].to: the line has no station or end “z” (known: a, b, completed, "
        "failed, cancelled, @origin, @blocked)",
    ),
    (rule(to=["b", "z"]), "stations[0].rules[0].to[1]: a fork leads to stations of the line, not to “z”"),
    (rule(gates=["g", "h"]), "stations[0].rules[0].gates[1]: the line has no gate “h” (known: g)"),
    (
        document({}, {"rules": [{"id": "r", "to": "a"}]}, {"rules": [{"id": "r", "to": "a"}]}),
        "stations[2].rules[0].id: the id “r” appears twice in the line",
    ),
    (station(rules=[{}]), "stations[0].rules[0].id: is missing\nstations[0].rules[0].to: is missing"),
    (rule(id="x" * 129), "stations[0].rules[0].id: is longer than 128 characters"),
    (rule(id="tab\tbed"), "stations[0].rules[0].id: an id has no spaces and only printable characters"),
    (rule(id="  "), "stations[0].rules[0].id: is empty"),
    (rule(label=5), "stations[0].rules[0].label: has to be a text, not a number"),
    (rule(to=5), "stations[0].rules[0].to: has to be a key or a list of keys, not a number"),
    (rule(to=[]), "stations[0].rules[0].to: a fork has between 1 and 100 targets"),
    (rule(to=["b", "b"]), "stations[0].rules[0].to[1]: the fork leads to “b” twice"),
    (rule(to=["b", 5]), "stations[0].rules[0].to[1]: a fork leads to stations of the line, not to a number"),
    (
        rule(to="compleded"),
        "stations[0].rules[0].to: the line has no station or end “compleded” (did you mean completed?)",
    ),
    (rule(gates="g"), "stations[0].rules[0].gates: has to be a list of gates, not a string"),
    (rule(gates=["g", 5]), "stations[0].rules[0].gates[1]: the line has no gate a number (known: g)"),
    (rule(gates=["gg"]), "stations[0].rules[0].gates[0]: the line has no gate “gg” (did you mean g?)"),
    (rule(max_visits=-1), "stations[0].rules[0].max_visits: has to be a whole number, 0 or more"),
    (
        rule(on_exhausted=5),
        "stations[0].rules[0].on_exhausted: has to be fail, stuck, escalate or {to: station or end}",
    ),
    (
        rule(on_exhausted={"to": "b", "gates": []}),
        "stations[0].rules[0].on_exhausted.gates: unknown key (known: to)",
    ),
    (rule(on_exhausted={"to": 5}), "stations[0].rules[0].on_exhausted.to: has to be a text, not a number"),
    (rule(feedback=None), "stations[0].rules[0].feedback: has to be true or false, not null"),
    (
        rule(compose=[{"var": "two words", "path": "k"}]),
        "stations[0].rules[0].compose[0].var: the name of a variable has no spaces and no braces",
    ),
    (
        rule(compose=[{"var": "{x}", "path": "k"}]),
        "stations[0].rules[0].compose[0].var: the name of a variable has no spaces and no braces",
    ),
    (
        rule(compose=[{"var": "x" * 129, "path": "k"}]),
        "stations[0].rules[0].compose[0].var: is longer than 128 characters",
    ),
    (rule(compose=[{"var": "v", "path": ""}]), "stations[0].rules[0].compose[0].path: is empty"),
    (
        rule(compose=[{"var": "v", "path": "k", "from": "x"}]),
        "stations[0].rules[0].compose[0].from: unknown key (known: var, path, strategy)",
    ),
    (
        rule(compose=[{"var": "v", "strategy": 5}]),
        "stations[0].rules[0].compose[0].strategy: has to be a text, not a number",
    ),
    (rule(extra=[]), "stations[0].rules[0].extra: has to be an object, not an array"),
]


@pytest.mark.parametrize(("faulty", "told"), FAULTY)
def test_a_fault_is_told_with_its_place_and_its_remedy(faulty: Any, told: str) -> None:
    assert refusal_of(faulty) == told
