"""“Deploy after the build”, from Ctrl+K to a saved trigger; axe finds nothing on the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Trigger, User
from tests.axe import grave, settle
from tests.browser.looking import look
from tests.factories import World, station
from tests.pages.conftest import at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


@pytest.mark.wide
def test_a_line_starts_after_another_in_four_clicks(
    page: Page, sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    build = world.line(
        key="build",
        name="Build",
        stations=[station("make", {"id": "ok", "to": "completed"}, output_keys=["summary"])],
    )
    world.line(
        key="deploy",
        name="Deploy",
        stations=[station("ship", kind="manual")],
        inputs=[{"key": "request", "label": "Request", "type": "long_text", "required": True}],
    )
    world.report(world.start(build), {"result": "success", "output": {"summary": "All green"}})
    sign_in(page, world.operator)
    page.goto(at(world, "lines"))
    page.keyboard.press("Control+k")  # 1
    page.get_by_role("combobox", name="Search lines, tasks, people, commands").fill("after another line")
    expect(page.get_by_role("option", name="New line trigger")).to_have_attribute(
        "data-combobox-option-default", "true"
    )
    page.keyboard.press("Enter")  # 2
    page.get_by_role("link", name="Deploy").click()  # 3
    expect(page.locator("#source")).to_have_value("build")
    page.locator("[id='path.inputs.request']").fill("outputs.summary")
    expect(page.locator("#trigger-example .trigger-facts")).to_contain_text("All green")
    settle(page)
    assert grave(page) == []
    look(page, tmp_path, "form")
    page.get_by_role("button", name="Save line trigger").click()  # 4
    expect(page.get_by_role("heading", name="After a task of Build completes")).to_be_visible()
    page.get_by_role("button", name="Try now").click()
    expect(page.get_by_text("No task was created.")).to_be_visible()
    settle(page)
    assert grave(page) == []
    look(page, tmp_path, "card")
    assert Trigger.objects.get().options["line"] == "build"
