"""The drawer of a station on a task's page."""

from __future__ import annotations

import pytest

from tests.factories import World, station
from tests.pages.conftest import As, at, text
from tests.pages.test_outlook import FACTS, words
from tests.pages.test_task_steps import said, working

pytestmark = pytest.mark.django_db


def test_a_station_tells_its_runs_facts_steps_and_why_it_went_on(world: World, signed_in: As) -> None:
    task, _job = working(world, said("Counted <b>twice</b>."))
    client, address = signed_in(world.operator), at(world, "task", task.name)
    page = text(client.get(address))
    assert 'href="?station=code#open=station-drawer"' in page and 'id="station-drawer"' not in page
    opened = text(client.get(f"{address}?station=code"))
    drawer = opened[opened.index('id="station-drawer"') :]
    assert "Counted &lt;b&gt;twice&lt;/b&gt;." in drawer and "All steps" in drawer
    assert client.get(f"{address}?station=nowhere").status_code == 404


def test_a_station_that_went_on_says_why_and_one_that_waits_says_so(world: World, signed_in: As) -> None:
    again = {"id": "again", "label": "Again", "when": {"result": "failure"}, "to": "code", "max_retries": 2}
    on = {"id": "on", "label": "Done", "when": {"result": "success"}, "to": "ship"}
    task = world.start(world.line(stations=[station("code", again, on, name="Code"), "ship"]))
    world.report(task, {"exit_code": 1, "failure_type": "tests_failed"})
    world.report(task, {"exit_code": 0, "facts": FACTS})
    client, address = signed_in(world.viewer), at(world, "task", task.name)
    drawer = words(text(client.get(f"{address}?station=code")).partition('id="station-drawer"')[2])
    assert "2 succeeded" in drawer and "1 failed tests_failed" in drawer and "$0.50" in drawer
    assert (
        "4 files changed +84 −5" in drawer and "Why it went on" in drawer and "Nothing was written." in drawer
    )
    # Behind the drawer comes the list of keys
    drawer = drawer.partition("Single-letter keys")[0].partition("Go to Retry")[0]
    assert "Not reached yet" not in drawer and "Retry" not in drawer
    waiting = text(client.get(f"{address}?station=ship")).partition('id="station-drawer"')[2]
    assert "Rules of this station" in waiting


def test_an_open_drawer_brings_what_changed_and_reads_the_same_log_once(world: World, signed_in: As) -> None:
    task, job = working(world, said("Counted."))
    client, address = signed_in(world.operator), at(world, "task", task.name)
    page = text(client.get(f"{address}?station=code"))
    drawer = page.partition('id="station-drawer"')[2]
    assert f"fragment=station&amp;station=code&amp;shown={job.pk}.1" in drawer
    assert f"gl:task-{task.name} from:body, gl:resync from:body" in drawer and "within=drawer" in drawer
    same = text(client.get(f"{address}?fragment=station&station=code&shown={job.pk}.1"))
    assert "Running" in same and "Counted." not in same and "station-work" not in same
    tail = text(client.get(f"{address}?fragment=steps&job={job.pk}&attempt=1&from=0&within=drawer"))
    assert "Counted." in tail and "within=drawer" in tail and "steps-meta" not in tail
    before = text(client.get(f"{address}?fragment=station&station=code&shown="))
    assert "Counted." in before and 'id="station-work" hx-swap-oob="true"' in before
    world.report(task, {"exit_code": 0})
    after = text(client.get(f"{address}?fragment=station&station=code&shown={job.pk}.1"))
    assert "succeeded" in after and "Why it went on" in after and "station-work" not in after
    assert client.get(f"{address}?fragment=station&station=nowhere").status_code == 404
