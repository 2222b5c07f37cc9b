"""Deciding again: I9."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.engine.invariants.record_reading import TaskRecord, task_records
from pipelines.models import Decision, Event
from pipelines.ports.observers import Violation
from pipelines.queries import versions
from pipelines.routing.analysis.redecide.recorded_decision import answer_without_trace, decide_again
from pipelines.routing.analysis.redecide.stored_trace import is_reproducible

Ids = Sequence[int] | None


def decision_replay_violations(task_ids: Ids) -> Iterable[Violation]:
    """I9: the edge taken is the first match recomputed from the stored outcome, Situation and pinned version, of every
    decision of the revision of the law under which that version is read (law §12)."""
    for record in task_records(task_ids, "decisions", "events", "jobs"):
        outcomes = {job.pk: job.outcome for job in record.jobs}
        for decision in record.decisions:
            # law §12: only decisions made under the revision of their version are recomputed.
            same = decision.revision == versions.parsed_line_by_version_id(decision.pinned_id).revision
            now = _recomputed_answer(decision) if same else decision.answer
            if now != decision.answer:
                yield record.violation("I9", f"decision {decision.pk} was {decision.answer}, now it is {now}")
            elif same and not _is_trace_reproduced(decision):
                yield record.violation("I9", f"the trace of decision {decision.pk} does not come out again")
            if decision.situation["outcome"] != outcomes.get(decision.job_id):
                yield record.violation("I9", f"decision {decision.pk} was not about the outcome of its job")
        yield from _effect_violations(record)
        yield from _wrong_version_violations(record)


def _wrong_version_violations(record: TaskRecord) -> Iterable[Violation]:
    """Check that the judge was a version to which the task was pinned: the one under which the job started,
    or one to which the task had been migrated by then (law §1, LineVersion)."""
    started = {job.pk: job.pinned_id for job in record.jobs}
    judged = {decision.pk: decision for decision in record.decisions}
    brought = {event.data["was"] for event in record.events if event.kind == "task.migrated"}
    brought |= {event.data["pinned"] for event in record.events if event.kind == "task.migrated"}
    for job in record.jobs:
        if job.pinned_id not in {record.task.pinned_id, *brought}:
            yield record.violation("I9", f"job {job.pk} is of a version that the task was never on")
    so_far: set[int] = set()
    for event in record.events:
        if event.kind == "task.migrated":
            so_far.add(event.data["pinned"])
        decision = judged.get(event.decision_id) if event.decision_id else None
        if decision and decision.pinned_id not in {started.get(decision.job_id), *so_far}:
            yield record.violation(
                "I9", f"decision {decision.pk} is by a version that the task was not on then"
            )


SAYS = ("missing", "trigger", "evaluation")


def wait_decision_violations(task_ids: Ids) -> Iterable[Violation]:
    """I9: the `wait` of a token agrees with its decision: missing preconditions, escalation, question."""
    for record in task_records(task_ids, "decisions", "tokens"):
        decided = {str(decision.pk): decision.answer for decision in record.decisions}
        for token in record.tokens:
            answer = decided.get(token.wait.get("decision", ""))
            for name in SAYS if answer else ():
                actual = token.wait.get(name) or None
                if answer is not None and actual != (answer.get(name) or None):
                    yield record.violation(
                        "I9", f"token {token.pk} waits for {name} {actual}, decided was another"
                    )


def _recomputed_answer(decision: Decision) -> dict[str, Any]:
    return answer_without_trace(
        decide_again(versions.parsed_line_by_version_id(decision.pinned_id), decision.situation)
    )


def _is_trace_reproduced(decision: Decision) -> bool:
    return is_reproducible(
        versions.parsed_line_by_version_id(decision.pinned_id), decision.situation, decision.trace
    )


def _effect_violations(record: TaskRecord) -> Iterable[Violation]:
    """Check that what was done is what was decided."""
    decided = {decision.pk: decision for decision in record.decisions}
    for event in record.events:
        decision = decided.get(event.decision_id) if event.decision_id else None
        if decision and _performed_effect(event) != _decided_effect(decision, event):
            yield record.violation(
                "I9",
                f"event {event.seq} does {_performed_effect(event)}, decided was {_decided_effect(decision, event)}",
            )


def _performed_effect(event: Event) -> tuple[str, ...]:
    match event.kind:
        case "token.moved":
            return ("move", event.target)
        case "token.forked":
            # The first is the forked token itself.
            return ("move", *[branch["station"] for branch in event.data["tokens"][1:]])
        case "token.ended":
            return ("finish", event.target)
        case "token.stuck":
            return ("stuck",)
    return ("stay",)


def _decided_effect(decision: Decision, event: Event) -> tuple[str, ...]:
    """Return the effect that was decided, by the keys of the version that the task was migrated to since the
    job started."""
    match decision.answer["decision"]:
        # The version to which the task was migrated has no such station.
        case "move" if event.data.get("gone"):
            return ("stuck",)
        case "move" if event.data.get("decided") == decision.answer["to"]:
            return _performed_effect(event)
        case "move":
            return ("move", *decision.answer["to"])
        case "finish":
            return ("finish", decision.answer["end"])
        case "stuck":
            return ("stuck",)
    return ("stay",)
