"""A run whose environment is being prepared says so: on the page of its task, over its station and in the drawer."""

from __future__ import annotations

import zlib
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from pipelines.models import Job, LogChunk, Repository, Task
from pipelines.work.logs import Writer
from tests.factories import World, station
from tests.pages.conftest import As, at, text
from tests.pages.test_outlook import words
from tests.pages.test_task_statements import statements

pytestmark = pytest.mark.django_db
BEGAN = "0.100\t[gateline] Prepare: npm ci\n2.000\tadded <b>100</b> packages\n"
OVER = "48.000\t[gateline] Prepared (48 s).\n"


def running(world: World, *logged: str, seconds: float = 48, **more: Any) -> tuple[Task, Job]:
    work = {"agent": "codex", "prompt": "Do it.", "network": "open"}
    address = {"address": "https://code.example/app", "connected_at": timezone.now()}
    Repository.objects.get_or_create(project=world.project, name="app", defaults=address)
    line = world.line(
        stations=[station("code", kind="agent", work=work, name="Code", limits={"max_timeout": 600}), "ship"],
        workspace={"git": {"repository": "app"}},
        **more,
    )
    task = world.start(line)
    job = world.started(task)
    job.started_at = timezone.now() - timedelta(seconds=seconds)
    job.save()
    writer = Writer(job.pk, job.attempt)
    for said in logged:
        writer.append_chunk(said, timezone.now())
    return task, job


def test_the_page_and_the_drawer_say_since_when_and_show_its_log(world: World, signed_in: As) -> None:
    task, _job = running(world, BEGAN)
    client, address = signed_in(world.operator), at(world, "task", task.name)
    page = text(client.get(address))
    assert "Preparing the environment of Code" in page and "added &lt;b&gt;100&lt;/b&gt; packages" in page
    assert "preparing for " in page and "here for" not in page
    assert "Its environment is being prepared." in words(page), "in place of empty steps"
    assert "Time of the run" not in page, "it does not run yet"
    drawer = text(client.get(f"{address}?station=code")).partition('id="station-drawer"')[2]
    assert "Preparing the environment of Code" in drawer and "within=drawer" in drawer


def test_once_it_is_prepared_the_page_is_brought_anew(world: World, signed_in: As) -> None:
    task, job = running(world, BEGAN)
    client = signed_in(world.operator)
    address = f"{at(world, 'task', task.name)}?fragment=preparing&job={job.pk}"
    goes_on = client.get(f"{address}&began=yes")
    assert "began=yes" in text(goes_on) and "HX-Trigger" not in goes_on
    Writer(job.pk, job.attempt).append_chunk(OVER, timezone.now())
    over = client.get(f"{address}&began=yes")
    assert text(over).strip() == "" and over["HX-Trigger"] == f"gl:task-{task.name}"
    page = text(client.get(at(world, "task", task.name)))
    assert "Preparing the environment" not in page and "Time of the run" in page


@pytest.mark.wide
def test_a_run_that_has_just_started_is_asked_again_and_one_that_prepares_nothing_is_not(
    world: World, signed_in: As
) -> None:
    task, _job = running(world, seconds=1)
    client = signed_in(world.operator)
    page = text(client.get(at(world, "task", task.name)))
    assert "fragment=preparing" in page and "Preparing the environment" not in page
    assert "Starting Code" not in page, "most begin at once"
    task, _job = running(world, seconds=5)
    assert "Starting Code" in text(client.get(at(world, "task", task.name))), "before it says anything"
    task, job = running(world, "0.100\t[gateline] main is at 3ac3586\n", seconds=5)
    page = text(client.get(at(world, "task", task.name)))
    assert "Starting Code" in page and "[gateline] main is at 3ac3586" in page
    task, job = running(world, "1.000\tworks\n")
    assert "fragment=preparing" not in text(client.get(at(world, "task", task.name)))
    found = client.get(f"{at(world, 'task', task.name)}?fragment=preparing&job={job.pk}")
    assert text(found).strip() == "" and "HX-Trigger" not in found
    task, _job = running(world, OVER, BEGAN)
    assert "fragment=preparing" not in text(client.get(at(world, "task", task.name))), "a program said so"


def test_a_task_that_takes_longer_than_expected_says_so(world: World, signed_in: As) -> None:
    """“1 min of work expected” went on unmoved when ten had gone."""
    line = world.line(stations=[station("build", limits={"expected": "1m"})])
    task, client = world.start(line), signed_in(world.operator)
    world.started(task)
    address = at(world, "task", task.name)

    def sign(page: str, kind: str) -> str:
        return page.partition(f'data-{kind}="')[2].partition(">")[0]

    page = text(client.get(address))
    assert "hidden" in sign(page, "after") and "hidden" not in sign(page, "until")
    earlier = timezone.now() - timedelta(minutes=5)
    Task.objects.update(created_at=earlier)
    Job.objects.update(started_at=earlier)
    page = text(client.get(address))
    assert page.count("data-after=") == 2, "the sentence, and the button to run it again"
    assert "hidden" in sign(page, "until") and "hidden" not in sign(page, "after")
    assert "longer than the 1 min expected." in page
    world.report(task)
    page = text(client.get(address))
    assert "1 min of work expected" in page and "longer than" not in page


@pytest.mark.wide
def test_a_long_log_costs_as_many_statements_as_a_short_one(world: World, signed_in: As) -> None:
    counted = []
    client = signed_in(world.operator)
    for chunks in (10, 300):
        task, job = running(world, BEGAN)
        data = zlib.compress(b"3.000\tfetched\n")
        LogChunk.objects.bulk_create(
            LogChunk(job=job, attempt=1, number=n, position=100 * n, data=data, at=timezone.now())
            for n in range(1, chunks)
        )
        counted.append(statements(client, f"{at(world, 'task', task.name)}?tab=events"))
    assert counted[0] == counted[1]
