"""One real change, by two people in real browsers and once more by keyboard: from an empty project and a typed request
to exactly the tree that was approved on the remote. Nobody types the address of a page. The agent's program is a script
that writes what Claude Code writes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from pipelines.models import AllowedFolder, Delivery, Membership, Task, User, VisitCommit, Worker
from tests.browser.looking import tick_unopened
from tests.factories import World
from tests.fixtures.browser import DESKTOP
from tests.fixtures.site import Site, environment, manage, stop
from tests.waiting import until
from tests.work.remotes import allow, remote

pytestmark = [pytest.mark.browser, pytest.mark.wide, pytest.mark.django_db(transaction=True)]
MOST_TABS = 400
MAKEFILE = b"test:\n\t@test -f app/limits.py\naudit:\n\t@true\n"
ONE = "class SignInLimit:\n    limit = 5\n\n    def key(self, request, email):\n        return client_ip(request)\n"
TWO = ONE.replace("client_ip(request)", "f'{client_ip(request)}:{email.lower()}'")
# It goes on when the test has seen its first step.
AGENT = """#!PYTHON -IS
import json, os, sys, time
if "--version" in sys.argv:
    print("2.1.330 (Claude Code)")
    sys.exit()
told = sys.stdin.read()
def show(kind, **more): print(json.dumps({"type": kind, "session_id": "s1", **more}), flush=True)
def says(*blocks): show("assistant", message={"id": os.urandom(4).hex(), "content": list(blocks)})
def gives(text): show("user", message={"content": [{"type": "tool_result", "tool_use_id": "1", "content": text}]})
def end(text): show("result", subtype="success", is_error=False, result=text, total_cost_usd=0.01, usage={})
show("system", subtype="init", claude_code_version="2.1.330")
if "Plan this change" in told:
    end("I add app/limits.py.\\n\\n```json\\n" + json.dumps({"plan": "Add app/limits.py."}) + "\\n```")
    sys.exit()
again = os.path.exists("app/limits.py")
says({"type": "text", "text": "I count by account, too." if again else "Sign-in has no limit today."})
while not os.path.exists(SEEN): time.sleep(0.05)
text = TEXTS[again]
os.makedirs("app", exist_ok=True)
says({"type": "tool_use", "id": "1", "name": "Write", "input": {"file_path": "app/limits.py", "content": text}})
open("app/limits.py", "w").write(text)
gives("Written.")
end("I changed app/limits.py." if again else "I created app/limits.py.")
"""


@dataclass
class Hands:
    """What somebody does with a page: with the mouse, or with the keyboard alone."""

    page: Page
    keyboard: bool

    def press(self, target: Locator) -> None:
        if not self.keyboard:
            target.click()
            return
        self.reach(target)
        self.page.keyboard.press("Enter")

    def write(self, target: Locator, text: str) -> None:
        if not self.keyboard:
            target.fill(text)
            return
        self.reach(target)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)

    def reach(self, target: Locator) -> None:
        expect(target).to_be_visible()
        for _ in range(MOST_TABS):
            if target.evaluate("each => each === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        pytest.fail(f"{target} is not reached by Tab")

    def link(self, name: str | re.Pattern[str], **more: Any) -> None:
        self.press(self.page.get_by_role("link", name=name, **more).first)

    def button(self, name: str | re.Pattern[str], **more: Any) -> None:
        self.press(self.page.get_by_role("button", name=name, **more).first)


@pytest.fixture
def bench(settings: Any) -> Iterator[Path]:
    """Below the roots of the site."""
    base = Path(settings.DATA_DIR) / "repositories"
    base.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=base))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def programs() -> Iterator[Path]:
    """On the path of stations. An isolated station has a /tmp of its own, and sees this."""
    made = Path(tempfile.mkdtemp(prefix="gateline-programs-", dir="/var/tmp"))
    program = made / "claude"
    program.write_text(
        AGENT.replace("PYTHON", sys.executable)
        .replace("SEEN", repr(str(made / "seen")))
        .replace("TEXTS", repr((ONE, TWO)))
    )
    program.chmod(0o755)
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def hands_on(transactional_db: None, programs: Path, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    path = f"{programs}:/usr/local/bin:/usr/bin:/bin"
    process = manage("worker", log=tmp_path / "worker.log", env=environment(GATELINE_STATION_PATH=path))
    until(lambda: Worker.objects.filter(agents__has_key="claude").exists(), "the program to be found")
    yield process
    stop(process)


def review(hands: Hands, word: str, reason: str = "") -> None:
    hands.button(re.compile(f"^{word}"))
    if reason:
        hands.write(hands.page.get_by_label("Reason"), reason)
    tick_unopened(hands.page)
    with hands.page.expect_response(lambda answer: answer.request.method == "POST"):
        hands.button(re.compile("^Confirm"))


def open_review(hands: Hands) -> None:
    hands.link(re.compile("^Inbox"))
    expect(hands.page).to_have_title(re.compile(r"^(\(\d+\) )?Inbox"))
    expect(hands.page.get_by_role("button", name=re.compile("^Approve"))).to_be_visible()


@pytest.mark.parametrize("keyboard", [False, True], ids=["mouse", "keyboard"])
def test_a_request_becomes_exactly_the_change_that_was_approved(
    new_context: Callable[..., BrowserContext],
    site: Site,
    world: World,
    hands_on: subprocess.Popen[bytes],
    sign_in: Callable[[Page | BrowserContext, User], None],
    bench: Path,
    programs: Path,
    keyboard: bool,
) -> None:
    origin = remote(bench / "shop.git", {"README.md": b"# Shop\n", "Makefile": MAKEFILE})
    base = origin.head()
    # As the set-up of the demo does: else nothing within the state may be connected.
    allow(world.project.owner, origin.path)
    AllowedFolder.objects.update(origin=AllowedFolder.Origin.PREPARED)
    Membership.objects.filter(user=world.admin).update(execute=True)
    asks, decides = (_hands(new_context, sign_in, user, keyboard) for user in (world.admin, world.reviewer))

    # From nothing to a task
    asks.link(re.compile("^Set up"))
    asks.write(asks.page.get_by_label("Address"), str(origin.path))
    asks.button("Connect and test")
    asks.link(re.compile("^Claude Code"))
    asks.write(asks.page.get_by_label("Key", exact=True), "sk-a-key-of-the-test")
    asks.button("Store the key and check again")
    expect(asks.page.get_by_text("2.1.330, tried with it")).to_be_visible()
    asks.link("Continue", exact=True)
    asks.button("Use this template Request to merged change")
    asks.write(asks.page.get_by_label("Title"), "Limit sign-in")
    asks.write(asks.page.get_by_label("Request"), "Nobody should guess passwords.")
    asks.button("Start the task")
    expect(asks.page.locator(".task-head")).to_be_visible()
    task = Task.objects.get()
    until(lambda: world.status(task) == "awaiting_review", "the plan")

    # Another person agrees to the plan, and its steps are seen while the agent works
    open_review(decides)
    review(decides, "Approve")
    expect(asks.page.get_by_text("Sign-in has no limit today.")).to_be_visible()
    assert world.status(task) == "running"
    (programs / "seen").touch()

    # Round 1: a comment on a line goes back with the reason
    until(lambda: world.status(task) == "awaiting_review", "round 1")
    open_review(decides)
    changes = decides.page.locator("#changes")
    decides.press(changes.get_by_role("link", name="Comment on line 5"))
    field = decides.page.get_by_role("textbox", name="Comment on line 5")
    expect(field).to_be_focused()
    decides.write(field, "That locks out a whole office. Count by account, too.")
    field.press("Control+Enter")
    expect(decides.page.get_by_text("1 draft comment")).to_be_visible()
    first = VisitCommit.objects.filter(task=task).latest("job_id").tree
    review(decides, "Send back", "Nearly there.")

    # Round 2: what became of the line since round 1, resolved by who asked for it
    until(lambda: world.status(task) == "awaiting_review", "round 2")
    again = task.jobs.filter(station="implement").latest("pk")
    assert again.feedback.startswith("Nearly there.\napp/limits.py:5: That locks out")
    open_review(decides)
    expect(decides.page.get_by_role("link", name="Since you sent it back 1")).to_have_attribute(
        "aria-current", "true"
    )
    expect(changes.get_by_text("Line 5 changed")).to_be_visible()
    decides.button("Resolved", exact=True)
    expect(decides.page.get_by_text("1 of 1 comment checked")).to_be_visible()
    visit = world.visit(task)
    review(decides, "Approve")
    until(lambda: world.status(task) == "completed", "the merge")

    # What landed is what was approved, and says who decided where
    approved = VisitCommit.objects.filter(task=task, job__lte=visit.job_id).latest("job_id").tree
    landed = origin.commit()
    assert landed.tree.decode() == approved != first
    assert origin.files()["app/limits.py"].decode() == TWO
    assert base in {each.decode() for each in landed.parents}
    said = landed.message.decode()
    assert f"\nTask: {task.name}\n" in said and f"\nDecision: {visit.pk}\n" in said
    visit.refresh_from_db()
    assert (visit.decided_by, task.requester) == (world.reviewer, world.admin)
    assert Delivery.objects.get(task=task).commit == origin.head()
    asks.link(re.compile("^Tasks"))
    asks.link(re.compile("Limit sign-in"))
    expect(asks.page.get_by_text("Exactly what was approved")).to_be_visible()


def _hands(
    new_context: Callable[..., BrowserContext],
    sign_in: Callable[[Page | BrowserContext, User], None],
    user: User,
    keyboard: bool,
) -> Hands:
    context = new_context(viewport=DESKTOP)
    sign_in(context, user)
    page = context.new_page()
    page.goto("/")
    return Hands(page, keyboard)
