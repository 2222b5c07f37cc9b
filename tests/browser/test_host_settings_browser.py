"""The settings of a repository that a host keeps, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import HookReceipt, IssueTrigger, Repository, User
from tests.browser.test_setup_browser import look
from tests.factories import World, station
from tests.fixtures.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.wide, pytest.mark.django_db(transaction=True)]


def test_issues_are_let_start_tasks(
    new_context: Callable[..., BrowserContext],
    site: Site,
    world: World,
    sign_in: Callable[[Page | BrowserContext, User], None],
    tmp_path: Path,
) -> None:
    now = timezone.now()
    found = Repository.objects.create(
        project=world.project, name="app", address="https://github.com/acme/app", connected_at=now
    )
    version = world.line(stations=[station("work", {"id": "r", "to": "completed"})], name="Fix an issue")
    made: dict[str, Any] = {"line": version.line, "made_by": world.admin, "created_at": now}
    IssueTrigger.objects.create(repository=found, value="gateline", **made)
    HookReceipt.objects.create(repository=found, digest="7" * 64, said="Issue #7 started WI-app-1.", at=now)
    page = new_context(base_url=site.url).new_page()
    sign_in(page, world.admin)
    page.goto(f"/p/acme/{world.project.key}/settings/repositories/{found.pk}/")
    page.get_by_text("Host: pull or merge requests, and issues").click()
    expect(page.get_by_label("Page on the host")).to_be_visible()
    look(page, tmp_path, "repository")
    page.get_by_label("An issue").select_option("assignee")
    page.get_by_label("Label or account").fill("gateline-bot")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("gateline-bot")).to_be_visible()
    page.get_by_role("button", name="Remove gateline-bot").click()
    expect(page.get_by_text("gateline-bot")).to_have_count(0)
