"""Retention where people and programs see and set it, and what a purged task still answers."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from pipelines import engine
from pipelines.engine.commands.event_export import export_task
from pipelines.models import Project, Task
from tests.access import matrix_api
from tests.access.matrix import table
from tests.access.place import ROUTES
from tests.engine.test_purge import COMMIT, deliver, ended, keep_file
from tests.factories import World, make_project
from tests.fixtures.receipts import gateline_verify, public_key
from tests.pages.conftest import As, at, text
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db
GIVEN = {"int": 1, "uuid": UUID(int=1)}


def purge(world: World, **days: int) -> Task:
    Project.objects.filter(pk=world.project.pk).update(**days or {"record_days": 40})
    now = timezone.now() + timedelta(days=41)
    assert engine.purge_records(now, 50).tasks or engine.purge_files(now, 50).tasks
    return Task.objects.select_related("project__owner", "line").order_by("pk").first()  # type: ignore[return-value]


def ask(world: World, method: str, rest: str, body: Any = None, by: Any = None) -> tuple[int, Any]:
    address = f"/api/v1/owners/{world.project.owner.key}/projects/{world.project.key}{rest}"
    bearer = {"Authorization": f"Bearer {world.token_of(by or world.admin, 'read', 'settings')[1]}"}
    answer = Client().generic(method, address, json.dumps(body), "application/json", headers=bearer)
    return answer.status_code, answer.json()


def test_it_is_saved_only_once_its_consequences_were_shown(world: World, signed_in: As) -> None:
    ended(world)
    client, address = signed_in(world.admin), at(world, "project-retention")
    typed = {"file_days": "7", "record_days": "365"}
    page = text(client.post(address, typed))
    assert "0 tasks are purged" in page and "Logs and files of 0 tasks" in page
    world.project.refresh_from_db()
    assert world.project.record_days is None
    # What was shown is for other numbers
    client.post(address, {**typed, "preview": "7/40"})
    world.project.refresh_from_db()
    assert world.project.record_days is None
    assert client.post(address, {**typed, "preview": "7/365"}).status_code == 302
    world.project.refresh_from_db()
    assert (world.project.file_days, world.project.record_days) == (7, 365)
    assert "Changed the retention of the project" in text(client.get(at(world, "project-audit")))
    client.post(address, {"file_days": "", "record_days": "", "preview": "/"})
    world.project.refresh_from_db()
    assert (world.project.file_days, world.project.record_days) == (None, None)


@pytest.mark.parametrize(("name", "typed"), [("file_days", "0"), ("record_days", "34"), ("record_days", "x")])
def test_a_retention_that_is_too_short_is_refused_at_its_field(
    world: World, signed_in: As, name: str, typed: str
) -> None:
    answer = signed_in(world.admin).post(
        at(world, "project-retention"), {name: typed, "preview": f"{typed}/"}
    )
    assert answer.status_code == 422
    if typed.isdigit():
        status, problem = ask(world, "PATCH", "", {name: int(typed)})
        assert status == 400 and problem["errors"][0]["path"] == name
    assert ask(world, "PATCH", "", {name: None})[0] == 200


def test_a_program_sees_what_a_retention_would_delete_and_sets_it(world: World) -> None:
    ended(world)
    nothing = {"file_days": None, "record_days": None, "file_tasks": None, "record_tasks": None}
    assert ask(world, "GET", "/retention") == (200, nothing)
    assert ask(world, "GET", "/retention?record_days=40")[1]["record_tasks"] == 0
    assert ask(world, "PATCH", "", {"record_days": 400})[1]["record_days"] == 400
    assert ask(world, "GET", "/retention")[1] == {**nothing, "record_days": 400, "record_tasks": 0}
    assert ask(world, "GET", "/retention?record_days=0")[0] == 400
    assert ask(world, "GET", "/retention", by=world.designer)[0] == 403
    assert ask(world, "PATCH", "", {"record_days": 40}, by=world.designer)[0] == 403
    stranger = World(make_project("other", "other"), world.worker).admin
    assert ask(world, "GET", "/retention", by=stranger)[0] == 404


def test_every_page_of_a_purged_task_says_that_it_was_purged(world: World, signed_in: As) -> None:
    task = ended(world, title="Anna's salary")
    deliver(task)
    task = purge(world)
    client, page = signed_in(world.admin), at(world, "task", task.name)
    words = text(client.get(page))
    assert "Purged by the retention of the project" in words and COMMIT[:12] in words and "Anna" not in words
    patterns = {name: pattern for name, pattern in ROUTES.items() if "<str:wi>" in pattern}
    assert len(patterns) > 20
    for name, pattern in patterns.items():
        keys = re.findall(r"<(\w+):(\w+)>", pattern)
        here = {"owner": world.project.owner.key, "project": world.project.key, "wi": task.name}
        address = reverse(name, kwargs={key: here.get(key, GIVEN.get(kind, "x")) for kind, key in keys})
        for method in ("get", "post"):
            answer = getattr(client, method)(address)
            fine = answer.status_code in (200, 405) if name in ("task", "task-receipt", "task-tombstone") else (
                answer.status_code == 302 and answer.headers["Location"] == page
            )  # fmt: skip
            assert fine, (method, name, answer.status_code)
    # A part that a script asks for leads there as a whole
    part = client.get(at(world, "task-log", task.name), headers={"HX-Request": "true"})
    assert part.headers["HX-Redirect"] == page
    for place in ("tasks", "insights", "lines"):
        assert client.get(at(world, place)).status_code == 200


def test_the_address_of_a_purged_review_says_what_becomes_of_reviews(world: World, signed_in: As) -> None:
    """The same as of one that never was: whoever guesses learns nothing."""
    task = world.start(world.line(**gated()))
    world.report(task)
    visit = world.visit(task)
    world.vote(task, "approve")
    world.report(task)
    client, address = signed_in(world.reviewer), reverse("gate-visit", args=[visit.pk])
    assert client.get(address).status_code == 200
    purge(world)
    for gone in (address, reverse("gate-visit", args=[UUID(int=1)])):
        answer = client.get(gone)
        assert answer.status_code == 404
        assert "purges a task, its reviews are deleted with it" in text(answer)
    assert "purges a task" not in text(client.get("/nothing/"))


def test_every_operation_on_a_purged_task_is_refused_with_410(world: World) -> None:
    task = ended(world)
    task = purge(world)
    bearer = {
        "Authorization": f"Bearer {world.token_of(world.admin, *('read', 'submit', 'report', 'decide'))[1]}"
    }
    rows = [row.split() for row in table(matrix_api.API) if "{LINE}" in row or "/tasks/{task}" in row]
    assert len(rows) > 30
    here = {
        "owner": world.project.owner.key,
        "project": world.project.key,
        "line": task.line.key,
        "task": task.name,
    }
    for method, path in rows:
        given = {key: here.get(key, "1") for key in re.findall(r"{(\w+)}", path)}
        address = path.format(**given).replace("/api/", "/api/v1/", 1)
        answer = Client().generic(method, address, "{}", "application/json", headers=bearer)
        end = path.rpartition("{task}")[2]
        if end in ("", "/tombstone") and method == "GET":
            assert answer.status_code == 200
        else:
            # What a body lacks is told first
            assert answer.status_code in (410, 400, 404, 403), (method, path, answer.status_code)
        if end in ("/events", "/decisions", "/work-item"):
            assert "was purged on" in answer.json()["detail"]


def test_a_purged_task_says_so_to_programs(world: World) -> None:
    ended(world)
    task = purge(world)
    status, told = ask(world, "GET", f"/stages/{task.line.key}/tasks/{task.name}")
    assert (
        status == 200 and told["retention"] == "tombstone" and told["purgedAt"] and told["end"] == "completed"
    )
    assert ask(world, "GET", f"/stages/{task.line.key}/tasks")[1][0]["retention"] == "tombstone"
    young = ended(world)
    assert ask(world, "GET", f"/stages/{young.line.key}/tasks/{young.name}/tombstone")[0] == 409


def test_where_only_files_are_deleted_the_task_stays(world: World, signed_in: As) -> None:
    task = ended(world)
    keep_file(task, b"much")
    purge(world, file_days=1)
    client, page = signed_in(world.viewer), at(world, "task", task.name)
    words = text(client.get(page))
    for tab in ("steps", "log", "changes", "outputs", "artifacts", "events"):
        assert "Logs and files were deleted" in text(client.get(f"{page}?tab={tab}")), tab
    visit = task.gate_visits.get()
    assert client.get(reverse("gate-visit", args=[visit.pk])).status_code == 200
    assert "Logs and files were deleted by the retention of the project" in words and "A task" in words
    job = task.jobs.order_by("pk")[0].pk
    status, problem = ask(world, "GET", f"/stages/{task.line.key}/tasks/{task.name}/visits/{job}/log")
    assert status == 410 and "were deleted on" in problem["detail"]


def test_exported_events_are_verified_by_the_signed_tombstone(world: World, tmp_path: Path) -> None:
    task = ended(world)
    lines = [json.dumps(event) for event in export_task(task)]
    events, key, tombstone = tmp_path / "events.jsonl", public_key(tmp_path), tmp_path / "tombstone.json"
    # As a project is exported: with the events of others
    events.write_text("\n".join([*lines, *(json.dumps(event) for event in export_task(ended(world)))]) + "\n")
    purge(world)
    answer = Client().get(
        f"/api/v1/owners/{world.project.owner.key}/projects/{world.project.key}/stages/{task.line.key}"
        f"/tasks/{task.name}/tombstone",
        headers={"Authorization": f"Bearer {world.token_of(world.viewer, 'read')[1]}"},
    )
    tombstone.write_bytes(answer.content)
    words = (tombstone, "--key", key, "--events", events)
    valid = gateline_verify(*words)
    assert valid.returncode == 0 and f"those that were purged: {len(lines)}." in valid.stdout, valid.stderr
    events.write_text("\n".join(lines[1:]))
    missing = gateline_verify(*words)
    assert missing.returncode == 1 and f"it has {len(lines) - 1} of {len(lines)}." in missing.stderr
    events.write_text("\n".join(lines).replace("completed", "cancelled"))
    assert "is not the one that was purged" in gateline_verify(*words).stderr
    tombstone.write_bytes(answer.content.replace(b'payload":"ey', b'payload":"ez'))
    assert gateline_verify(*words).returncode == 1
    events.write_text("{}")
    tombstone.write_bytes(answer.content)
    assert "no exported event" in gateline_verify(*words).stderr
    assert "no tombstone" not in gateline_verify(tombstone, "--key", key).stderr


def test_insights_say_how_many_tasks_are_not_counted(world: World, signed_in: As) -> None:
    ended(world)
    client = signed_in(world.viewer)
    counts = []
    for _purged in range(2):
        with CaptureQueriesContext(connection) as statements:
            page = text(client.get(at(world, "insights") + "?days=7"))
        counts.append(len(statements))
        if not _purged:
            assert "purged" not in page and "Nothing ended in this period" not in page
            purge(world)
    assert "without 1 purged task" in page and "Nothing ended in this period" in page
    assert counts[1] <= counts[0]
