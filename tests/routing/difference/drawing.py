"""Conditions, rules, and situations that go round all outcomes, documents and facts at different speeds."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import strategies as st

WORDS = ("", "a", "b", "ab", "ba", "ok", "7", " 7.0 ", "-1")
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 1.0, 2, -1, 1.5, "", "a", "ab", "ba", "1", [], [1], ["a", 2], {}, {"b": 1}),
    *({"b": "ab"}, [{"b": 1}], {"b": [1]}, [2, 1]),
)
PATHS = ("k", "a.b", "$", "$.k", "$.a", "$.a.b", "$['a.b']", "$.k[0]", "$.k[-1]", "$.k[1]")
OPS = ("exists", "missing", "equals", "not_equals", "gt", "gte", "lt", "lte", "contains", "not_contains")
TEXT_OPS = ("starts_with", "ends_with")
TYPES = ("null", "boolean", "number", "string", "array", "object")

outputs = st.one_of(
    st.builds(
        lambda p, o, v: {"path": p, "op": o, "value": v}, *map(st.sampled_from, (PATHS, OPS[2:], VALUES))
    ),
    st.builds(lambda p, o: {"path": p, "op": o}, *map(st.sampled_from, (PATHS, OPS[:2]))),
    st.builds(
        lambda p, o, v: {"path": p, "op": o, "value": v}, *map(st.sampled_from, (PATHS, TEXT_OPS, WORDS))
    ),
    st.builds(lambda p, v: {"path": p, "op": "type", "value": v}, *map(st.sampled_from, (PATHS, TYPES))),
    st.builds(
        lambda p, v: {"path": p, "op": "matches", "value": v},
        st.sampled_from(PATHS),
        st.sampled_from(["^a", "b$", "^[ab]*$"]),
    ),
    st.builds(
        lambda p, o, v: {"path": p, "op": o, "value": v},
        st.sampled_from(PATHS),
        st.sampled_from(["in", "not_in"]),
        st.lists(st.sampled_from(VALUES), max_size=3),
    ),
)
ASKED = {"agentic": {"question": "Is it done?"}}
EVAL_OPS = ("equals", "not_equals", "contains", "not_contains", "starts_with", "ends_with")
evals = st.one_of(
    st.builds(lambda o, v: {"op": o, "value": v}, st.sampled_from(EVAL_OPS), st.sampled_from(WORDS)),
    st.builds(lambda o, v: {"op": o, "value": v}, st.sampled_from(OPS[4:8]), st.sampled_from([-1, 0, 7])),
    st.builds(lambda v: {"op": "range", "value": v}, st.sampled_from(["0,7", "-1,-1", "7,9"])),
)
atoms = st.one_of(
    outputs.map(lambda o: {"output": o}),
    outputs.map(lambda o: {"output": o}),
    evals.map(lambda e: {"eval": e}),
    st.sampled_from(["success", "failure", "cancelled", "blocked", "any"]).map(lambda r: {"result": r}),
    st.sampled_from(["pass", "fail", "blocked", "any"]).map(lambda v: {"verdict": v}),
    st.sampled_from(["t", ["t", "u"]]).map(lambda t: {"failure_type": t}),
    st.sampled_from(["yes", "no"]).map(lambda word: {**ASKED, "answer": word}),
    st.sampled_from([1, 2]).map(lambda n: {"edge": {"from": "a", "to": "b", "at_least": n}}),
)
conditions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda m: {"all": m}),
        st.lists(inner, min_size=1, max_size=3).map(lambda m: {"any": m}),
        inner.map(lambda m: {"not": m}),
    ),
    max_leaves=4,
)
GATE = {"key": "g", "offers": ["approve", "rework"]}
rules = st.lists(
    st.builds(
        lambda when, gated: {"when": when, **({"gates": ["g"]} if gated else {})},
        conditions,
        st.sampled_from([False, False, True]),
    ),
    min_size=2,
    max_size=6,
)
DOCUMENTS: tuple[Any, ...] = (
    *VALUES,
    *({"k": value} for value in VALUES),
    *({"a": value, "k": 1} for value in VALUES),
    *({"a.b": value, "a": {"b": 1}} for value in ("a", 1, None)),
    *({"a": {"b": value}} for value in VALUES),
)
OUTCOMES = [
    *({"result": r, "verdict": v} for r in ("success", "failure", "cancelled") for v in ("pass", "fail")),
    {"result": "blocked"},
    {"result": "blocked", "signals": [{"verdict": "rework"}]},
]


def situations(count: int, seed: int) -> Any:
    """Outcomes with their facts."""
    turns = zip(
        itertools.cycle(OUTCOMES),
        itertools.cycle((*DOCUMENTS[seed % 7 :], ...)),
        itertools.cycle((None, *WORDS)),
        itertools.cycle((None, "t", "u", None, "v")),
        itertools.cycle((0, 1, 2)),
        itertools.cycle(("approve", "rework")),
        itertools.cycle(("yes", None, "no", "yes", "no")),
        strict=False,
    )
    for outcome, value, eval_, failure, edge, word, answer in itertools.islice(turns, count):
        extra = {"eval": eval_, "failure_type": failure}
        extra |= {} if value is ... else {"output": value}
        facts = {"edges": {"a->b": edge}, "signal_reworks": 3, "gates": {"g": {"decision": word}}}
        facts |= {} if answer is None else {"answers": [{**ASKED, "answer": answer, "text": "so"}]}
        yield {**outcome, **extra}, facts
