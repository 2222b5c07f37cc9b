"""How an agent is signed in, chosen in the inspector of its station."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line
from tests.browser.canvas import draft, saved
from tests.browser.conftest import Enter
from tests.browser.formed import configure
from tests.factories import World, document


@pytest.fixture
def line(world: World) -> Line:
    work = {"kind": "agent", "agent": "claude", "prompt": "Do it.", "network": "open"}
    station = {"key": "fix", "work": work, "rules": [{"id": "on", "to": "completed"}]}
    return create_line(world.project, "agents", "Agents", document([station], key="agents"), world.admin)


@pytest.mark.wide
def test_an_agent_is_signed_in_by_a_key_or_on_the_runner(enter_canvas: Enter, line: Line) -> None:
    canvas: Page = enter_canvas(line)
    form = configure(canvas, "fix")
    choice = form.get_by_label("Signing in", exact=True)
    expect(choice).to_have_value("key")
    choice.select_option("runner")
    saved(canvas)
    assert draft(line)["stations"][0]["work"]["sign_in"] == "runner"
    expect(form.get_by_text("a runner that was started with --signed-in")).to_be_visible()
    form.get_by_label("Agent", exact=True).first.select_option("aider")
    saved(canvas)
    expect(form.get_by_label("Signing in", exact=True)).to_have_count(0)
