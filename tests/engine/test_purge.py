"""Purge by the retention of a project: what it deletes, what it leaves, and what it passes over."""

from __future__ import annotations

import hashlib
import re
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.core.files.base import ContentFile
from django.db import IntegrityError, connection, transaction
from django.db.models import SET_NULL
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pipelines import engine
from pipelines.engine.commands.event_export import export_task
from pipelines.engine.commands.purge import STAYS, tables_with_rows_of_tasks
from pipelines.engine.invariants import find_violations
from pipelines.errors import Conflict
from pipelines.models import (
    Artifact,
    Blob,
    Delivery,
    Event,
    GateVisit,
    Job,
    LogChunk,
    Project,
    Retention,
    Snapshot,
    Task,
    Token,
    Tombstone,
)
from pipelines.queries.receipts import find_landed_change_by_commit, landed_change_or_none
from pipelines.routing.basics.canonical import canonical_json
from pipelines.work import expiry, storage
from tests.factories import World, make_project, station
from tests.waiting import LONG, until

pytestmark = pytest.mark.django_db
LATER = timedelta(days=41)
COMMIT, TREE = "c" * 40, "d" * 40


def ended(world: World, **more: Any) -> Task:
    gate = {"key": "review", "name": "Review", "mode": "manual"}
    behind = {"id": "on", "to": "completed", "gates": ["review"]}
    task = world.start(world.line(stations=[station("build", behind)], gates=[gate]), **more)
    world.report(task)
    world.vote(task)
    task.refresh_from_db()
    return task


def purge(world: World, *, most: int = 50, record: int | None = 40, file: int | None = None) -> int:
    """Purge as the worker does, so much later that 40 days have passed."""
    Project.objects.filter(pk=world.project.pk).update(record_days=record, file_days=file)
    now = timezone.now() + LATER
    return engine.purge_records(now, most).tasks or engine.purge_files(now, most).tasks


def keep_file(task: Task, content: bytes, at: str = "report.txt") -> str:
    """Store a file as an artifact of the task's first job, and in the snapshot after it."""
    digest, job = hashlib.sha256(content).hexdigest(), task.jobs.order_by("pk")[0]
    name = storage.save_bytes_and_return_name(storage.artifact_storage(), digest, ContentFile(content))
    storage.record_blobs({digest: (len(content), name)}, timezone.now())
    Artifact.objects.create(task=task, job=job, name=at, blob_id=digest)
    entry = {"path": at, "mode": 0o644, "digest": digest, "size": len(content)}
    Snapshot.objects.update_or_create(
        job=job,
        defaults={
            "task": task, "digest": digest, "manifest": [entry], "size": 1, "created_at": timezone.now(),
        },
    )  # fmt: skip
    chunk = {"position": 0, "data": b"", "at": timezone.now()}
    LogChunk.objects.get_or_create(job=job, attempt=1, number=0, defaults=chunk)
    return digest


def deliver(task: Task) -> None:
    now = timezone.now()
    Delivery.objects.create(
        job=task.jobs.order_by("pk")[0],
        task=task,
        visit=GateVisit.objects.filter(task=task).first(),
        to="push",
        repository_name="app",
        branch="main",
        commit=COMMIT,
        tree=TREE,
        cleared_at=now,
        landed_at=now,
    )


def test_a_purged_task_leaves_a_digest_of_each_event_and_nothing_that_says_what_it_was(world: World) -> None:
    task = ended(world, title="Anna's salary", description="secret")
    told = list(export_task(task))
    assert purge(world) == 1
    task.refresh_from_db()
    assert (task.retention, task.status, task.end) == (Retention.TOMBSTONE, "completed", "completed")
    digests = [hashlib.sha256(canonical_json(event)).hexdigest() for event in told]
    assert task.tombstone.event_digests == digests and len(digests) == task.seq
    assert not Event.objects.exists() and not find_violations()
    with connection.cursor() as cursor:
        cursor.execute("SELECT row(task.*)::text FROM pipelines_task task")
        assert not re.search(r"Anna|secret", cursor.fetchone()[0])


def test_two_projects_of_one_key_are_not_taken_for_each_other(world: World) -> None:
    other = World(make_project(world.project.key, "other"), world.worker)
    here, there = ended(world), ended(other, title="Another")
    told = [list(export_task(task)) for task in (here, there)]
    Project.objects.update(record_days=40)
    assert engine.purge_records(timezone.now() + LATER, 50).tasks == 2
    for task, events in zip((here, there), told, strict=True):
        digests = [hashlib.sha256(canonical_json(event)).hexdigest() for event in events]
        assert Tombstone.objects.get(task=task).event_digests == digests


def test_receipts_stay_byte_for_byte(world: World) -> None:
    task = ended(world)
    deliver(task)
    before = landed_change_or_none(task)
    assert before is not None and before.approval is not None
    purge(world)
    task = Task.objects.get()
    assert not Delivery.objects.exists()
    assert landed_change_or_none(task) == landed_change_or_none(task, before.delivery) == before
    found = find_landed_change_by_commit(world.project, COMMIT)
    assert found is not None and canonical_json(found.statement()) == canonical_json(before.statement())
    other = World(make_project("other", "other"), world.worker)
    assert find_landed_change_by_commit(other.project, COMMIT) is None


def test_only_what_ended_long_enough_ago_in_a_project_with_a_retention_goes(world: World) -> None:
    other = World(make_project("other", "other"), world.worker)
    ended(world)
    ended(other)
    running = world.start(world.line(stations=["build"]))
    assert purge(world, record=42) == 0, "they ended 41 days ago"
    assert purge(world) == 1
    assert Task.objects.filter(retention=Retention.TOMBSTONE).get().project == world.project
    running.refresh_from_db()
    assert running.retention == Retention.ALL and not find_violations()


def test_what_a_later_task_needs_stays_until_that_one_goes(world: World) -> None:
    first = ended(world)
    retry = engine.start_retry_task(first.pk, station="", actor=engine.Actor.person(world.operator))
    fork = engine.fork(first.pk, user=world.operator, at=2)
    assert purge(world) == 0, "both are open"
    for task in (retry, fork):
        world.report(task)
        world.vote(task)
    assert purge(world) == 2, "those that followed it"
    assert purge(world) == 1 and purge(world) == 0
    assert not find_violations() and not Job.objects.exists() and not Token.objects.exists()


def test_files_go_first_and_the_record_stays(world: World) -> None:
    task = ended(world)
    keep_file(task, b"much")
    assert purge(world, record=None, file=7) == 1 and purge(world, record=None, file=7) == 0
    task.refresh_from_db()
    assert task.retention == Retention.RECORD and task.title == "A task"
    assert not (Artifact.objects.exists() or Snapshot.objects.exists() or LogChunk.objects.exists())
    assert len(list(export_task(task))) == task.seq and not find_violations()
    assert purge(world) == 1, "and then the record"


def test_bytes_go_a_day_later_unless_something_else_uses_them(world: World) -> None:
    old, young = ended(world), ended(world)
    only, shared = keep_file(old, b"only"), keep_file(old, b"shared", "b")
    keep_file(young, b"shared")
    now = timezone.now()
    Project.objects.update(record_days=40)
    # One of the two at a time: the other one keeps what it shares
    assert expiry.purge_some_expired_tasks(now) == 0
    purged = engine.purge_records(now + LATER, 1)
    assert purged.digests == {only, shared}
    Blob.objects.filter(pk__in=purged.digests).update(released_at=now)
    assert expiry.delete_some_released_bytes(now) == 0, "not at once"
    assert expiry.delete_some_released_bytes(now + timedelta(days=2)) == 2
    assert set(Blob.objects.values_list("pk", "released_at")) == {(shared, None)}


def test_bytes_that_are_asked_for_again_stay(world: World) -> None:
    digest = keep_file(ended(world), b"again")
    now = timezone.now()
    Blob.objects.update(released_at=now)
    assert storage.keep_and_return_stored_digests([digest, "0" * 64]) == {digest}
    assert expiry.delete_some_released_bytes(now + timedelta(days=2)) == 0
    Blob.objects.update(released_at=now)
    storage.record_blobs({digest: (5, "elsewhere")}, now)
    assert expiry.delete_some_released_bytes(now + timedelta(days=2)) == 0


def test_what_is_purged_is_neither_retried_nor_forked(world: World) -> None:
    task = ended(world)
    for retention, words in (({"record": None, "file": 1}, "were deleted on"), ({}, "was purged on")):
        purge(world, **retention)  # type: ignore[arg-type]
        with pytest.raises(Conflict, match=words):
            engine.start_retry_task(task.pk, station="", actor=engine.Actor.person(world.operator))
        with pytest.raises(Conflict, match=words):
            engine.fork(task.pk, user=world.operator)
    assert Task.objects.count() == 1


@pytest.mark.broken
def test_a_purge_may_empty_the_row_of_a_task_and_not_change_how_it_ended(world: World) -> None:
    ended(world)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL gateline.purge = 'on'")
        for change in ("reason = 'x'", "retention = 2, status = 'failed'", "retention = 2, visits = '{}'"):
            with pytest.raises(IntegrityError, match="stays as it ended"), transaction.atomic():
                cursor.execute(f"UPDATE pipelines_task SET inputs = '{{\"a\": 1}}', {change}")
        cursor.execute("UPDATE pipelines_task SET retention = 2, inputs = '{\"a\": 1}'")


@pytest.mark.broken
def test_a_tombstone_that_does_not_fit_is_found(world: World) -> None:
    ended(world)
    purge(world)
    Tombstone.objects.update(digests=b"short")
    assert [found.invariant for found in find_violations()] == ["I21"]
    Tombstone.objects.all().delete()
    assert [found.invariant for found in find_violations()] == ["I21"]


def test_everything_that_names_a_deleted_row_is_deleted_or_forgets_it(world: World) -> None:
    """The next table that hangs on a task: it is found by an index, or this says that it is not."""
    deleted = {rows.model for rows in tables_with_rows_of_tasks()}
    forgets = {("Task", "retry_of"), ("ApiToken", "only_job")}
    left = {
        (model.__name__, field.name)
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.fields
        if model not in deleted
        and field.related_model in deleted
        and field.remote_field.on_delete is not SET_NULL
    }
    assert left == forgets and Event in deleted and Task not in deleted
    of_tasks = {
        model for model in apps.get_models()
        if any(field.related_model is Task for field in model._meta.fields if field.concrete)
    }  # fmt: skip
    assert of_tasks <= deleted | set(STAYS)


def test_a_batch_costs_as_many_statements_whatever_it_holds(world: World) -> None:
    counts = []
    for size in (2, 12):
        for _number in range(size):
            ended(world)
        with CaptureQueriesContext(connection) as statements:
            assert purge(world) == size
        counts.append(len(statements))
    assert counts[0] == counts[1]


@pytest.mark.django_db(transaction=True)
def test_a_task_that_somebody_works_on_is_passed_over(world: World) -> None:
    busy, idle = ended(world), ended(world)
    locked, done = threading.Event(), threading.Event()

    def work() -> None:
        with transaction.atomic():
            Task.objects.select_for_update(no_key=True).get(pk=busy.pk)
            locked.set()
            done.wait(LONG)
        connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    assert locked.wait(LONG)
    assert purge(world) == 1
    done.set()
    worker.join()
    idle.refresh_from_db()
    assert idle.retention == Retention.TOMBSTONE
    assert purge(world) == 1 and not find_violations()


@pytest.mark.django_db(transaction=True)
def test_a_retry_that_comes_while_its_task_is_purged_is_refused(world: World) -> None:
    task, refusals = ended(world), list[str]()
    actor = engine.Actor.person(world.operator)

    def retry() -> None:
        try:
            engine.start_retry_task(task.pk, station="", actor=actor)
        except Conflict as refusal:
            refusals.append(str(refusal))
        connection.close()

    late = threading.Thread(target=retry)
    with transaction.atomic():
        assert purge(world) == 1
        late.start()
        until(lambda: is_somebody_waiting(), "the retry that waits for the lock")
    late.join()
    assert len(refusals) == 1 and "was purged on" in refusals[0]
    assert Task.objects.count() == 1 and not find_violations()


def is_somebody_waiting() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])
