"""Drawn stations: up to eight rules over every operator of the algebra, nested, behind gates, under every scope."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

When = dict[str, Any]

WORDS = ("", "a", "b", "ab", "ba", "ok", "7", " 7.0 ", "-1", "é")
NUMBERS = (-1, 0, 1, 1.0, 1.5, 2, 7, 10**20)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 1.0, 2, -1, 1.5, "", "a", "ab", "ba", "1", [], [1], ["a", 2], {}, {"b": 1}),
    *({"b": "ab"}, [{"b": 1}], {"b": [1]}, [2, 1], [[]], [None], {"b": None}, {"a.b": 1}),
)
SINGULAR = (
    *("k", "a", "a.b", "a.b.c", "$", "$.k", "$.a", "$.a.b", "$['a.b']", "$.k[0]", "$.k[-1]", "$.k[1]"),
    *("$[0]", "$.a.b[0]", "$.k[0].b"),
)
OPAQUE = ("$.k[*]", "$.*", "$..b", "$.k[?@.b == 1]", "$.k[?@ > 1]", "$['k','a']", "$.k[0:2]", "$.k[*].b")
TYPES = ("null", "boolean", "number", "string", "array", "object")
PATTERNS = ("^a", "b$", "^[ab]*$", "a.b", "^$", "(?i)A", r"\d", "^(ab)+$", "a|b")
BEYOND = (r"\bab\b", r"\pL", "[[:alpha:]]")
ORDERED = ("gt", "gte", "lt", "lte")
TEXTUAL = ("starts_with", "ends_with")
ANY_VALUE = ("equals", "not_equals", "contains", "not_contains", *ORDERED)
COUNTS = ("equals", "not_equals", *ORDERED, "in", "not_in", "exists", "missing")
COMPARED = ("equals", "not_equals", "contains", "not_contains", *TEXTUAL)

RESULTS = ("success", "failure", "cancelled", "blocked", "any")
VERDICTS = ("pass", "fail", "blocked", "any")
EVALUATIONS: tuple[dict[str, Any], ...] = (
    {"agentic": {"question": "Good?"}},
    {"agentic": {"question": "Done?"}},
    {"hook": {"argv": ["./a.sh"]}},
)
ANSWERS = {"agentic": ("yes", "no"), "hook": ("pass", "block")}


def _sampled(*among: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(among)


def _tested(paths: st.SearchStrategy[str], patterns: tuple[str, ...]) -> st.SearchStrategy[When]:
    """Every operator of `output` on one of the paths."""
    made = st.one_of(
        st.tuples(_sampled(*ANY_VALUE), _sampled(*VALUES)),
        st.tuples(_sampled(*ORDERED), _sampled(*NUMBERS)),
        st.tuples(_sampled(*TEXTUAL), _sampled(*WORDS, 1)),
        st.tuples(_sampled("matches"), _sampled(*patterns)),
        st.tuples(_sampled("type"), _sampled(*TYPES)),
        st.tuples(_sampled("in", "not_in"), st.lists(_sampled(*VALUES), max_size=3)),
        st.tuples(_sampled("exists", "missing"), _sampled(...)),
    )
    return st.builds(_operand, paths, made, _sampled(None, None, "some", "every"))


def _operand(path: str, tested: tuple[str, Any], of: str | None) -> When:
    op, value = tested
    given = {"path": path, "op": op, **({} if value is ... else {"value": value})}
    return {"output": {**given, **({"of": of} if of else {})}}


def _counted(paths: st.SearchStrategy[str]) -> st.SearchStrategy[When]:
    def made(path: str, op: str, value: int) -> When:
        operand = [value, 2] if op in ("in", "not_in") else value
        given = {} if op in ("exists", "missing") else {"value": operand}
        return {"output": {"path": path, "op": op, "of": "count", **given}}

    return st.builds(made, paths, _sampled(*COUNTS), _sampled(0, 1, 2))


def outputs(paths: tuple[str, ...], patterns: tuple[str, ...]) -> st.SearchStrategy[When]:
    drawn = _sampled(*paths)
    return st.one_of(_tested(drawn, patterns), _tested(drawn, patterns), _counted(drawn))


evals_as_text = st.builds(
    lambda op, value: {"eval": {"op": op, "value": value}}, _sampled(*COMPARED), _sampled(*WORDS, 7)
)
evals_as_number = st.one_of(
    st.builds(lambda op, value: {"eval": {"op": op, "value": value}}, _sampled(*ORDERED), _sampled(-1, 0, 7)),
    _sampled("0,7", "-1,-1", "7,9", " -2 , 6.5 ").map(lambda v: {"eval": {"op": "range", "value": v}}),
)
of_the_outcome = st.one_of(
    _sampled(*RESULTS, ["success", "failure"]).map(lambda r: {"result": r}),
    _sampled(*VERDICTS, ["fail", "blocked"]).map(lambda v: {"verdict": v}),
    _sampled("t", ["t", "u"], "").map(lambda t: {"failure_type": t}),
    _sampled(0, 1, 2, 3).map(lambda n: {"edge": {"from": "a", "to": "b", "at_least": n}}),
)
answered = _sampled(*EVALUATIONS).flatmap(
    lambda asked: _sampled(*ANSWERS[next(iter(asked))]).map(lambda word: {**asked, "answer": word})
)


def nested(atoms: st.SearchStrategy[When], leaves: int) -> st.SearchStrategy[When]:
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(lambda members: {"all": members}),
            st.lists(inner, min_size=1, max_size=3).map(lambda members: {"any": members}),
            inner.map(lambda member: {"not": member}),
        ),
        max_leaves=leaves,
    )


def _mixed(*weighted: tuple[int, st.SearchStrategy[When]]) -> st.SearchStrategy[When]:
    return st.one_of(*(each for weight, each in weighted for _ in range(weight)))


_output = outputs(SINGULAR, PATTERNS)
LISTED = _mixed((5, _output), (2, of_the_outcome), (1, answered))
"""Atoms of conditions that are always decided, but for those of `eval`: see `listed`."""
ANYTHING = _mixed(
    (6, _output),
    (2, of_the_outcome),
    (1, evals_as_text),
    (1, evals_as_number),
    (1, answered),
    (1, outputs(OPAQUE, PATTERNS)),
    (1, outputs(SINGULAR, BEYOND)),
    (1, st.just({"always": True})),
)

BY_HAND = {"key": "g", "offers": ["approve", "rework"]}
BY_CHECK = {
    "key": "h",
    "mode": "auto",
    "checks": {"all": [{"field": "eval", "operator": "not_equals", "value": "ab", "action": "rework"}]},
}
AT_STATION = {"key": "s"}


def rules(
    conditions: st.SearchStrategy[When], gates: tuple[str | None, ...]
) -> st.SearchStrategy[list[When]]:
    made = st.builds(
        lambda when, gate: {"when": when, **({"gates": [gate]} if gate else {})}, conditions, _sampled(*gates)
    )
    return st.lists(made, min_size=1, max_size=8)


policies = _sampled(
    *({}, {}, {"failure_rules": "no"}, {"condition_scope": "merged"}, {"no_match": "fallback"}),
    {"on_failure": "fallback", "condition_scope": "merged"},
)
works = _sampled(
    *({"work": {"kind": "noop"}}, {"work": {"kind": "noop"}, "gate": "s"}),
    {"work": {"kind": "hook", "argv": ["./x.sh"]}},
)


def stations(
    conditions: st.SearchStrategy[When], gates: tuple[str | None, ...]
) -> st.SearchStrategy[dict[str, Any]]:
    """What `ruled` takes: rules, policy, the rest of the station."""
    return st.fixed_dictionaries({"rules": rules(conditions, gates), "policy": policies, "station": works})


def listed_stations(leaves: int = 4) -> st.SearchStrategy[dict[str, Any]]:
    """Every condition is of the class that is always decided; no eval is both a number and a text."""
    texts = stations(nested(_mixed((6, LISTED), (2, evals_as_text)), leaves), (None, None, "g"))
    numbers = stations(nested(_mixed((6, LISTED), (2, evals_as_number)), leaves), (None, None, "g"))
    return texts | numbers


def any_stations(leaves: int = 4) -> st.SearchStrategy[dict[str, Any]]:
    return stations(nested(ANYTHING, leaves), (None, None, None, "g", "h"))
