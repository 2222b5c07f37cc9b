"""What a person reads when a condition is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.routing.refused import refusal_of, rule

FAULTY = [
    (
        rule(when={"output": {"path": "k", "op": "bigger", "value": 1}}),
        "stations[0].rules[0].when.output.op: “bigger” is not known (known: equals, not_equals, "
        "contains, not_contains, starts_with, ends_with, gt, gte, lt, lte, matches, in, not_in, "
        "type, exists, missing)",
    ),
    (
        rule(when={"all": [{"result": "x"}]}),
        "stations[0].rules[0].when.all[0].result: “x” is not known (known: success, failure, "
        "cancelled, blocked, any)",
    ),
    (
        rule(when=[], to="z", gates=["h"]),
        "stations[0].rules[0].when: a condition is an object, not an array (for example {result: "
        "success})\n"
        "stations[0].rules[0].to: the line has no station or end “z” (known: a, b, completed, "
        "failed, cancelled, @origin, @blocked)\n"
        "stations[0].rules[0].gates[0]: the line has no gate “h” (known: g)",
    ),
    (
        rule(when=None),
        "stations[0].rules[0].when: a condition is an object, not null (for example {result: success})",
    ),
    (
        rule(when={}),
        "stations[0].rules[0].when: no known form of a condition (known: always, result, "
        "verdict, eval, output, fact, failure_type, edge, all, any, not, agentic, hook)",
    ),
    (
        rule(when={"results": "success"}),
        "stations[0].rules[0].when: no known form of a condition (did you mean result?)",
    ),
    (
        rule(when={"zzz": 1}),
        "stations[0].rules[0].when: no known form of a condition (known: always, result, "
        "verdict, eval, output, fact, failure_type, edge, all, any, not, agentic, hook)",
    ),
    (
        rule(when={"result": "success", "verdict": "pass"}),
        "stations[0].rules[0].when: a condition has exactly one form (use all: […])",
    ),
    (
        rule(when={"result": "success", "answer": "yes"}),
        "stations[0].rules[0].when.answer: unknown key in a condition (known: result)",
    ),
    (
        rule(when={"always": False}),
        "stations[0].rules[0].when.always: has to be true, not a boolean (leave the rule out, or "
        "use not: {always: true})",
    ),
    (
        rule(when={"result": 5}),
        "stations[0].rules[0].when.result: has to be a text or a list of texts, not a number",
    ),
    (
        rule(when={"result": ["success", 5]}),
        "stations[0].rules[0].when.result: has to be a text or a list of texts, not an array",
    ),
    (
        rule(when={"verdict": "passed"}),
        "stations[0].rules[0].when.verdict: “passed” is not known (did you mean pass?)",
    ),
    (
        rule(when={"failure_type": 5}),
        "stations[0].rules[0].when.failure_type: has to be a text or a list of texts, not a number",
    ),
    (rule(when={"eval": "ok"}), "stations[0].rules[0].when.eval: has to be an object, not a string"),
    (
        rule(when={"eval": {}}),
        "stations[0].rules[0].when.eval.op: is missing\nstations[0].rules[0].when.eval.value: is missing",
    ),
    (rule(when={"eval": {"op": "equals"}}), "stations[0].rules[0].when.eval.value: is missing"),
    (
        rule(when={"eval": {"op": "matches", "value": "x"}}),
        "stations[0].rules[0].when.eval.op: “matches” is not known (known: equals, not_equals, "
        "contains, not_contains, starts_with, ends_with, gt, gte, lt, lte, range)",
    ),
    (
        rule(when={"eval": {"op": "equals", "value": 1, "of": "some"}}),
        "stations[0].rules[0].when.eval.of: unknown key (known: op, value)",
    ),
    (
        rule(when={"eval": {"op": "range", "value": 5}}),
        'stations[0].rules[0].when.eval.value: a range is two numbers in one text, like "200,299"',
    ),
    (
        rule(when={"eval": {"op": "range", "value": "5,1"}}),
        "stations[0].rules[0].when.eval.value: the range ends before it begins",
    ),
    (
        rule(when={"eval": {"op": "range", "value": "1,2,3"}}),
        'stations[0].rules[0].when.eval.value: a range is two numbers in one text, like "200,299"',
    ),
    (rule(when={"output": 5}), "stations[0].rules[0].when.output: has to be an object, not a number"),
    (
        rule(when={"output": {}}),
        "stations[0].rules[0].when.output.path: is missing\nstations[0].rules[0].when.output.op: is missing",
    ),
    (rule(when={"output": {"path": "", "op": "exists"}}), "stations[0].rules[0].when.output.path: is empty"),
    (
        rule(when={"output": {"path": "$..", "op": "exists"}}),
        "stations[0].rules[0].when.output.path: not a JSONPath (RFC 9535): bald descendant "
        "segment, line 1, column 3",
    ),
    (
        rule(when={"output": {"path": "k", "op": "equals"}}),
        "stations[0].rules[0].when.output.value: is missing",
    ),
    (
        rule(when={"output": {"path": "k", "op": "equals", "value": 1, "of": "all"}}),
        "stations[0].rules[0].when.output.of: “all” is not known (known: some, every, count)",
    ),
    (
        rule(when={"output": {"path": "k", "op": "equals", "value": 1, "in": "output"}}),
        "stations[0].rules[0].when.output.in: unknown key (known: path, op, value, of)",
    ),
    (
        rule(when={"output": {"path": "k", "op": "matches", "value": 5}}),
        "stations[0].rules[0].when.output.value: a pattern is a text",
    ),
    (
        rule(when={"output": {"path": "k", "op": "matches", "value": "("}}),
        "stations[0].rules[0].when.output.value: not an RE2 pattern: missing ): (",
    ),
    (
        rule(when={"output": {"path": "k", "op": "matches", "value": "a" * 10_001}}),
        "stations[0].rules[0].when.output.value: the pattern is longer than 1000 characters",
    ),
    (
        rule(when={"output": {"path": "k", "op": "not_in", "value": "abc"}}),
        "stations[0].rules[0].when.output.value: wants a list",
    ),
    (
        rule(when={"output": {"path": "k", "op": "type", "value": "text"}}),
        "stations[0].rules[0].when.output.value: is one of null, boolean, number, string, array, object",
    ),
    (rule(when={"edge": {"from": "a", "to": "b"}}), "stations[0].rules[0].when.edge.at_least: is missing"),
    (
        rule(when={"edge": {"from": "a", "to": "z", "at_least": 1}}),
        "stations[0].rules[0].when.edge.to: the line has no station “z” (known: a, b, completed, "
        "failed, cancelled)",
    ),
    (
        rule(when={"edge": {"from": "zz", "to": "b", "at_least": -1}}),
        "stations[0].rules[0].when.edge.at_least: has to be a whole number, 0 or more\n"
        "stations[0].rules[0].when.edge.from: the line has no station “zz” (known: a, b, "
        "completed, failed, cancelled)",
    ),
    (
        rule(when={"edge": {"from": "a", "to": "b", "at_least": 1, "more": 1}}),
        "stations[0].rules[0].when.edge.more: unknown key (known: from, to, at_least)",
    ),
    (rule(when={"all": {}}), "stations[0].rules[0].when.all: has to be a list of conditions, not an object"),
    (
        rule(when={"any": [{"not": {"all": [5]}}]}),
        "stations[0].rules[0].when.any[0].not.all[0]: a condition is an object, not a number "
        "(for example {result: success})",
    ),
    (
        rule(when={"not": []}),
        "stations[0].rules[0].when.not: a condition is an object, not an array (for example "
        "{result: success})",
    ),
    (
        rule(when={"agentic": {"question": ""}, "answer": "yes"}),
        "stations[0].rules[0].when.agentic.question: is empty",
    ),
    (
        rule(when={"agentic": {"question": "Good?", "model": "m"}, "answer": "yes"}),
        "stations[0].rules[0].when.agentic.model: unknown key (known: question)",
    ),
    (
        rule(when={"agentic": {"question": "Good?"}, "answer": "pass"}),
        "stations[0].rules[0].when.answer: has to be yes or no",
    ),
    (rule(when={"agentic": {"question": "Good?"}}), "stations[0].rules[0].when.answer: has to be yes or no"),
    (rule(when={"hook": {}, "answer": "pass"}), "stations[0].rules[0].when.hook.argv: is missing"),
    (
        rule(when={"hook": {"argv": []}, "answer": "pass"}),
        "stations[0].rules[0].when.hook.argv: names no program",
    ),
    (
        rule(when={"hook": {"argv": "x"}, "answer": "pass"}),
        "stations[0].rules[0].when.hook.argv: has to be a list of texts, not a string",
    ),
    (
        rule(when={"hook": {"argv": ["x"] * 1_001}, "answer": "pass"}),
        "stations[0].rules[0].when.hook.argv: has more than 1000 arguments",
    ),
    (
        rule(when={"hook": {"argv": ["x"], "timeout": "soon"}, "answer": "block"}),
        "stations[0].rules[0].when.hook.timeout: a duration is a number of seconds, or a text "
        "like 90s, 5m, 2h, 1d",
    ),
    (
        rule(when={"hook": {"argv": ["x"]}, "answer": "no"}),
        "stations[0].rules[0].when.answer: has to be pass or block",
    ),
]


@pytest.mark.parametrize(("faulty", "told"), FAULTY)
def test_a_fault_is_told_with_its_place_and_its_remedy(faulty: Any, told: str) -> None:
    assert refusal_of(faulty) == told
