"""Pushes of people to the branch of a task: whose it is, and that the task goes on with it (law §15)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from allauth.account.models import EmailAddress
from django.db.models.functions import Lower

from pipelines import engine
from pipelines.engine import ObservedPush
from pipelines.models import Job, Membership, Task, User
from pipelines.work.results.text import escaped_for_storage
from pipelines.work.transport.local.stored_results import lock_lease_and_read_time

SOMEBODY = "Somebody"
MOST = 50
"""Names that are looked at."""


def record_push_and_return_result(
    job_id: int, lease: uuid.UUID, commit: str, who: list[str], logins: list[str]
) -> str:
    """Record a push by others that a delivery detected, and let the task go on with it. `logins`: as the host
    reports them; `who`: addresses in the commits, used only where no login belongs to a member. :raises
    LeaseLost"""
    job = Job.objects.select_related("task").get(pk=job_id)
    # Told again, its lease may be gone because the push ended this very job: the key stays with it
    if job.lease_key != lease:
        lock_lease_and_read_time(job_id, lease)
    by_host = find_members(job.task, logins, ())
    people = by_host or find_members(job.task, (), who)
    pushed_by = escaped_for_storage(joined_names(logins or who))
    return engine.record_push_visit_and_return_result(
        job.task_id, ObservedPush(commit, pushed_by, people, job_id, by_host=bool(by_host))
    )


def find_members(task: Task, logins: Iterable[str], addresses: Iterable[str]) -> tuple[int, ...]:
    """Members of its project with one of these user names, or with one of these as a verified address. Names of
    commits are what their author wrote: so everybody who may be meant counts, and that only ever bars."""
    members = Membership.objects.filter(project=task.project_id, user__in=find_people(logins, addresses))
    return tuple(sorted(members.values_list("user_id", flat=True)))


def find_people(logins: Iterable[str], addresses: Iterable[str]) -> set[int]:
    """Ids of everybody with one of these user names or verified addresses, members or not."""
    # What others send may hold what no database takes
    logins, addresses = map(escaped_for_storage, logins), map(escaped_for_storage, addresses)
    users = User.objects.annotate(login=Lower("username"))
    mails = EmailAddress.objects.annotate(address=Lower("email")).filter(verified=True)
    by_name = users.filter(login__in=[name.lower() for name in logins][:MOST])
    by_address = mails.filter(address__in=[address.lower() for address in addresses][:MOST])
    return {*by_name.values_list("pk", flat=True), *by_address.values_list("user_id", flat=True)}


def joined_names(names: Iterable[str]) -> str:
    return ", ".join(list(dict.fromkeys(filter(None, names)))[:3]) or SOMEBODY
