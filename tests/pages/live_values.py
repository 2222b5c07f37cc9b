"""Figures that open pages show, and the same from the database, counted in another way than the pages do."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page

from pipelines import engine
from pipelines.errors import Refused
from pipelines.models import ENDED, GateVisit, Job, LineVersion, Status, Task, Token
from tests.factories import World
from tests.pages.conftest import at
from tests.reviews.conftest import gated

WAITING = (Status.AWAITING_REVIEW, Status.BLOCKED, Status.HELD)
Values = dict[str, Any]
COUNTS = """(selector) => Object.fromEntries(
  [...document.querySelectorAll(`${selector} a`)].map((one) => {
    const number = one.querySelector("b");
    return [number.nextSibling.textContent.trim().split(/\\s+/)[0], Number(number.textContent)];
  }).filter(([, number]) => number > 0))"""
TABLE = """(selector) => {
  const table = document.querySelector(selector);
  if (!table) return {};
  const heads = [...table.querySelectorAll("thead th")].map((one) => one.textContent.trim().toLowerCase());
  const cells = [...table.querySelector("tbody tr").children].map((one) => one.textContent.trim());
  return Object.fromEntries(heads.map((head, place) => [head, Number.parseInt(cells[place])])
    .filter(([head, number]) => ["running", "queued", "waiting", "stuck", "completed"].includes(head) && number > 0));
}"""
COLUMNS = """() => Object.fromEntries(
  [...document.querySelectorAll("[data-column]")]
    .map((one) => [one.dataset.column.split(":").at(-1), one.querySelector(".board-head p b")])
    .map(([key, number]) => [key, Number(number?.textContent ?? 0)])
    .filter(([, number]) => number > 0))"""


@dataclass(frozen=True)
class LiveValue:
    """One figure or several: where they stand, how they are read there, and what they should be."""

    address: str
    read: Callable[[Page], Any]
    count: Callable[[], Any]


def statuses(world: World) -> Counter[str]:
    return Counter(Task.objects.filter(project=world.project).values_list("status", flat=True))


def summed(world: World) -> Values:
    """As Home and the boards sum tasks up; what there is none of is absent."""
    there = statuses(world)
    found = {
        "queued": there["queued"],
        "running": there["running"],
        "waiting": sum(there[status] for status in WAITING),
        "stuck": there["stuck"],
    }
    return {word: number for word, number in found.items() if number}


def open_count(world: World) -> int:
    return Task.objects.filter(project=world.project, ended_at=None).count()


def ended_today(world: World) -> Counter[str]:
    """Tasks by how they ended."""
    since = timezone.now() - timedelta(hours=24)
    ended = Task.objects.filter(project=world.project, ended_at__gte=since)
    return Counter(ended.values_list("status", flat=True))


def of_line(world: World) -> Values:
    """A row of Home: queued tasks have no column there."""
    found = {**summed(world), "completed": ended_today(world)["completed"]}
    return {word: number for word, number in found.items() if number and word != "queued"}


def places(world: World) -> Values:
    """Positions by station, or by the gate that they wait at."""
    living = Token.objects.filter(task__project=world.project, forked=False).exclude(status__in=ENDED)
    asked = dict(GateVisit.objects.filter(state=GateVisit.State.OPEN).values_list("token_id", "gate"))
    return dict(Counter(asked.get(token.pk, token.station) for token in living))


def needs_of(world: World) -> int:
    """Of the reviewer, who may operate, too: what is asked at gates, and what a person has to move on."""
    asked = GateVisit.objects.filter(task__project=world.project, state=GateVisit.State.OPEN).count()
    left = (Status.STUCK, Status.BLOCKED, Status.HELD)
    return asked + Token.objects.filter(task__project=world.project, status__in=left).count()


def number_beside_inbox(page: Page) -> int:
    return int(page.locator("[data-needs-count]").first.text_content().strip() or 0)  # type: ignore[union-attr]


def told_places(page: Page) -> Values:
    """Of the graph: what is told to the drawing, at stations and at the gates of their rules."""
    said = json.loads(page.locator("#live-told").get_attribute("data-told") or "{}")
    found: Counter[str] = Counter()
    for key, place in said["places"].items():
        found[key] += int(re.match(r"\d+", place["words"])[0])  # type: ignore[index]
    for mark in said["gates"].values():
        found["review"] += int(match[0]) if (match := re.match(r"\d+(?= here)", mark["words"])) else 0
    return {key: number for key, number in found.items() if number}


def live_values(world: World, version: LineVersion, task: Task) -> dict[str, LiveValue]:
    key = version.line.key
    board, home = at(world, "line-live", key), reverse("home")

    def counts(*, with_completed: bool) -> Values:
        more = (
            {"completed": ended_today(world)["completed"]} if with_completed else {"tasks": open_count(world)}
        )
        return {word: number for word, number in {**summed(world), **more}.items() if number}

    return {
        "counts of Home": LiveValue(
            home,
            lambda page: page.evaluate(COUNTS, "#home-counts .counts"),
            lambda: counts(with_completed=True),
        ),
        "lines of Home": LiveValue(
            home, lambda page: page.evaluate(TABLE, "#lines table"), lambda: of_line(world)
        ),
        "number beside Inbox": LiveValue(home, number_beside_inbox, lambda: needs_of(world)),
        "counts of a board": LiveValue(
            board,
            lambda page: page.evaluate(COUNTS, "#board > .counts"),
            lambda: counts(with_completed=False),
        ),
        "columns of a board": LiveValue(
            board,
            lambda page: page.evaluate(COLUMNS),
            lambda: {**places(world), **({"ended": ended.total()} if (ended := ended_today(world)) else {})},
        ),
        "places of a graph": LiveValue(
            f"{board}?view=graph", told_places, lambda: {**places(world), **ended_today(world)}
        ),
        "counts of all open work": LiveValue(
            f"{reverse('tasks-live')}?view=lines",
            lambda page: page.evaluate(COUNTS, "#board > .counts"),
            lambda: counts(with_completed=False),
        ),
        "version of a task": LiveValue(
            at(world, "task", task.name),
            lambda page: int(page.locator("#task-live").get_attribute("data-version") or 0),
            lambda: Task.objects.values_list("seq", flat=True).get(pk=task.pk),
        ),
    }


class Pages:
    """Each of the addresses open in a page of its own, and live."""

    def __init__(self, context: BrowserContext, values: dict[str, LiveValue]) -> None:
        self.values = values
        self.pages = {}
        for value in values.values():
            if value.address not in self.pages:
                page = self.pages[value.address] = context.new_page()
                page.goto(value.address)
                page.locator("[data-live-state][data-state=live]").first.wait_for()

    def differing(self) -> dict[str, tuple[Any, Any]]:
        """What a page shows and what the database has, where these are not the same."""
        found = {}
        for name, value in self.values.items():
            shown, there = value.read(self.pages[value.address]), value.count()
            if shown != there:
                found[name] = (shown, there)
        return found

    def states(self) -> dict[str, str | None]:
        """What the dot of each page says."""
        return {
            address: page.locator("[data-live-state]").first.get_attribute("data-state")
            for address, page in self.pages.items()
        }


def line_of(world: World) -> LineVersion:
    return world.line(**gated())


def move_at_random(world: World, version: LineVersion, tasks: list[Task], chance: random.Random) -> None:
    task = chance.choice(tasks)
    doing = chance.choice(["start", "report", "report", "vote", "vote", "hold", "release", "cancel", "begin"])
    with suppress(Refused, Job.DoesNotExist, Token.DoesNotExist, GateVisit.DoesNotExist):
        match doing:
            case "start":
                tasks.append(world.start(version))
            case "begin" | "report" if world.token(task).status == Status.HELD:
                # No worker is offered what is on hold.
                pass
            case "begin":
                world.started(task)
            case "report":
                world.report(task, {"result": chance.choice(["success", "success", "failure"])})
            case "vote":
                world.vote(task, chance.choice(["approve", "send_back"]), reason="So.")
            case "cancel":
                engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="Enough.")
            case _:
                token = world.token(task)
                act = engine.hold if doing == "hold" else engine.release
                act(token.pk, user=world.operator, token_version=token.version)
