"""Producers of what a gate shows, beside whoever reported the outcome under review (law §12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import BigIntegerField, F, Q, QuerySet

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import ids_of_token_and_its_past
from pipelines.models import ApiToken, BranchPush, Event, Job, Task, Token
from pipelines.models.plumbing.compiled_queries import server_prepared

PERSON, MACHINE = "person:", "machine:"
ANSWER = "answer"
"""The trigger of the visit that begins with a person's answer to the question of a station."""
HandRow = tuple[int, str]
"""Position and actor: who reported a visit there by hand, answered a question, or skipped it by a machine's token."""


@server_prepared(task=BigIntegerField())
def token_and_reporting_person_query(task: Any) -> QuerySet[Job, HandRow]:
    return _token_and_reporting_person_rows(Job.objects.filter(task=task))


@server_prepared(task=BigIntegerField())
def token_and_answering_person_query(task: Any) -> QuerySet[Event, HandRow]:
    return _token_and_answering_person_rows(Event.objects.filter(task=task))


def _token_and_reporting_person_rows(jobs: QuerySet[Job, Job]) -> QuerySet[Job, HandRow]:
    # Whoever closes a job from outside is named by it as well, and produced nothing. A report has a digest, also that
    # of work which is skipped or called cancelled (law §17).
    by_hand = Q(reported_by__startswith=PERSON) | Q(reported_by__startswith=MACHINE)
    done = jobs.filter(by_hand, state=Job.State.DONE).exclude(result="cancelled", report_digest="")
    return done.order_by("pk").values_list("token_id", "reported_by")


def _token_and_answering_person_rows(events: QuerySet[Event, Event]) -> QuerySet[Event, HandRow]:
    answers = events.filter(kind="token.moved", trigger=ANSWER, actor__startswith=PERSON)
    # Written with every event of a position.
    return answers.order_by("task", "seq").values_list(F("token_id"), "actor")


def people_in_past_of_token(batch: Batch, task: Task, token: Token, stored: Iterable[HandRow]) -> list[str]:
    """List the people who worked in the past of a position. `stored`: what the two statements above found; what this
    transaction reported is in no row yet."""
    jobs = (job for job in batch.jobs.values() if job.task_id == task.pk and job.state == Job.State.DONE)
    recent = (
        (job.token_id, job.reported_by)
        for job in jobs
        if job.reported_by.startswith((PERSON, MACHINE)) and (job.result != "cancelled" or job.report_digest)
    )
    rows = [*stored, *recent]
    if any(position != token.pk for position, _person in rows):
        tokens = {row.pk: row for row in task.tokens.only("parent", "joined")}
        # Where branches meet in this transaction, their rows do not say so yet.
        tokens |= {row.pk: row for row in batch.tokens.values() if row.task_id == task.pk}
        past = ids_of_token_and_its_past(
            token.pk, [(row.pk, row.parent_id, row.joined_id) for row in tokens.values()]
        )
        rows = [row for row in rows if row[0] in past]
    return _unique_people_behind_actors(actor for _position, actor in rows)


def _unique_people_behind_actors(actors: Iterable[str]) -> list[str]:
    """List the people; in place of a machine whoever made its token, who knows its secret (law §15)."""
    unique = list(dict.fromkeys(actors))
    tokens = [int(actor.removeprefix(MACHINE)) for actor in unique if actor.startswith(MACHINE)]
    if not tokens:
        return unique
    made = ApiToken.objects.filter(pk__in=tokens, created_by__isnull=False).values_list("pk", "created_by")
    makers = {f"{MACHINE}{pk}": f"{PERSON}{maker}" for pk, maker in made}
    people = (makers.get(actor, "") if actor.startswith(MACHINE) else actor for actor in unique)
    return list(dict.fromkeys(filter(None, people)))


def retried_ancestor_tasks(task: Task) -> Iterator[Task]:
    """Yield the tasks whose files and context a retry has."""
    link = task
    while link.retry_of_id is not None and link.follows is not None:
        link = link.follows
        yield link


def workers_of_retried_tasks(task: Task) -> list[str]:
    """List the people who worked in those by hand."""
    return manual_workers_of_tasks([link.pk for link in retried_ancestor_tasks(task)])


def manual_workers_of_tasks(ids: list[int]) -> list[str]:
    """List the people who worked by hand in these tasks, wherever that was."""
    if not ids:
        return []
    rows = [
        *_token_and_reporting_person_rows(Job.objects.filter(task__in=ids)),
        *_token_and_answering_person_rows(Event.objects.filter(task__in=ids)),
    ]
    return _unique_people_behind_actors(actor for _position, actor in rows)


def pushes_to_branches_of_task_chain(task: Task) -> QuerySet[BranchPush]:
    """Select what people pushed to the branch of a task, and of those that it repeats."""
    return BranchPush.objects.filter(task__in=[task.pk, *(link.pk for link in retried_ancestor_tasks(task))])
