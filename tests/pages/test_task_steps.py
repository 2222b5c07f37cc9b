"""The tab Steps of a task: what is shown at once, what comes when it is asked for, and what is brought anew."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from pipelines.models import Job, Task
from pipelines.queries.usage import short_number
from pipelines.web.tasks.steps import cost_text, steps_view_or_none
from pipelines.work.agents.steps import TextChange
from pipelines.work.logs import Writer
from tests.effort import calls
from tests.factories import World, document, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db
LINE = document(
    [station("code", kind="agent", work={"agent": "codex", "prompt": "Do it.", "network": "open"})]
)


def said(words: str) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": words}}


def working(world: World, *lines: Any) -> tuple[Task, Job]:
    task = world.start(world.line(LINE))
    job = world.started(task)
    told = "".join(f"1.000\t{each if isinstance(each, str) else json.dumps(each)}\n" for each in lines)
    Writer(job.pk, job.attempt).append_chunk(told, timezone.now())
    return task, job


def test_the_last_steps_are_shown_and_the_earlier_ones_when_asked_for(world: World, signed_in: As) -> None:
    task, job = working(world, *(said(f"Said {n}.") for n in range(450)))
    client, address = signed_in(world.operator), at(world, "task", task.name)
    page = text(client.get(address))
    assert page.count('class="step"') == 200
    assert "Said 449." in page
    assert "Show the 200 before (250 earlier steps)" in page
    earlier = text(client.get(f"{address}?fragment=steps&job={job.pk}&attempt=1&before=250"))
    assert (earlier.count('class="step"'), "Said 50." in earlier, "Said 250." in earlier) == (
        200,
        True,
        False,
    )
    assert "Show the 50 before (50 earlier steps)" in earlier
    assert "Said 249." in text(client.get(f"{address}?tab=steps&job={job.pk}&attempt=1&before=250"))


def test_only_what_came_since_is_brought_and_nothing_where_nothing_came(world: World, signed_in: As) -> None:
    task, job = working(world, said("One."), said("Two."))
    client = signed_in(world.operator)
    address = f"{at(world, 'task', task.name)}?fragment=steps&job={job.pk}&attempt=1"
    since = text(client.get(f"{address}&from=1"))
    assert ("One." in since, "Two." in since) == (False, True)
    seen = since.partition("seen=")[2].partition('"')[0]
    assert client.get(f"{address}&from=2&seen={seen}").status_code == 204
    assert client.get(f"{address}&from=x&seen=&before=-1").status_code == 200
    assert client.get(f"{address.replace(str(job.pk), '0')}&from=1").status_code == 404


def test_lines_that_are_no_steps_are_told_to_be_in_the_log(world: World, signed_in: As) -> None:
    task, job = working(world, "Some words.", '{"type": "no-such-type"}')
    world.report(task, {"exit_code": 0})
    page = text(signed_in(world.operator).get(f"{at(world, 'task', task.name)}?tab=steps&job={job.pk}"))
    assert "No steps" in page
    assert "See the log for what it wrote." in page


def test_a_run_without_a_price_says_so_and_never_shows_none(world: World, signed_in: As) -> None:
    usage = {"type": "turn.completed", "usage": {"input_tokens": 1240, "output_tokens": 18}}
    task, job = working(world, said("Done."), usage)
    world.report(task, {"exit_code": 0})
    page = text(signed_in(world.operator).get(f"{at(world, 'task', task.name)}?tab=steps&job={job.pk}"))
    assert "1.2k tokens in, 18 out" in page
    assert "no price" in page
    assert "$0.00" not in page


def test_a_task_without_an_agent_has_no_steps(world: World, signed_in: As) -> None:
    task = world.start(world.line(stations=[station("build", kind="command", work={"argv": ["true"]})]))
    page = text(signed_in(world.operator).get(at(world, "task", task.name)))
    assert "tab=steps" not in page
    assert "No agent has run yet" in text(
        signed_in(world.operator).get(f"{at(world, 'task', task.name)}?tab=steps")
    )


def test_numbers_are_short() -> None:
    assert [short_number(n) for n in (None, 0, 999, 1200, 2_500_000)] == ["", "", "999", "1.2k", "2.5M"]
    assert [cost_text(n) for n in (None, 0.0012, 0.41, 12.5)] == ["", "$0.0012", "$0.41", "$12.50"]


def test_the_edits_of_a_screen_are_compared_within_one_budget(world: World) -> None:
    """One line stands again and again, between others. Once the budget is spent, the old text stands before the new."""
    _, job = working(world, said("One."), said("Two."))
    found = steps_view_or_none(job, 1)
    assert found
    budget = found.rows[0].budget
    assert all(row.budget is budget for row in found.rows)

    budget.steps = 20_000
    before, after = ("".join(f"{mark}{n}\na\n" for n in range(50)) for mark in "xy")
    edit = replace(found.rows[0].step, changes=(TextChange("a.py", before, after),))
    rows = [replace(found.rows[0], step=edit) for _ in range(20)]
    shown: list[list[str]] = []
    done = calls(lambda: shown.extend([line.kind for line in row.diff_lines] for row in rows))
    assert shown[0][:6] == ["removed", "added", "same"] * 2
    assert shown[-1] == ["removed"] * 24 + ["gap"]
    assert done < 100_000
