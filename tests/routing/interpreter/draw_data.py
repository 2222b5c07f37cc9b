"""Drawn data: JSON values and outcomes."""

from random import Random
from typing import Any

from .values import Json

NAMES = ("plan", "build", "lint", "test", "review", "ship")
ENDS = (("delivered", "completed"), ("dropped", "cancelled"), ("broken", "failed"))
NUMBERS: tuple[Json, ...] = (-1, 0, 1, 2, 3, 10, 0.0, 1.0, 1.5, 0.1)
TEXTS: tuple[Json, ...] = ("0", "1", "true", "ok", "pass", "fail: x", "Ok ", "")
SCALARS: tuple[Json, ...] = (*NUMBERS, *TEXTS, True, False, None)
RESULTS = ("success", "failure", "cancelled", "blocked")
# What a case is mostly about: what stands elsewhere is then drawn simply, so that it is reached.
MOODS = ("anything", "anything", "data", "gates", "budgets", "signals")
EVALS = ("ok", "error", "failed", "tool-call", "7", " 6.5 ", "-3", "1e2", "07", "7x", "", "blocked", "pass")


class Data:
    """The draw, and what it draws first: the stations, the outcome, the context."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.stations = list(NAMES[: self.random.randint(2, 6)])
        self.here = self.random.choice(self.stations)
        self.ends = [end for end in ENDS if self.chance(0.4)]
        self.gates = [f"g{n}" for n in range(1, self.random.randint(1, 4) + 1)]
        self.places = self.stations + [key for key, _ in self.ends] + ["completed", "failed", "cancelled"]
        self.mood = self.pick(*MOODS)
        self.outcome = self.make_outcome()
        self.context = self.make_object() if self.chance(0.4) else {}

    def chance(self, probability: float) -> bool:
        """True as often as said."""
        return self.random.random() < probability

    def some(self, probability: float, value: Any) -> Any:
        """The value as often as said, else None (= absent)."""
        return value if self.chance(probability) else None

    def pick(self, *choices: Any) -> Any:
        """One of several."""
        return self.random.choice(choices)

    def few(self, n: int = 3) -> int:
        """A small number, 0 among them."""
        return self.random.randint(0, n)

    def make_value(self, depth: int = 2) -> Json:
        """Any JSON value."""
        if depth == 0 or self.chance(0.6):
            return self.pick(*SCALARS)
        if self.chance(0.5):
            return [self.make_value(depth - 1) for _ in range(self.few())]
        return {self.pick("a", "b", "c", "level"): self.make_value(depth - 1) for _ in range(self.few())}

    def make_object(self) -> dict[str, Json]:
        """An object with the keys that the paths name."""
        made: dict[str, Json] = {}
        for key in ("a", "b", "high", "a.b"):
            if self.chance(0.5):
                made[key] = self.make_value()
        if self.chance(0.5):
            made["tags"] = [self.pick(*SCALARS) for _ in range(self.few())]
        if self.chance(0.5):
            made["findings"] = [
                {"level": self.few(), "name": self.pick("a", "abc", "")} for _ in range(self.few())
            ]
        return made

    def make_outcome(self) -> dict[str, Json]:
        """At least one of result, verdict, eval, exit_code."""
        outcome: dict[str, Json] = {}
        while not outcome:
            if self.chance(0.5):
                outcome["result"] = self.pick("success", "success", *RESULTS)
            if self.chance(0.25):
                outcome["verdict"] = self.pick("pass", "pass", "fail", "blocked")
            if self.chance(0.3):
                outcome["eval"] = self.pick(*EVALS)
            if self.chance(0.35):
                outcome["exit_code"] = self.pick(0, 0, 0, 1, 2, 137)
        if self.chance(0.7):
            outcome["output"] = self.make_object() if self.chance(0.85) else self.make_value()
        elif self.chance(0.25):
            outcome["output_error"] = "not JSON"
        return outcome | self.make_rest(outcome)

    def make_rest(self, outcome: dict[str, Json]) -> dict[str, Json]:
        """The other keys of an outcome."""
        rest: dict[str, Json] = {}
        if self.chance(0.3):
            rest["failure_type"] = self.pick("test gap", "license", "code")
        if self.chance(0.06):
            rest["blockers"] = [{"title": "no key"} for _ in range(self.few(2))]
        if self.chance(0.3):
            change = {"what_changed": "a", "files_touched": [], "rationale": "b"}
            run = {"prompt_reference": "p", "contract_version": "1"}
            evidence = {**run, "test_evidence": "t", "security_scan_result": "pass"}
            whole = {"change_summary": change, "evidence": evidence}
            rest["handoff"] = self.pick(
                whole, whole, {"why": "x"}, {"ai_metadata": {"AI-Usage": "y"}}, "text"
            )
        if self.chance(0.2):
            rest["usage"] = {"cost_usd": self.pick(0, 0.1, 2), "tokens_in": 100, "model": "ok"}
            rest["git"] = {"commit_count": 2, "ai_metadata": {"AI-Usage": "ok"}}
        if self.chance({"signals": 0.9, "anything": 0.25}.get(self.mood, 0.1)):
            rest["signals"] = [self.make_signal() for _ in range(self.random.randint(1, 2))]
        if self.chance(0.1):  # null is as if it were not there
            rest |= {
                key: None for key in ("verdict", "failure_type", "blockers") if key not in outcome | rest
            }
        return rest

    def make_signal(self) -> dict[str, Json]:
        """A signal, rarely one with a verdict that counts for nothing."""
        verdict = self.pick("proceed", "proceed", "hold", "hold", "rework", "rework", "abort", "wait")
        signal: dict[str, Json] = {"verdict": verdict}
        if verdict == "hold":
            signal["reason"] = self.pick("already_complete", "already_complete", "needs_human", None)
            target = self.pick(*self.places, *self.places, "moon", None)
            signal["meta"] = {"question": self.pick("Which one?", None), "targetState": target}
        return {key: value for key, value in signal.items() if value is not None}
