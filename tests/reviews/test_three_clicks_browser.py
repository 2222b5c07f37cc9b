"""From a mail as it arrives at a mail server to a vote that is recorded: the link, the word, its confirmation."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from pipelines.models import User, Vote
from tests.factories import World
from tests.fixtures.mailbox import Mailbox
from tests.fixtures.site import Site
from tests.reviews.conftest import gated
from tests.reviews.test_two_browsers import mail_to, people, sender
from tests.waiting import until

__all__ = ["sender"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WRITES = ["sh", "-c", "echo limit = 20 > settings.py"]


def test_three_clicks_lead_from_the_mail_to_a_recorded_vote(
    page: Page,
    sign_in: Callable[[Page, User], None],
    site: Site,
    sender: subprocess.Popen[bytes],
    world: World,
    mailbox: Mailbox,
) -> None:
    [anna, *_others] = people(world)
    line = gated(notify=[anna.email])
    line["stations"][0]["work"] = {"kind": "command", "argv": WRITES, "network": "none"}
    task = world.start(world.line(**line), title="Limit sign-in")
    html = mail_to(mailbox, anna, 1).get_body(("html",))
    assert html is not None
    sign_in(page, anna)
    page.set_content(str(html.get_content()))

    page.locator(f"a[href*='/inbox/{world.visit(task).pk}/']").first.click()
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("button", name="Confirm approval").click()

    until(lambda: Vote.objects.exists(), "the vote")
    vote = Vote.objects.get()
    assert (vote.user, vote.word, vote.via) == (anna, "approve", "page")
    expect(page.locator(".task-head")).to_contain_text(task.name)
