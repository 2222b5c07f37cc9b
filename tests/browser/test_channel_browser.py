"""“Tell us in Slack when it fails”, by somebody who was told only these words: clicks from Ctrl+K to the message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import User
from reviews.channels.message_delivery import send_queued_message
from reviews.models import ChannelMessage
from tests.axe import grave, settle
from tests.factories import World, station
from tests.outgoing.servers import serving
from tests.pages.conftest import at
from tests.reviews.test_channels import Chat

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


@pytest.fixture
def slack(settings: Any) -> Iterator[Chat]:
    settings.PRIVATE_HOSTS = ["127.0.0.1"]
    chat = Chat()
    with serving(chat.answer) as server:
        chat.server = server
        yield chat


def test_told_in_slack_when_it_fails_is_three_clicks(
    page: Page, sign_in: SignIn, world: World, slack: Chat
) -> None:
    version = world.line(key="build", stations=[station("make", {"id": "no", "to": "failed"})])
    sign_in(page, world.admin)
    page.goto(at(world, "lines"))
    page.keyboard.press("Control+k")  # 1
    page.get_by_role("combobox", name="Search lines, tasks, people, commands").fill("slack fails")
    expect(page.get_by_role("option").first).to_contain_text("Connect Slack")
    page.keyboard.press("Enter")  # 2
    page.get_by_label("Name", exact=True).fill("Builds")
    page.get_by_label("API address").fill(f"{slack.server.url}/api")
    page.get_by_label("Channel", exact=True).fill("reviews")
    page.get_by_label("Bot token").fill("xoxb-1")
    expect(page.locator("#connect").get_by_label("Failed")).to_be_checked()
    page.get_by_role("button", name="Connect", exact=True).click()  # 3
    expect(page.get_by_text("Connected. A test was sent.")).to_be_visible()
    settle(page)
    assert grave(page) == []
    task = world.start(version)
    world.report(task)
    for pk in ChannelMessage.objects.filter(state="queued").values_list("pk", flat=True):
        send_queued_message(pk)
    told = [document for _path, document in slack.calls]
    assert [document["text"] for document in told] == ["A test from Gateline", task.title]
