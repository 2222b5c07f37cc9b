"""Questions that a runner of another system asked a person, and what became of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from pipelines.errors import NotFound
from pipelines.models import ENDED, Event, Job, Status, Worker
from pipelines.work.runners import runner_claims

# Job and attempt, such as 4711-2
NUMBER: Final = re.compile(r"([1-9][0-9]{0,17})-([1-9][0-9]{0,8})")


@dataclass(frozen=True)
class ApprovalQuestion:
    """`closed`: nobody answers it any more: the task ended, or somebody let it go on otherwise."""

    job: Job
    question: str
    status: Literal["pending", "answered", "closed"] = "pending"
    answer: str | None = None
    answered_at: datetime | None = None


def question_number(job: Job) -> str:
    return f"{job.pk}-{job.attempt}"


def question_by_number(runner: Worker, number: str) -> ApprovalQuestion:
    """:raises NotFound: it is none of this runner"""
    match = NUMBER.fullmatch(number)
    if match is None:
        raise NotFound
    job = runner_claims.job_ever_held(runner, int(match[1]))
    question = _question_text(job)
    if job.attempt != int(match[2]) or not question:
        raise NotFound
    # The token's next job: an answer made it, or something else that went on without one
    after = Job.objects.filter(token=job.token_id, pk__gt=job.pk).order_by("pk").first()
    if after is not None:
        event = Event.objects.filter(
            task=job.task_id, token_id=job.token_id, trigger="answer", data__job__id=after.pk
        ).first()
        return (
            ApprovalQuestion(job, question, "answered", after.feedback, event.at)
            if event
            else _closed_question(job, question)
        )
    waits = job.token.status == Status.BLOCKED and job.token.station == job.station
    return (
        ApprovalQuestion(job, question)
        if waits and job.task.status not in ENDED
        else _closed_question(job, question)
    )


def _closed_question(job: Job, question: str) -> ApprovalQuestion:
    return ApprovalQuestion(job, question, "closed")


def _question_text(job: Job) -> str:
    """Return the question as the job's report put it; "" where it asked nothing."""
    signals = (job.outcome or {}).get("signals") or ()
    for signal in signals:
        if isinstance(signal, dict) and signal.get("verdict") == "hold":
            return str((signal.get("meta") or {}).get("question") or "")
    return ""
