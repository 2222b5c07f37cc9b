"""Ways through a line that take given rules: breadth first, so that the first one found is the shortest tried.

Every step is walked by `decide` itself. What two walks must have in common to count as the same place is the
`Key`: the coarse one finds most rules at once; for what is left, finer ones also tell how often edges were taken,
and then all that is counted and merged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pipelines.routing.basics import jsontext
from pipelines.routing.decide.decisions import Ask
from pipelines.routing.document.evaluations import ANSWERS, evaluation_key
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.simulate.candidates import Candidate, Candidates
from pipelines.routing.simulate.scenario import ScenarioStep
from pipelines.routing.simulate.state import SimulatedPosition, SimulatedTask, StepRecord, StepRefused
from pipelines.routing.simulate.walk_steps import take_step

Key = Callable[[SimulatedTask], Hashable]
Going = Callable[[], bool]
"""Whether whoever asked still waits for the answer."""
Edges = dict[str, int]
"""`a->b` and up to how often it matters that it was taken."""


def accept_always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class SearchNode:
    """A place of a search, and the step that leads there from the one before."""

    walk: SimulatedTask
    before: SearchNode | None = None
    step: ScenarioStep | None = None

    def steps(self) -> tuple[ScenarioStep, ...]:
        steps: list[ScenarioStep] = []
        node: SearchNode | None = self
        while node is not None and node.step is not None:
            steps.append(node.step)
            node = node.before
        return tuple(reversed(steps))


@dataclass
class PathSearch:
    """`left`: how many steps may still be walked, for all searches together. `tried`: what became of a rule's own
    witness where it did not take the rule. `reached`: stations."""

    line: ParsedLine
    candidates: Candidates
    left: int
    going: Going = accept_always
    tried: dict[str, StepRecord] = field(default_factory=dict)
    reached: set[str] = field(default_factory=set)
    cut: bool = False

    def find_paths(
        self, start: SimulatedTask, rule_ids: Collection[str], key: Key, most: int
    ) -> dict[str, tuple[ScenarioStep, ...]]:
        """The steps to each wanted rule that was found, the last of which takes it. `cut` says whether a bound ended
        the search: `most` steps, or those that are left."""
        missing, paths = set(rule_ids), dict[str, tuple[ScenarioStep, ...]]()
        visited, todo = {key(start)}, deque([SearchNode(start)])
        self.reached.add(self.line.start)
        self.cut = False
        while todo and missing:
            node = todo.popleft()
            for candidate, record in possible_candidates_with_records(
                self.line, node.walk, self.candidates.candidates_at
            ):
                most, self.left = most - 1, self.left - 1
                if most < 0 or self.left < 0 or not self.going():
                    self.cut = True
                    return paths
                new = SearchNode(record.walk, node, candidate.step)
                for rule in missing & set(record.rules):
                    paths[rule] = new.steps()
                missing -= set(record.rules)
                if candidate.rule in missing:
                    self.tried[candidate.rule] = record
                self.reached.update(record.entered)
                place = key(record.walk)
                if place not in visited and not record.walk.is_over:
                    visited.add(place)
                    todo.append(new)
        return paths


def possible_candidates_with_records(
    line: ParsedLine, walk: SimulatedTask, candidates_at: Callable[[SimulatedPosition], Iterator[Candidate]]
) -> Iterator[tuple[Candidate, StepRecord]]:
    """Yield every candidate that can happen at a position, with its record; refused ones are left out."""
    living = [position for position in walk.positions if position.is_active]
    for index, position in enumerate(living):
        # A step names a station, and means the first token that stands there.
        if position.station in (earlier.station for earlier in living[:index]):
            continue
        for candidate in candidates_at(position):
            # With one token there is nothing to choose; of several the step names the one that it means.
            several = len(living) > 1
            step = replace(candidate.step, at=position.station) if several else candidate.step
            try:
                step, record = answered_step_and_record(line, walk, step)
            except StepRefused:
                continue
            yield replace(candidate, step=step), record


def answered_step_and_record(
    line: ParsedLine, walk: SimulatedTask, step: ScenarioStep
) -> tuple[ScenarioStep, StepRecord]:
    """Take the step and answer, from its own answers, each evaluation that is asked. Returns the step with the
    answers that were needed. Raises StepRefused."""
    answers = {_evaluation_key(answer): answer for answer in step.answers} if step.kind == "outcome" else {}
    current_step = replace(step, answers=()) if answers else step
    while True:
        record = take_step(line, walk, current_step)
        if not isinstance(record.decision, Ask):
            return current_step, record
        answer = answers.pop(_evaluation_key(record.decision.evaluation), None)
        if answer is None:
            return current_step, record
        current_step = replace(current_step, answers=(*current_step.answers, answer))


def _evaluation_key(payload: Mapping[str, Any]) -> str:
    kind = next(kind for kind in ANSWERS if kind in payload)
    return evaluation_key(kind, payload[kind])


# What counts as the same place


def key_of_positions(walk: SimulatedTask) -> Hashable:
    return *(_position_key(position) for position in walk.positions if not position.is_over), bool(
        walk.escalations
    )


def _position_key(position: SimulatedPosition) -> Hashable:
    wait = position.wait
    words = tuple(sorted(position.asked.words)) if position.asked else ()
    waits = (wait.get("rule"), tuple(wait.get("gates", ())), jsontext.dumps(wait.get("evaluation")))
    arrived = (position.arrival.source, position.arrival.standing) if position.arrival else None
    forks = tuple(fork.to for fork in position.within)
    place = (position.station, position.status, position.origin, position.signal_reworks)
    return *place, waits, words, arrived, forks


def key_function_with_edge_counts(edges: Edges) -> Key:
    """Also how often these edges were taken."""

    def walk_key(walk: SimulatedTask) -> Hashable:
        return key_of_positions(walk), tuple(
            min(walk.edges.get(edge, 0), most) for edge, most in edges.items()
        )

    return walk_key


def key_function_with_all_counts(edges: Edges) -> Key:
    """Also everything that budgets count, the context, and what was observed of other stations."""

    def walk_key(walk: SimulatedTask) -> Hashable:
        counters = (walk.visits, walk.rules, walk.rounds, walk.failures)
        counts = tuple(tuple(sorted(counter.items())) for counter in counters)
        observed = jsontext.dumps([dict(position.past_visits) for position in walk.positions])
        return (
            key_function_with_edge_counts(edges)(walk),
            counts,
            jsontext.dumps(dict(walk.context)),
            observed,
        )

    return walk_key
