"""json-logic and zen-engine: the twenty rules of `proof.bench.routing`, said in their languages.

    (situations as JSON) | python -m proof.bench.contenders.decisions <rounds>

Both get what is easier for them than for us: result, verdict and eval are filled in, and the number that an eval says
is told beside it. json-logic lacks patterns and types, which are operations of ours here; zen has a table whose first
hit wins. Each is asked for the name of the rule, without a trace."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import zen
from json_logic import add_operation, jsonLogic

from proof.bench.timing import microseconds

Json = dict[str, Any]


def var(path: str) -> Json:
    return {"var": path}


def both(*members: Json) -> Json:
    return {"and": list(members)}


def same(path: str, value: Any) -> Json:
    return {"===": [var(path), value]}


def cut(path: str, at: int, length: int | None, text: str) -> Json:
    """Whether a part of a text is this one."""
    place = [at] if length is None else [at, length]
    return both({"is_text": [var(path)]}, {"===": [{"substr": [var(path), *place]}, text]})


JSON_LOGIC: list[tuple[str, Json]] = [
    ("r1", both(same("result", "failure"), same("failure_type", "license"))),
    ("r2", {"in": [var("failure_type"), ["infra", "flaky"]]}),
    ("r3", same("verdict", "blocked")),
    ("r4", both(same("result", "success"), {">": [var("output.high"), 0]})),
    ("r5", {"<": [var("output.summary.coverage"), 50]}),
    ("r6", cut("eval", 0, 5, "retry")),
    ("r7", both({"<=": [200, var("number")]}, {"<=": [var("number"), 299]})),
    ("r8", {"matches": [var("output.branch"), "^release/[0-9]+$"]}),
    ("r9", {"in": ["urgent", var("output.labels")]}),
    ("r10", {">=": [var("edges.work->fix"), 3]}),
    ("r11", {"in": [var("output.kind"), ["docs", "chore"]]}),
    ("r12", both({">=": [var("output.size"), 1000]}, {"!": [same("output.approved", True)]})),
    ("r13", {"or": [same("output.risk", "high"), same("output.risk", "critical")]}),
    ("r14", same("output.owner.team", "payments")),
    ("r15", cut("eval", -1, None, "?")),
    ("r16", cut("output.files.0", -4, None, ".sql")),
    ("r17", {"is_text": [var("output.version")]}),
    ("r18", both(same("result", "cancelled"), same("verdict", "fail"))),
    ("r19", {"!": [same("result", "success")]}),
    ("r20", {"===": [1, 1]}),
]

ZEN: list[tuple[str, str]] = [
    ("r1", "result == 'failure' and failure_type == 'license'"),
    ("r2", "failure_type in ['infra', 'flaky']"),
    ("r3", "verdict == 'blocked'"),
    ("r4", "result == 'success' and type(output.high) == 'number' and output.high > 0"),
    ("r5", "type(output.summary.coverage) == 'number' and output.summary.coverage < 50"),
    ("r6", "startsWith(eval, 'retry')"),
    ("r7", "type(number) == 'number' and number >= 200 and number <= 299"),
    ("r8", "type(output.branch) == 'string' and matches(output.branch, '^release/[0-9]+$')"),
    ("r9", "type(output.labels) == 'array' and contains(output.labels, 'urgent')"),
    ("r10", "edges['work->fix'] >= 3"),
    ("r11", "output.kind in ['docs', 'chore']"),
    ("r12", "type(output.size) == 'number' and output.size >= 1000 and output.approved != true"),
    ("r13", "output.risk == 'high' or output.risk == 'critical'"),
    ("r14", "output.owner.team == 'payments'"),
    ("r15", "endsWith(eval, '?')"),
    ("r16", "type(output.files) == 'array' and endsWith(output.files[0], '.sql')"),
    ("r17", "type(output.version) == 'string'"),
    ("r18", "result == 'cancelled' and verdict == 'fail'"),
    ("r19", "result != 'success'"),
    ("r20", "true"),
]


def json_logic() -> Callable[[Json], str]:
    add_operation("matches", lambda text, pattern: isinstance(text, str) and bool(re.search(pattern, text)))
    add_operation("is_text", lambda value: isinstance(value, str))
    chain = {"if": [each for name, when in JSON_LOGIC for each in (when, name)]}
    return lambda data: str(jsonLogic(chain, data))


def zen_engine() -> Callable[[Json], str]:
    place = {"x": 0, "y": 0}
    table = {
        "hitPolicy": "first",
        "inputs": [{"id": "when", "name": "when"}],
        "outputs": [{"id": "rule", "field": "rule", "name": "rule"}],
        "rules": [{"_id": name, "when": when, "rule": f"'{name}'"} for name, when in ZEN],
    }
    nodes = [
        {"id": "in", "type": "inputNode", "name": "in", "position": place},
        {"id": "table", "type": "decisionTableNode", "name": "table", "position": place, "content": table},
        {"id": "out", "type": "outputNode", "name": "out", "position": place},
    ]
    edges = [
        {"id": "e1", "sourceId": "in", "targetId": "table"},
        {"id": "e2", "sourceId": "table", "targetId": "out"},
    ]
    decision = zen.ZenEngine().create_decision(json.dumps({"nodes": nodes, "edges": edges}))
    return lambda data: str(decision.evaluate(data)["result"]["rule"])


def main(rounds: int) -> None:
    situations: list[Json] = json.load(sys.stdin)
    found: dict[str, list[float]] = {}
    for name, make in (("json-logic", json_logic), ("zen-engine", zen_engine)):
        decide = make()
        for number, data in enumerate(situations, start=1):
            assert decide(data) == f"r{number}", (name, number, decide(data))
        found[name] = [microseconds(partial(decide, data), rounds) for data in situations]
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]))
