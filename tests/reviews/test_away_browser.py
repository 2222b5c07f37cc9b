"""Somebody who is away names a stand-in, who decides in their place, in real browsers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import User, Vote
from tests.browser.looking import look
from tests.factories import World
from tests.reviews.conftest import gated

pytestmark = [pytest.mark.wide, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


def test_a_stand_in_is_named_and_decides(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    for user, name in ((world.reviewer, "Anna Meier"), (world.viewer, "Ben Okafor")):
        user.first_name, user.last_name = name.split()
        user.save()
    task = world.start(world.line(**gated()), title="Add login")
    world.report(task)
    away, instead = new_context(), new_context()
    sign_in(away, world.reviewer)
    page = away.new_page()
    page.goto("/account/away/")
    page.get_by_label("Stand-in").select_option(label="Ben Okafor")
    page.get_by_label("Last day away").fill(timezone.localdate().isoformat())
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="End now")).to_be_visible()
    look(page, tmp_path, "away")
    sign_in(instead, world.viewer)
    page = instead.new_page()
    page.goto("/account/away/")
    expect(page.locator("b").get_by_text("Anna Meier")).to_be_visible()
    page.goto(f"/inbox/{world.visit(task).pk}/?word=approve")
    expect(page.get_by_text("In place of Anna Meier, who is away")).to_be_visible()
    look(page, tmp_path, "review")
    page.get_by_role("button", name="Confirm approval").click()
    expect(page.get_by_text(f"{task.name}: approved.")).to_be_visible()
    vote = Vote.objects.get()
    assert (vote.user, vote.stands_for) == (world.viewer, world.reviewer)
    page.goto(f"/inbox/{vote.visit_id}/?show=history")
    expect(page.get_by_text("in place of Anna Meier")).to_be_visible()
    look(page, tmp_path, "history")
