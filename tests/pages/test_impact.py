"""Versions › Impact: look, map, migrate, undo."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse

from pipelines.models import Migration, Task
from tests.factories import World, station
from tests.pages.conftest import client_of

pytestmark = pytest.mark.django_db


def page(world: World) -> str:
    return reverse("line-impact", args=[world.project.owner.key, world.project.key, "line"])


def renamed(world: World) -> Task:
    task = world.start(world.line(stations=["build", "ship"]))
    world.line(stations=["make", "ship"])
    return task


def text(response: Any) -> str:
    return re.sub(r"\s+", " ", response.content.decode())


def test_a_designer_maps_migrates_and_undoes(world: World) -> None:
    task, client = renamed(world), client_of(world.designer)
    first = text(client.get(page(world)))
    assert "Would get stuck" in first
    assert 'name="map:build"' in first
    assert "migrate-form" not in first, "nothing can be migrated before the station is mapped"
    seen = text(client.get(page(world), {"to": "2", "map:build": "make"}))
    digest = re.search(r'name="digest" value="([0-9a-f]{64})"', seen)
    assert digest
    said = {"to": "2", "map:build": "make", "digest": digest[1], "reason": "Renamed."}
    done = client.post(page(world) + "migrate/", said, follow=True)
    assert "1 migrated" in text(done)
    assert world.at(task) == ["make"]
    made = Migration.objects.get()
    undo = reverse("migration-undo", args=[world.project.owner.key, world.project.key, "line", made.pk])
    assert client.post(undo, {"reason": " "}).status_code == 422
    assert "1 put back" in text(client.post(undo, {"reason": "Back."}, follow=True))
    assert world.at(task) == ["build"]


@pytest.mark.wide
def test_a_stale_page_is_told_so_and_shows_what_is_true_now(world: World) -> None:
    task, client = renamed(world), client_of(world.designer)
    said = {"to": "2", "map:build": "make", "digest": "0" * 64, "reason": "Renamed."}
    answer = client.post(page(world) + "migrate/", said)
    assert answer.status_code == 409
    assert "changed after this impact was shown" in text(answer)
    assert 'value="Renamed."' in text(answer), "what was typed is kept"
    assert world.at(task) == ["build"]


def test_a_mapping_that_does_not_fit_is_said(world: World) -> None:
    renamed(world)
    answer = client_of(world.designer).get(page(world), {"to": "2", "map:build": "completed"})
    assert answer.status_code == 422
    assert "is an end" in text(answer)


def test_a_viewer_sees_the_impact_and_no_button(world: World) -> None:
    world.start(world.line(stations=["build", "ship"]))
    world.line(stations=["build", "test", "ship"])
    shown = text(client_of(world.viewer).get(page(world), {"to": "2"}))
    assert "Stays" in shown
    assert "migrate-form" not in shown


def test_a_task_that_stays_at_its_gate_is_said_to_wait_as_before(world: World) -> None:
    gates = [{"key": "review", "name": "Human review"}]
    gated = station("build", {"id": "on", "to": "ship", "gates": ["review"]})
    world.report(world.start(world.line(stations=[gated, "ship"], gates=gates)))
    world.line(stations=[gated, "ship", "clean"], gates=gates)
    shown = text(client_of(world.viewer).get(page(world), {"to": "2"}))
    assert (
        "Waits at build as before: Human review asks the same in a new round, and no vote is lost." in shown
    )
    assert "is asked again" not in shown


def test_a_line_that_was_never_published_shows_its_draft(world: World) -> None:
    version = world.line(stations=["build"])
    client = client_of(world.designer)
    assert "No running task would change" in text(client.get(page(world), {"to": "draft"}))
    assert client.get(page(world), {"to": "99"}).status_code == 404
    assert version.number == 1


def test_a_status_that_a_task_gets_has_its_name(world: World) -> None:
    build = station("build", {"id": "on", "when": {"result": "success"}, "to": "ship", "gates": ["look"]})
    gates = [{"key": "look", "mode": "manual"}]
    task = world.start(world.line(stations=[build, "ship"], gates=gates))
    world.report(task, {"result": "success"})
    failing = station("build", {"id": "on", "when": {"result": "failure"}, "to": "ship"})
    world.line(stations=[failing, "ship"], policy={"no_match": "stuck"})
    assert "Its status becomes Stuck." in text(client_of(world.designer).get(page(world), {"to": "2"}))
