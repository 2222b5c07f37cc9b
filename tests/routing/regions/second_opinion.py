"""What an SMT solver says of the same rules: a translation of its own, from documents, knowing nothing of the product.

Expressed: result, verdict, failure type, edges; eval as text or, in stations that never test it as text, as a number;
`output` at plain keys with scalars. A value is its type with a truth, a number and a text beside it; a list is told
by its members alone, each scalar a free choice. Anything else raises NotExpressed, and so does a solver that gives up.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import z3

When = dict[str, Any]
MILLISECONDS = 2_000
RESULTS = ("success", "failure", "cancelled", "blocked")
VERDICTS = ("pass", "fail", "blocked")
KINDS = ("missing", "null", "boolean", "number", "string", "array", "object")
ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}
STANDINGS = {
    "passed": [("success", "pass")],
    "failed": [(r, v) for r in RESULTS[:3] for v in VERDICTS[:2] if (r, v) != ("success", "pass")],
    "blocked": [("blocked", "blocked"), ("blocked", "fail")],
}


class NotExpressed(Exception):
    """The solver was not asked, or gave no answer."""


def _text(text: str) -> Any:
    return z3.Re(z3.StringVal(text))


_ANY = z3.Full(z3.ReSort(z3.StringSort()))
_DOT = z3.Diff(z3.AllChar(z3.ReSort(z3.StringSort())), _text("\n"))
_AB = z3.Union(_text("a"), _text("b"))
PATTERNS = {
    "^a": z3.Concat(_text("a"), _ANY),
    "b$": z3.Concat(_ANY, _text("b")),
    "^[ab]*$": z3.Star(_AB),
    "a.b": z3.Concat(_ANY, _text("a"), _DOT, _text("b"), _ANY),
    "^$": _text(""),
    "(?i)A": z3.Concat(_ANY, z3.Union(_text("a"), _text("A")), _ANY),
    r"\d": z3.Concat(_ANY, z3.Range("0", "9"), _ANY),
    "^(ab)+$": z3.Plus(_text("ab")),
    "a|b": z3.Concat(_ANY, _AB, _ANY),
    "^a{2,3}b?$": z3.Concat(z3.Loop(_text("a"), 2, 3), z3.Option(_text("b"))),
}


class Place:
    """One key of the output."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.kind = z3.Int(f"kind {key}")
        self.truth, self.number, self.text = z3.Bool(f"b {key}"), z3.Real(f"n {key}"), z3.String(f"s {key}")

    def is_a(self, kind: str) -> Any:
        return self.kind == KINDS.index(kind)

    def equals(self, value: Any) -> Any:
        if value is None:
            return self.is_a("null")
        if type(value) is bool:
            return z3.And(self.is_a("boolean"), self.truth == value)
        if type(value) is str:
            return z3.And(self.is_a("string"), self.text == z3.StringVal(value))
        if type(value) in (int, float, Decimal):
            return z3.And(self.is_a("number"), self.number == _number(value))
        raise NotExpressed(value)

    def has(self, value: Any) -> Any:
        """A list has it as a member: two scalars that differ are two choices."""
        if type(value) in (list, dict):
            raise NotExpressed(value)
        name = (
            f"{Decimal(str(value)).normalize():f}"
            if type(value) in (int, float, Decimal)
            else f"{type(value)} {value}"
        )
        return z3.And(self.is_a("array"), z3.Bool(f"member {self.key} {name}"))


def _number(value: Any) -> Any:
    return z3.RealVal(str(Decimal(str(value))))


class Opinion:
    """Of the rules of one station: conditions in order."""

    def __init__(self, rules: list[When], *, failure_rules: bool) -> None:
        self.result, self.verdict = z3.Int("result"), z3.Int("verdict")
        self.eval, self.is_number, self.eval_number = z3.String("eval"), z3.Bool("is number"), z3.Real("en")
        self.failure, self.typed = z3.String("failure"), z3.Bool("typed")
        self.places: dict[str, Place] = {}
        self.edges: set[str] = set()
        self.ways: set[str] = set()
        self.rules = [self._of(rule) for rule in rules]
        if self.ways == {"text", "number"}:
            raise NotExpressed("eval as text and as number")
        reach = ["passed", "blocked", *(["failed"] if failure_rules else [])]
        self.reached = {name: self._standing(STANDINGS[name]) for name in reach}

    def takes(self, index: int) -> bool:
        """Whether the rule is the first that is true of something."""
        return self._has(self.rules[index], *map(z3.Not, self.rules[:index]))

    def shares(self, index: int) -> bool:
        """Whether an earlier rule is true of something that it is true of."""
        return self._has(self.rules[index], z3.Or(*self.rules[:index]))

    def leaves(self, standing: str) -> bool:
        """Whether no rule is true of something that passed, failed or is blocked."""
        if standing not in self.reached:
            return False
        return self._has(self.reached[standing], *map(z3.Not, self.rules))

    def _has(self, *formulas: Any) -> bool:
        solver = z3.Solver()
        solver.set("timeout", MILLISECONDS)
        solver.add(z3.Or(*self.reached.values()), *self._world(), *formulas)
        answer = solver.check()
        if answer == z3.unknown:
            raise NotExpressed("the solver gave up")
        return bool(answer == z3.sat)

    def _world(self) -> list[Any]:
        kinds = [z3.And(place.kind >= 0, place.kind < len(KINDS)) for place in self.places.values()]
        said = z3.And(self.eval == z3.StringVal("blocked"), z3.Not(self.is_number))
        forced = z3.Implies(self._is("blocked", "blocked"), said)
        return [*kinds, *(z3.Int(edge) >= 0 for edge in sorted(self.edges)), forced]

    def _standing(self, pairs: list[tuple[str, str]]) -> Any:
        return z3.Or(*(self._is(result, verdict) for result, verdict in pairs))

    def _is(self, result: str, verdict: str) -> Any:
        return z3.And(self.result == RESULTS.index(result), self.verdict == VERDICTS.index(verdict))

    def _of(self, when: When) -> Any:
        [(form, body)] = when.items()
        if form == "not":
            return z3.Not(self._of(body))
        if form in ("all", "any"):
            members = [self._of(member) for member in body]
            return z3.And(*members) if form == "all" else z3.Or(*members)
        if form not in ("always", "result", "verdict", "failure_type", "edge", "eval", "output"):
            raise NotExpressed(form)
        return getattr(self, f"_{form}")(body)

    def _always(self, body: Any) -> Any:
        return z3.BoolVal(True)

    def _result(self, body: Any) -> Any:
        return z3.Or(*(self.result == RESULTS.index(word) for word in _words(body, RESULTS[:3])))

    def _verdict(self, body: Any) -> Any:
        return z3.Or(*(self.verdict == VERDICTS.index(word) for word in _words(body, VERDICTS[:2])))

    def _failure_type(self, body: Any) -> Any:
        named = [self.failure == z3.StringVal(word) for word in ([body] if type(body) is str else body)]
        return z3.And(self.typed, z3.Or(*named))

    def _edge(self, body: Any) -> Any:
        edge = f"edge {body['from']} {body['to']}"
        self.edges.add(edge)
        return z3.Int(edge) >= body["at_least"]

    def _eval(self, body: Any) -> Any:
        op, value = body["op"], body["value"]
        if op in ORDER or op == "range":
            self.ways.add("number")
            if op != "range":
                return z3.And(self.is_number, ORDER[op](self.eval_number, _number(value)))
            low, high = (_number(part.strip()) for part in value.split(","))
            return z3.And(self.is_number, self.eval_number >= low, self.eval_number <= high)
        self.ways.add("text")
        if op.startswith("not_"):
            return z3.Not(self._eval({"op": op.removeprefix("not_"), "value": value}))
        return _tested(op, self.eval, value) if type(value) is str else z3.BoolVal(False)

    def _output(self, body: Any) -> Any:
        key, op, value = body["path"], body["op"], body.get("value")
        if not key.isalpha():
            raise NotExpressed(key)
        place = self.places.setdefault(key, Place(key))
        there = z3.Not(place.is_a("missing"))
        if body.get("of") == "count":
            return z3.Or(
                z3.And(there, _of_count(op, 1, value)), z3.And(z3.Not(there), _of_count(op, 0, value))
            )
        if op in ("exists", "missing"):
            return there if op == "exists" else z3.Not(there)
        if op.startswith("not_"):
            return z3.And(there, z3.Not(self._output({**body, "op": op.removeprefix("not_")})))
        if op == "type":
            return place.is_a(value)
        if op in ("equals", "in"):
            return z3.Or(*(place.equals(each) for each in (value if op == "in" else [value])))
        if op in ORDER:
            numeric = type(value) in (int, float, Decimal)
            return z3.And(place.is_a("number"), ORDER[op](place.number, _number(value)) if numeric else False)
        said = _tested(op, place.text, value) if type(value) is str else z3.BoolVal(False)
        in_text = z3.And(place.is_a("string"), said)
        return z3.Or(in_text, place.has(value)) if op == "contains" else in_text


def _words(body: Any, any_of: tuple[str, ...]) -> list[str]:
    words = [body] if type(body) is str else body
    return [each for word in words for each in (any_of if word == "any" else [word])]


def _tested(op: str, text: Any, value: str) -> Any:
    said = z3.StringVal(value)
    if op == "equals":
        return text == said
    if op == "contains":
        return z3.Contains(text, said)
    if op == "matches":
        if value not in PATTERNS:
            raise NotExpressed(value)
        return z3.InRe(text, PATTERNS[value])
    return z3.PrefixOf(said, text) if op == "starts_with" else z3.SuffixOf(said, text)


def _of_count(op: str, count: int, value: Any) -> Any:
    if op in ("exists", "missing"):
        return op == "exists"
    if op in ORDER:
        return bool(ORDER[op](count, value))
    found = count in value if op in ("in", "not_in") else count == value
    return not found if op.startswith("not_") else found
