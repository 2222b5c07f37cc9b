"""The state machine of a task, as values: what a decision, a run by hand or a join makes of a token and of the counters
of its task (law §5 step 9, §7). The engine writes the values to its rows, the simulator keeps them in a walk; neither
works them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pipelines.routing.decide import effects
from pipelines.routing.decide.branch_joins.branches import Arrival
from pipelines.routing.decide.branch_joins.join_decision import PASS, Merge
from pipelines.routing.decide.decisions import DecisionAnswer, Finish, Move, Wait
from pipelines.routing.decide.effects import DecisionSubject, Stay
from pipelines.routing.decide.steps.targets import FORBIDDEN
from pipelines.routing.document.model import ParsedLine

COUNTERS: Final = ("visits", "edges", "rules", "rounds", "failures")
CONTRADICTION: Final = "contradiction"
REVIEW: Final = "awaiting_review"
REJECT: Final = "reject"


@dataclass(frozen=True, slots=True)
class TokenPlace:
    """Station and origin of the token that is decided about. `line`: the version under which its next job starts;
    `station` and `origin`: under their names there; `order`: of the event that will tell of the move."""

    line: ParsedLine
    station: str
    origin: str | None = None
    signal_reworks: int = 0
    order: int = 0


@dataclass(frozen=True, slots=True)
class StationEntry:
    """A token at the station that it enters. `arrival`: it first waits at the join there, and has no work yet."""

    station: str
    origin: str | None
    signal_reworks: int = 0
    feedback: str = ""
    arrival: Arrival | None = None


@dataclass(frozen=True, slots=True)
class TokenEnd:
    """The end of a token. `kind`: completed, failed or cancelled; `everything`: all others of the task end likewise."""

    kind: str
    end: str
    error: str = ""
    reason: str = ""
    everything: bool = False


CANCELLED: Final = TokenEnd("cancelled", "cancelled", everything=True)


@dataclass(frozen=True, slots=True)
class Transition:
    """Consequences for a token: it enters stations (several are a fork), ends, or stays. `count`: what is added to
    which counter; `stored`: what is set in `context`, `variables` and `unreadable`."""

    count: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    stored: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    entries: tuple[StationEntry, ...] = ()
    ended: TokenEnd | None = None
    stays: Stay | None = None


def decision_transition(
    subject: DecisionSubject,
    answer: DecisionAnswer,
    token_place: TokenPlace,
    to: tuple[str, ...] | None = None,
) -> Transition:
    """Say what the decision makes of its token. `to`: where the targets of a move are by now, if the task was migrated
    since its job started."""
    if isinstance(answer, Move):
        targets = answer.to if to is None else to
        entries = tuple(
            _station_entry(subject, answer, token_place, target, len(targets) == 1) for target in targets
        )
        return Transition(
            _counter_changes(subject, answer, token_place, to),
            effects.variables_and_context_to_store(subject, answer),
            entries,
        )
    if isinstance(answer, Finish):
        reason = effects.failure_reason_without_rejection(subject, answer)
        ended = TokenEnd(
            answer.end_kind,
            answer.end,
            answer.error or "",
            reason,
            effects.does_decision_abort_task(subject, answer),
        )
        return Transition(
            _counter_changes(subject, answer, token_place),
            effects.variables_and_context_to_store(subject, answer),
            ended=ended,
        )
    # Behind a gate nothing counts before it is approved (law §5, steps 8 and 9).
    if isinstance(answer, Wait) and answer.status != REVIEW:
        return Transition(
            _counter_changes(subject, answer, token_place), stays=effects.stay_of_decision(answer)
        )
    return Transition(stays=effects.stay_of_decision(answer))


def _counter_changes(
    subject: DecisionSubject,
    answer: Move | Finish | Wait,
    token_place: TokenPlace,
    to: tuple[str, ...] | None = None,
) -> dict[str, dict[str, int]]:
    return effects.counter_changes(
        subject, answer, effects.enterable_stations(token_place.line, token_place.station), to
    )


def _station_entry(
    subject: DecisionSubject, answer: Move, token_place: TokenPlace, target: str, alone: bool
) -> StationEntry:
    waits = token_place.line.does_token_wait_at_join(target, token_place.station)
    failure_type = subject.outcome.failure_type or ""
    return StationEntry(
        target,
        effects.origin_after_or_none(token_place.station, token_place.origin, target),
        # A `rework` signal leads to one station; a fork begins the count anew.
        effects.reworks_in_a_row_after(subject, answer, token_place.signal_reworks) if alone else 0,
        "" if waits else answer.feedback or "",
        Arrival(token_place.station, answer.standing, token_place.order, failure_type) if waits else None,
    )


def rerun_transition(token_place: TokenPlace, at: str = "", feedback: str = "") -> Transition:
    """Run once more by hand, at the token's own station or `at` another: a visit that uses no budget (law §5)."""
    target = at or token_place.station
    entry = StationEntry(
        target,
        effects.origin_after_or_none(token_place.station, token_place.origin, target),
        feedback=feedback,
    )
    return Transition({"visits": {target: 1}}, entries=(entry,))


def escalation_feedback_or_none(word: str, reason: str, decided: bool) -> str | None:
    """Return what the next run hears after this word about the escalation that held the token; None: there is none, its
    outcome is decided about again. `decided`: it was held by a decision, and not by branches that contradict."""
    if word == "go_on" and decided:
        return None
    return reason if word in ("retry", "route") else ""


def join_transition(
    merge: Merge,
    line: ParsedLine,
    branch_values: Mapping[str, Mapping[str, Any]],
    other_stations: Sequence[str],
) -> Transition:
    """Return the transition by which the merged token of a join begins: it visits the station, or may not begin
    there.

    `branch_values`: by branch, the values under the keys on which the branches contradict each other.
    `other_stations`: where other tokens of the task stand.
    """
    # Otherwise its work does not run: the outcome of the branches is routed (law §7).
    if merge.verdict == PASS and (
        hindered := _blocking_stay_or_none(merge, line, branch_values, other_stations)
    ):
        return Transition(stays=hindered)
    return Transition({"visits": {merge.station: 1}})


def _blocking_stay_or_none(
    merge: Merge,
    line: ParsedLine,
    branch_values: Mapping[str, Mapping[str, Any]],
    other_stations: Sequence[str],
) -> Stay | None:
    if branch_values and line.policy.contradiction == "escalate":
        keys = sorted({key for values in branch_values.values() for key in values})
        return Stay("held", {"trigger": CONTRADICTION, "keys": keys, "values": branch_values})
    message = forbidden_parallel_message_or_empty(line, merge.station, other_stations)
    return Stay("stuck", {"message": message}, FORBIDDEN) if message else None


def forbidden_parallel_message_or_empty(line: ParsedLine, station: str, other_stations: Sequence[str]) -> str:
    """Say beside which of these the station must not run (law §7)."""
    pairs = [set(pair) for pair in line.forbidden_parallel]
    other = next((other for other in other_stations if {station, other} in pairs), "")
    return f"{station} and {other} must never run in parallel." if other else ""


def gate_that_rejected_same_content_or_empty(
    last: Mapping[str, tuple[str, Any]], contents: Mapping[str, Any]
) -> str:
    """Find the gate whose last word was a rejection of the very same: an unchanged question is not asked again (law §6,
    last sentence). `last`: of each gate the last word and what it was about; `contents`: what would be asked now."""
    for gate, content in contents.items():
        word, about = last.get(gate, ("", None))
        if word == REJECT and about == content:
            return gate
    return ""
