"""What a person reads when a document is refused: each fault with its place, what is wrong, and the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import DocumentError, read_line
from tests.routing.support import document, untranslatable


def rule(**members: Any) -> dict[str, Any]:
    return document({"rules": [{"id": "r1", "to": "b", **members}]}, {}, gates=[{"key": "g"}])


def station(**members: Any) -> dict[str, Any]:
    return document(members, {}, gates=[{"key": "g"}])


def gate(**members: Any) -> dict[str, Any]:
    return document({}, {}, gates=[{"key": "g", **members}])


FAULTY = [
    ([], "has to be an object, not an array"),
    (None, "has to be an object, not null"),
    (
        document({}, more=1),
        "more: unknown key (known: gateline, preset, key, name, description, policy, flags, "
        "workspace, start, inputs, stations, gates, ends, forbidden_parallel, budgets, escalations, limits, "
        "sensitive, handoff, extra)",
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
    (document(), "stations: a line has at least one station"),
    (
        document({}, stations={}),
        "stations: has to be a list, not an object\nstations: a line has at least one station",
    ),
    (document({}, stations=["a"]), "stations[0]: has to be an object, not a string"),
    (
        document({"key": "completed"}),
        "stations[0].key: “completed” is an end, and stations and ends share one name space",
    ),
    (
        document({}, ends=[{"key": "a", "kind": "failed"}]),
        "stations[0].key: “a” is an end, and stations and ends share one name space",
    ),
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
    (station(rule=[]), "stations[0].rule: unknown key (did you mean rules?)"),
    (station(gate="z"), "stations[0].gate: the line has no gate “z” (known: g)"),
    (station(gate=None), "stations[0].gate: has to be a text, not null"),
    (
        station(result_document="yes"),
        "stations[0].result_document: “yes” is not known (known: required, optional, none)",
    ),
    (station(output_keys="high"), "stations[0].output_keys: has to be a list of texts, not a string"),
    (station(output_keys=[1]), "stations[0].output_keys[0]: has to be a text, not a number"),
    (
        station(limits={"max_visits": -1}),
        "stations[0].limits.max_visits: has to be a whole number, 0 or more",
    ),
    (
        station(limits={"max_visits": True}),
        "stations[0].limits.max_visits: has to be a whole number, 0 or more",
    ),
    (station(limits={"timeout": 1}), "stations[0].limits.timeout: unknown key (did you mean max_timeout?)"),
    (
        station(limits={"expected": "soon"}),
        "stations[0].limits.expected: a duration is a number of seconds, or a text like 90s, 5m, 2h, 1d",
    ),
    (station(limits={"expected": -1}), "stations[0].limits.expected: a duration is between 0 and ten years"),
    (station(join={"wait_for": ["z"]}), "stations[0].join.wait_for[0]: the line has no station “z”"),
    (station(join={}), "stations[0].join.wait_for: names no station"),
    (
        station(join={"wait_for": ["b"], "aggregation": "most"}),
        "stations[0].join.aggregation: “most” is not known (known: all-pass, any-pass, majority-pass, none)",
    ),
    (station(work={}), "stations[0].work.kind: is missing"),
    (
        station(work={"kind": "command", "argv": "ls -l"}),
        "stations[0].work.argv: has to be a list of texts, not a string",
    ),
    (station(work={"kind": "command", "argv": []}), "stations[0].work.argv: names no program"),
    (
        station(work={"kind": "command", "shell": True}),
        "stations[0].work.shell: unknown key (known: kind, network, argv, env, prompt, cwd)",
    ),
    (
        station(work={"kind": "command", "env": {"A": 1}}),
        "stations[0].work.env.A: an environment is names and texts",
    ),
    (
        station(work={"kind": "noop", "argv": ["x"]}),
        "stations[0].work.argv: unknown key (known: kind, network)",
    ),
    (
        station(work={"kind": "manual", "form": [{"key": "X"}]}),
        "stations[0].work.form[0].key: “X” is not a key (small letters, digits, _ . and -, "
        "beginning with a letter or digit, at most 64 characters)",
    ),
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
        rule(to="z"),
        "stations[0].rules[0].to: the line has no station or end “z” (known: a, b, completed, "
        "failed, cancelled, @origin, @blocked)",
    ),
    (rule(to=["b", "z"]), "stations[0].rules[0].to[1]: a fork leads to stations of the line, not to “z”"),
    (rule(gates=["g", "h"]), "stations[0].rules[0].gates[1]: the line has no gate “h” (known: g)"),
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
        "gates[0].approval.who[0]: has to name one of role, group, user",
    ),
    (
        gate(approval={"who": [{"role": "a", "group": "b"}]}),
        "gates[0].approval.who[0]: has to name one of role, group, user",
    ),
    (
        gate(approval={"who": [{"role": "a", "count": 0}]}),
        "gates[0].approval.who[0].count: has to be a whole number, 1 or more",
    ),
    (
        gate(approval={"who": [{"user": "a", "count": 2}]}),
        "gates[0].approval.who[0].count: is at most 1 for a user",
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
    (document({}, gates=[{"key": "g"}, {"key": "g"}]), "gates[1]: the gate “g” appears twice"),
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
    (
        document({}, {"rules": [{"id": "r", "to": "a"}]}, {"rules": [{"id": "r", "to": "a"}]}),
        "stations[2].rules[0].id: the id “r” appears twice in the line",
    ),
    (station(name="x" * 100_001), "stations[0].name: is longer than 100000 characters"),
    (
        station(limits={"max_retries": 1.5, "idle_timeout": "3 weeks", "max_timeout": True}),
        "stations[0].limits.idle_timeout: a duration is a number of seconds, or a text like 90s, "
        "5m, 2h, 1d\n"
        "stations[0].limits.max_timeout: a duration is a number of seconds, or a text like 90s, "
        "5m, 2h, 1d\n"
        "stations[0].limits.max_retries: has to be a whole number, 0 or more",
    ),
    (
        station(limits={"idle_timeout": 10 * 366 * 86400 + 1}),
        "stations[0].limits.idle_timeout: a duration is between 0 and ten years",
    ),
    (station(limits=5), "stations[0].limits: has to be an object, not a number"),
    (
        station(labels=["a", "", 3]),
        "stations[0].labels[1]: is empty\nstations[0].labels[2]: has to be a text, not a number",
    ),
    (station(join={"wait_for": ["b", "b"]}), "stations[0].join.wait_for[1]: the station “b” appears twice"),
    (
        station(join={"wait_for": ["b"], "mode": "all"}),
        "stations[0].join.mode: unknown key (known: wait_for, aggregation)",
    ),
    (station(work={"kind": 5}), "stations[0].work.kind: has to be a text, not a number"),
    (station(work={"kind": "x" * 65}), "stations[0].work.kind: is longer than 64 characters"),
    (
        station(work={"kind": "command", "argv": ["x"], "env": {"": "x"}}),
        'stations[0].work.env[""]: an environment is names and texts',
    ),
    (
        station(work={"kind": "command", "argv": ["x"], "env": {"A=B": "x"}}),
        'stations[0].work.env["A=B"]: an environment is names and texts',
    ),
    (
        station(work={"kind": "command", "argv": ["x"], "prompt": "x" * 1_000_001}),
        "stations[0].work.prompt: is longer than 1000000 characters",
    ),
    (
        station(work={"kind": "command", "argv": ["x"], "cwd": ["."]}),
        "stations[0].work.cwd: has to be a text, not an array",
    ),
    (
        station(work={"kind": "manual", "form": [{"key": "n"}, {"key": "n"}], "instructions": 1}),
        "stations[0].work.instructions: has to be a text, not a number\n"
        "stations[0].work.form[1]: the field “n” appears twice",
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
    (gate(modes="auto"), "gates[0].modes: unknown key (did you mean mode?)"),
    (gate(offers=["approve", "approve"]), "gates[0].offers[1]: the word “approve” appears twice"),
    (gate(offers="approve"), "gates[0].offers: has to be a list of texts, not a string"),
    (gate(notify="lead@example.com"), "gates[0].notify: has to be a list of texts, not a string"),
    (gate(on_reject="route:"), "gates[0].on_reject: route: names no station"),
    (gate(on_reject=5), "gates[0].on_reject: has to be a text, not a number"),
    (gate(due="1h"), "gates[0].due: has to be an object, not a string"),
    (gate(due={"after": "1h", "now": True}), "gates[0].due.now: unknown key (known: after, then)"),
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
    with pytest.raises(DocumentError) as caught:
        read_line(faulty)
    assert str(caught.value) == told
    assert untranslatable(caught.value) == []
