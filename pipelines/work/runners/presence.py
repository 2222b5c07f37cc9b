"""Which runner calls, what it offers, and what it may have."""

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
from pipelines.models.plumbing import rows
from pipelines.models.plumbing.statements import Statement, send
from pipelines.ports import leases
from pipelines.ports.leases import Claim
from pipelines.queries.queued_work import SERVER_ONLY
from pipelines.routing.document.evaluations import WORKER
from pipelines.work.config import EVALUATOR_LABEL
from pipelines.work.statements import RUNNER_OF_TOKEN
from pipelines.work.transport.http.wire import PROTOCOL
from pipelines.work.transport.local import jobs

LONGEST: Final = 200
AS_TOLD: Final = ("name", "host", "pid", "isolation", "cuts_network", "limits_hosts", "concurrency")
MACHINE: Final = ("os", "arch", "python", "git", "version")


class WrongProtocol(Refused):
    """The runner speaks another protocol."""


def register(token: ApiToken, runner: uuid.UUID, said: Mapping[str, Any]) -> Worker:
    """Write its row. What an earlier process of it held is taken back: that process is gone.

    :raises NotFound: somebody else has this id; WrongProtocol"""
    if said["protocol"] != PROTOCOL:
        older = "Update this runner" if said["protocol"] < PROTOCOL else "Update the server"
        raise WrongProtocol(f"The runner and the server have different versions. {older}.")
    now = timezone.now()
    labels = set(said["labels"]) & set(token.labels) if said["labels"] else set(token.labels)
    # By its own command and where the project gave it the label; never by a model (law §15).
    evaluates = WORKER in said["answers"] and EVALUATOR_LABEL in labels
    its = {
        **{name: said[name] for name in AS_TOLD},
        "labels": sorted(labels),
        "owners": None,
        "answers": [WORKER] if evaluates else [],
        "offers": sorted(set(said["offers"]) - SERVER_ONLY),
        "machine": {name: str(said["machine"].get(name, ""))[:LONGEST] for name in MACHINE},
        "project_id": token.project_id,
        "stopping": token.drained_at is not None,
        "no_space": False,
        "stopped_at": None,
        "started_at": now,
        "seen_at": now,
    }
    try:
        with transaction.atomic():
            found, made = Worker.objects.update_or_create(id=runner, token=token, defaults=its)
    except IntegrityError as error:
        raise NotFound from error
    if not made:
        take_back(runner)
    return found


def take_back(runner: uuid.UUID) -> None:
    """At once: the new process would renew these leases with its own. Each counts an attempt, as after any crash, so
    that a job which ends its runner cannot go on for ever."""
    leases.cut_short(runner)
    for held in leases.held_by(runner):
        attempt = (
            Job.objects.filter(pk=held.job_id, lease_key=held.key).values_list("attempt", flat=True).first()
        )
        if attempt is not None:
            engine.lose(held.job_id, attempt, held.key)


def of_token(token: ApiToken, runner: uuid.UUID) -> Worker:
    """:raises NotFound: it never registered with this token"""
    found = send([Statement(RUNNER_OF_TOKEN, [runner, token.pk])])[0]
    if not found:
        raise NotFound("This runner is not registered.")
    return rows.read(Worker, json.loads(found[0][0]))


def claim_of(runner: Worker) -> Claim:
    return Claim(
        runner.pk,
        labels=frozenset(runner.labels),
        seconds=settings.RUNNER_LEASE_SECONDS,
        answers=frozenset(runner.answers),
        offers=frozenset(runner.offers or ()),
        project=runner.project_id,
    )


def tell(runner: Worker, said: Mapping[str, Any], token: ApiToken) -> None:
    """`stopping`, `no_space`, `agents`, `programs`, `registries`. A runner that is drained stays so."""
    if "stopping" in said:
        said = {**said, "stopping": said["stopping"] or token.drained_at is not None}
    Worker.objects.filter(pk=runner.pk).update(**said)


def sign_off(runner: Worker) -> None:
    """Nothing that it still held counts an attempt: it stopped as planned."""
    give_all_back(runner.pk)
    Worker.objects.filter(pk=runner.pk).update(stopped_at=timezone.now())


def give_all_back(runner: uuid.UUID) -> None:
    for held in leases.held_by(runner):
        give_back(held.job_id, held.key, None)


def give_back(job_id: int, lease: uuid.UUID, attempt: int | None) -> None:
    """Queue a job again without counting an attempt; nothing where the lease is not in force."""
    if attempt is None:
        jobs.give_back_stray(job_id, lease)
    else:
        engine.requeue(job_id, attempt, lease)
