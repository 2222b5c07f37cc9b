"""Search for a walk that refutes a guarantee, each step by `decide`, first where the analysis says that a break
is near."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from pipelines.routing.analysis.lint.subject import LintSubject, edge_count_tests
from pipelines.routing.basics.jsontext import dumps
from pipelines.routing.decide.outcome_judgement import exact_amount
from pipelines.routing.document.guarantees import SEND_BACK, Guarantee
from pipelines.routing.document.kinds import may_cost
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.guarantees.guarantee_watch import GuaranteeWatch, WatchedWalk
from pipelines.routing.simulate.candidates import REASON, Candidate, Candidates
from pipelines.routing.simulate.path_search import (
    SearchNode,
    key_of_positions,
    possible_candidates_with_records,
)
from pipelines.routing.simulate.scenario import ScenarioScript, ScenarioStep
from pipelines.routing.simulate.state import (
    READY,
    REVIEW,
    SimulatedPosition,
    SimulatedTask,
    StepRecord,
    start_task,
)

MOST_STEPS = 1_500
"""That are walked for one guarantee: a second or two."""
MOST_OF_LINE = 6_000
"""For all guarantees of a line together. The first ones come first."""
FAR = 1_000
OTHERWISE = ({"verdict": "fail"}, {"result": "failure"}, {"result": "blocked"}, {"result": "success"})
Near = Callable[[SimulatedTask, WatchedWalk], int]
"""How many moves it may take to break the guarantee, at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedNode(SearchNode):
    watched: WatchedWalk
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Refutation:
    """`steps`: None where none was found; `cut`: the bound of steps ended the search."""

    steps: tuple[ScenarioStep, ...] | None
    cut: bool = False


class Refuter:
    """Searches of one line; what can be tried at its stations is found once for all of its guarantees."""

    def __init__(self, line: ParsedLine, subject: LintSubject) -> None:
        self._line = line
        self._candidates = Candidates(line, subject)
        self._left = MOST_OF_LINE
        edges = [
            edge
            for station in line.stations
            for rule in station.rules
            for edge in edge_count_tests(rule.when)
        ]
        self._edges = {f"{edge.source}->{edge.target}": edge.at_least for edge in edges}

    def find_refutation(self, guarantee: Guarantee, near: Near) -> Refutation:
        most = min(MOST_STEPS, self._left)
        watch = GuaranteeWatch(self._line, guarantee)
        start = start_task(self._line, ScenarioScript("start", "start"))
        first = WatchedNode(start, watched=watch.watched_walk_at_start(start))
        if first.watched.broken:
            return Refutation(())
        known, number = {self._node_key(first, guarantee)}, 0
        steps = self._possible_steps(start, guarantee)
        todo = [(3 * near(start, first.watched), 0, first, steps)]
        while todo:
            priority, _, node, steps = heapq.heappop(todo)
            for step, record in steps:
                most -= 1
                self._left -= 1
                if most < 0:
                    return Refutation(None, cut=True)
                watched = watch.watched_walk_after_step(node.watched, node.walk, step, record)
                new = WatchedNode(record.walk, node, step, watched=watched, depth=node.depth + 1)
                if watched.broken:
                    return Refutation(new.steps())
                key = self._node_key(new, guarantee)
                if record.walk.is_over or key in known:
                    continue
                known.add(key)
                number += 2
                # Nearness outweighs length; `number` settles ties, as nodes have no order.
                nearer = new.depth + 3 * near(record.walk, watched)
                heapq.heappush(todo, (nearer, number, new, self._possible_steps(record.walk, guarantee)))
                if nearer < priority:
                    # What else can happen here is tried when nothing nearer is left
                    heapq.heappush(todo, (priority, number + 1, node, steps))
                    break
        return Refutation(None)

    def _node_key(self, node: WatchedNode, guarantee: Guarantee) -> Hashable:
        walk, pasts = node.walk, node.watched.key(node.walk)
        promised = pasts if guarantee.ends_within is not None else tuple(mark for mark, _moves in pasts)
        visits = walk.visits.get(guarantee.at_most.visit, 0) if guarantee.at_most else 0
        # Beyond what conditions ask for, a count makes no difference.
        edges = tuple(min(walk.edges.get(edge, 0), most) for edge, most in self._edges.items())
        spent = walk.spent if guarantee.cost_at_most is not None else 0
        return (
            key_of_positions(walk),
            promised,
            self._outcomes_and_targets_under_review(walk),
            visits,
            edges,
            spent,
        )

    def _outcomes_and_targets_under_review(self, walk: SimulatedTask) -> tuple[Hashable, ...]:
        """Tell of positions at gates what waits there: a word leads on from this outcome, to these targets."""
        return tuple(
            (dumps(position.asked.situation["outcome"]), tuple(position.wait.get("to", ())))
            for position in walk.positions
            if position.is_active and position.asked is not None
        )

    def _possible_steps(
        self, walk: SimulatedTask, guarantee: Guarantee
    ) -> Iterator[tuple[ScenarioStep, StepRecord]]:
        def candidates_to_try(position: SimulatedPosition) -> Iterator[Candidate]:
            return map(Candidate, self._steps_at(walk, position, guarantee))

        for candidate, record in possible_candidates_with_records(self._line, walk, candidates_to_try):
            yield candidate.step, record

    def _steps_at(
        self, walk: SimulatedTask, position: SimulatedPosition, guarantee: Guarantee
    ) -> Iterator[ScenarioStep]:
        own = [candidate.step for candidate in self._candidates.candidates_at(position)]
        if guarantee.cost_at_most is not None and position.status == READY and not position.arrival:
            yield from (self._step_at_highest_cost(walk, position, step, guarantee) for step in own)
            return
        yield from own
        if position.arrival:
            return
        if position.status == READY:
            yield from _steps_with_other_results(own)
            yield from map(_outcome_step, self._signal_and_failure_outcomes())
        elif position.status == REVIEW and position.asked is not None:
            yield from self._send_back_and_abort_steps(position)

    def _signal_and_failure_outcomes(self) -> Iterator[dict[str, object]]:
        yield {"result": "blocked"}
        yield {"result": "failure"}
        yield {"result": "success", "signals": [{"verdict": "rework"}]}
        yield {"result": "success", "signals": [{"verdict": "proceed"}]}
        # It leads on as a success, and the visit did not pass (law §14).
        yield {"result": "failure", "signals": [{"verdict": "proceed"}]}
        yield {"result": "failure", "signals": [{"verdict": "abort"}]}
        for place in self._line.jump_targets:
            meta = {"targetState": place}
            yield {
                "result": "success",
                "signals": [{"verdict": "hold", "reason": "already_complete", "meta": meta}],
            }

    def _send_back_and_abort_steps(self, position: SimulatedPosition) -> Iterator[ScenarioStep]:
        for key in position.wait.get("gates", ()):
            gate = self._line.gates_by_key.get(key)
            if gate is not None and SEND_BACK in gate.offers:
                yield ScenarioStep("gates", gates={key: {"decision": SEND_BACK, "reason": REASON}})
            if gate is not None and "abort" in gate.offers:
                yield ScenarioStep("gates", gates={key: {"decision": "abort", "reason": REASON}})

    def _step_at_highest_cost(
        self, walk: SimulatedTask, position: SimulatedPosition, step: ScenarioStep, guarantee: Guarantee
    ) -> ScenarioStep:
        """The same at the price that its limits leave; without any, at more than is promised."""
        station = self._line.station(position.station)
        if step.kind != "outcome" or not may_cost(station):
            return step
        own, task = station.limits.cost_usd, self._line.limits.cost_usd
        left = [] if own is None else [exact_amount(own)]
        left += [] if task is None else [max(exact_amount(task) - exact_amount(walk.spent), Decimal())]
        cost = min(left) if left else exact_amount(guarantee.cost_at_most) + 1
        facts = {**step.outcome.get("facts", {}), "usage": {"cost_usd": float(cost)}}
        return replace(step, outcome={**step.outcome, "facts": facts})


def _steps_with_other_results(own: Sequence[ScenarioStep]) -> Iterator[ScenarioStep]:
    """Report the same data with another result: a rule that reads the output takes a failed visit, too."""
    known = {dumps(step.outcome) for step in own}
    for step in own:
        if step.outcome.get("signals"):
            continue
        for other in OTHERWISE:
            outcome = {**step.outcome, **other}
            if (words := dumps(outcome)) not in known:
                known.add(words)
                yield replace(step, outcome=outcome)


def _outcome_step(outcome: dict[str, object]) -> ScenarioStep:
    return ScenarioStep("outcome", outcome=outcome)
