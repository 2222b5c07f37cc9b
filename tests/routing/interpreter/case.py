"""A line and a situation, ready to be read, and the decisions as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from . import facts as read
from .observed import has_reader, judged
from .values import Json

Decision = dict[str, Json]
Rule = Mapping[str, Any]


@dataclass
class Settled(Exception):
    """The decision is made."""

    decision: Decision


@dataclass(frozen=True)
class Route:
    """The values with which the rules are tested, and what forced them."""

    result: str
    verdict: str
    eval: str
    demanded: bool = False  # a forced route was demanded already, since a person spoke last
    forced_by: str | None = None  # signal | gate | fallback, on a forced route
    reason: str | None = None  # a person's, to be handed on as feedback
    no_output: bool = False  # "the fallback, whose rules treat unparseable output as no output"

    @property
    def kind(self) -> str:
        """ "An outcome is blocked if its result or verdict is blocked, else failed if its result is failure or
        cancelled or its verdict fail, else passed." """
        if "blocked" in (self.result, self.verdict):
            return "blocked"
        return "failed" if self.result in ("failure", "cancelled") or self.verdict == "fail" else "passed"


def settle(decision: str, **fields: Json) -> Settled:
    """A decision as an exception."""
    return Settled({"decision": decision, **fields})


def stuck(error: str, rule: str | None) -> Settled:
    """ "Stuck with X" (the message is free text and not part of this reading)."""
    return settle("stuck", error=error, rule=rule)


def wait(status: str, **fields: Json) -> Settled:
    """A wait; "`to` of a wait without a target is empty"."""
    nothing: Decision = {
        "gates": [],
        "to": [],
        "rule": None,
        "question": None,
        "missing": [],
        "evaluation": None,
    }
    return settle("wait", status=status, **(nothing | fields))


def rule_id(rule: Rule | None) -> str | None:
    """ "`rule` is the rule that led here by its target, gate, budget, compose or fault; null where none had
    matched, and after a forced route that none took." """
    return None if rule is None else rule["id"]


class Case:
    """One line, one situation."""

    def __init__(self, document: Mapping[str, Any], situation: Mapping[str, Any]) -> None:
        self.said = document
        self.gate_passed = False
        self.stations: dict[str, Mapping[str, Any]] = {s["key"]: s for s in document["stations"]}
        self.order = list(self.stations)
        self.gates: dict[str, Mapping[str, Any]] = {g["key"]: g for g in document.get("gates") or []}
        self.ends = read.ends(document)
        self.forbidden = [set(pair) for pair in document.get("forbidden_parallel") or []]
        self.knobs = read.knobs(document)
        self.here: str = situation["station"]
        self.station = self.stations[self.here]
        self.facts = read.present(situation.get("facts"))
        # "once a gate asked, rules and checks are not tried again: they stand as they were then. … only step 7 reads
        # the counts of the moment"
        self.moment = self.facts | read.present(self.facts.get("now"))
        # §13: "When a fact decides, result, verdict and eval are all set from it before step 1 of §5"
        self.rules: list[Rule] = list(self.station.get("rules") or [])
        outcome = situation["outcome"]
        counts = has_reader(self.station, takewhile(lambda rule: not self.is_faulty(rule), self.rules))
        told, self.to_review = judged(document, self.station, outcome, self.facts.get("spent"), counts)
        self.outcome = read.derived(told, self.station["work"]["kind"])
        self.visits = read.visits(self.here, self.moment)
        # "stations with a job so far, the present one included (default: those with visits)"
        with_visits = [key for key, n in self.visits.items() if n > 0]
        self.visited: list[str] = [self.here, *self.moment.get("visited", with_visits)]
        self.words: dict[str, Mapping[str, Json]] = read.present(self.facts.get("gates"))
        self.taken: Mapping[str, int] = self.moment.get("rules") or {}
        self.left_out: set[str] = set()  # rules whose gate demanded a forced route
        self.spoken: set[str] = set()  # gates at which a person demanded one
        self.passed: set[str] = set()  # gates that were passed on the way

    def is_faulty(self, rule: Rule) -> bool:
        raise NotImplementedError

    def is_place(self, key: Json) -> bool:
        """A station or an end of this line."""
        return isinstance(key, str) and (key in self.stations or key in self.ends)

    def forced(
        self, kind: str, by: str, route: Route, rule: Rule | None, reason: str | None, spoken: str = ""
    ) -> None:
        """A forced route: see `law.py`, where the rules are."""
        raise NotImplementedError
