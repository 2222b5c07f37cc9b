"""Presence of runners: which one calls, what it offers, and what it may have."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from pipelines import engine
from pipelines.errors import NotFound, Refused
from pipelines.models import ApiToken, Job, Worker
from pipelines.models.plumbing import bulk_rows
from pipelines.models.plumbing.compiled_queries import Statement, execute_all_and_fetch
from pipelines.ports import leases
from pipelines.ports.leases import WorkOffer
from pipelines.queries.queued_work import SERVER_ONLY
from pipelines.routing.document.evaluations import WORKER
from pipelines.work.config import EVALUATOR_LABEL
from pipelines.work.statements import RUNNER_OF_TOKEN
from pipelines.work.transport.http.wire_format import PROTOCOL
from pipelines.work.transport.local import jobs

LONGEST: Final = 200
AS_TOLD: Final = ("name", "host", "pid", "isolation", "cuts_network", "limits_hosts", "concurrency")
MACHINE: Final = ("os", "arch", "python", "git", "version")


class WrongProtocol(Refused):
    """The runner speaks another protocol."""


def register_runner(token: ApiToken, runner: uuid.UUID, registration: Mapping[str, Any]) -> Worker:
    """Write its row. What an earlier process of it held is taken back: that process is gone.

    :raises NotFound: somebody else has this id; WrongProtocol"""
    if registration["protocol"] != PROTOCOL:
        older = "Update this runner" if registration["protocol"] < PROTOCOL else "Update the server"
        raise WrongProtocol(f"The runner and the server have different versions. {older}.")
    now = timezone.now()
    labels = set(registration["labels"]) & set(token.labels) if registration["labels"] else set(token.labels)
    # By its own command and where the project gave it the label; never by a model (law §15).
    evaluates = WORKER in registration["answers"] and EVALUATOR_LABEL in labels
    its = {
        **{name: registration[name] for name in AS_TOLD},
        "labels": sorted(labels),
        "owners": None,
        "answers": [WORKER] if evaluates else [],
        # Law §15: no runner delivers, whatever it says that it can do
        "offers": sorted(set(registration["offers"]) - SERVER_ONLY),
        "machine": {name: str(registration["machine"].get(name, ""))[:LONGEST] for name in MACHINE},
        "project_id": token.project_id,
        # Drained is the token: a runner that was only started again gets no work either
        "stopping": token.drained_at is not None,
        "no_space": False,
        "stopped_at": None,
        "started_at": now,
        "seen_at": now,
    }
    try:
        with transaction.atomic():
            # An id of another token is not found here, and cannot be inserted twice
            registered, made = Worker.objects.update_or_create(id=runner, token=token, defaults=its)
    except IntegrityError as error:
        raise NotFound from error
    if not made:
        expire_leases_of_runner(runner)
    return registered


def expire_leases_of_runner(runner: uuid.UUID) -> None:
    """Take back the runner's leases at once: the new process would renew them with its own. Each counts an
    attempt, as after any crash, so that a job which ends its runner cannot go on for ever."""
    # `expire_lease` takes away only what has expired
    leases.expire_leases_of_dead_worker(runner)
    for lease in leases.leases_of_worker(runner):
        attempt = (
            Job.objects.filter(pk=lease.job_id, lease_key=lease.key).values_list("attempt", flat=True).first()
        )
        if attempt is not None:
            engine.expire_lease(lease.job_id, attempt, lease.key)


def registered_runner(token: ApiToken, runner: uuid.UUID) -> Worker:
    """:raises NotFound: it never registered with this token"""
    result_rows = execute_all_and_fetch([Statement(RUNNER_OF_TOKEN, [runner, token.pk])])[0]
    if not result_rows:
        raise NotFound("This runner is not registered.")
    return bulk_rows.row_from_json(Worker, json.loads(result_rows[0][0]))


def runner_offer(runner: Worker) -> WorkOffer:
    return WorkOffer(
        runner.pk,
        labels=frozenset(runner.labels),
        seconds=settings.RUNNER_LEASE_SECONDS,
        answers=frozenset(runner.answers),
        offers=frozenset(runner.offers or ()),
        project=runner.project_id,
    )


def update_runner(runner: Worker, changes: Mapping[str, Any], token: ApiToken) -> None:
    """`stopping`, `no_space`, `agents`, `programs`, `registries`. A runner that is drained stays so."""
    if "stopping" in changes:
        changes = {**changes, "stopping": changes["stopping"] or token.drained_at is not None}
    Worker.objects.filter(pk=runner.pk).update(**changes)


def sign_off(runner: Worker) -> None:
    """Nothing that it still held counts an attempt: it stopped as planned."""
    requeue_all_jobs_of_runner(runner.pk)
    # An idle one had said that it comes again later
    Worker.objects.filter(pk=runner.pk).update(stopped_at=timezone.now(), seen_at=timezone.now())


def requeue_all_jobs_of_runner(runner: uuid.UUID) -> None:
    for lease in leases.leases_of_worker(runner):
        requeue_job(lease.job_id, lease.key, None)


def requeue_job(job_id: int, lease: uuid.UUID, attempt: int | None) -> None:
    """Queue a job again without counting an attempt; nothing where the lease is not in force."""
    if attempt is None:
        jobs.requeue_stray_lease(job_id, lease)
    else:
        engine.requeue_job_and_return_result(job_id, attempt, lease)
