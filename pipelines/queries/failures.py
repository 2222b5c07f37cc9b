"""Reasons of failed and stuck tasks for which nobody entered a reason: the report of their last station."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models.fields.json import KT

from pipelines.models import Job, Purpose, Status, Token
from pipelines.queries import log_tails

LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class FailureReason:
    """`key`: the text is the type of the failure, which is no sentence."""

    text: str
    key: bool = False


def failure_reason_by_task(task_ids: Iterable[int]) -> dict[int, FailureReason]:
    """The summary, else the reason, the type of the failure or the exit code, of the last job that was done; one
    statement."""
    ids = list(task_ids)
    if not ids:
        return {}
    jobs = Job.objects.filter(task__in=ids, purpose=Purpose.STATION, state=Job.State.DONE)
    rows = (
        jobs.order_by("task_id", "-ended_at", "-pk")
        .distinct("task_id")
        .values_list(
            "task_id",
            "summary",
            KT("outcome__reason"),
            KT("outcome__failure_type"),
            KT("outcome__exit_code"),
        )
    )
    return {task: _failure_reason(summary or reason, *rest) for task, summary, reason, *rest in rows}


def _failure_reason(text: str | None, failure_type: str | None, exit_code: str | None) -> FailureReason:
    if not text and not failure_type and exit_code not in (None, "0"):
        return FailureReason(f"Exit code {exit_code}.")
    return FailureReason((text or failure_type or "")[:LONGEST], key=not text and bool(failure_type))


def last_words_by_token(tokens: Iterable[Token]) -> dict[int, str]:
    """Return the summary of each token's last job; of a stuck one without a summary the last line of its log."""
    stuck = {token.pk for token in tokens if token.status == Status.STUCK}
    jobs = Job.objects.filter(token__in=tokens).order_by("token_id", "-pk").distinct("token_id")
    rows = list(jobs.values_list("token_id", "pk", "summary"))
    silent = {token: job for token, job, summary in rows if token in stuck and not summary}
    lines = log_tails.last_log_line_by_job(silent.values())
    words = {token: summary for token, _job, summary in rows}
    return words | {token: lines[job] for token, job in silent.items() if job in lines}
