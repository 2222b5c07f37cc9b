"""Effects of a decision as values: what is counted, set and merged, and the token's next position. Step 9 of
law §5 without a database, shared by the engine, which writes it, and `simulate`, which follows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from pipelines.routing.basics.outcome import Outcome, derived_outcome
from pipelines.routing.decide.budget_usage import failure_count_key
from pipelines.routing.decide.deadlocks import CIRCULAR
from pipelines.routing.decide.decisions import Ask, Escalate, Finish, Move, Stuck, Wait
from pipelines.routing.decide.situation import OF_NOW
from pipelines.routing.document import evaluations, gate_tools
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import BLOCKED, ORIGIN

Staying = Wait | Ask | Escalate | Stuck


@dataclass(frozen=True)
class DecisionSubject:
    """Subject of a decision. `line`: the version that judged it; `station` and `origin`: those of the token.
    `word`: a person's vote other than approve that forced the decision; `asked_rule`: the rule behind that
    gate."""

    line: ParsedLine
    station: str
    origin: str | None
    outcome: Outcome
    word: str = ""
    asked_rule: str | None = None
    unreadable: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def has_failed(self) -> bool:
        """Return whether the outcome counts as failed (law §2), as recorded."""
        return derived_outcome(self.outcome).outcome_state == "failed"

    @property
    def signal_verdict(self) -> str:
        """The verdict of the deciding signal, the first valid one (law §5 step 3)."""
        signal = self.outcome.deciding_signal
        return str(signal["verdict"]) if signal else ""


# Where the token is afterwards


def origin_after_or_none(station: str, origin: str | None, target: str) -> str | None:
    """Self-loops and re-runs do not change the origin (law §1, `@origin`)."""
    return station if target != station else origin


@dataclass(frozen=True, slots=True)
class Stay:
    """The token stays where it is; `wait` shows what would release it."""

    status: str
    wait: dict[str, Any]
    error: str = ""


def stay_of_decision(answer: Staying) -> Stay:
    """Return what the token waits for when nothing leads on. A person answers an evaluation: it never
    advances silently (ALP A26)."""
    if isinstance(answer, Wait):
        document = answer.to_dict()
        wait_keys = ("gates", "to", "rule", "question", "missing", "evaluation")
        return Stay(answer.status, {key: document.get(key) for key in wait_keys})
    if isinstance(answer, Ask):
        return Stay("blocked", {"evaluation": dict(answer.evaluation)})
    if isinstance(answer, Escalate):
        naming = {"budget": answer.budget, "role": answer.role} if answer.budget else {}
        return Stay("held", {"trigger": answer.trigger, "rule": answer.rule, **naming})
    return Stay("stuck", {"message": answer.message, "rule": answer.rule}, answer.error)


def does_decision_abort_task(subject: DecisionSubject, answer: Finish) -> bool:
    """Return whether the decision aborts, which ends the whole task, whichever branch decides it (law §7)."""
    if subject.word:
        return subject.word == "abort"
    if answer.by == "signal":
        return subject.signal_verdict == "abort"
    return answer.by == "gate" and not was_rule_taken(subject, answer, (answer.end,))


def failure_reason_without_rejection(subject: DecisionSubject, answer: Finish) -> str:
    """Return the reason that a task failed without a rejection: that of the signal that aborted it, or of a
    cancelled job that no rule matched (ALP A4), or the eval that no rule takes (contenox B10). Otherwise
    ""."""
    signal = subject.outcome.deciding_signal
    if answer.by == "signal" and signal and signal["verdict"] == "abort":
        return str(signal.get("reason") or "")
    if answer.by == "policy" and answer.end_kind == "failed" and subject.outcome.result == "cancelled":
        return f"The job was cancelled: {subject.outcome.reason or 'no reason given'}."
    # Only `no_match: fail` ends with this error (law §4).
    if answer.error == "NoValidTransition":
        return f"No rule takes the eval “{derived_outcome(subject.outcome).eval}”."
    return ""


def wait_without_empty_entries(wait: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wait without its empty entries."""
    return {key: value for key, value in wait.items() if value not in (None, [], ())}


# What is counted


def decided_targets(answer: Move | Finish | Wait) -> tuple[str, ...]:
    """The stations, the end, or `@blocked`; nothing for a wait that counts nothing."""
    if isinstance(answer, Move):
        return answer.to
    if isinstance(answer, Finish):
        return (answer.end,)
    return (BLOCKED,) if answer.status == "blocked" else ()


def counter_changes(
    subject: DecisionSubject,
    answer: Move | Finish | Wait,
    stations: Container[str],
    landing: tuple[str, ...] | None = None,
) -> dict[str, dict[str, int]]:
    """Visits, edges and the rule (law §5, Counting). `stations`: the keys that can be entered now; `landing`:
    where the targets are by now, if the task was migrated since its job started."""
    targets = decided_targets(answer)
    # After a migration visits and edges are counted under the newer keys.
    lands = targets if landing is None else landing
    # `@blocked` leads nowhere, so no edge is taken.
    edges = () if targets == (BLOCKED,) else lands
    return {
        "visits": _count_names([target for target in lands if target in stations]),
        "edges": _count_names([f"{subject.station}->{target}" for target in edges]),
        "rules": {answer.rule: 1} if answer.rule and was_rule_taken(subject, answer, targets) else {},
        **_failure_counts(subject, answer),
    }


def _count_names(names: list[str]) -> dict[str, int]:
    """Count how often each name occurs: nearly always one name, once."""
    return {names[0]: 1} if len(names) == 1 else dict(Counter(names))


def _failure_counts(subject: DecisionSubject, answer: Move | Finish | Wait) -> dict[str, dict[str, int]]:
    """A station that is left for a station with a type of failure (AEEF E16): once, whatever it forks into."""
    kind = subject.outcome.failure_type
    return (
        {"failures": {failure_count_key(subject.station, kind): 1}}
        if kind and isinstance(answer, Move)
        else {}
    )


def enterable_stations(line: ParsedLine, source: str) -> Set[str]:
    """The stations that a token leaving `source` enters at once, without those where it first waits at a join."""
    waits = {key for key in line.join_keys if line.does_token_wait_at_join(key, source)}
    return line.stations_by_key.keys() - waits if waits else line.stations_by_key.keys()


def was_rule_taken(subject: DecisionSubject, answer: Move | Finish | Wait, targets: tuple[str, ...]) -> bool:
    """Return whether the rule that the decision names was taken. It was not if it only led to a policy, a
    budget's target or a person's vote: neither an exhausted budget nor a vote moves by the rule."""
    # A Wait has no `by`.
    if getattr(answer, "by", "") == "policy" or (subject.word and answer.rule == subject.asked_rule):
        return False
    station_and_rule = subject.line.rules_by_id.get(answer.rule or "")
    return (
        station_and_rule is not None
        and _targets_with_origin_resolved(station_and_rule[1].to, subject.origin) == targets
    )


def _targets_with_origin_resolved(to: tuple[str, ...], origin: str | None) -> tuple[str, ...]:
    return tuple((origin or "") if target == ORIGIN else target for target in to)


def counts_with_added(counter: Mapping[str, int], added: Mapping[str, int]) -> dict[str, int]:
    return {**counter, **{key: counter.get(key, 0) + n for key, n in added.items()}}


def reworks_in_a_row_after(subject: DecisionSubject, answer: Move, so_far: int) -> int:
    followed = answer.by == "signal" and subject.signal_verdict == "rework"
    # In a row: any other move begins the count anew.
    return so_far + 1 if followed else 0


# What is stored


def variables_and_context_to_store(
    subject: DecisionSubject, answer: Move | Finish
) -> dict[str, dict[str, Any]]:
    """`variables` to set and what goes into the `context`: objects only, later overwrites earlier, outputs of failed
    stations do not count (law §5 step 9)."""
    output = subject.outcome.output
    # law §5 step 9: what a failed station put out is no fact for the others
    context = output if isinstance(output, dict) and not subject.has_failed else {}
    variables = dict(answer.variables) if isinstance(answer, Move) else {}
    unreadable = _unreadable_keys(subject, context)
    changes = {"context": context, "variables": variables}
    return {**changes, "unreadable": unreadable} if unreadable else changes


def _unreadable_keys(subject: DecisionSubject, context: Mapping[str, Any]) -> dict[str, str]:
    """Output of a completed station that is not JSON is kept out of the context, and its keys are remembered with the
    station; "" for those that are said at last (Vibe Factory C25)."""
    # Output of a failed station does not count anyhow, so its keys are missed by nobody.
    if subject.outcome.output_error and not subject.has_failed:
        return dict.fromkeys(subject.line.station(subject.station).output_keys, subject.station)
    return {key: "" for key, by in subject.unreadable.items() if by and key in context}


# The same situation again


def facts_with_votes(
    facts: Mapping[str, Any], now: Mapping[str, Any], words: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """Return the facts of a situation that waited at gates, with the votes added. `now`: the current facts, for
    step 7."""
    return {**facts_with_current(facts, now), "gates": {**facts.get("gates", {}), **words}}


def fact_of_question_outcome(
    line: ParsedLine, question: Mapping[str, Any], outcome: Mapping[str, Any]
) -> dict[str, Any]:
    """The outcome of a question's job as a fact, under the version that asked."""
    if gate_tools.KIND in question:
        tool = line.gate(question[gate_tools.KIND]["gate"]).tool
        assert tool is not None
        return gate_tools.fact_of_tool_run(tool, question, outcome)
    return evaluations.fact_of_evaluation_outcome(question, outcome)


def facts_with_answer(
    facts: Mapping[str, Any], now: Mapping[str, Any], answer: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the facts with the answer to an evaluation added (law §3). `now`: the current facts, for step 7."""
    return {**facts_with_current(facts, now), "answers": [*facts.get("answers", []), answer]}


def facts_with_current(facts: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The facts at the time a gate or an evaluation asked, with the facts that have changed since beside them; only
    step 7 reads those (law §12, Gates and words)."""
    other = {name: now[name] for name in OF_NOW if name in now and now[name] != facts.get(name)}
    frozen = {name: value for name, value in facts.items() if name != "now"}
    return {**frozen, **({"now": other} if other else {})}


def facts_of_waiting_token_now(facts: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a waiting token brought up to date: all of them if nobody was asked on the way,
    otherwise only those that step 7 reads."""
    if facts.get("gates") or facts.get("answers"):
        return facts_with_current(facts, now)
    return facts_for_deciding_anew(facts, now)


def facts_for_deciding_anew(facts: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The facts for asking again about the same outcome: the current ones, for rules and checks as well."""
    frozen = {name: value for name, value in facts.items() if name != "now"}
    # The latest wins: what was frozen, what had changed by then, what is so now.
    return {**frozen, **facts.get("now", {}), **now}


# Without logs, times, cost and session, which make no question another one (law §12)
OUTCOME_FIELDS = ("result", "verdict", "eval", "exit_code", "summary", "comment")


def gate_question(
    line: ParsedLine, station: str, answer: Wait, gate: str, outcome: Mapping[str, Any], output_digest: str
) -> dict[str, Any]:
    """Return the question of a gate without details that differ between runs, so that a repeated question is
    recognised and a rejected one not repeated (law §6, last sentence)."""
    reported = {name: outcome.get(name) for name in OUTCOME_FIELDS}
    station_and_rule = line.rules_by_id.get(answer.rule or "")
    return {
        "gate": gate,
        "station": station,
        "rule": {"id": station_and_rule[1].id, "label": station_and_rule[1].label}
        if station_and_rule
        else None,
        "to": list(answer.to or []),
        "outcome": {
            **{name: value for name, value in reported.items() if value is not None},
            "output_digest": output_digest,
        },
        **_question_facts(outcome.get("facts")),
    }


def _question_facts(facts: Any) -> dict[str, Any]:
    """Return the facts that make it a different question: the tree, tests, findings and coverage (law §12)."""
    if not isinstance(facts, Mapping) or not facts:
        return {}
    groups = {name: members for name, members in facts.items() if isinstance(members, Mapping)}
    trees = [members.get("source", {}).get("tree") for members in groups.values()]
    evidence: dict[str, Any] = {
        name: {key: value for key, value in groups[name].items() if key != "source"}
        for name in ("tests", "findings", "coverage")
        if name in groups
    }
    # Without git a source names the digest of the workspace as it was left (law §13).
    return {"facts": {"tree": groups.get("git", {}).get("tree") or next(filter(None, trees), ""), **evidence}}


# The first present decides; then the worst of the ends.
LIVING = ("stuck", "blocked", "held", "awaiting_review", "evaluating", "running", "queued")
ENDS = ("failed", "cancelled", "completed")
ORDER = {status: place for place, status in enumerate((*LIVING, *ENDS))}


def worst_position_status(statuses: Iterable[str]) -> str:
    """Tell the status of a task (law §1) from its positions; forked tokens are none and must be left out."""
    return min(statuses, key=ORDER.__getitem__)


# Holds on the work of a position: one, the others nested under `then`. It goes on when the last one is
# released (law §8).


DEPENDS: Final = "depends_on"
LOST: Final = "failed"
TURN: Final = "turn"
THEN: Final = "then"
BLOCK: Final = "block"
PAUSED: Final = "paused"
Hold = dict[str, Any]


def hold_until_escalation_resolved(escalation: object, trigger: str) -> Hold:
    return {"paused_by": escalation, "trigger": trigger}


def hold_until_circle_is_resolved(deadlock: str) -> Hold:
    """The `wait` of work that would begin while its task and others wait for each other."""
    return {"paused_by": deadlock, "was": "queued", "deadlock": CIRCULAR}


def hold_until_tasks_complete(others: Mapping[str, str]) -> Hold:
    """The `wait` of a task that depends on these, {name: state}, none completed. A dependency that failed or was
    cancelled never completes and is named: a person has to decide. The state TURN: under the limit of the line it is
    their turn first."""
    # None of them is completed, so an end is a failure or a cancellation.
    lost = [name for name, status in others.items() if status in ENDS]
    turn = [name for name, status in others.items() if status == TURN]
    return {DEPENDS: list(others), **({LOST: lost} if lost else {}), **({TURN: turn} if turn else {})}


def hold_by_pause(pause: int, by: str, reason: str, since: str) -> Hold:
    """The `wait` of work under a pause, which names who paused it."""
    return {PAUSED: pause, "by": by, "since": since, **({"reason": reason} if reason else {})}


def is_hold_by_pause(wait: Hold) -> bool:
    return PAUSED in wait


def is_hold_by_dependency(wait: Hold) -> bool:
    return DEPENDS in wait


def flatten_holds(wait: Mapping[str, Any]) -> list[Hold]:
    """Every hold on a position, in order."""
    return [{key: value for key, value in wait.items() if key != THEN}, *wait.get(THEN, ())]


def is_move_barred_by_holds(wait: Mapping[str, Any], *, stays: bool) -> bool:
    """Return whether something has to be resolved before a person moves the position (law §17). `stays`: it is to run
    its own station again, which resolves no escalation and leads nowhere."""
    holds = flatten_holds(wait)
    return any("paused_by" in hold or ("escalation" in hold and not stays) for hold in holds)


def nest_holds(waits: Sequence[Hold]) -> Hold:
    if not waits:
        return {}
    first, *others = waits
    return {**first, **({THEN: others} if others else {})}


def roles_to_ask_for_review(notify: Sequence[str], role: str, consulted: Collection[str]) -> list[str]:
    """The roles that a review of an escalation asks: those that it notifies, else its own; none of them twice."""
    return [candidate for candidate in dict.fromkeys(notify or (role,)) if candidate not in consulted]
