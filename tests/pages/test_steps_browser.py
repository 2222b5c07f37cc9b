"""The steps of an agent on the page of its task, in a real browser: read from the log, live, and however many."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Job, Task, User
from pipelines.work.logs import Writer
from tests.axe import grave
from tests.factories import World, document, station
from tests.fixtures.browser import DESKTOP, PHONE
from tests.pages.conftest import at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]
PICTURES = os.environ.get("GATELINE_PICTURES", "")

WORK = {"agent": "claude", "prompt": "Limit sign-in.", "network": "open", "allow": ["git", "make", "uv run"]}
LINE = document(
    [
        station("implement", {"id": "on", "to": "look"}, kind="agent", work=WORK, name="Implement"),
        {"key": "look", "name": "Look", "work": {"kind": "manual"}, "rules": []},
    ]
)
TURN = {"input_tokens": 1100, "output_tokens": 90}


def says(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "assistant",
        "message": {"id": os.urandom(4).hex(), "content": list(blocks), "usage": TURN},
    }


def text(words: str) -> dict[str, Any]:
    return says({"type": "text", "text": words})


def calls(identity: str, name: str, **given: Any) -> dict[str, Any]:
    return says({"type": "tool_use", "id": identity, "name": name, "input": given})


def gives(identity: str, content: str, *, error: bool = False) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": identity, "is_error": error, "content": content}
    return {"type": "user", "message": {"content": [block]}}


BEFORE = "def sign_in(request):\n    user = authenticate(email, password)"
AFTER = """def sign_in(request):
    if limits.wait(email):
        return too_many()
    user = authenticate(email.lower(), password)"""
OUTPUT = "".join(f"tests/test_{n}.py .\n" for n in range(38))
FAILED = f"Exit code 1\n{OUTPUT}FAILED tests/test_limits.py\n1 failed"
STEPS = [
    {"type": "system", "subtype": "init", "session_id": "s1", "claude_code_version": "2.1.330"},
    says({"type": "thinking", "thinking": "Where is sign-in?\nIn app/accounts."}),
    text("Sign-in has no limit today. I count failed attempts per account. <script>alert(1)</script>"),
    calls("1", "Grep", pattern="authenticate(", path="app/"),
    gives("1", "app/accounts/views.py:31"),
    {"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "error_status": 529},
    calls("2", "Edit", file_path="app/accounts/views.py", old_string=BEFORE, new_string=AFTER),
    gives("2", "Edited."),
    calls("3", "Bash", command="pip install django-ratelimit"),
    {
        "type": "system",
        "subtype": "permission_denied",
        "tool_use_id": "3",
        "message": "It requires approval.",
    },
    calls("4", "Bash", command="uv run pytest tests/accounts -q"),
    gives("4", FAILED, error=True),
    calls("5", "Bash", command="uv run pytest tests/accounts -q"),
    gives("5", "24 passed"),
    calls("6", "Write", file_path="docs/sign-in.md", content="# Sign in\n"),
]
END = {
    "type": "result",
    "subtype": "success",
    "result": "Done.",
    "total_cost_usd": 0.41,
    "usage": {"output_tokens": 9},
}


def log(job: Job, lines: list[dict[str, Any]], writer: Writer | None = None) -> Writer:
    writer = writer or Writer(job.pk, job.attempt)
    written = [f"{n * 11.5:.3f}\t{json.dumps(line)}\n" for n, line in enumerate(lines, 1)]
    for start in range(0, len(written), 400):
        writer.append_chunk("".join(written[start : start + 400]), timezone.now())
    return writer


def at_work(world: World, lines: list[dict[str, Any]]) -> tuple[Task, Job, Writer]:
    task = world.start(world.line(LINE), title="Add rate limiting to sign-in")
    job = world.started(task)
    return task, job, log(job, lines)


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(
            path=str(Path(PICTURES) / f"{name}.png"), full_page=True, caret="initial", animations="allow"
        )


def test_steps_read_as_a_conversation_and_go_on(page: Page, sign_in: SignIn, world: World) -> None:
    task, job, writer = at_work(world, STEPS)
    sign_in(page, world.operator)
    page.goto(at(world, "task", task.name))
    steps = page.locator(".steps")
    expect(steps.locator(".step-denied")).to_contain_text("Denied pip install django-ratelimit")
    expect(steps.locator(".step-denied")).to_contain_text(
        "Nothing happened. Implement may run git, make, uv run only."
    )
    failed = steps.locator(".step-failed")
    expect(failed).to_contain_text("exit 1")
    expect(failed.locator(".step-output").first).to_contain_text("FAILED tests/test_limits.py")
    expect(steps.locator(".step-added").first).to_be_visible()
    expect(steps.get_by_text("<script>alert(1)</script>")).to_be_visible()
    expect(steps.locator(".step-retry, .step").filter(has_text="The model did not answer")).to_contain_text(
        "Recovered"
    )
    expect(steps.locator(".step-running")).to_contain_text("docs/sign-in.md")
    expect(page.locator("#steps-meta")).to_contain_text("1 denied")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size({"width": 1440, "height": 900})
        steps.evaluate("each => { each.scrollTop = 0 }")
        picture(page, f"steps-{scheme}-1440")
        page.set_viewport_size(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        picture(page, f"steps-{scheme}-390")
    failed.get_by_text("Show all 41 lines").click()
    expect(failed.get_by_text("tests/test_0.py .")).to_be_visible()
    log(job, [gives("6", "Written."), text("All done."), END], writer)
    expect(steps.get_by_text("All done.")).to_be_visible()
    expect(page.locator("#steps-meta")).to_contain_text("$0.41")
    expect(steps.locator(".step-running")).to_have_count(0)
    page.get_by_role("link", name="Raw log").click()
    expect(page.locator(".log")).to_contain_text('"permission_denied"')


@pytest.mark.wide
def test_a_closed_drawer_asks_for_nothing_and_gives_the_focus_back(
    page: Page, sign_in: SignIn, world: World
) -> None:
    task, job, writer = at_work(world, STEPS[:2])
    sign_in(page, world.operator)
    page.goto(f"{at(world, 'task', task.name)}?station=implement#open=station-drawer")
    drawer = page.get_by_role("dialog", name="Implement")
    expect(drawer).to_be_visible()
    expect(page.locator(".shown-link[href$='station=implement#open=station-drawer']")).to_be_attached()
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    # It was opened by the address, so no link had the focus before.
    expect(page.locator("a[href$='#open=station-drawer']:focus")).to_have_count(1)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    log(job, STEPS[2:3], writer)
    world.report(task, {"exit_code": 0})
    expect(page.locator("main")).to_contain_text("Waiting for input")
    page.wait_for_function("() => !document.querySelector('.htmx-request')")
    assert not [url for url in asked if "fragment=station" in url or "within=drawer" in url]
    page.locator(".shown-link[href*='station=implement#open']").click()
    expect(drawer.locator("#station-runs")).to_contain_text("succeeded")


@pytest.mark.wide
def test_an_open_drawer_goes_on_by_itself(page: Page, sign_in: SignIn, world: World) -> None:
    """Without a reload: a step, the end of the run and why it went on; focus, scrolling and folds stay."""
    task, job, writer = at_work(world, STEPS)
    sign_in(page, world.operator)
    page.goto(f"{at(world, 'task', task.name)}?station=implement#open=station-drawer")
    drawer = page.get_by_role("dialog", name="Implement")
    steps, runs = drawer.get_by_role("log"), drawer.locator("#station-runs")
    expect(runs).to_contain_text("Running")
    page.evaluate("window.sameDocument = true")
    drawer.get_by_text("Show all 41 lines").click()
    steps.evaluate("each => { each.scrollTop = 40 }")
    drawer.get_by_role("link", name="Rules of this station").focus()
    log(job, [gives("6", "Written."), text("All done.")], writer)
    expect(steps.get_by_text("All done.")).to_be_attached()
    world.report(task, {"exit_code": 0})
    expect(runs).to_contain_text("succeeded")
    expect(drawer.get_by_text("Why it went on")).to_be_visible()
    expect(drawer.get_by_role("link", name="Rules of this station")).to_be_focused()
    expect(steps.get_by_text("tests/test_0.py .")).to_be_visible()
    assert steps.evaluate("each => each.scrollTop") == 40
    expect(steps.locator(".steps-tail")).to_have_count(0)
    assert page.evaluate("window.sameDocument")
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    page.locator(".shown-link[href*='station=implement#open']").click()
    expect(drawer).to_be_visible()


@pytest.mark.wide
def test_an_open_drawer_is_accessible_and_fits(page: Page, sign_in: SignIn, world: World) -> None:
    task, job, writer = at_work(world, STEPS)
    log(job, [END], writer)
    world.report(task, {"exit_code": 0})
    sign_in(page, world.operator)
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{at(world, 'task', task.name)}?station=implement#open=station-drawer")
    expect(page.get_by_role("dialog", name="Implement")).to_contain_text("Why it went on")
    for scheme in ("light", "dark"):
        for size in (DESKTOP, PHONE):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.set_viewport_size(size)
            assert grave(page) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            picture(page, f"drawer-{scheme}-{size['width']}")


@pytest.mark.wide
def test_ten_thousand_steps_are_shown_by_and_by(page: Page, sign_in: SignIn, world: World) -> None:
    lines = []
    for n in range(5_000):
        lines += [calls(str(n), "Bash", command=f"step {n}"), gives(str(n), "ok"), text(f"Said {n}.")]
    task, _job, _writer = at_work(world, lines)
    sign_in(page, world.operator)
    page.goto(at(world, "task", task.name))
    expect(page.get_by_text("Said 4999.")).to_be_visible()
    assert page.locator(".step").count() < 220
    page.get_by_role("link", name="Show the 200 before (9800 earlier steps)").click()
    expect(page.get_by_text("step 4801", exact=True)).to_be_attached()
    assert 350 < page.locator(".step").count() < 420
