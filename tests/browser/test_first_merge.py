"""From an address to a merged commit in a real browser: connect a repository, start the line, approve, see it land."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.lines.demo import lint_example
from pipelines.models import Repository, Task, User
from tests.browser.looking import look, tick_unopened
from tests.factories import World
from tests.fixtures.browser import DESKTOP
from tests.fixtures.site import Site, environment, manage, stop
from tests.pages.conftest import at
from tests.work.remotes import RemoteRepository

pytestmark = [pytest.mark.browser, pytest.mark.wide]


def test_from_an_address_to_a_merged_commit(
    new_context: Callable[..., BrowserContext],
    site: Site,
    demo: World,
    sign_in: Callable[[Page | BrowserContext, User], None],
    folder: Path,
    tmp_path: Path,
) -> None:
    origin = RemoteRepository(Path(lint_example.ensure_repository_and_return_folder(folder / "shop.git")))
    Repository.objects.all().delete()
    context = new_context(viewport=DESKTOP)
    sign_in(context, demo.admin)
    page = context.new_page()
    page.goto(at(demo, "project-settings"))
    page.get_by_role("link", name="Repositories").click()
    page.get_by_label("Address").fill(str(folder / "missing.git"))
    page.get_by_role("button", name="Connect and test").click()
    expect(page.get_by_text("There is no such folder on this machine.")).to_be_visible()
    look(page, tmp_path, "refused")
    page.get_by_label("Address").fill(str(origin.path))
    page.get_by_role("button", name="Connect and test").click()
    expect(page.get_by_text("Pushing allowed")).to_be_visible()
    expect(page.get_by_text(origin.head()[:7])).to_be_visible()
    look(page, tmp_path, "connected")
    shutil.move(origin.path, folder / "away.git")
    page.get_by_role("button", name="Test connection to shop").click()
    expect(page.get_by_text("There is no such folder on this machine.")).to_be_visible()
    look(page, tmp_path, "failed")
    shutil.move(folder / "away.git", origin.path)
    page.get_by_role("button", name="Test connection to shop").click()
    expect(page.get_by_text(origin.head()[:7])).to_be_visible()

    worker = manage("worker", log=tmp_path / "worker.log", env=environment())
    try:
        page.goto(at(demo, "task-new", "fix-lint-findings"))
        page.get_by_label("Title").fill("Fix the shop")
        page.get_by_label("Repository").select_option(str(origin.path))
        page.get_by_role("button", name="Start the task").click()
        pill = page.locator(".task-head [data-status]")
        expect(pill).to_have_attribute("data-status", "awaiting_review")
        page.get_by_role("link", name="Review", exact=True).click()
        page.get_by_role("button", name=re.compile("Approve")).click()
        tick_unopened(page)
        with page.expect_response(lambda answer: answer.request.method == "POST"):
            page.get_by_role("button", name="Confirm approval").click()
        page.goto(at(demo, "task", Task.objects.get().name))
        expect(pill).to_have_attribute("data-status", "completed")
    finally:
        stop(worker)
    expect(page.get_by_text("Exactly what was approved")).to_be_visible()
    expect(page.get_by_text(origin.head()).first).to_be_visible()
    look(page, tmp_path, "merged")
    page.goto(at(demo, "line-draw", "fix-lint-findings"))
    expect(page.locator(".ed-station").first).to_be_visible()
    page.screenshot(path=tmp_path / "line.png")
