"""Home of a fresh installation, in a real browser with a real worker: one card, one button, and the task that moves on
its drawing until what was merged is verified."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Task, User
from tests.axe import grave, settle
from tests.browser.looking import tick_unopened
from tests.factories import World
from tests.fixtures.browser import DESKTOP, PHONE
from tests.fixtures.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.wide]
OF_OTHERS = ("AEEF", "ALP", "contenox", "Vibe Factory", "Flux")


@pytest.fixture
def basket(settings: Any) -> None:
    """Make the demo's repository anew: other tests merge into it."""
    shutil.rmtree(Path(settings.DATA_DIR) / "repositories" / "basket.git", ignore_errors=True)


def check(page: Page, folder: Path, name: str) -> None:
    """Look at it on a desk and on a phone."""
    for size in (PHONE, DESKTOP):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        settle(page)
        assert not grave(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.screenshot(path=folder / f"{name}-{size['width']}.png", full_page=True)


def test_from_one_button_to_what_was_merged_and_verified(
    new_context: Callable[..., BrowserContext],
    site: Site,
    basket: None,
    demo: World,
    hands: subprocess.Popen[bytes],
    sign_in: Callable[[Page | BrowserContext, User], None],
    tmp_path: Path,
) -> None:
    context = new_context(viewport=DESKTOP)
    sign_in(context, demo.admin)
    page = context.new_page()
    page.goto("/")
    main, card = page.locator("main"), page.locator("#first-task")
    expect(card.get_by_role("heading", name="Fix lint findings")).to_be_visible()
    expect(card.get_by_text("Repository basket: 20 findings in 3 files")).to_be_visible()
    expect(card.locator(".ed-station")).to_have_count(4)
    expect(main.locator(".card")).to_have_count(1)
    expect(main.locator(".button-primary")).to_have_count(1)
    expect(main.locator("input:visible, select:visible, textarea:visible")).to_have_count(0)
    words = main.inner_text()
    assert not [name for name in OF_OTHERS if name in words] and not re.search(r"\b0\b", words), words
    check(page, tmp_path, "fresh")

    card.get_by_role("button", name="Start", exact=True).click()
    page.evaluate("window.sameDocument = true")
    expect(card.locator(".ed-station[data-mark=active], .ed-station[data-mark=taken]").first).to_be_visible()
    expect(card.get_by_text("Code review waits for you")).to_be_visible()
    expect(card.locator(".ed-gate[data-state=attention]")).to_be_visible()
    expect(card.locator("#first-task-live")).to_contain_text("passed in")
    expect(page).to_have_title(re.compile(r"^\(1\) Home"))
    expect(page.locator("[data-needs-count]:visible").first).to_have_text("1")
    assert page.evaluate("window.sameDocument") is True, "nothing was loaded anew"
    check(page, tmp_path, "waits")

    # Decided elsewhere, which leads to the task that moves; Home tells by itself what became of it.
    other = context.new_page()
    third = context.new_page()
    third.goto("/")
    expect(third.locator("[data-needs-count]:visible").first).to_have_text("1")
    other.goto("/")
    other.locator("#first-task").get_by_role("link", name="Review").click()
    other.get_by_role("button", name=re.compile("^Approve")).click()
    tick_unopened(other)
    other.get_by_role("button", name=re.compile("^Confirm")).click()
    expect(other).to_have_url(re.compile(r"/tasks/WI-app-\d+/$"))
    expect(other.locator("#delivered")).to_contain_text("Files as approved")
    expect(third.locator("#delivered")).to_be_visible()
    third.goto("/needs-me/")
    expect(third.locator("[data-needs-count]:visible").first, "left before it was asked for").to_have_text("")
    third.close()
    delivered = card.locator("#delivered")
    expect(delivered.get_by_role("heading", name="Merged")).to_be_visible()
    assert page.evaluate("window.sameDocument") is True
    delivered.get_by_role("button", name="Verify").click()
    expect(delivered.locator(".checks-found")).to_contain_text("Exactly what was approved")
    expect(delivered.locator(".checks-found")).to_contain_text("in basket has these files")
    expect(card.get_by_role("link", name="Set up")).to_be_visible()
    assert Task.objects.get().status == "completed"
    check(page, tmp_path, "merged")
    page.reload()
    assert not [name for name in OF_OTHERS if name in main.inner_text()]
