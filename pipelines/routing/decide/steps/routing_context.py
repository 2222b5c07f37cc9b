"""Working data of one decision: the line, the situation and the trace."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pipelines.routing.basics.bounds import EvaluationBudget
from pipelines.routing.basics.outcome import FORCED, DerivedOutcome, derived_outcome
from pipelines.routing.basics.values import MISSING
from pipelines.routing.decide.check_fields import check_field_value, readable_facts
from pipelines.routing.decide.decisions import TestedRules, TraceEntry
from pipelines.routing.decide.outcome_judgement import OutcomeJudgement, judge_outcome
from pipelines.routing.decide.situation import Facts, Situation
from pipelines.routing.document.algebra import ConditionView
from pipelines.routing.document.checks import CheckResult
from pipelines.routing.document.evaluations import EvaluationAnswer, answers_by_key
from pipelines.routing.document.kinds import failure_eval
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.operand_trace import ObservedOperand
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station

Clock = Callable[[], float]
"""Seconds from any start; only differences count."""


@dataclass(slots=True, unsafe_hash=True)
class TakenRoute:
    """Pass through the rules of the station, with the outcome as they see it. `by`: the cause recorded for a
    target that a rule chooses. `forced`: demanded by a signal, a gate or the fallback. `demanded_by`: the
    rule whose gate or compose demanded it. `reason`: that of a person, the feedback. `anew`: demanded by a
    person's vote, before which no forced route counts. `no_output`: output that could not be parsed counts
    as none."""

    seen: DerivedOutcome
    by: str = "rule"
    forced: bool = False
    demanded_by: Rule | None = None
    reason: str | None = None
    anew: bool = False
    no_output: bool = False


def forced_route(kind: str, by: str) -> TakenRoute:
    """The forced success, failure or blocked route (law §5, Forced route)."""
    return TakenRoute(FORCED[kind], by, forced=True, no_output=kind == "blocked")


def demanded_route(
    routing: RoutingContext, rule: Rule | None, reason: str | None = None, word_at: str = ""
) -> TakenRoute:
    """The forced failure route that a gate demands: of a station, or of a rule, which is left out from now on.

    `word_at`: the gate at which a person demanded it; there nobody is asked again."""
    if rule is not None:
        # Otherwise the same rule would match again, and demand the same
        routing.left_out.add(rule.id)
    if word_at:
        routing.spoken.add(word_at)
    return replace(forced_route("failure", "gate"), demanded_by=rule, reason=reason, anew=bool(word_at))


def fallback_route(rule: Rule | None = None) -> TakenRoute:
    """The forced blocked route; `rule`: whose compose failed."""
    return replace(forced_route("blocked", "fallback"), demanded_by=rule)


@dataclass(slots=True)
class RoutingContext:
    line: ParsedLine
    situation: Situation
    clock: Clock | None = None
    trace: list[TraceEntry | TestedRules] = field(default_factory=list)
    steps: EvaluationBudget = field(default_factory=EvaluationBudget)
    # Whether the station has no gate, or the token passed it with its checks (a precondition of law §8).
    gate_passed: bool = False
    # The rules whose gates demanded the failure route, and the gates at which a person did.
    left_out: set[str] = field(default_factory=set)
    spoken: set[str] = field(default_factory=set)
    # Whether the fallback was taken: output that cannot be parsed counts as none from then on.
    fell_back: bool = False
    # Whether something after the outcome took it back that the visit passed (law §14).
    passing_revoked: bool = False
    # The gates on the way so far that have their word.
    passed: set[str] = field(default_factory=set)
    # What the facts made of the outcome: `situation` has it so.
    judged: OutcomeJudgement = field(init=False)
    station: Station = field(init=False)
    facts: Facts = field(init=False)
    # The outcome as reported, or as decided by a fact (law §13), with its derived values.
    recorded: DerivedOutcome = field(init=False)
    # What step 7 reads: the same situation with current facts.
    of_now: Situation = field(init=False)

    def __post_init__(self) -> None:
        self.station, self.facts = self.line.station(self.situation.station), self.situation.facts
        self.judged = judge_outcome(self.line, self.station, self.situation.outcome, self.facts.spent)
        # By identity: where no fact decides, judging gives back the very outcome that it got
        if self.judged.outcome is not self.situation.outcome:
            self.situation = replace(self.situation, outcome=self.judged.outcome)
        self.recorded = derived_outcome(self.situation.outcome, failure_eval(self.station.kind))
        self.of_now = self.situation.of_now

    @property
    def visit_passed(self) -> bool:
        """Tell whether this visit passed, as proofs read that (law §14): its outcome did, and neither the gate of the
        station nor a jump took it back. What a signal forces makes no failed visit pass."""
        return self.recorded.outcome_state == "passed" and not self.passing_revoked

    def add_trace_entry(
        self,
        step: str,
        rule: Rule | None,
        result: bool | str,
        why: str = "",
        saw: tuple[ObservedOperand | CheckResult, ...] = (),
    ) -> None:
        self.trace.append(TraceEntry(step, rule.id if rule else None, result, saw, why))

    def condition_view(self, route: TakenRoute) -> ConditionView:
        """Return the view of the conditions on this route."""
        outcome, derived = self.situation.outcome, route.seen
        return ConditionView(
            result=derived.result,
            verdict=derived.verdict,
            eval=derived.eval,
            failure_type=outcome.failure_type,
            document=self.condition_document,
            unreadable=bool(outcome.output_error) and not (route.no_output or self.fell_back),
            edges=self.facts.edges,
            answers=self.answers_by_question,
            steps=self.steps,
            unreadable_keys=self._unreadable_context_keys,
            facts=readable_facts(self.situation),
        )

    @property
    def answers_by_question(self) -> dict[str, EvaluationAnswer]:
        """Answers by question; the last one counts."""
        return answers_by_key(self.facts.answers) if self.facts.answers else {}

    @property
    def condition_document(self) -> Any:
        """Document that conditions read; MISSING if there is none.

        The output, or in scope `merged` the context overlaid by it. Output that is not JSON counts as none
        here: the first `output` operand that is reached makes the task stuck.
        """
        outcome = self.situation.outcome
        # `unreadable` of the view makes conditions stuck; as a document it is simply not there.
        output = MISSING if outcome.output_error else outcome.output
        if self.line.policy.condition_scope == "current":
            return output
        return {**self.facts.context, **output} if type(output) is dict else dict(self.facts.context)

    @property
    def composable_document(self) -> Any:
        """Document that `compose` reads; MISSING where the output was not JSON (law §8a, §12)."""
        return MISSING if self.situation.outcome.output_error else self.condition_document

    @property
    def _unreadable_context_keys(self) -> frozenset[str]:
        """Unreadable keys that a merged condition may use; the view itself reports those of this output."""
        if self.line.policy.condition_scope == "current" or not self.facts.unreadable:
            return frozenset()
        return _unreadable_keys_not_in_output(self.facts, self.situation.outcome.output)

    @property
    def unreadable_keys(self) -> frozenset[str]:
        """The keys of the context that nobody can read after this outcome: a completed station should have said them,
        and its output was not JSON (Vibe Factory C25)."""
        outcome, facts = self.situation.outcome, self.of_now.facts
        if not (outcome.output_error or facts.unreadable):
            return frozenset()
        if self.recorded.outcome_state == "failed":  # outputs of failed stations do not count
            return _unreadable_keys_not_in_output(facts, MISSING)
        own = frozenset(self.station.output_keys) if outcome.output_error else frozenset()
        return _unreadable_keys_not_in_output(facts, outcome.output) | own

    def check_field_reader(self, gate_keys: Collection[str]) -> Callable[[str], Any]:
        """Fields for the checks of gates that are asked together: as they stood when those were asked, without what
        was said there since."""
        # Gates that are asked together do not read each other's words, nor their own.
        then, since = self.situation, {*gate_keys} - self.passed
        if not since.isdisjoint(self.facts.gates):
            gates = {key: word for key, word in self.facts.gates.items() if key not in since}
            then = replace(then, facts=replace(self.facts, gates=gates))
        return lambda name: check_field_value(name, then, self.recorded)


def _unreadable_keys_not_in_output(facts: Facts, output: Any) -> frozenset[str]:
    document = output if type(output) is dict else {}
    return frozenset(key for key, by in facts.unreadable.items() if by and key not in document)


@dataclass(slots=True)
class TransitionCandidate:
    """Next targets of a token, and the reason. Treat it as immutable.

    `rule` names the rule that led here; `takes` means that this very rule is taken, so that its budgets
    and the revisit policy bind. `targets` holds stations, or one end, or `@blocked`. `over`: named budgets
    that proved to be exhausted on the way here.
    """

    targets: tuple[str, ...]
    by: str
    rule: Rule | None = None
    takes: bool = False
    feedback: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    over: frozenset[str] = frozenset()
    _stations: tuple[str, ...] | None = None

    @property
    def rule_id(self) -> str | None:
        return self.rule.id if self.rule else None

    @property
    def target_text(self) -> str:
        return " + ".join(self.targets)


def stations_among_targets(routing: RoutingContext, candidate: TransitionCandidate) -> tuple[str, ...]:
    """Return the stations among its targets. Every check uses them, so they are looked up once."""
    if candidate._stations is None:
        known = routing.line.stations_by_key
        candidate._stations = tuple([target for target in candidate.targets if target in known])
    return candidate._stations
