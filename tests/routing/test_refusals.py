"""What a person reads when a document is refused: each fault with its place, what is wrong, and the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from tests.routing.refused import refusal_of
from tests.routing.support import document

FAULTY = [
    ([], "has to be an object, not an array"),
    (None, "has to be an object, not null"),
    (
        document({}, more=1),
        "more: unknown key (known: gateline, preset, key, name, description, policy, flags, "
        "workspace, start, inputs, stations, gates, ends, forbidden_parallel, budgets, escalations, limits, "
        "sensitive, guarantees, jumps, …)",
    ),
    (document({}, gateline=2), "gateline: this product knows the semantics number 1 only"),
    (document({}, gateline="1"), "gateline: this product knows the semantics number 1 only"),
    (document({}, gateline=True), "gateline: this product knows the semantics number 1 only"),
    (
        document({}, key="Big"),
        "key: “Big” is not a key (small letters, digits, _ . and -, beginning with a letter or "
        "digit, at most 64 characters)",
    ),
    (
        document({}, key="x" * 65),
        "key: “xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…” is not a key "
        "(small letters, digits, _ . and -, beginning with a letter or digit, at most 64 "
        "characters)",
    ),
    (document({}, key=""), "key: is empty"),
    (
        document({}, key="-x"),
        "key: “-x” is not a key (small letters, digits, _ . and -, beginning with a letter or "
        "digit, at most 64 characters)",
    ),
    (document({}, name=5), "name: has to be a text, not a number"),
    (document({}, name=None), "name: has to be a text, not null"),
    (document({}, preset="alps"), "preset: “alps” is not known (did you mean alp?)"),
    (document({}, flags={"agentic": True}), "flags.agentic: unknown key (known: agentic_conditions)"),
    (
        document({}, flags={"agentic_conditions": "yes"}),
        "flags.agentic_conditions: has to be true or false, not a string",
    ),
    (document({}, start="z"), "start: the line has no station “z” (known: a)"),
    (document({}, extra=[]), "extra: has to be an object, not an array"),
    (document({}, budgets=[1]), "budgets[0]: has to be an object, not a number"),
    (document(), "stations: is empty (a line has at least one station)"),
    (
        document({}, stations={}),
        "stations: has to be a list, not an object\nstations: is empty (a line has at least one station)",
    ),
    (document({}, stations=["a"]), "stations[0]: has to be an object, not a string"),
    (document({}, {"key": "a"}), "stations[1]: the station “a” appears twice"),
    (
        document({}, ends=[{"key": "failed", "kind": "completed"}]),
        "ends[0].kind: the end “failed” exists always and is failed",
    ),
    (document({}, ends=[{"key": "x"}]), "ends[0].kind: is missing"),
    (
        document({}, ends=[{"key": "x", "kind": "done"}]),
        "ends[0].kind: “done” is not known (known: completed, failed, cancelled)",
    ),
    (
        document({}, ends=[{"key": "x", "kind": "failed"}, {"key": "x", "kind": "failed"}]),
        "ends[1]: the end “x” appears twice",
    ),
    (document({}, forbidden_parallel=[["a", "z"]]), "forbidden_parallel[0][1]: the line has no station “z”"),
    (document({}, forbidden_parallel=[["a"]]), "forbidden_parallel[0]: has to be a pair of stations"),
    (
        document({}, policy={"no_match": "advance"}),
        "policy.no_match: “advance” is not known (known: default, fail, stuck, fallback, escalate)",
    ),
    (document({}, policy={"nomatch": "stuck"}), "policy.nomatch: unknown key (did you mean no_match?)"),
    (
        document({}, policy={"on_failure": "station:z"}),
        "policy.on_failure: the line has no station “z” (known: a)",
    ),
    (document({}, policy={"on_failure": "station:"}), "policy.on_failure: station: names no station"),
    (
        document({}, policy={"on_failure": "route:a"}),
        "policy.on_failure: “route:a” is not known (known: halt, stuck, escalate, fallback, "
        "station:<station>)",
    ),
    (
        document({}, policy={"on_reject": "route:completed"}),
        "policy.on_reject: the line has no station “completed” (known: a)",
    ),
    (
        document({}, policy={"revisit": "limit:-1"}),
        "policy.revisit: “limit:-1” is not known (allow, forbid or limit:<n>)",
    ),
    (
        document({}, policy={"revisit": "limit:x"}),
        "policy.revisit: “limit:x” is not known (allow, forbid or limit:<n>)",
    ),
    (
        document({}, policy={"self_loop_limit": "some"}),
        "policy.self_loop_limit: has to be a whole number, 0 or more",
    ),
    (document({}, policy={"visit_cap": 0}), "policy.visit_cap: has to be a whole number, 1 or more"),
    (document({}, policy={"failure_rules": "maybe"}), "policy.failure_rules: has to be yes or no"),
    (
        document({}, policy={"on_exhausted": {"to": "a"}}),
        "policy.on_exhausted: has to be a text, not an object",
    ),
    (
        document({}, inputs=[{"key": "x", "type": "int"}]),
        "inputs[0].type: “int” is not known (known: text, long_text, number, choice, yes_no, date, repository, "
        "revision, file, secret)",
    ),
    (
        document({}, inputs=[{"key": "x", "type": "choice"}]),
        "inputs[0].choices: a choice lists its choices, no other type does",
    ),
    (
        document({}, inputs=[{"key": "x", "type": "date", "minimum": 1, "pattern": "a", "accept": [".a"]}]),
        "inputs[0].minimum: an input of the type date has none (Types that have it: text, long_text, number.)\n"
        "inputs[0].pattern: an input of the type date has none (Types that have it: text, long_text.)\n"
        "inputs[0].accept: an input of the type date has none (Types that have it: file.)",
    ),
    (
        document({}, inputs=[{"key": "x", "type": "number", "minimum": 3, "maximum": 2}]),
        "inputs[0].maximum: is smaller than the minimum",
    ),
    (
        document({}, inputs=[{"key": "x", "type": "file", "accept": [".csv", "image/*"]}]),
        "inputs[0].accept: “image/*” is no ending of a file's name (Write it like .csv, in small letters.)",
    ),
    (document({}, inputs=[{"key": "x"}, {"key": "x"}]), "inputs[1]: the input “x” appears twice"),
    (document({}, extra={"x": "\x00"}), "extra.x: the text holds a NUL character at position 0"),
    (
        document({}, extra={"x": ["\udfff"]}),
        "extra.x[0]: the text holds half of a surrogate pair at position 0",
    ),
    (document({}, extra={"x": float("nan")}), "extra.x: not a number that JSON knows (NaN or Infinity)"),
    (document({}, name=["x"]), "name: has to be a text, not an array"),
    (document({}, key="x", description=True), "description: has to be a text, not a boolean"),
    (
        document({}, {"key": "y"}, {"key": "z"}, preset="zzz", start="q"),
        "preset: “zzz” is not known (known: alp, contenox, vibe-factory, flux, aeef)\n"
        "start: the line has no station “q” (known: a, y, z)",
    ),
    (document({}, policy={"on_failure": True}), "policy.on_failure: has to be a text, not a boolean"),
    (
        document({}, policy={"on_failure": "halte"}),
        "policy.on_failure: “halte” is not known (did you mean halt?)",
    ),
    (document({}, policy={"on_reject": "route:"}), "policy.on_reject: route: names no station"),
    (document({}, policy={"revisit": 3}), "policy.revisit: has to be a text, not a number"),
    (document({}, policy={"visit_cap": -1}), "policy.visit_cap: has to be a whole number, 1 or more"),
    (document({}, policy={"visit_cap": 1.5}), "policy.visit_cap: has to be a whole number, 1 or more"),
    (
        document({}, policy={"contradiction": "later"}),
        "policy.contradiction: “later” is not known (did you mean later_wins?)",
    ),
    (
        document({}, policy={"condition_scope": "both"}),
        "policy.condition_scope: “both” is not known (known: current, merged)",
    ),
    (document({}, policy=[]), "policy: has to be an object, not an array"),
    (document({}, flags=None), "flags: has to be an object, not null"),
    (document({}, budgets={}), "budgets: has to be a list, not an object"),
    (document({}, forbidden_parallel="a,b"), "forbidden_parallel: has to be a list, not a string"),
    (document({}, forbidden_parallel=[["a", 1]]), "forbidden_parallel[0]: has to be a pair of stations"),
    (
        document({}, inputs=[{"key": "x", "choices": ["a"]}]),
        "inputs[0].choices: a choice lists its choices, no other type does",
    ),
    (document({}, inputs=[{"key": "x", "choices": [""]}]), "inputs[0].choices[0]: is empty"),
    (
        document({}, inputs=[{"key": "x", "required": "yes", "label": 1, "help": 2}]),
        "inputs[0].label: has to be a text, not a number\n"
        "inputs[0].help: has to be a text, not a number\n"
        "inputs[0].required: has to be true or false, not a string",
    ),
    (document({}, inputs=[{"type": "text"}]), "inputs[0].key: is missing"),
    (
        document({}, inputs=[{"key": "x" * 64 + "y"}]),
        "inputs[0].key: “xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…” is not a "
        "key (small letters, digits, _ . and -, beginning with a letter or digit, at most 64 "
        "characters)",
    ),
    (
        document({}, ends=[{"key": "cancelled", "kind": "failed"}]),
        "ends[0].kind: the end “cancelled” exists always and is cancelled",
    ),
    (
        document({}, ends=[{"key": "x", "kind": "failed", "lable": "X"}]),
        "ends[0].lable: unknown key (did you mean label?)",
    ),
]


@pytest.mark.parametrize(("faulty", "told"), FAULTY)
def test_a_fault_is_told_with_its_place_and_its_remedy(faulty: Any, told: str) -> None:
    assert refusal_of(faulty) == told
