"""A task is forked from a step of its history, in a real browser (law §17)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Task, User
from tests.browser.looking import look
from tests.engine.test_fork import PROMISE, shipping
from tests.factories import World
from tests.pages.conftest import at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


@pytest.mark.wide
def test_a_task_is_forked_from_its_history(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    task = shipping(world, guarantees=[PROMISE])
    page = new_context().new_page()
    sign_in(page, world.admin)
    page.goto(at(world, "task", task.name))
    look(page, tmp_path, "task")
    page.get_by_role("link", name=f"Fork from event {task.seq}").click()
    expect(page.get_by_role("heading", name=f"Fork {task.name}")).to_be_visible()
    expect(page.get_by_text("This breaks a promise of the line or its repository.")).to_be_visible()
    look(page, tmp_path, "fork")
    page.get_by_label("Start at").select_option("build")
    expect(page.get_by_text("A new task starts at build. This one continues unchanged.")).to_be_visible()
    expect(page.get_by_text("This breaks a promise")).to_have_count(0)
    page.get_by_label("Reason").fill("Another way")
    page.get_by_role("button", name="Fork").click()
    expect(page.get_by_text(f"at event {task.seq}").first).to_be_visible()
    new = Task.objects.get(follows=task)
    assert world.at(new) == ["build"]
    look(page, tmp_path, "new")
    page.get_by_role("link", name=task.name).first.click()
    expect(page.get_by_text(f"forked it as {new.name}").first).to_be_visible()
