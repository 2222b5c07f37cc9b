"""The forms of the canvas in a real browser: a field applies when it is left, as one step that undo takes back; what is
refused, late, or cannot be sent stays where it was typed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from pipelines.lines import scenarios
from pipelines.lines.publishing import create_line
from pipelines.models import Line
from tests.browser.canvas import draft, line_settings, saved
from tests.browser.conftest import Enter
from tests.browser.formed import DOCUMENT, configure, unfold
from tests.factories import World


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "formed", "Formed", DOCUMENT, world.admin)


@pytest.fixture
def canvas(line: Line, enter_canvas: Enter) -> Page:
    return enter_canvas(line)


@pytest.mark.wide
def test_a_field_applies_when_it_is_left_and_undo_takes_exactly_that_back(canvas: Page, line: Line) -> None:
    form = configure(canvas, "build")
    form.get_by_label("Program and arguments", exact=True).fill("make 'all of it' {{ input.who }}")
    form.get_by_label("Environment", exact=True).click()
    saved(canvas)
    changed = draft(line)["stations"][0]
    assert changed["work"]["argv"] == ["make", "all of it", "{{ input.who }}"]
    assert changed["extra"] == {"theirs": 1}
    assert changed["rules"] == DOCUMENT["stations"][0]["rules"]
    expect(form.get_by_label("Environment", exact=True)).to_be_focused()
    canvas.keyboard.press("Control+z")
    expect(form.get_by_label("Program and arguments", exact=True)).to_have_value("make {{input.who}}")
    saved(canvas)
    assert draft(line)["stations"] == DOCUMENT["stations"]


def test_what_is_refused_says_so_at_its_field_and_keeps_nothing_else_back(canvas: Page, line: Line) -> None:
    form = configure(canvas, "build")
    unfold(form, "Limits")
    expected = form.get_by_label("Expected duration", exact=True)
    expected.fill("soon")
    form.get_by_label("Timeout", exact=True).fill("5m")
    form.get_by_label("No-output timeout", exact=True).click()
    expect(expected).to_have_accessible_description(re.compile("text like 90s, 5m, 2h, 1d"))
    expect(expected).to_have_attribute("aria-invalid", "true")
    saved(canvas)
    assert draft(line)["stations"][0]["limits"] == {"max_timeout": "5m"}
    expect(canvas.locator(".ed-save")).to_have_text("1 field not saved")
    expect(canvas.get_by_role("button", name="Publish", exact=True)).to_have_attribute(
        "aria-disabled", "true"
    )
    canvas.locator('.react-flow__node[data-id="check"]').click()
    expect(canvas.locator(".ef-form").get_by_label("Instructions", exact=True)).to_be_visible()
    canvas.locator('.react-flow__node[data-id="build"]').click()
    expect(expected).to_have_value("soon")
    expected.focus()
    canvas.keyboard.press("Escape")
    expect(expected).to_have_value("")
    expect(expected).not_to_have_attribute("aria-invalid", "true")
    expect(canvas.locator(".ed-save")).to_have_text("Saved")


@pytest.mark.wide
def test_a_new_key_is_followed_by_everything_that_names_the_station(canvas: Page, line: Line) -> None:
    form = configure(canvas, "build")
    form.get_by_label("Key", exact=True).fill("check")
    canvas.keyboard.press("Enter")
    expect(form).to_contain_text("The station “check” appears twice")
    form.get_by_label("Key", exact=True).fill("compile")
    canvas.keyboard.press("Tab")
    expect(form.get_by_label("Key", exact=True)).to_have_value("compile")
    expect(form.get_by_label("Kind of work", exact=True)).to_be_focused()
    saved(canvas)
    renamed = draft(line)
    assert [station["key"] for station in renamed["stations"]] == ["compile", "check"]
    again = renamed["stations"][1]["rules"][0]
    assert again["to"] == "compile"
    assert again["when"] == {"not": {"edge": {"from": "compile", "to": "check", "at_least": 3}}}
    assert (renamed["start"], renamed["policy"]) == ("compile", {"on_failure": "station:compile"})
    assert renamed["gates"][0]["on_reject"] == "route:compile"
    canvas.locator(".ed-canvas").focus()
    canvas.keyboard.press("Control+z")
    saved(canvas)
    assert draft(line) == DOCUMENT


@pytest.mark.wide
def test_a_new_key_takes_scenarios_along_and_names_what_it_cannot(world: World, enter_canvas: Enter) -> None:
    check = {
        **DOCUMENT["stations"][1],
        "work": {"kind": "command", "argv": ["echo", "{{.build_error}} {{edge_count:build->check}}"]},
        "rules": [
            {"id": "far", "when": {"fact": {"path": "$..build.tests", "op": "exists"}}, "to": "build"},
            {
                "id": "near",
                "when": {"fact": {"path": "$.stations.build.tests", "op": "exists"}},
                "to": "build",
            },
            {"id": "done", "to": "completed"},
        ],
    }
    drawn = {**DOCUMENT, "stations": [DOCUMENT["stations"][0], check], "jumps": ["build"]}
    line = create_line(world.project, "formed", "Formed", drawn, world.admin)
    script = {"key": "s", "steps": [{"at": "build", "outcome": {"result": "success"}}]}
    scenarios.store_scenario(line, script, world.admin, timezone.now())
    page = enter_canvas(line)
    form = configure(page, "build")
    form.get_by_label("Key", exact=True).fill("compile")
    page.keyboard.press("Tab")
    notice = page.locator(".ed-notice")
    expect(notice).to_have_text(re.compile(r"changed by hand: Check: \$\.\.build\.tests"))
    saved(page)
    renamed = draft(line)
    assert renamed["stations"][1]["work"]["argv"][1] == "{{.compile_error}} {{edge_count:compile->check}}"
    assert renamed["stations"][1]["rules"][1]["when"]["fact"]["path"] == "$.stations.compile.tests"
    assert renamed["jumps"] == ["compile"]
    assert line.scenarios.get().document["steps"][0]["at"] == "compile"


@pytest.mark.wide
def test_what_is_typed_while_the_server_is_away_is_applied_when_it_is_back(canvas: Page, line: Line) -> None:
    form = configure(canvas, "build")
    canvas.context.set_offline(True)
    form.get_by_label("Folder", exact=True).fill("src")
    canvas.keyboard.press("Enter")
    trouble = canvas.get_by_role("tabpanel").get_by_role("alert")
    expect(trouble).to_contain_text("What you typed is kept here")
    canvas.locator('.react-flow__node[data-id="check"]').click()
    canvas.context.set_offline(False)
    expect(canvas.locator(".ef-form").get_by_label("Instructions", exact=True)).to_be_visible()
    expect(trouble).to_have_count(0)
    expect(canvas.locator(".ed-tools").get_by_role("button", name="Undo")).to_be_enabled()
    saved(canvas)
    assert draft(line)["stations"][0]["work"]["cwd"] == "src"


@pytest.mark.wide
def test_what_is_taken_back_while_the_server_is_away_is_waited_for_no_more(canvas: Page, line: Line) -> None:
    form, count = configure(canvas, "build"), canvas.locator("button.ed-count")
    folder = form.get_by_label("Folder", exact=True)
    expect(folder).to_have_value("")
    canvas.context.set_offline(True)
    folder.fill("src")
    canvas.keyboard.press("Enter")
    trouble = canvas.get_by_role("tabpanel").get_by_role("alert")
    expect(trouble).to_contain_text("What you typed is kept here")
    expect(count).to_have_text("Checking…")
    folder.fill("")
    canvas.context.set_offline(False)
    expect(trouble).to_have_count(0)
    expect(count).not_to_have_text("Checking…")
    assert draft(line) == DOCUMENT


@pytest.mark.wide
def test_an_answer_that_comes_late_takes_nothing_from_what_was_typed_since(canvas: Page, line: Line) -> None:
    form = configure(canvas, "build")
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    canvas.route("**/draft/forms/station", hold_the_first)
    form.get_by_label("Folder", exact=True).fill("src")
    with canvas.expect_request("**/draft/forms/station"):
        canvas.keyboard.press("Enter")
    form.get_by_label("Folder", exact=True).fill("lib")
    form.get_by_label("Standard input", exact=True).fill("half a sen")
    held[0].continue_()
    saved(canvas)
    expect(form.get_by_label("Folder", exact=True)).to_have_value("lib")
    expect(form.get_by_label("Standard input", exact=True)).to_have_value("half a sen")
    expect(form.get_by_label("Standard input", exact=True)).to_be_focused()
    work = draft(line)["stations"][0]["work"]
    assert (work["cwd"], work["prompt"]) == ("lib", "half a sen")


@pytest.mark.wide
def test_the_start_opens_the_inputs_and_shows_the_form_that_they_make(canvas: Page, line: Line) -> None:
    canvas.locator('.react-flow__node[data-id="@start"]').click()
    expect(canvas.get_by_role("button", name="Inputs", expanded=True)).to_be_visible()
    form, preview = canvas.locator(".ef-form"), canvas.locator(".ef-preview")
    expect(preview).to_contain_text("Whom to greet")
    form.get_by_role("button", name="Add a field").click()
    row = form.locator(".ef-row").last
    expect(row.get_by_label("Label", exact=True)).to_be_focused()
    canvas.keyboard.type("How loud")
    row.get_by_label("Type", exact=True).select_option("choice")
    expect(form).to_contain_text("A choice lists its choices")
    row.get_by_label("Choices", exact=True).fill("softly\nloudly")
    row.get_by_label("Must be filled in", exact=True).check()
    expect(preview.get_by_label("How loud").locator("option")).to_have_text(["Choose", "softly", "loudly"])
    form.locator("summary", has_text="Whom to greet").click()
    form.get_by_label("Key", exact=True).first.fill("whom")
    form.get_by_role("button", name="Move How loud up").click()
    expect(form.get_by_role("button", name="Delete How loud")).to_be_visible()
    saved(canvas)
    assert [field["label"] for field in draft(line)["inputs"]] == ["How loud", "Whom to greet"]
    assert draft(line)["inputs"][0]["choices"] == ["softly", "loudly"]
    assert draft(line)["stations"][0]["work"]["argv"] == ["make", "{{input.whom}}"]


@pytest.mark.wide
def test_a_gate_is_made_with_people_of_the_project_and_asked_by_nobody_once_deleted(
    canvas: Page, line: Line, world: World
) -> None:
    reviewer = world.reviewer.username
    line_settings(canvas, "Gates")
    canvas.get_by_role("button", name="Add a gate").click()
    form = canvas.locator(".ef-form")
    form.get_by_role("button", name="Add a requirement").click()
    form.get_by_label("Asked is a", exact=True).select_option("user")
    person = form.get_by_role("combobox", name="Person")
    person.fill(reviewer)
    canvas.keyboard.press("Enter")
    canvas.keyboard.press("Tab")
    saved(canvas)
    assert draft(line)["gates"][1]["approval"] == {"who": [{"user": reviewer}]}
    canvas.get_by_role("button", name="Close").click()
    canvas.get_by_role("button", name="Look asked once").click()
    canvas.get_by_role("button", name="Delete gate").click()
    saved(canvas)
    assert [gate["key"] for gate in draft(line)["gates"]] == ["review"]
    assert "gates" not in draft(line)["stations"][0]["rules"][0]


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_form_is_accessible(canvas: Page, theme: Any) -> None:
    canvas.emulate_media(color_scheme=theme)
    found = []
    form = canvas.locator(".ef-form")
    expect(form).to_be_visible()
    found += violations(canvas)
    for key in ("build", "check"):
        configure(canvas, key).evaluate(
            "form => form.querySelectorAll('details').forEach(each => each.open = true)"
        )
        found += violations(canvas)
    canvas.locator('.react-flow__node[data-id="@start"]').click()
    expect(canvas.locator(".ef-preview")).to_be_visible()
    found += violations(canvas)
    line_settings(canvas, "Gates")
    canvas.get_by_role("button", name="Look asked once").click()
    expect(form.get_by_label("What is asked", exact=True)).to_be_visible()
    found += violations(canvas)
    assert found == []


def violations(page: Page) -> list[str]:
    found = Axe().run(page, {"include": [[".ed-inspector"]]}).response["violations"]
    return [f"{each['id']}: {node['html'][:160]}" for each in found for node in each["nodes"]]


@pytest.mark.wide
def test_a_viewer_reads_the_form_and_can_change_nothing(
    line: Line, world: World, enter_canvas: Enter
) -> None:
    form = configure(enter_canvas(line, world.viewer), "build")
    expect(form.get_by_label("Program and arguments", exact=True)).to_be_disabled()
    expect(form.get_by_label("Program and arguments", exact=True)).to_have_value("make {{input.who}}")
