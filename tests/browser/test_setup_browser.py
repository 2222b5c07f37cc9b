"""The guided first run in a real browser: from an empty project to a task that runs, typing an address alone."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.lines.demo import lint_example
from pipelines.models import AllowedFolder, Membership, Task, User
from pipelines.work.spec.ecosystems import RUFF
from tests.browser.looking import look
from tests.factories import World
from tests.fixtures.browser import DESKTOP
from tests.fixtures.site import Site
from tests.pages.conftest import at
from tests.work.remotes import allow

pytestmark = [pytest.mark.browser, pytest.mark.wide, pytest.mark.django_db(transaction=True)]


def test_from_an_empty_project_to_a_task_that_runs(
    new_context: Callable[..., BrowserContext],
    site: Site,
    world: World,
    worker: subprocess.Popen[bytes],
    sign_in: Callable[[Page | BrowserContext, User], None],
    folder: Path,
    tmp_path: Path,
) -> None:
    origin = lint_example.ensure_repository_and_return_folder(folder / "shop.git")
    # As the set-up of the demo does: else nothing within the state may be connected.
    allow(world.project.owner, origin)
    AllowedFolder.objects.update(origin=AllowedFolder.Origin.PREPARED)
    Membership.objects.filter(user=world.admin).update(execute=True)
    context = new_context(viewport=DESKTOP)
    sign_in(context, world.admin)
    page = context.new_page()
    page.goto("/")
    page.locator("#to-set-up").get_by_role("link").click()
    page.get_by_label("Address").fill(origin)
    look(page, tmp_path, "repository")
    page.get_by_role("button", name="Connect and test").click()
    expect(page.get_by_role("heading", name="Choose an agent")).to_be_visible()
    page.get_by_role("link", name="Claude Code").click()
    expect(page.get_by_text("Claude Code is not installed.")).to_be_visible()
    expect(page.locator("#checks")).to_be_focused()
    look(page, tmp_path, "agent-lacking")
    page.get_by_role("link", name="Use Codemod for now").click()
    expect(page.get_by_role("heading", name="Fix lint findings")).to_be_visible()
    look(page, tmp_path, "template")
    expect(page.get_by_role("button", name="Use this template Fix lint findings")).to_have_count(1)
    use = page.get_by_role("button", name="Use Fix lint findings")
    expect(use).to_be_in_viewport()
    tests = page.get_by_role("textbox", name="Tests")
    tests.focus()
    field, bar = tests.bounding_box(), page.locator(".setup-use").bounding_box()
    assert field and bar and field["y"] + field["height"] <= bar["y"], "what has the focus is never under it"
    # Its packages would come from a registry, which a test does not ask: it runs with what the worker has
    for label, text in (
        ("Prepare", ""),
        ("Lock file", ""),
        ("Hosts", ""),
        ("Lint", RUFF),
        ("Tests", "python3 -m unittest"),
    ):
        page.get_by_role("textbox", name=label, exact=True).fill(text)
    use.click()
    expect(page.get_by_role("heading", name="First task")).to_be_visible()
    # Only administrators of the installation see where it lies.
    expect(page.get_by_label("Repository")).to_have_value("shop")
    look(page, tmp_path, "task")
    page.get_by_role("button", name="Start the task").click()
    expect(page.locator(".task-head [data-status]")).to_have_attribute("data-status", "awaiting_review")
    assert Task.objects.get().requester == world.admin
    page.goto(at(world, "project-setup"))
    expect(page.get_by_role("button", name="Connect and test")).to_be_visible()
    look(page, tmp_path, "again")
    page.get_by_role("link", name="Set up").click()
    expect(page.get_by_role("heading", name="Choose an agent")).to_be_visible()
    page.locator(".stepper").get_by_text("Connect a repository").click()
    expect(page.get_by_role("link", name="Continue")).to_be_visible()
