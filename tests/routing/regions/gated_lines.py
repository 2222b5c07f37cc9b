"""Drawn lines whose first station has a gate: of every mode, with nested checks of every field and operator, shared
with rules or not, under every preset. And situations that lean to what a line names. Nothing of the analysis is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

Json = dict[str, Any]

PRESETS = ("alp", "contenox", "vibe-factory", "flux", "aeef")
OPERATORS = (
    *("equals", "not_equals", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"),
    *("contains", "matches", "in", "exists"),
)
WORDS = ("approve", "send_back", "reject", "rework", "abort")
RESULTS, VERDICTS = ("success", "failure", "cancelled", "blocked"), ("pass", "fail", "blocked")
EVALS = ("ok", "error", "failed", "blocked", "7", " 7.0 ", "12", "great", "")
TYPES = ("flaky", "license", "code")
SCALARS: tuple[Any, ...] = (None, True, False, 0, 1, 2, 7, 1.5, "", "ok", "x", "xy")
PATHS = ("k", "$.k", "a.b", "$.a.b", "$.n", "n", "$.list[0]")
WILD = ("$.list[*]", "$..b", "$.list[?@ > 1]")
FIELDS: dict[str, tuple[Any, ...]] = {
    "result": RESULTS,
    "verdict": VERDICTS,
    "eval": (*EVALS, 7, 12),
    "exit_code": (0, 1, 2, 137),
    "failure_type": TYPES,
    "signal": ("rework", "proceed", "hold"),
    "blockers": (0, 1, 2),
    "run.attempt": (1, 2, 3),
    "usage.cost_usd": (0, 1.5, 3),
    "cost_usd": (0, 2),
    "tokens_in": (0, 100),
    "model": ("small", "large"),
    "output.k": SCALARS,
    "output.a.b": SCALARS,
    "output.n": (0, 1, 2, 7),
    "meta.k": SCALARS,
    "context.k": SCALARS,
    "context.n": (0, 1, 2),
    "task.priority": ("high", 1),
    "task.owner.name": ("x", "ok"),
    "input.mode": SCALARS,
    "variables.v": SCALARS,
    "git.commit_count": (0, 1, 2),
    "git.files.changed": (0, 1),
    "facts.tests.failed": (0, 1, 2),
    "facts.git.files_changed": (0, 1, 5),
    "facts.coverage.lines": (50, 80),
    "facts.nothing.there": (1,),
    "gates.g": WORDS,
    "gates.h": WORDS,
    "nothing": (1,),
}
FACTS = ("tests.failed", "git.files_changed", "coverage.lines")


class GatedLine:
    """One line, and situations at its station `a`; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.agentic = self.chance(0.1)
        self.document = self._document()

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, *among: Any) -> Any:
        return self.random.choice(among)

    def _document(self) -> Json:
        document: Json = {
            "gateline": 1,
            "key": "drawn",
            "name": "Drawn",
            "preset": self.pick(*PRESETS),
            "flags": {"agentic_conditions": True},
            "stations": [self._station(), {"key": "b", "name": "b"}, {"key": "c", "name": "c"}],
            "gates": [self._gate(key) for key in ("g", "h", "k")],
            "ends": [{"key": "dropped", "kind": "cancelled", "label": "DROPPED"}],
        }
        if self.chance(0.7):
            document["policy"] = self._policy()
        if self.chance(0.15):
            document["budgets"] = [
                {"key": "few", "kind": "rules", "rules": ["r1"], "most": self.random.randint(0, 2)},
                {"key": "edges", "kind": "edges", "edges": ["a->b"], "most": self.random.randint(0, 2)},
            ]
        return document

    def _policy(self) -> Json:
        options: dict[str, tuple[str, ...]] = {
            "no_match": ("default", "fail", "stuck", "fallback", "escalate"),
            "on_failure": ("halt", "stuck", "escalate", "fallback", "station:c"),
            "failure_rules": ("yes", "yes", "no"),
            "revisit": ("allow", "forbid", "limit:1"),
            "on_reject": ("fail", "rework", "route:c", "reviewer_chooses"),
            "condition_scope": ("merged", "current"),
        }
        return {key: self.pick(*words) for key, words in options.items() if self.chance(0.3)}

    def _station(self) -> Json:
        station: Json = {"key": "a", "name": "a", "work": {"kind": "noop"}, "gate": "g"}
        if self.chance(0.1):
            station["work"] = {"kind": "hook", "argv": ["./x.sh"]}
        if self.chance(0.1):
            station["result_document"] = self.pick("required", "optional")
        if self.chance(0.1):
            station["limits"] = {"max_retries": self.random.randint(0, 2)}
        station["rules"] = [self._rule(number) for number in range(1, self.random.randint(1, 6) + 1)]
        return station

    def _rule(self, number: int) -> Json:
        targets = ("b", "b", "c", "a", "completed", "failed", "dropped", "@origin", "@blocked", ["b", "c"])
        rule: Json = {"id": f"r{number}", "to": self.pick(*targets)}
        if self.chance(0.9):
            rule["when"] = self._when(2)
        if self.chance(0.35):
            rule["gates"] = self.random.sample(["g", "h", "k"], self.random.randint(1, 2))
        if self.chance(0.08):
            rule["compose"] = [{"var": "v", "path": self.pick("$.k", "a.b", "$.n")}]
        if self.chance(0.1):
            rule["max_retries"] = self.random.randint(0, 2)
        if self.chance(0.1):
            rule["allow_revisit"] = self.chance(0.5)
        return rule

    def _when(self, depth: int) -> Json:
        if depth and self.chance(0.3):
            form = self.pick("all", "any", "not")
            if form == "not":
                return {"not": self._when(depth - 1)}
            return {form: [self._when(depth - 1) for _ in range(self.random.randint(1, 3))]}
        return self._leaf()

    def _leaf(self) -> Json:
        kind = self.random.random()
        if kind < 0.15:
            return {"result": self.pick(*RESULTS, "any", ["success", "blocked"])}
        if kind < 0.3:
            return {"verdict": self.pick(*VERDICTS, "any")}
        if kind < 0.5:
            op = self.pick("equals", "not_equals", "contains", "starts_with", "gt", "lte", "range")
            number = {"gt": 7, "lte": 7, "range": "5,20"}
            return {"eval": {"op": op, "value": number.get(op) or self.pick(*EVALS)}}
        if kind < 0.8:
            return {"output": self._operand(self.pick(*PATHS) if self.chance(0.95) else self.pick(*WILD))}
        if kind < 0.86:
            return {"failure_type": self.pick(*TYPES, ["flaky", "code"])}
        if kind < 0.92:
            op = self.pick("equals", "gt", "lte", "exists", "missing")
            value = {} if op in ("exists", "missing") else {"value": self.pick(0, 1, 50)}
            return {"fact": {"path": self.pick(*FACTS), "op": op, **value}}
        if kind < 0.95:
            return {"edge": {"from": "a", "to": self.pick("a", "b"), "at_least": self.random.randint(1, 3)}}
        if self.agentic:
            return {"agentic": {"question": "Good?"}, "answer": self.pick("yes", "no")}
        return {"always": True}

    def _operand(self, path: str) -> Json:
        op = self.pick(
            "exists", "missing", "equals", "not_equals", "gt", "lt", "contains", "in", "type", "matches"
        )
        values = {
            "gt": 1,
            "lt": 2,
            "in": ["ok", 1, True],
            "type": self.pick("string", "number"),
            "matches": "^x",
        }
        if op in ("exists", "missing"):
            return {"path": path, "op": op}
        return {"path": path, "op": op, "value": values.get(op, self.pick(*SCALARS))}

    # Gates

    def _gate(self, key: str) -> Json:
        gate: Json = {"key": key, "name": key, "mode": self._mode(key)}
        if self.chance(0.75 if key == "g" else 0.5):
            gate["checks"] = self._group(2)
        if self.chance(0.2):
            gate["requires_approval"] = self.chance(0.5)
        if self.chance(0.6):
            gate["offers"] = self.random.sample(WORDS, self.random.randint(1, 5))
        if self.chance(0.2):
            gate["on_reject"] = self.pick("fail", "rework", "route:b", "reviewer_chooses")
        if self.chance(0.08):
            gate["sample"] = {"one_in": 3, **({"always": self._group(0)} if self.chance(0.4) else {})}
        if self.chance(0.08):
            action = self.pick("hold", "rework", "abort")
            gate["tool"] = {"argv": ["true"], "action": action, "approve_warnings": self.chance(0.5)}
        return gate

    def _mode(self, key: str) -> str:
        usual = ("auto", "auto", "checks_then_manual", "checks_then_manual", "manual")
        return str(self.pick(*usual) if self.chance(0.93) else "skip")

    def _group(self, depth: int) -> Json:
        members = [
            self._group(depth - 1) if depth and self.chance(0.25) else self._check()
            for _ in range(self.random.randint(1, 3))
        ]
        return {self.pick("all", "any"): members}

    def _check(self) -> Json:
        field = self.pick(*FIELDS, "result", "verdict", "eval", "eval", "exit_code", "output.k", "output.n")
        operator = self.pick(*OPERATORS, "equals", "equals", "not_equals")
        check: Json = {"field": field, "operator": operator}
        if operator == "in":
            check["value"] = [self.pick(*FIELDS[field]) for _ in range(2)]
        elif operator == "matches":
            check["value"] = self.pick("^ok$", "^f", "a", "^.*$", "[0-9]")
        elif operator != "exists":
            check["value"] = self.pick(*FIELDS[field])
        if self.chance(0.25):
            check["severity"] = self.pick("warn", "block", "required")
        if self.chance(0.85):
            check["action"] = self.pick("hold", "hold", "rework", "abort", "proceed", "notify", "escalate")
        return check

    # Situations

    def situations(self, count: int) -> Iterator[Json]:
        return (self._situation() for _ in range(count))

    def _situation(self) -> Json:
        outcome: Json = {"result": self.pick(*RESULTS, "success", "failure")}
        for key, values, share in (
            ("verdict", VERDICTS, 0.4),
            ("eval", EVALS, 0.5),
            ("exit_code", (0, 0, 1, 2, 137), 0.5),
            ("failure_type", (*TYPES, "other"), 0.3),
        ):
            if self.chance(share):
                outcome[key] = self.pick(*values)
        if self.chance(0.75):
            outcome["output"] = self._output()
        if self.chance(0.2):
            outcome["signals"] = [{"verdict": self.pick("rework", "rework", "proceed", "hold")}]
        if self.chance(0.15):
            outcome["blockers"] = ["b"] * self.random.randint(1, 2)
        if self.chance(0.5):
            values = {
                "cost_usd": self.pick(0, 1.5, 2, 3),
                "tokens_in": self.pick(0, 100),
                "model": self.pick("small", "large"),
            }
            outcome["usage"] = {key: value for key, value in values.items() if self.chance(0.6)}
        if self.chance(0.4):
            outcome["git"] = {
                "commit_count": self.random.randint(0, 2),
                "files": {"changed": self.pick(0, 1)},
            }
        if self.chance(0.5):
            counts = {
                "tests": {"failed": self.random.randint(0, 2)},
                "git": {"files_changed": self.pick(0, 1, 5)},
            }
            outcome["facts"] = {key: value for key, value in counts.items() if self.chance(0.7)}
            if self.chance(0.3):
                outcome["facts"]["coverage"] = {"lines": self.pick(50, 80, 90)}
        return {"station": "a", "outcome": outcome, "facts": self._facts()}

    def _output(self) -> Any:
        if self.chance(0.1):
            return self.pick(*SCALARS, [], [1])
        output: Json = {}
        for key, values in (("k", SCALARS), ("n", (0, 1, 2, 7, "x"))):
            if self.chance(0.6):
                output[key] = self.pick(*values)
        if self.chance(0.4):
            output["a"] = {"b": self.pick(*SCALARS)}
        if self.chance(0.2):
            output["a.b"] = self.pick(*SCALARS)
        if self.chance(0.2):
            output["list"] = [self.pick(*SCALARS) for _ in range(2)]
        return output

    def _facts(self) -> Json:
        facts: Json = {
            "answers": [{"agentic": {"question": "Good?"}, "answer": self.pick("yes", "no")}],
            "signal_reworks": 3,
        }
        for key, make in (
            ("edges", lambda: {"a->a": self.random.randint(0, 3), "a->b": self.random.randint(0, 3)}),
            ("context", lambda: {"k": self.pick(*SCALARS), "n": self.random.randint(0, 2)}),
            ("task", lambda: {"priority": self.pick("high", 1), "owner": {"name": self.pick("x", "ok")}}),
            ("inputs", lambda: {"mode": self.pick(*SCALARS)}),
            ("variables", lambda: {"v": self.pick(*SCALARS)}),
            ("visits", lambda: {"a": self.random.randint(1, 3)}),
            ("words", lambda: {"g": self.pick(*WORDS), "h": self.pick(*WORDS)}),
            ("origin", lambda: self.pick("b", "c")),
        ):
            if self.chance(0.4):
                facts[key] = make()
        return facts
