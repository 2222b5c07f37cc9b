"""The events of a task by pages, and how many of them its history leaves out."""

from __future__ import annotations

import json
import re

import pytest
from django.utils import timezone

from pipelines.engine.commands.event_export import export_task
from pipelines.models import Event
from pipelines.queries import task_view as queries
from pipelines.web.tasks import task_tabs as views
from pipelines.web.tasks.task_path import task_path_json_text
from pipelines.work.scheduler import timers
from tests.engine.test_timers import gated, pass_time
from tests.factories import World, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db


def test_every_event_stands_on_one_page_the_newest_first(
    world: World, signed_in: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (queries, views):
        monkeypatch.setattr(module, "EVENTS", 3)
    monkeypatch.setattr(queries, "HISTORY", 2)
    task = world.start(world.line(stations=["a", "b"]))
    for _ in range(2):
        world.report(task)
    known = list(Event.objects.filter(task=task).order_by("-seq").values_list("seq", flat=True))
    assert len(known) > 6
    client, address = signed_in(world.viewer), at(world, "task", task.name)
    found: list[int] = []
    more = "?tab=events"
    while more:
        page = text(client.get(address + more + "&fragment=tab"))
        rows = re.findall(r'<tr>\s*<td class="numbers">\s*(\d+)\s*</td>', page)
        assert 0 < len(rows) <= 3
        found += map(int, rows)
        earlier = re.search(r'href="(\?tab=events&(?:amp;)?before=\d+)#panel"', page)
        more = earlier[1].replace("&amp;", "&") if earlier else ""
    assert found == known
    assert re.search(r"\d+ earlier changes? (is|are) in Events", text(client.get(address)))
    for odd in ("-1", "x", "9" * 40):
        assert client.get(f"{address}?tab=events&before={odd}").status_code == 200


def test_a_rejection_by_the_clock_names_the_due_time(world: World, signed_in: As) -> None:
    task = gated(world, "reject", on_reject="rework")
    pass_time(task)
    timers.run_due_timers_and_triggers()
    client, address = signed_in(world.viewer), at(world, "task", task.name)
    assert "Due time: Reject: Nobody decided by" in words(text(client.get(address)))
    decided = next(event for event in export_task(task) if event["kind"] == "gate.decided")
    assert decided["human_approval"]["by"] == "due time"


def test_a_task_that_was_sent_back_shows_that_it_was_at_the_gate(world: World) -> None:
    """The way back leaves the station whose rule decides, as if nobody had been asked."""
    done = {"id": "done", "when": {"result": "success"}, "to": "ship", "gates": ["look"]}
    again = {"id": "again", "when": {"result": "failure"}, "to": "build", "max_retries": 2}
    gate = {"key": "look", "mode": "manual", "offers": ["approve", "rework"]}
    task = world.start(world.line(stations=[station("build", done, again), "ship"], gates=[gate]))
    world.report(task)
    world.vote(task, "rework", reason="Once more.")
    task.refresh_from_db()
    path = json.loads(task_path_json_text(queries.TaskView(task, timezone.now()), ()))
    assert (path["ways"]["done"], path["ways"]["again"]) == ("waits", "taken")
    assert path["gates"]["done"]["words"].startswith("sent back after ")
    world.report(task)
    world.vote(task)
    task.refresh_from_db()
    path = json.loads(task_path_json_text(queries.TaskView(task, timezone.now()), ()))
    assert path["ways"]["done"] == "taken" and "sent back" not in path["gates"]["done"]["words"]


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))
