"""A webhook from Ctrl+K to its first task, by keyboard, and its secret changed; axe finds nothing on the way."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Task, User
from tests.axe import grave, settle
from tests.browser.looking import look
from tests.factories import World, station
from tests.pages.conftest import at
from tests.work.webhook_calls import call

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]
EXAMPLE = {"ticket": {"title": "Mend the door", "text": "It creaks."}}


def nothing_grave(page: Page) -> None:
    settle(page)
    assert grave(page) == []


def test_a_webhook_is_connected_by_keyboard(
    page: Page, sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    world.line(
        key="triage",
        stations=[station("work", kind="manual")],
        inputs=[{"key": "request", "label": "Request", "type": "long_text", "required": True}],
    )
    sign_in(page, world.operator)
    page.goto(at(world, "lines"))
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search lines, tasks, people, commands").fill("webhook")
    expect(page.get_by_role("option", name="New webhook")).to_be_visible()
    page.get_by_role("option", name="New webhook").click()
    expect(page.get_by_role("heading", name="New webhook")).to_be_visible()
    page.get_by_label("Name", exact=True).focus()
    page.keyboard.type("Support desk")
    page.get_by_label("Body").focus()
    page.keyboard.type(json.dumps(EXAMPLE))
    page.locator("[id='path.inputs.request']").focus()
    page.keyboard.type("ticket.text")
    found = page.locator("#trigger-example")
    expect(found).to_contain_text("It creaks.")
    settle(page)
    look(page, tmp_path, "form")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Support desk")).to_be_visible()
    secret = page.get_by_role("region", name="Signing secret").inner_text()
    address = page.get_by_role("region", name="Address of Support desk").first.inner_text()
    settle(page)
    look(page, tmp_path, "shown-once")

    body, headers = call("standard", secret, EXAMPLE, "msg_1")
    path = "/" + address.split("/", 3)[3]
    origin = page.url.split("/p/")[0]
    request = urllib.request.Request(
        origin + path, body, headers | {"content-type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 202
    page.goto(at(world, "line-triggers", "triage"))
    expect(page.get_by_text(secret)).to_have_count(0)
    expect(page.get_by_role("link", name=Task.objects.get().name)).to_be_visible()
    page.get_by_role("button", name="Try now").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("No task was created.")).to_be_visible()
    settle(page)
    look(page, tmp_path, "card")

    page.get_by_role("button", name="Change the secret of Support desk").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    nothing_grave(page)
    dialog.get_by_role("button", name="Change secret").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Copy the signing secret now")).to_be_visible()
    expect(page.get_by_text("is valid until")).to_be_visible()
