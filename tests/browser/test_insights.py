"""Insights in the browser: charts drawn from their tables, by keys too; the tables alone without scripts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import User
from tests.axe import grave
from tests.browser.looking import CARET
from tests.engine.test_sampling import NEVER
from tests.engine.test_sampling import line as sampling_line
from tests.factories import World
from tests.fixtures.browser import DESKTOP, PHONE
from tests.pages.conftest import at
from tests.pages.insights_data import seed
from tests.pages.test_sampling_fallback import fallen_back
from tests.reviews.test_human_minutes import approvals, waiting

pytestmark = [pytest.mark.browser, pytest.mark.broken, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]
NewContext = Callable[..., BrowserContext]
INK = """(chart) => {
  const canvas = chart.querySelector('canvas')
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data
  return data.some((value, place) => place % 4 === 3 && value > 0)
}"""
SIDEWAYS = "() => document.documentElement.scrollWidth - innerWidth"


@pytest.mark.parametrize(
    ("width", "theme"),
    [("1440", "light"), *(pytest.param(*case, marks=pytest.mark.wide) for case in
     (("1440", "dark"), ("390", "light"), ("390", "dark")))],
)  # fmt: skip
def test_charts_are_drawn_and_fit(
    new_context: NewContext, sign_in: SignIn, world: World, tmp_path: Path, width: str, theme: str
) -> None:
    """A picture of both pages is kept below the folder of the test."""
    seed(world)
    size = {"1440": DESKTOP, "390": PHONE}[width]
    context = new_context(viewport=size, color_scheme=theme, reduced_motion="reduce")
    sign_in(context, world.admin)
    page = context.new_page()
    for name, more in (("insights", ()), ("line-insights", ("release",))):
        page.goto(at(world, name, *more) + "?days=90")
        charts = page.locator(".chart")
        expect(charts).to_have_count(3)
        for chart in charts.all():
            expect(chart.locator("canvas")).to_be_visible()
            assert chart.evaluate(INK)
        page.screenshot(path=tmp_path / f"{name}-{width}-{theme}.png", full_page=True, caret=CARET)
        assert grave(page) == [] and page.evaluate(SIDEWAYS) == 0


@pytest.mark.wide
def test_a_chart_is_read_by_keys_and_as_a_table(page: Page, sign_in: SignIn, world: World) -> None:
    seed(world, tasks=12, days=5)
    sign_in(page, world.admin)
    page.goto(at(world, "insights") + "?days=7")
    card = page.locator("#throughput")
    readout, rows = card.locator(".chart-readout"), card.locator("tbody tr")
    expect(readout).to_contain_text("All: Accepted")
    card.locator(".chart-plot").press("ArrowRight")
    day = rows.first.locator("th").inner_text().strip()
    accepted = rows.first.locator("td").first.inner_text()
    expect(readout).to_have_text(f"{day} · Accepted {accepted} · Failed 0")
    button = card.get_by_role("button", name="Throughput as a table")
    expect(card.locator("table")).to_be_hidden()
    button.press("Enter")
    expect(card.locator("table")).to_be_visible()
    expect(card.locator("canvas")).to_be_hidden()
    expect(button).to_have_attribute("aria-pressed", "true")


@pytest.mark.wide
def test_without_scripts_there_are_the_tables(new_context: NewContext, sign_in: SignIn, world: World) -> None:
    seed(world, tasks=6, days=5)
    context = new_context(java_script_enabled=False)
    sign_in(context, world.admin)
    page = context.new_page()
    page.goto(at(world, "insights"))
    for key in ("throughput", "lead-time", "approval", "cost", "by-line", "time", "gates", "agents"):
        expect(page.locator(f"#{key} table")).to_be_visible()
    expect(page.locator(".chart-plot, [data-table-toggle]").locator("visible=true")).to_have_count(0)


@pytest.mark.wide
def test_a_sample_is_proposed_where_its_evidence_stands_and_sampled_again_after_it_fell_back(
    page: Page, sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    visit = waiting(world)
    world.vote(visit.task, "approve")
    visit.refresh_from_db()
    approvals(visit, 199)
    fallen_back(world, sampling_line(world, NEVER))
    sign_in(page, world.admin)
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(at(world, "insights"))
        page.get_by_role("button", name="Propose 1 in 5").scroll_into_view_if_needed()
        page.screenshot(path=tmp_path / f"sampling-{width}.png", full_page=True, caret=CARET)
        assert grave(page) == [] and page.evaluate(SIDEWAYS) == 0
    page.get_by_role("button", name="Sample again").click()
    expect(page.get_by_text("The gate asks about a sample again")).to_be_visible()
    expect(page.get_by_text("Gates that ask about all again")).to_have_count(0)
    page.get_by_role("button", name="Propose 1 in 5").click()
    expect(page.get_by_text("asks about 1 in 5. Publish it to begin.")).to_be_visible()
    expect(page.get_by_role("button", name="Publish", exact=False).first).to_be_visible()
    page.screenshot(path=tmp_path / "publish.png", full_page=True, caret=CARET)
