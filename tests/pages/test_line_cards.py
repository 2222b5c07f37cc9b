"""Cards that say a line at a glance: what a task may cost, running tasks and the back-test where it is published,
version and inputs where it is looked at."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from pipelines.lines import publishing
from pipelines.models import Line
from tests.factories import World, document, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db
KEY = "app-check"


def priced(usd: float | None, **more: Any) -> dict[str, Any]:
    limits = {} if usd is None else {"limits": {"cost_usd": usd}}
    return document([station("build", name="Build", **limits), "ship"], key=KEY, **more)


def proposed(world: World, live: dict[str, Any], draft: dict[str, Any]) -> Line:
    """A line with this live version and this draft."""
    line = Line.objects.get(pk=world.line(live).line_id)
    return publishing.save_draft(line, draft, world.designer, line.draft_number)


def part(client: Client, world: World, name: str) -> str:
    return text(client.get(at(world, "line-publish", KEY), {"part": name}))


# What a task may cost


def costs(client: Client, world: World) -> list[str]:
    """The cells of the row: live, draft. Empty where there is no row."""
    rows = re.findall(r"<tr>(.*?)</tr>", part(client, world, "guarantees"))
    found = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows if "A task costs at most" in row]
    return [re.sub(r"<[^>]+>", "", cell).strip() for row in found for cell in row]


@pytest.mark.parametrize(
    ("live", "draft", "said"),
    [
        (2, 5.5, ["$2.00", "$5.50"]),
        (None, 5, ["Nothing", "$5.00"]),
        (2, None, ["$2.00", "Nothing"]),
        (None, None, []),
    ],
)
def test_what_a_task_may_cost_is_said_of_both_versions(
    world: World, signed_in: As, live: float | None, draft: float | None, said: list[str]
) -> None:
    proposed(world, priced(live), priced(draft, name="Other"))
    assert costs(signed_in(world.designer), world) == said


def test_what_a_loop_may_cost_is_its_runs_together(world: World, signed_in: As) -> None:
    again = {"id": "again", "when": {"result": "failure"}, "to": "build", "max_retries": 3}
    looped = document([station("build", again, limits={"cost_usd": 2}), "ship"], key=KEY)
    proposed(world, priced(2), looped)
    assert costs(signed_in(world.designer), world) == ["$2.00", "$8.00"]


# Running tasks


@pytest.mark.parametrize(("tasks", "shown", "folded"), [(5, 5, 0), (8, 5, 3)])
def test_more_running_tasks_than_a_few_are_folded(
    world: World, signed_in: As, tasks: int, shown: int, folded: int
) -> None:
    line = proposed(world, priced(2), document(["make", "ship"], key=KEY))
    assert line.live
    for _ in range(tasks):
        world.start(line.live)
    impact = part(signed_in(world.designer), world, "impact")
    first, _, more = impact.partition('<details class="fold">')
    assert first.count('class="publish-task"') == shown
    assert more.count('class="publish-task"') == folded
    assert (f"Show all {tasks}" in more) == bool(folded)
    assert ('aria-label="More running tasks"' in more) == bool(folded)


# The back-test


def test_the_back_test_has_a_share_of_its_bar_for_each_verdict(world: World, signed_in: As) -> None:
    line = proposed(world, priced(2), priced(3))
    assert line.live
    address = at(world, "line-publish", KEY)
    client = signed_in(world.designer)
    assert "No task of this line has moved yet" in text(client.get(address))
    world.report(world.start(line.live))
    page = text(client.get(address))
    assert re.findall(r'data-share="(\w+)"', page) == re.findall(r'<tr data-verdict="(\w+)"', page)
    assert len(re.findall(r"data-share=", page)) == 5
    assert 'name="to" value="draft"' in page
    assert "data-starts" in page


# The overview


def card(page: str, title: str) -> str:
    """What a card of this title says, without markup; "" where there is none."""
    cards = re.split(r'(?=<section class="card)', page)
    found = next((each for each in cards if re.search(rf"<h2[^>]*>\s*{title}\s*<", each)), "")
    return " ".join(re.sub(r"<[^>]+>", " ", found.partition("</section>")[0]).split())


def test_the_overview_says_which_version_is_live(world: World, signed_in: As) -> None:
    line = world.line(priced(2)).line
    client = signed_in(world.viewer)
    assert "v1 · published" in card(text(client.get(at(world, "line", KEY))), "Version")
    line = publishing.save_draft(
        Line.objects.get(pk=line.pk), priced(3), world.designer, Line.objects.get(pk=line.pk).draft_number
    )
    publishing.publish_draft(line, user=world.admin, name="With a limit", based_on=line.draft_number)
    page = text(client.get(at(world, "line", KEY)))
    assert "v2 · published" in card(page, "Version")
    assert "“With a limit”" in card(page, "Version")
    assert at(world, "line-versions", KEY) in page


def test_a_line_that_was_never_published_has_no_version(world: World, signed_in: As) -> None:
    publishing.create_line(world.project, KEY, "App", priced(2), world.admin)
    assert card(text(signed_in(world.viewer).get(at(world, "line", KEY))), "Version") == ""


def test_the_overview_says_what_a_task_is_asked_for(world: World, signed_in: As) -> None:
    inputs = [
        {"key": "ticket", "label": "Ticket", "help": "Its number.", "required": True},
        {"key": "risk", "type": "choice", "choices": ["low", "high"]},
    ]
    world.line(priced(2, inputs=inputs))
    said = card(text(signed_in(world.viewer).get(at(world, "line", KEY))), "Inputs")
    assert "Ticket Its number. Text · required" in said
    assert said.endswith("risk Choice")


def test_a_line_that_asks_for_nothing_has_no_inputs(world: World, signed_in: As) -> None:
    world.line(priced(2))
    assert card(text(signed_in(world.viewer).get(at(world, "line", KEY))), "Inputs") == ""
