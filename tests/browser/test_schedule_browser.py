"""“Every night”, by somebody who was told only these words: from Ctrl+K to a saved schedule in at most six clicks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Trigger, User
from tests.factories import World, station
from tests.pages.conftest import at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


def lines(world: World) -> None:
    for key in ("upkeep", "other"):
        world.line(
            key=key,
            stations=[station("work", kind="manual")],
            inputs=[{"key": "request", "label": "Request", "type": "long_text", "default": "Tidy up"}],
        )


@pytest.mark.wide
def test_every_night_is_six_clicks_from_ctrl_k(page: Page, sign_in: SignIn, world: World) -> None:
    lines(world)
    sign_in(page, world.operator)
    page.goto(at(world, "lines"))
    page.keyboard.press("Control+k")  # 1
    page.get_by_role("combobox", name="Search lines, tasks, people, commands").fill("nightly")
    expect(page.get_by_role("option", name="New schedule")).to_have_attribute(
        "data-combobox-option-default", "true"
    )
    page.keyboard.press("Enter")  # 2
    page.get_by_role("link", name="Upkeep").click()  # 3
    following = page.locator("#schedule-next")
    expect(following).to_contain_text("Every day at 02:00")
    expect(following.locator(".runs > li")).to_have_count(5)
    page.get_by_role("button", name="Save schedule").click()  # 4
    expect(page.get_by_role("heading", name="Every day at 02:00")).to_be_visible()
    expect(page.locator(".trigger .runs > li")).to_have_count(5)
    assert Trigger.objects.get().options["cron"] == "0 2 * * *"


def test_the_next_runs_follow_what_is_chosen(page: Page, sign_in: SignIn, world: World) -> None:
    lines(world)
    sign_in(page, world.operator)
    page.goto(at(world, "trigger-new", "upkeep"))
    following = page.locator("#schedule-next")
    page.get_by_label("Every week", exact=True).check()
    page.get_by_label("Day", exact=True).select_option("Sunday")
    page.get_by_label("Time", exact=True).fill("09:15")
    expect(following).to_contain_text("Every Sunday at 09:15")
    expect(page.get_by_label("Day of the month")).to_be_hidden()
    page.get_by_label("Cron expression").first.check()
    expect(following).to_contain_text("Enter five fields")
    page.locator("#cron").fill("30 7 * * 1-5")
    expect(following).to_contain_text("Every weekday at 07:30")
    page.get_by_label("Time zone").select_option("Europe/Berlin")
    page.get_by_role("button", name="Save schedule").click()
    card = page.locator(".trigger")
    expect(card).to_contain_text("Schedule · Europe/Berlin")
    card.get_by_role("button", name="Try now").click()
    expect(card).to_contain_text("No task was created.")
    card.get_by_role("switch").click()
    expect(card).to_contain_text("so it starts nothing")
    expect(card.get_by_role("switch")).to_have_attribute("aria-checked", "false")
    card.get_by_role("button", name="More of").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("button", name="Delete trigger").click()
    expect(page.get_by_role("heading", name="No triggers yet")).to_be_visible()
