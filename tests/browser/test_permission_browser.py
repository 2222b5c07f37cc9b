"""An agent at work asks whether it may call a tool: people in real Chromium see the exact call and answer it, by mouse
and by keyboard alone; whoever comes second, or too late, is told."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Locator, Page, expect

from pipelines.models import Task, ToolPermission, Worker
from tests.browser.looking import look
from tests.browser.page_checks import unmet_checks
from tests.browser.test_merged_change import Hands
from tests.factories import World
from tests.fixtures.browser import PHONE
from tests.fixtures.mailbox import Mailbox
from tests.fixtures.site import Site, environment, manage, stop
from tests.waiting import until
from tests.work.agents.test_tool_permissions import asks, task_of, told
from tests.work.agents.tool_client import write_program

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
FORCE = "git push --force origin main"
CALLS = [
    {"command": FORCE, "description": "Only look at the branch"},
    {"command": "git push origin :main"},
    {"command": "git push origin main", "env": {"GIT_TRACE": "1"}},
]
ALL_OF_THIRD = """Bash {
  "env": {
    "GIT_TRACE": "1"
  },
  "command": "git push origin main"
}"""
TITLE = "Fix the answer"


@pytest.fixture
def programs() -> Iterator[Path]:
    """On the path of stations. An isolated station has a /tmp of its own, and sees this."""
    folder = Path(tempfile.mkdtemp(prefix="gateline-programs-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def worker_with_agent(
    programs: Path, site: Site, mailbox: Mailbox, tmp_path: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A worker that runs the agent and sends the mails."""
    write_program(programs, asks(*CALLS))
    path = f"{programs}:/usr/local/bin:/usr/bin:/bin"
    env = environment(GATELINE_STATION_PATH=path, EMAIL_URL=mailbox.url, BASE_URL=site.url)
    process = manage("worker", log=tmp_path / "worker.log", env=env)
    until(lambda: Worker.objects.filter(agents__has_key="claude").exists(), "the program to be found")
    yield process
    stop(process)


def asked(task: Task, number: int) -> ToolPermission:
    """The call of this number, as soon as it waits."""
    rows = ToolPermission.objects.filter(task=task).order_by("pk")
    until(lambda: rows.count() == number, f"call {number} to wait")
    return rows.last()  # type: ignore[return-value]


def call(page: Page) -> Locator:
    return page.get_by_role("region", name="Call")


def verdict(page: Page) -> Locator:
    """What stands in place of an item that was answered."""
    return page.locator(".item-decision").get_by_role("status")


def from_list(hands: Hands) -> None:
    """Open the item that came last by its row."""
    hands.page.goto("/needs-me/")
    hands.press(hands.page.locator("#inbox-list").get_by_role("link", name=re.compile(TITLE)).first)
    expect(call(hands.page)).to_be_visible()


def answered(hands: Hands, button: Locator) -> None:
    with hands.page.expect_response(lambda answer: answer.request.method == "POST"):
        hands.press(button)


@pytest.mark.wide
@pytest.mark.usefixtures("worker_with_agent")
def test_people_answer_the_calls_of_an_agent_and_are_told_of_one_another(
    new_context: Callable[..., BrowserContext],
    sign_in: Callable[[BrowserContext, object], None],
    world: World,
    mailbox: Mailbox,
    tmp_path: Path,
) -> None:
    contexts = [new_context(), new_context(), new_context(viewport=PHONE, has_touch=True, is_mobile=True)]
    for context, user in zip(contexts, (world.operator, world.admin, world.admin), strict=True):
        sign_in(context, user)
    page, other, phone = (context.new_page() for context in contexts)
    mouse, keys = Hands(page, keyboard=False), Hands(other, keyboard=True)

    # The inbox is open before the agent asks, and nobody reloads it
    page.goto("/needs-me/")
    expect(page.locator("[data-live-state]")).to_have_attribute("data-state", "live")
    task = task_of(world)
    row = page.locator("#inbox-list").get_by_role("link", name=re.compile(TITLE))
    expect(row).to_contain_text(f"Bash: {FORCE}")
    look(page, tmp_path, "list")
    row.click()
    expect(call(page)).to_have_text(f"Bash: {FORCE}")
    expect(page.locator(".dossier")).not_to_contain_text("Only look")
    look(page, tmp_path, "item")
    from_list(keys)
    phone.goto(other.url)
    expect(call(phone)).to_be_visible()
    assert unmet_checks(phone) == []
    answered(mouse, page.get_by_role("button", name="Allow once"))
    expect(verdict(other)).to_have_text(
        re.compile(rf"^\s*Allowed by {world.operator}\.\s+{task.name}\s+{TITLE}\s*$")
    )
    look(other, tmp_path, "answered")

    # Both write at the same call: what the second wrote is kept, and they are told who was first
    asked(task, 2)
    from_list(mouse)
    mouse.press(page.locator("summary", has_text="Deny"))
    mouse.write(page.get_by_label("Reason"), "Let us wait.")
    look(page, tmp_path, "deny")
    from_list(keys)
    keys.press(other.locator("summary", has_text="Deny"))
    expect(other.get_by_label("Reason")).to_be_focused()
    other.keyboard.insert_text("Nobody deletes main.")
    answered(keys, other.locator("form").get_by_role("button", name="Deny"))
    answered(mouse, page.locator("form").get_by_role("button", name="Deny"))
    expect(verdict(page)).to_contain_text(f"Denied by {world.admin}: Nobody deletes main.")
    expect(page.locator(".dossier")).to_contain_text("Let us wait.")
    look(page, tmp_path, "second")

    # The time of the third runs out before their eyes
    third = asked(task, 3)
    from_list(mouse)
    expect(call(page)).to_have_text(ALL_OF_THIRD)
    ToolPermission.objects.filter(pk=third.pk).update(due_at=timezone.now())
    expect(verdict(page)).to_contain_text("Denied, because nobody answered in time.")

    until(lambda: not task.tokens.filter(status="running").exists() and told(task), "the agent to end")
    assert told(task) == [
        {"behavior": "allow", "updatedInput": CALLS[0]},
        {"behavior": "deny", "message": "Nobody deletes main."},
        {"behavior": "deny", "message": "Nobody answered in time."},
    ]


@pytest.mark.wide
@pytest.mark.usefixtures("worker_with_agent")
def test_the_requester_comes_from_mail_and_bell_to_the_call(
    page: Page, sign_in: Callable[[Page, object], None], world: World, mailbox: Mailbox, tmp_path: Path
) -> None:
    task = task_of(world)
    pk = asked(task, 1).pk
    until(lambda: mailbox.received, "the mail")
    [(recipients, message)] = mailbox.received
    assert recipients == [world.operator.email]
    assert message["subject"].strip() == f"implement asks to call a tool for “{TITLE}”."
    text = message.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    assert f"Call: Bash: {FORCE}" in text
    [link] = re.findall(r"^Allow or deny: (\S+)", text, re.MULTILINE)
    sign_in(page, world.operator)
    page.goto("/notifications/")
    expect(page.get_by_role("link", name=re.compile("asks to call a tool"))).to_be_visible()
    look(page, tmp_path, "bell")
    page.goto(link)
    expect(page).to_have_url(re.compile(rf"/needs-me/permission/{pk}/$"))
    expect(call(page)).to_have_text(f"Bash: {FORCE}")
    assert CALLS[0]["description"] not in text
