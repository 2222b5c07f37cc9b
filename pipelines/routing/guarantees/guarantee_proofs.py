"""The door to guarantees: each one proved, refuted by a walk, or unknown with the reason (law §14)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from pipelines.routing.analysis.lint.cost import CostBound, cost_bound_or_none
from pipelines.routing.analysis.lint.guarantee_findings import PROVED, REFUTED, UNKNOWN
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.basics.jsontext import dumps
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.basics.wording import joined_wording
from pipelines.routing.decide.decisions import Finish, Move
from pipelines.routing.document.guarantees import Guarantee
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.operand_trace import ObservedOperand
from pipelines.routing.guarantees.guarantee_watch import WatchedWalk
from pipelines.routing.guarantees.marked_reach import MarkedReach, Spot, moves_to_break_by_spot
from pipelines.routing.guarantees.marks import Mark, mark_of_guarantee
from pipelines.routing.guarantees.refutation import FAR, MOST_STEPS, Near, Refuter
from pipelines.routing.guarantees.routes import MOST_ROUTES, TooManyRoutes
from pipelines.routing.guarantees.visit_bounds import MOST_PLACES, LineCounts, TooManyPlaces
from pipelines.routing.guarantees.ways_out import WayOut, ways_out_by_station
from pipelines.routing.sentences import part_names as named
from pipelines.routing.sentences.guarantees import line_guarantee_sentence
from pipelines.routing.sentences.part_names import gate_name_even_for_machines, place_name_for_sentence
from pipelines.routing.sentences.part_names import rule_phrase as named_rule
from pipelines.routing.simulate.drawn_moves import DrawnMove, moves_and_finishes
from pipelines.routing.simulate.run import run_scenario_until_refused
from pipelines.routing.simulate.scenario import ScenarioScript, ScenarioStep
from pipelines.routing.simulate.state import SimulatedTask, StepRecord


@dataclass(frozen=True, slots=True)
class GuaranteeAnswer:
    """`because`: of an unknown one what stopped the proof, of others what it rests on, or nothing. `tried`: how far an
    unknown one was searched for a path that breaks it. `steps`: of a refuted one, what happens to a task, for
    `simulate`; none where it breaks as soon as a task begins. `path`: the same in words; `moves`: those of it."""

    guarantee: Guarantee
    sentence: str
    answer: str
    because: str = ""
    steps: tuple[ScenarioStep, ...] = ()
    path: str = ""
    moves: tuple[DrawnMove, ...] = ()
    tried: str = ""

    @property
    def explanation(self) -> str:
        """Explanation of the answer in one sentence."""
        if not self.tried:
            return self.because
        return _("%(why)s; %(tried)s", why=self.because, tried=self.tried)

    @property
    def id(self) -> str:
        return self.guarantee.id

    @property
    def scenario(self) -> ScenarioScript | None:
        """The walk that refutes it, as a scenario that can be kept."""
        if self.answer != REFUTED:
            return None
        # The table keeps 64 characters of a scenario's key and 200 of its name
        return ScenarioScript(f"breaks-{self.id}"[:64], str(self.sentence)[:200], self.steps)

    def to_dict(self) -> dict[str, Any]:
        script = self.scenario
        return {
            "id": self.id,
            "sentence": str(self.sentence),
            "answer": self.answer,
            "why": str(self.explanation),
            "path": str(self.path),
            "walk": script.to_dict() if script else None,
        }


def guarantee_answers(subject: LintSubject) -> tuple[GuaranteeAnswer, ...]:
    """Return the answer to every guarantee of the subject's line."""
    return prove_guarantees(subject.line, subject)


def prove_guarantees(
    line: ParsedLine, subject: LintSubject | None = None, guarantees: tuple[Guarantee, ...] | None = None
) -> tuple[GuaranteeAnswer, ...]:
    """Return the answers to all guarantees of the line, or to these, in their order."""
    selected = line.guarantees if guarantees is None else guarantees
    if not selected:
        return ()
    proving = _GuaranteeProver(line, subject or LintSubject(line))
    return tuple(map(proving.answer, selected))


def proved_flags(subject: LintSubject, guarantees: tuple[Guarantee, ...] | None = None) -> tuple[bool, ...]:
    """Tell of every guarantee of the line, or of these, if it is proved. No path that breaks one is searched for."""
    proving = _GuaranteeProver(subject.line, subject)
    return tuple(map(proving.is_proved, subject.line.guarantees if guarantees is None else guarantees))


class _GuaranteeProver:
    def __init__(self, line: ParsedLine, subject: LintSubject) -> None:
        self._line, self._subject = line, subject

    @cached_property
    def _ways_out(self) -> dict[str, tuple[WayOut, ...]]:
        return ways_out_by_station(self._subject)

    @cached_property
    def _counts(self) -> LineCounts:
        return LineCounts(self._line, self._ways_out)

    @cached_property
    def _refuter(self) -> Refuter:
        return Refuter(self._line, self._subject)

    def is_proved(self, guarantee: Guarantee) -> bool:
        try:
            return self._is_guarantee_proved_and_why(guarantee)[0]
        except TooManyRoutes:
            return False

    def answer(self, guarantee: Guarantee) -> GuaranteeAnswer:
        sentence = line_guarantee_sentence(self._line, guarantee)
        try:
            proved, why = self._is_guarantee_proved_and_why(guarantee)
        except TooManyRoutes:
            most = _(
                "the gates of a station can be gone through in more than %(n)s ways", n=f"{MOST_ROUTES:,}"
            )
            return GuaranteeAnswer(guarantee, sentence, UNKNOWN, most)
        if proved:
            return GuaranteeAnswer(guarantee, sentence, PROVED, why)
        refutation = self._refuter.find_refutation(guarantee, self._nearness(guarantee))
        if refutation.steps is not None:
            path, moves = (
                walk_in_words(self._line, refutation.steps),
                walk_moves(self._line, refutation.steps),
            )
            return GuaranteeAnswer(guarantee, sentence, REFUTED, "", refutation.steps, path, moves)
        tried = (
            _("no path that breaks it was found in %(steps)s steps", steps=f"{MOST_STEPS:,}")
            if refutation.cut
            else "no path that breaks it was found"
        )
        return GuaranteeAnswer(guarantee, sentence, UNKNOWN, why, tried=tried)

    def _nearness(self, guarantee: Guarantee) -> Near:
        if guarantee.never is not None:
            return _nearness_to_break(
                MarkedReach(
                    self._line, self._ways_out, mark_of_guarantee(self._line, guarantee)
                ).moves_to_break_by_spot()
            )
        if guarantee.at_most is not None:
            return self._nearness_to_forbidden_visit(guarantee.at_most.visit, guarantee.at_most.times)
        return _minus_most_moves if guarantee.ends_within is not None else _cost_nearness

    def _nearness_to_forbidden_visit(self, station: str, times: int) -> Near:
        leads: dict[Spot, set[Spot]] = {}
        for way in (way for own in self._ways_out.values() for way in own):
            leads.setdefault((way.target, False), set()).add((way.source, False))
        away = moves_to_break_by_spot(leads, leads.get((station, False), ()))
        around = away.get((station, False), 1)

        def steps_to_one_visit_too_many(walk: SimulatedTask, _watched: WatchedWalk) -> int:
            left = times - walk.visits.get(station, 0)
            return left * around + min(
                (
                    away.get((position.station, False), FAR)
                    for position in walk.positions
                    if position.is_active
                ),
                default=FAR,
            )

        return steps_to_one_visit_too_many

    def _is_guarantee_proved_and_why(self, guarantee: Guarantee) -> tuple[bool, str]:
        """Return whether the guarantee is proved, and the basis of the proof or the obstacle."""
        if guarantee.never is not None:
            mark = mark_of_guarantee(self._line, guarantee)
            reach = MarkedReach(self._line, self._ways_out, mark)
            # First without limits: that needs no counting.
            if not reach.is_proved and self._do_limits_protect(mark):
                return True, "limits keep every path from it"
            return reach.is_proved, "" if reach.broken is None else self._why_way_may_break(reach.broken)
        if guarantee.at_most is not None:
            return self._is_visit_limit_proved_and_why(guarantee.at_most.visit, guarantee.at_most.times)
        if guarantee.ends_within is not None:
            return self._is_move_limit_proved_and_why(guarantee.ends_within)
        return self._is_cost_limit_proved_and_why(Decimal(guarantee.cost_at_most or 0))

    def _do_limits_protect(self, mark: Mark) -> bool:
        """Tell if limits keep every token from what the mark guards."""
        try:
            return not self._counts.may_enter_marked(mark)
        except TooManyPlaces:
            return False

    def _why_way_may_break(self, way_out: WayOut) -> str:
        source = self._line.station(way_out.source).name
        gate = self._line.gates_by_key.get(way_out.at)
        if way_out.rule is not None and way_out.by in ("rule", "exhausted"):
            rule = named.rule_phrase(self._line, way_out.rule.id)
            return _("rule %(rule)s may break it, as far as limits are not counted", rule=rule)
        if gate is not None:
            return _("a word at %(gate)s may break it", gate=gate.name)
        return _("a way out of %(station)s may break it", station=source)

    def _is_visit_limit_proved_and_why(self, station: str, times: int) -> tuple[bool, str]:
        most = self._counts.max_entries[station]
        if most <= times:
            return True, ""
        name = self._line.station(station).name
        why = _("%(station)s may be entered %(most)s times, by all limits together", station=name, most=most)
        # The walk follows a single token; with branches only the sum holds.
        if self._counts.has_forks:
            return False, why
        return self._is_visit_limit_proved_by_walk_and_why(times, station, why)

    def _is_move_limit_proved_and_why(self, max_moves: int) -> tuple[bool, str]:
        why = "a path may be longer"
        return self._is_visit_limit_proved_by_walk_and_why(max_moves, "", why)

    def _is_visit_limit_proved_by_walk_and_why(self, most: int, station: str, why: str) -> tuple[bool, str]:
        try:
            proved = not self._counts.may_exceed_entries_or_moves(most, station)
            return proved, "" if proved else why
        except TooManyPlaces:
            places = f"{MOST_PLACES:,}"
            return False, _("more than %(places)s combinations of limits are possible", places=places)

    def _is_cost_limit_proved_and_why(self, amount: Decimal) -> tuple[bool, str]:
        bound = cost_bound_or_none(
            self._subject, {key: most for key, most in self._counts.max_entries.items() if most}
        )
        if bound is None:
            return True, "no station of this line reports a cost"
        if bound.amount is None:
            return False, "nothing limits what a task may cost"
        return bound.amount <= amount, _cost_bound_text(bound)


def _cost_bound_text(bound: CostBound) -> str:
    assert bound.amount is not None
    return _(
        "a task costs at most $%(amount)s, and one reported step more a run", amount=f"{bound.amount:,.2f}"
    )


def _nearness_to_break(distances: dict[Spot, int]) -> Near:
    def distance_to_breaking_spot(walk: SimulatedTask, watched: WatchedWalk) -> int:
        spots = (
            (position.station, watched.is_marked(position.token))
            for position in walk.positions
            if not position.is_over
        )
        return min((distances.get(spot, FAR) for spot in spots), default=FAR)

    return distance_to_breaking_spot


def _minus_most_moves(_walk: SimulatedTask, watched: WatchedWalk) -> int:
    return -max((past.moves for past in watched.pasts.values()), default=0)


def _cost_nearness(walk: SimulatedTask, _watched: WatchedWalk) -> int:
    return -int(walk.spent)


# A walk in words: the stations it goes through, with what is said on the way where that is not simply an
# outcome.


RESULTS = {"blocked": "blocked", "failure": "failed", "cancelled": "cancelled"}
SIGNALS = {
    "rework": "signals rework",
    "proceed": "signals proceed",
    "abort": "signals abort",
    "hold": "signals that it is complete",
}
WORDS = {
    "approve": "%(gate)s approves",
    "reject": "%(gate)s rejects",
    "send_back": "%(gate)s sends back",
    "rework": "%(gate)s asks for rework",
    "abort": "%(gate)s aborts",
}
LONGEST = 60
"""Characters of a value."""
MOST = 12
"""Places that are told; of a longer walk the first and the last ones."""


def walk_in_words(line: ParsedLine, steps: Sequence[ScenarioStep]) -> str:
    """“Build (rule 1 of Build with n = 5) → Review (blocked) → Merge”."""
    if not steps:
        return "a task begins there"
    places = list(_walked_places_with_remarks(line, steps))
    if len(places) > MOST:
        places = [*places[: MOST // 2], "…", *places[-MOST // 2 :]]
    return _("%(path)s", path=joined_wording(places, " → "))


def walk_moves(line: ParsedLine, steps: Sequence[ScenarioStep]) -> tuple[DrawnMove, ...]:
    """Return each move of the walk once, in order."""
    result = run_scenario_until_refused(line, ScenarioScript("walk", "walk", tuple(steps)))
    return tuple(dict.fromkeys(moves_and_finishes(line, result.steps)))


def _walked_places_with_remarks(line: ParsedLine, steps: Sequence[ScenarioStep]) -> Iterator[object]:
    result = run_scenario_until_refused(line, ScenarioScript("walk", "walk", tuple(steps)))
    remark: list[object] = []
    at: object = place_name_for_sentence(line, line.start)
    # The first record is the start, which no step made.
    records = result.steps[1:]
    # A walk may stop before its last step
    for step, record in zip(steps, records, strict=False):
        remark += _step_remarks(line, step)
        remark += _rule_with_values(line, record, last=record is records[-1])
        targets: list[object] = [place_name_for_sentence(line, station) for station in record.entered]
        if isinstance(record.decision, Finish):
            targets.append(place_name_for_sentence(line, record.decision.end))
        if targets:
            yield _place_with_remarks(at, remark)
            at, remark = joined_wording(targets, " + "), []
    yield _place_with_remarks(at, remark)


def _rule_with_values(line: ParsedLine, record: StepRecord, *, last: bool) -> Iterator[object]:
    """Name a rule with the values that its condition read, and without any the one that breaks the promise."""
    if not isinstance(record.decision, Move | Finish) or record.decision.rule is None:
        return
    rule = named_rule(line, record.decision.rule)
    values = tuple(_observed_values(record.decision))
    if values:
        yield _("rule %(rule)s with %(values)s", rule=rule, values=joined_wording(values, ", "))
    elif last:
        yield _("rule %(rule)s", rule=rule)


def _observed_values(decision: Move | Finish) -> Iterator[str]:
    for entry in decision.trace:
        if entry.step != "rules" or entry.rule != decision.rule or entry.result is not True:
            continue
        for observation in entry.saw:
            if isinstance(observation, ObservedOperand) and observation.operand in ("output", "fact"):
                for value in observation.value:
                    words = dumps(value)
                    yield f"{observation.path} = {words if len(words) <= LONGEST else f'{words[:LONGEST]}…'}"
            elif isinstance(observation, ObservedOperand) and observation.operand in ("eval", "failure_type"):
                yield f"{observation.operand} = {dumps(observation.value)}"


def _place_with_remarks(at: object, remark: list[object]) -> object:
    return _("%(place)s (%(said)s)", place=at, said=joined_wording(remark, ", ")) if remark else at


def _step_remarks(line: ParsedLine, step: ScenarioStep) -> Iterator[object]:
    signals = step.outcome.get("signals") or ()
    if signals:
        yield SIGNALS.get(signals[0].get("verdict"), "")
    if signals and signals[0].get("verdict") != "proceed":
        return
    if step.outcome.get("result") in RESULTS:
        yield RESULTS[step.outcome["result"]]
    elif step.outcome.get("verdict") == "fail":
        yield RESULTS["failure"]
    for key, word in step.gates.items():
        template = WORDS[word["decision"]]
        yield _(template, gate=gate_name_even_for_machines(line, key))
