"""Rows that a board reads of the positions that it shows: four statements, compiled once."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet, UUIDField

from pipelines.models import GateVisit, Job, Purpose, Token, Vote, Word
from pipelines.models.plumbing.compiled_queries import array_field, compiled

HEAVY = (
    "task__context",
    "task__variables",
    "task__inputs",
    "task__visits",
    "task__edges",
    "task__description",
)


@compiled(tokens=array_field())
def tokens_with_tasks(tokens: Any) -> QuerySet[Token]:
    return (
        Token.objects.filter(pk__among=tokens)
        .select_related("task")
        .defer(*HEAVY)
        .order_by("entered_at", "pk")
    )


@compiled(tokens=array_field())
def latest_jobs(tokens: Any) -> QuerySet[Job]:
    jobs = Job.objects.filter(token__among=tokens, purpose=Purpose.STATION)
    # DISTINCT ON keeps the first row of each token: its latest job.
    jobs = jobs.order_by("token_id", "-pk").distinct("token_id")
    return jobs.defer("outcome", "feedback", "report_answer")


@compiled(tokens=array_field())
def open_visits_of_tokens(tokens: Any) -> QuerySet[GateVisit]:
    visits = GateVisit.objects.filter(token__among=tokens, state=GateVisit.State.OPEN)
    return visits.order_by("position").defer("evidence")


@compiled(visits=array_field(UUIDField()))
def approved_visit_ids(visits: Any) -> QuerySet[Vote, UUID]:
    return Vote.objects.filter(visit__among=visits, word=Word.APPROVE).values_list("visit_id", flat=True)
