"""Runners of a project: a token for each, draining, and taking its work away with its token."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction

from pipelines import access
from pipelines.models import ApiToken, Job, Project, User, Worker
from pipelines.people import accounts
from pipelines.ports import audit
from pipelines.work.runners import presence


def may_manage_runners(user: User, project: Project) -> bool:
    """Whoever may put programs on workers, or administers the project: a runner gets the secrets of what it does."""
    return access.is_permitted(user, "admin", project) or access.is_permitted(user, "execute", project)


def add_runner_token_and_secret(
    project: Project, name: str, labels: Sequence[str], lasts: timedelta, by: User, now: datetime
) -> tuple[ApiToken, str]:
    """Its token and the secret, which is never shown again."""
    return accounts.mint_token_and_secret(
        kind=ApiToken.TokenKind.RUNNER,
        name=name,
        scopes=(),
        labels=labels,
        now=now,
        created_by=by,
        project=project,
        lasts=lasts,
    )


def add_single_job_token_and_secret(
    job: Job, labels: Sequence[str], lasts: timedelta, by: User | None, now: datetime
) -> tuple[ApiToken, str]:
    """A token for a runner that is started for one job and gets no other, with its secret."""
    return accounts.mint_token_and_secret(
        kind=ApiToken.TokenKind.RUNNER,
        name=f"Job {job.pk}",
        scopes=(),
        labels=labels,
        only_job=job,
        now=now,
        created_by=by,
        project=job.task.project,
        lasts=lasts,
    )


@transaction.atomic
def drain_runner(token: ApiToken, by: User, now: datetime) -> None:
    """Drain a runner: from now on it gets no new work; what it has it ends."""
    if ApiToken.objects.filter(pk=token.pk, drained_at=None, revoked_at=None).update(drained_at=now):
        Worker.objects.filter(token=token).update(stopping=True)
        _record_in_audit("runner.drained", token, by, now)


@transaction.atomic
def resume_runner(token: ApiToken, by: User, now: datetime) -> None:
    if ApiToken.objects.filter(pk=token.pk, drained_at__isnull=False, revoked_at=None).update(
        drained_at=None
    ):
        Worker.objects.filter(token=token).update(stopping=False)
        _record_in_audit("runner.resumed", token, by, now)


def revoke_runner_and_requeue_jobs(token: ApiToken, by: User, now: datetime) -> None:
    """Its token opens nothing any more, and what it does goes to another, at once."""
    # Before its work is given back, so that it cannot claim that once more.
    accounts.revoke_token(token, now, by)
    for runner in Worker.objects.filter(token=token).values_list("pk", flat=True):
        presence.requeue_all_jobs_of_runner(runner)


def _record_in_audit(kind: str, token: ApiToken, by: User, now: datetime) -> None:
    audit.record_administrative_act(
        kind, by=by, at=now, project=token.project, about=f"token:{token.pk}", name=str(token)
    )
