"""Evaluations and what was answered: of I9, that a decision was told no answer that nobody gave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.engine.invariants.record_reading import TaskRecord, task_records
from pipelines.models import Event, Job, Purpose
from pipelines.ports.observers import Violation
from pipelines.queries import versions
from pipelines.routing.decide.effects import fact_of_question_outcome

Ids = Sequence[int] | None


def ungiven_answer_violations(task_ids: Ids) -> Iterable[Violation]:
    """I9: every answer among the facts of a decision was given at its token, by a person or by the job of that very
    question; a job's is what its outcome says."""
    for record in task_records(task_ids, "decisions", "events", "jobs", "tokens"):
        answers = [(event.token_id, event.data["answer"]) for event in _answer_events(record)]
        for decision in record.decisions:
            for answer in decision.situation["facts"].get("answers", []):
                if (decision.token_id, answer) not in answers:
                    yield record.violation(
                        "I9", f"decision {decision.pk} was told an answer that nobody gave"
                    )
        yield from _job_answer_violations(record)
        yield from _open_question_violations(record)


def _answer_events(record: TaskRecord) -> list[Event]:
    return [event for event in record.events if event.kind == "evaluation.answered"]


def _job_answer_violations(record: TaskRecord) -> Iterable[Violation]:
    jobs = {job.pk: job for job in record.jobs}
    for event in _answer_events(record):
        if "job" not in event.data:
            continue
        job = jobs[event.data["job"]["id"]]
        if (
            fact_of_question_outcome(
                versions.parsed_line_by_version_id(job.pinned_id), job.question or {}, job.outcome or {}
            )
            != event.data["answer"]
        ):
            yield record.violation("I9", f"event {event.seq} tells another answer than job {job.pk} gave")


def _open_question_violations(record: TaskRecord) -> Iterable[Violation]:
    """An open question is the one that its token waits for."""
    tokens = {token.pk: token for token in record.tokens}
    for job in record.jobs:
        if job.purpose == Purpose.STATION or job.state == Job.State.DONE:
            continue
        if tokens[job.token_id].wait.get("evaluation") != job.question:
            yield record.violation("I9", f"job {job.pk} asks what its token does not wait for")
