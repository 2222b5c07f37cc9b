"""A station run by itself in a real browser, on a real worker: its log while it runs, its outcome as the next step of a
simulation; by mouse, by keyboard alone, cancelled, refused."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Event, Job, Line, StationTrial, Task
from tests.axe import grave
from tests.browser.canvas import add_station, node, rename_chosen, saved
from tests.browser.conftest import Enter
from tests.factories import World, document, station
from tests.fixtures.site import environment, manage, stop

DOCUMENT = document(
    key="drawn",
    inputs=[{"key": "who", "label": "Who"}],
    stations=[
        station("plan", {"id": "planned", "to": "build"}, name="Plan"),
        station(
            "build",
            {"id": "bad", "label": "Broken", "when": {"result": "failure"}, "to": "failed"},
            {"id": "built", "label": "Built", "to": "ship"},
            name="Build",
            kind="command",
            work={"argv": ["/bin/sh", "-c", 'echo "hello $0"; exit 3', "{{input.who}}"]},
        ),
        station(
            "slow",
            {"id": "slept", "to": "ship"},
            name="Slow",
            kind="command",
            work={"argv": ["/bin/sleep", "600"]},
        ),
        station("ship", {"id": "done", "to": "completed"}, name="Ship", kind="manual"),
    ],
)


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", DOCUMENT, world.admin)


@pytest.fixture
def canvas(line: Line, enter_canvas: Enter, tmp_path: Path) -> Iterator[Page]:
    worker: subprocess.Popen[bytes] = manage("worker", log=tmp_path / "worker.log", env=environment())
    yield enter_canvas(line)
    stop(worker)


def run_tab(page: Page) -> Locator:
    return page.get_by_role("region", name="Run this station")


def opened(page: Page, key: str) -> Locator:
    node(page, key).focus()
    page.keyboard.press("1")
    node(page, key).click()
    page.get_by_role("tab", name="Run", exact=True).click()
    return run_tab(page)


@pytest.mark.wide
def test_a_command_is_run_by_keyboard_and_by_mouse_and_its_outcome_is_the_next_step(canvas: Page) -> None:
    _runs_and_is_cancelled_by_keyboard_alone(canvas)
    add_station(canvas, "command")
    rename_chosen(canvas, "Say hello")
    canvas.get_by_role("tab", name="Configure").click()
    program = canvas.get_by_label("Program and arguments")
    program.fill("echo hello")
    program.press("Control+Enter")
    saved(canvas)
    canvas.get_by_role("tab", name="Run", exact=True).click()
    tab = run_tab(canvas)
    assert grave(canvas) == []
    tab.get_by_role("button", name="Run this station").click()
    expect(tab.get_by_role("region", name="Log of Say hello")).to_contain_text("hello")
    expect(tab.get_by_role("region", name="Outcome")).to_contain_text("Succeeded")
    assert grave(canvas) == []
    build = opened(canvas, "build")
    build.get_by_label("Who").fill("Ada")
    build.get_by_role("button", name="Run this station").click()
    expect(build.get_by_role("region", name="Log of Build")).to_contain_text("hello Ada")
    outcome = build.get_by_role("region", name="Outcome")
    expect(outcome).to_contain_text("Failed")
    expect(outcome).to_contain_text("Exit code 3")
    outcome.get_by_role("button", name="Use as the next step").click()
    test = canvas.get_by_role("complementary", name="Simulate this line")
    expect(test.get_by_role("button", name="Plan", exact=True)).to_be_visible()
    test.get_by_role("button", name="Take rule 1").first.click()
    test.get_by_role("button", name="Use the outcome of the real run").click()
    expect(test).to_contain_text("It ended: Failed")
    assert grave(canvas) == []
    assert (Task.objects.count(), Job.objects.count(), Event.objects.count()) == (0, 0, 0)


def _runs_and_is_cancelled_by_keyboard_alone(canvas: Page) -> None:
    node(canvas, "slow").focus()
    canvas.keyboard.press("Enter")
    canvas.keyboard.press("Shift+X")
    tab = run_tab(canvas)
    expect(tab.get_by_label("Run with")).to_be_focused()
    canvas.keyboard.press("Tab")
    expect(tab.get_by_label("Who")).to_be_focused()
    canvas.keyboard.press("Enter")
    cancel = tab.get_by_role("button", name="Cancel the run")
    expect(tab).to_contain_text("Running")
    canvas.keyboard.press("Tab")
    canvas.keyboard.press("Tab")
    expect(cancel).to_be_focused()
    canvas.keyboard.press("Enter")
    expect(tab).to_contain_text("Cancelled.")
    expect(tab.get_by_role("button", name="Run this station")).to_be_focused()
    assert [each.why for each in StationTrial.objects.all()] == ["cancelled"]


@pytest.mark.wide
def test_a_run_goes_on_while_something_else_is_chosen_and_is_there_again(canvas: Page) -> None:
    tab = opened(canvas, "slow")
    tab.get_by_role("button", name="Run this station").click()
    expect(tab).to_contain_text("Running")
    other = opened(canvas, "build")
    other.get_by_role("button", name="Run this station").click()
    expect(other.get_by_role("alert")).to_contain_text("Another station that you run is still going.")
    assert grave(canvas) == []
    canvas.reload()
    tab = opened(canvas, "slow")
    expect(tab).to_contain_text("Running")
    tab.get_by_role("button", name="Cancel the run").click()
    expect(tab).to_contain_text("Cancelled.")


@pytest.mark.wide
def test_who_may_only_look_or_runs_no_code_is_told_so(world: World, line: Line, enter_canvas: Enter) -> None:
    page = enter_canvas(line, world.designer)
    tab = opened(page, "build")
    tab.get_by_role("button", name="Run this station").click()
    expect(tab.get_by_role("alert")).to_contain_text("needs the permission “execute”")
    node(page, "ship").click()
    expect(page.get_by_role("tab", name="Configure")).to_be_visible()
    expect(page.get_by_role("tab", name="Run", exact=True)).to_have_count(0)


@pytest.mark.wide
def test_on_a_phone_it_runs_with_the_inputs_of_a_task_and_leads_to_the_simulation(
    world: World, page: Page, enter_canvas: Enter, tmp_path: Path
) -> None:
    version = world.line(DOCUMENT)
    task = world.start(version, inputs={"who": "Grace"})
    world.report(task, {"result": "success"})
    world.report(task, {"result": "success"})
    worker = manage("worker", log=tmp_path / "worker.log", env=environment())
    page.set_viewport_size({"width": 390, "height": 844})
    try:
        page = enter_canvas(version.line)
        page.locator(".ed-outline").get_by_role("button", name="Plan").first.click()
        page.get_by_role("tab", name="Run", exact=True).click()
        tab = run_tab(page)
        tab.get_by_label("Run with").select_option(label=f"{task.name} A task, run 1: Succeeded")
        expect(tab.get_by_label("Who")).to_have_count(0)
        tab.get_by_role("button", name="Run this station").click()
        tab.get_by_role("button", name="Use as the next step").click()
        expect(page.get_by_role("heading", name="Simulate this line")).to_be_focused()
        test = page.get_by_role("complementary", name="Simulate this line")
        expect(test.get_by_role("button", name="Build", exact=True)).to_be_visible()
    finally:
        stop(worker)
