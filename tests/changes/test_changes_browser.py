"""Two rounds of a change in a real browser: a station that writes files, a line comment, and what became of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Task, User
from reviews.decision.remarks import MOST
from reviews.models import Remark
from tests.factories import World
from tests.fixtures.browser import PHONE
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]
# Round 2 is known by what the reviewer said.
SCRIPT = """
said=$(cat)
mkdir -p app/accounts tests/sign_in
printf 'limit = 20\\n' > app/settings.py
cat > app/accounts/rate_limit.py <<'END'
class SignInLimit:
    window = 60
    limit = 5

    def __init__(self, store):
        self.store = store

    def allow(self, request, email):
        key = f"sign-in:{client_ip(request)}"
        count = self.store.incr(key, ttl=self.window)
        return count <= self.limit
END
case "$said" in *FEEDBACK*)
  sed -i 's/sign-in:{/sign-in:{email.lower()}:{/' app/accounts/rate_limit.py
  printf 'def test_both(): ...\\n' > tests/sign_in/test_sign_in.py ;;
esac
"""

# At the very moment at which the panel was put in anew: its keys are heard from then on.
PRESS_WHEN_RENEWED = """() => {
  const panel = document.getElementById('changes');
  new MutationObserver((_, observer) => {
    if (panel.isConnected) return;
    observer.disconnect();
    document.body.dispatchEvent(new KeyboardEvent('keydown', {key: ']', code: 'BracketRight', bubbles: true}));
  }).observe(document.body, {childList: true, subtree: true});
}"""


def line(script: str = SCRIPT) -> dict[str, Any]:
    rule = {"id": "done", "label": "Done", "to": "ship", "gates": ["review"]}
    work = {"kind": "command", "argv": ["sh", "-c", script], "prompt": "Limit sign-in."}
    gate = {
        "key": "review",
        "name": "Code review",
        "description": "Does it stop guessing without locking out users?",
        "offers": ["approve", "send_back", "reject"],
    }
    return {
        "key": "change",
        "stations": [{"key": "build", "name": "Implement", "work": work, "rules": [rule]}, "ship"],
        "gates": [gate],
    }


@pytest.fixture
def reviewed(world: World, worker: subprocess.Popen[bytes]) -> Task:
    task = world.start(world.line(**line()), title="Add rate limiting to sign-in")
    until(lambda: world.status(task) == "awaiting_review", "the first round")
    return task


def picture(page: Page, name: str) -> None:
    """Kept where somebody asks for pictures."""
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


@pytest.mark.wide
def test_opening_another_file_leaves_the_open_decision_as_it_is(
    page: Page, sign_in: SignIn, world: World, worker: subprocess.Popen[bytes]
) -> None:
    task = world.start(world.line(**line("for name in a b c; do echo $name > $name.py; done")), title="Names")
    until(lambda: world.status(task) == "awaiting_review", "the review")
    sign_in(page, world.reviewer)
    page.goto(reverse("gate-visit", args=[world.visit(task).pk]))
    page.get_by_role("button", name="Approve").click()
    page.get_by_label("Approve without opening 2 of 3 changed files").check()
    page.get_by_label("Note").fill("The names are right.")
    page.locator("#changes").get_by_role("link", name="b.py").click()
    expect(page.get_by_label("Approve without opening 1 of 3 changed files")).to_be_checked()
    expect(page.get_by_label("Note")).to_have_value("The names are right.")
    page.get_by_role("button", name="Confirm approval").click()
    expect(page.locator(".task-head")).to_contain_text(task.name)


def test_a_comment_that_is_refused_says_why_where_it_was_written(
    page: Page, sign_in: SignIn, world: World, worker: subprocess.Popen[bytes]
) -> None:
    task = world.start(world.line(**line("echo one > a.py")), title="Names")
    until(lambda: world.status(task) == "awaiting_review", "the review")
    visit = world.visit(task)
    draft = {"visit": visit, "user": world.reviewer, "path": "a.py", "side": "new", "line": 1}
    drafts = [Remark(**draft, content="0" * 64, text="More", at=visit.opened_at) for _ in range(MOST - 1)]
    Remark.objects.bulk_create(drafts)
    sign_in(page, world.reviewer)
    page.goto(reverse("gate-visit", args=[visit.pk]))
    for _ in range(2):
        page.locator("#changes").get_by_role("link", name="Comment on line 1", exact=True).click()
        page.get_by_role("textbox", name="Comment on line 1").fill("The last one.")
        page.get_by_role("button", name="Add comment").click()
        expect(page.get_by_role("textbox", name="Comment on line 1")).to_have_count(0)
    expect(page.locator("#notices")).to_contain_text("Too many comments")


@pytest.mark.wide
def test_a_remark_is_sent_with_the_decision_and_checked_in_the_next_round(
    page: Page, sign_in: SignIn, world: World, reviewed: Task
) -> None:
    sign_in(page, world.reviewer)
    page.goto(reverse("gate-visit", args=[world.visit(reviewed).pk]))
    changes = page.locator("#changes")
    changes.get_by_role("link", name="Comment on line 9").click()
    field = page.get_by_role("textbox", name="Comment on line 9")
    expect(field).to_be_focused()
    field.fill("Counting by IP alone locks out a whole office. Count by account and IP.")
    picture(page, "writing")
    field.press("Control+Enter")
    expect(page.get_by_text("1 draft comment")).to_be_visible()
    assert world.status(reviewed) == "awaiting_review", "Ctrl Enter adds the comment and never decides"
    page.get_by_role("button", name="Send back").click()
    expect(page.get_by_text("sent below your reason")).to_be_visible()
    page.get_by_label("Reason").fill("Nearly there.")
    page.get_by_role("button", name="Confirm and send back").click()
    until(lambda: world.status(reviewed) == "awaiting_review" and world.visit(reviewed).round == 2, "round 2")
    again = reviewed.jobs.get(visit=2)
    assert again.feedback.startswith("Nearly there.\napp/accounts/rate_limit.py:9: Counting")
    page.goto(reverse("gate-visit", args=[world.visit(reviewed).pk]))
    expect(page.get_by_role("link", name="Since you sent it back 2")).to_have_attribute(
        "aria-current", "true"
    )
    expect(changes.get_by_text("Line 9 changed")).to_be_visible()
    expect(page.get_by_text("0 of 1 comment checked")).to_be_visible()
    picture(page, "round2")
    page.get_by_role("button", name="Resolved", exact=True).click()
    expect(page.get_by_text("1 of 1 comment checked")).to_be_visible()
    page.evaluate(PRESS_WHEN_RENEWED)
    page.keyboard.press("v")
    expect(page.get_by_text("2 of 2 opened, 1 viewed")).to_be_visible()
    expect(page.locator("#changed-path")).to_have_text("tests/sign_in/test_sign_in.py")
    page.keyboard.press("[")
    page.get_by_role("link", name="Side by side").click()
    expect(page.locator(".diff-split")).to_be_visible()
    picture(page, "split")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.set_viewport_size(PHONE)
    page.goto(reverse("gate-visit", args=[world.visit(reviewed).pk]))
    expect(changes.get_by_text("Line 9 changed")).to_be_attached()
    wide = page.evaluate("document.documentElement.scrollWidth")
    picture(page, "phone")
    assert wide <= PHONE["width"]
    if os.environ.get("PICTURES"):
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=os.environ["PICTURES"] + "/phone-dark.png", full_page=True)
        page.set_viewport_size({"width": 1440, "height": 900})
        page.reload()
        picture(page, "round2-dark")
        task = reverse("task", args=[reviewed.project.owner.key, reviewed.project.key, reviewed.name])
        page.emulate_media(color_scheme="light")
        page.goto(task + "?tab=changes")
        page.screenshot(path=os.environ["PICTURES"] + "/task.png", full_page=True)
