"""What is paused is seen wherever it matters, in a real browser (law §17)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from pipelines import engine
from pipelines.engine import PauseScope
from pipelines.models import User
from pipelines.work.scheduler import timers
from tests.browser.looking import look
from tests.engine.test_pauses import line
from tests.factories import World
from tests.pages.conftest import at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


@pytest.mark.wide
def test_what_is_paused_is_seen_everywhere(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    version = line(world)
    reviewed = world.start(version, title="Reviewed", due_at=timezone.now() + timedelta(hours=3))
    world.report(reviewed)
    waiting = world.start(version, title="Waiting")
    page = new_context().new_page()
    sign_in(page, world.admin)

    page.goto(at(world, "line-live", "line"))
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("pause")
    page.get_by_role("option", name="Pause line or a station").click()
    page.get_by_label("What").select_option("build")
    page.get_by_label("Reason").fill("Release freeze")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("build is paused.")).to_be_visible()
    engine.pause(
        PauseScope(world.project, task=reviewed), user=world.operator, reason="Ask the customer first"
    )
    timers.run_due_timers_and_triggers()

    page.reload()
    cards = page.locator(".task-card")
    expect(cards.get_by_text("paused", exact=True)).to_have_count(2)
    expect(cards.get_by_text("left after the pause")).to_be_visible()
    look(page, tmp_path, "board")
    page.goto(at(world, "line-live", "line") + "?view=graph")
    expect(page.locator(".line-shown").get_by_text("paused").first).to_be_visible()
    look(page, tmp_path, "graph")
    page.goto(at(world, "line", "line"))
    expect(page.locator(".line-shown").get_by_text("paused").first).to_be_visible()
    look(page, tmp_path, "overview")
    for task, name in ((reviewed, "reviewed"), (waiting, "waiting")):
        page.goto(at(world, "task", task.name))
        expect(page.locator(".task-head").get_by_text("Paused", exact=True)).to_be_visible()
        look(page, tmp_path, name)
    expect(page.get_by_text("Paused by")).to_have_count(2)

    lines = reverse("lines", args=[world.project.owner.key, world.project.key])
    page.goto(lines + "#open=pause")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("The project is paused.")).to_be_visible()
    expect(page.locator("td").get_by_text("Paused")).to_be_visible()
    look(page, tmp_path, "project")
    page.goto(reverse("home"))
    expect(page.locator("#lines").get_by_text("Paused")).to_be_visible()
    look(page, tmp_path, "home")
    page.goto(lines)
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("The project is paused.")).to_have_count(0)
