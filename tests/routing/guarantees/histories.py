"""A second opinion of what a walk says of a guarantee: each token's past as a list of what happened, read from the end.

It shares nothing with `routing/guarantees` but the decisions of `decide`, which both look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pipelines.routing.basics.outcome import derived_outcome, read_outcome
from pipelines.routing.decide.decisions import Finish, Move, Wait
from pipelines.routing.document.kinds import may_cost
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.simulate.scenario import ScenarioScript, ScenarioStep
from pipelines.routing.simulate.state import SimulatedTask, StepRecord, StepRefused, start_task
from pipelines.routing.simulate.walk_steps import take_step

Json = dict[str, Any]
WORDS = ("approve", "approve", "reject", "send_back", "rework", "abort")


@dataclass
class History:
    """`events`: (left, station, standing), (said, gate, word), newest last. `before`: what it came of."""

    events: list[tuple[str, str, str]] = field(default_factory=list)
    before: tuple[History, ...] = ()
    moves: int = 0


class Observer:
    """Goes along a walk, and keeps what breaks the guarantee."""

    def __init__(self, line: ParsedLine, guarantee: Json) -> None:
        self.line, self.guarantee = line, guarantee
        self.walk = start_task(line, ScenarioScript("w", "w"))
        self.of: dict[int, History] = {1: History()}
        self.broken = False
        self._enter(line.start, self.of[1])
        self._whole()

    def copy(self) -> Observer:
        twin = object.__new__(Observer)
        twin.line, twin.guarantee, twin.walk = self.line, self.guarantee, self.walk
        twin.of, twin.broken = dict(self.of), self.broken
        return twin

    # Steps

    def do(self, step: ScenarioStep) -> None:
        """Raises StepRefused."""
        living = [each for each in self.walk.positions if each.is_active]
        moved = next((each for each in living if step.at in (None, each.station)), None)
        taken = take_step(self.line, self.walk, step)
        assert moved is not None
        old = self.of[moved.token]
        new = History([], (old,), old.moves)
        decision = taken.decision
        station = self.line.station(moved.station)
        for key, word in self._spoken(moved, step):
            new.events.append(("said", key, word))
        for entry in decision.trace if decision else ():
            key, _, rest = str(entry.why).partition(": ")
            if entry.step in ("station_gate", "rule_gates") and key in self.line.gates_by_key:
                # Who comes to a gate has left nothing yet, and has said only what was said at the gate of the station.
                so_far = [e for e in new.events if e[1] == station.gate] if key != station.gate else []
                standing = self._recorded(moved, step)
                self._enter(key, History([*so_far, ("left", moved.station, standing)], (old,)))
                gate = self.line.gate(key)
                checked_only = gate.mode == "auto" or not gate.requires_approval
                if rest == "proceed" and entry.result is True and checked_only and gate.enforces_checks:
                    new.events.append(("said", key, "approve"))
        for key in decision.gates if isinstance(decision, Wait) else ():
            so_far = [e for e in new.events if e[1] == station.gate] if key != station.gate else []
            self._enter(key, History([*so_far, ("left", moved.station, self._recorded(moved, step))], (old,)))
        if isinstance(decision, Move | Finish):
            passed = self._visit_passed(decision, moved, step)
            new.events.append(("left", moved.station, "passed" if passed else "failed"))
            new.moves += 1
            self._moved(moved.token, moved.station, decision, new)
        self._merged(taken)
        self.walk = taken.walk
        self._whole()

    def _moved(self, token: int, source: str, decision: Move | Finish, new: History) -> None:
        if token in self.of:
            del self.of[token]
        self._far(new)
        if isinstance(decision, Finish):
            self._enter(decision.end, new)
            return
        several = len(decision.to) > 1
        for number, target in enumerate(decision.to, 1):
            self.of[self.walk.tokens + number if several else token] = new
            if not self.line.does_token_wait_at_join(target, source):
                self._enter(target, new)

    def _merged(self, taken: StepRecord) -> None:
        living = {each.token for each in taken.walk.positions if not each.is_over}
        gone = tuple(self.of[token] for token in list(self.of) if token not in living)
        for token in [token for token in self.of if token not in living]:
            del self.of[token]
        if not taken.joined:
            return
        # Outside of any fork the first that arrived keeps its number.
        first = next((each for each in taken.joined if each.merge.fork is None), None)
        kept = [token for token in (self.keeps(first, taken) if first else ()) if token in self.of]
        gone = (*gone, *(self.of.pop(token) for token in kept))
        one = History([], gone, max((each.moves for each in gone), default=0))
        for each in taken.joined:
            if each.merge.verdict == "pass":
                self._enter(each.station, one)
            if isinstance(each.decision, Move | Finish):
                one = History([("left", each.station, "failed")], (one,), one.moves + 1)
                self._far(one)
                targets = each.decision.to if isinstance(each.decision, Move) else (each.decision.end,)
                for target in targets:
                    if not self.line.does_token_wait_at_join(target, each.station):
                        self._enter(target, one)
        for token in living - set(self.of):
            self.of[token] = one

    def keeps(self, joined: Any, taken: StepRecord) -> list[int]:
        """Which position the join left its token at: at its station, or where its outcome led."""
        went = joined.decision.to if isinstance(joined.decision, Move) else (joined.station,)
        return [each.token for each in taken.walk.positions if each.station in went and not each.is_over]

    def _spoken(self, moved: Any, step: ScenarioStep) -> Iterator[tuple[str, str]]:
        if moved.asked is not None:
            said = {**moved.asked.situation["facts"].get("gates", {}), **moved.asked.words}
            yield from ((key, word["decision"]) for key, word in said.items())
        yield from ((key, word["decision"]) for key, word in step.gates.items())

    def _recorded(self, moved: Any, step: ScenarioStep) -> str:
        outcome = (
            step.outcome if step.kind == "outcome" or not moved.asked else moved.asked.situation["outcome"]
        )
        return derived_outcome(read_outcome(dict(outcome))).outcome_state

    def _visit_passed(self, decision: Move | Finish, moved: Any, step: ScenarioStep) -> bool:
        """ "A visit passed if its outcome passed (§2) and nothing after it took that back: no check or person at its
        station gate failed it, sent it back or reworked it. `proceed` leads on and makes no failed visit pass; a visit
        that ended by a jump did not pass." """
        outcome = (
            step.outcome if step.kind == "outcome" or not moved.asked else moved.asked.situation["outcome"]
        )
        verdicts = [signal["verdict"] for signal in outcome.get("signals", ())]
        gate = self.line.station(moved.station).gate
        said = dict(self._spoken(moved, step))
        failing = {f"{gate}: abort", f"{gate}: rework"}
        checked = any(
            entry.step == "station_gate" and entry.result is False and str(entry.why) in failing
            for entry in decision.trace
        )
        jumped = verdicts[:1] == ["hold"]
        # "Once they are used up the verdict becomes fail": the first run of them is the station again, by signal.
        used_up = verdicts[:1] == ["rework"] and decision.by != "signal"
        passed = self._recorded(moved, step) == "passed"
        spoken_against = said.get(gate, "approve") != "approve" if gate else False
        return passed and not (jumped or used_up or checked or spoken_against)

    # What is promised

    def _whole(self) -> None:
        most, cost = self.guarantee.get("at_most"), self.guarantee.get("cost_at_most")
        if most and self.walk.visits.get(most["visit"], 0) > most["times"]:
            self.broken = True
        if cost is not None and self.walk.spent > float(cost):
            self.broken = True

    def _far(self, history: History) -> None:
        if history.moves > self.guarantee.get("ends_within", 10**9):
            self.broken = True

    def _enter(self, place: str, history: History) -> None:
        never = self.guarantee.get("never")
        if never and place == never["reach"]:
            after = self.guarantee.get("after")
            if after:
                self.broken = self.broken or self._rejected(history, after["gate"], after["word"])
            else:
                self.broken = self.broken or not self._passed(history, never["without"])

    def _passed(self, history: History, what: str) -> bool:
        for kind, key, said in reversed(history.events):
            if key == what:
                if what in self.line.stations_by_key and kind == "left":
                    return said == "passed"
                if what not in self.line.stations_by_key and kind == "said":
                    return said == "approve"
        return any(self._passed(each, what) for each in history.before)

    def _rejected(self, history: History, gate: str, word: str) -> bool:
        for kind, key, said in reversed(history.events):
            if kind == "said" and key == gate and said in ("approve", word):
                return said == word
        return any(self._rejected(each, gate, word) for each in history.before)


# What can be tried

PLAIN: tuple[Json, ...] = (
    {"result": "success"},
    {"result": "success", "output": {"n": 1}},
    {"result": "success", "output": {"n": 2}},
    {"result": "success", "verdict": "fail", "output": {"n": 1}},
    {"result": "failure"},
    {"result": "failure", "failure_type": "vulnerability", "output": {"n": 1}},
    {"result": "cancelled"},
    {"result": "blocked"},
    {"result": "success", "eval": "error"},
    {"result": "success", "signals": [{"verdict": "rework"}]},
    {"result": "success", "signals": [{"verdict": "proceed"}]},
    {"result": "failure", "signals": [{"verdict": "proceed"}]},
    {"result": "blocked", "signals": [{"verdict": "rework"}]},
    {"result": "success", "signals": [{"verdict": "abort"}]},
)


def alphabet(line: ParsedLine, station: str) -> list[Json]:
    """Only what a program did has a price."""
    hold = {"verdict": "hold", "reason": "already_complete"}
    jumps = [{**hold, "meta": {"targetState": place}} for place in (*line.stations_by_key, "completed")]
    paid = PLAIN[:3] if may_cost(line.station(station)) else ()
    priced = [{**each, "facts": {"usage": {"cost_usd": 1}}} for each in paid]
    return [*PLAIN, *({"result": "success", "signals": [jump]} for jump in jumps), *priced]


def steps(line: ParsedLine, walk: SimulatedTask) -> Iterator[ScenarioStep]:
    living = [each for each in walk.positions if each.is_active]
    for index, each in enumerate(living):
        if each.station in (other.station for other in living[:index]):
            continue
        at = each.station if len(living) > 1 else None
        if each.status == "queued":
            for outcome in alphabet(line, each.station):
                yield ScenarioStep("outcome", at, outcome=outcome)
        elif each.status == "awaiting_review":
            for gate in each.wait["gates"]:
                for word in dict.fromkeys(WORDS):
                    for route in line.stations_by_key if word == "reject" else ("",):
                        said = {"decision": word, "reason": "So.", **({"route": route} if route else {})}
                        yield ScenarioStep("gates", at, gates={gate: said})


def random_walk(line: ParsedLine, guarantee: Json, seed: int, most: int = 40) -> bool:
    """Whether it broke the guarantee."""
    random, observer = Random(seed), Observer(line, guarantee)
    for _ in range(most):
        if observer.broken or observer.walk.is_over:
            break
        tried = list(steps(line, observer.walk))
        random.shuffle(tried)
        if not any(_done(observer, step) for step in tried[:12]):
            break
    return observer.broken


def _done(observer: Observer, step: ScenarioStep) -> bool:
    try:
        observer.do(step)
    except StepRefused:
        return False
    return True


def brute_force(line: ParsedLine, guarantee: Json, most: int) -> bool:
    """Whether some sequence of steps breaks it, among the first `most` that are tried, shortest first."""
    first = Observer(line, guarantee)
    level, seen = [first], {_place(first)}
    if first.broken:
        return True
    while level:
        after = []
        for observer in level:
            for step in steps(line, observer.walk):
                most -= 1
                if most < 0:
                    return False
                new = observer.copy()
                if not _done(new, step):
                    continue
                if new.broken:
                    return True
                place = _place(new)
                if not new.walk.is_over and place not in seen:
                    seen.add(place)
                    after.append(new)
        level = after
    return False


def _place(observer: Observer) -> str:
    """Everything that decides what can still happen, and what has been promised so far."""
    walk = observer.walk
    counts = {name: sorted(counts.items()) for name, counts in walk.copy_of_counters().items()}
    tokens = [
        (
            each.station,
            each.status,
            each.origin,
            each.signal_reworks,
            str(each.wait),
            str(each.arrival),
            each.end,
        )
        for each in walk.positions
    ]
    pasts = [
        (
            observer.of[each.token].moves,
            observer.guarantee.get("never") and _marked(observer, observer.of[each.token]),
        )
        for each in walk.positions
        if not each.is_over and each.token in observer.of
    ]
    return repr((counts, tokens, pasts, walk.spent, sorted(walk.context.items())))


def _marked(observer: Observer, history: History) -> bool:
    after = observer.guarantee.get("after")
    if after:
        return observer._rejected(history, after["gate"], after["word"])
    return not observer._passed(history, observer.guarantee["never"]["without"])
