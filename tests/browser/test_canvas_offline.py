"""The server is killed while somebody draws, or the session ends, or the browser has no room: nothing typed is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import BrowserContext, Dialog, Page, expect

from pipelines.formats import native
from pipelines.models import Comment, Line, User
from tests.browser.canvas import SAVING, add_station, node, rename_chosen, saved
from tests.browser.conftest import Open
from tests.factories import World
from tests.fixtures.site import Site, start_web, stop
from tests.pages.conftest import at


class Mortal:
    """A web process that can be killed and comes back at the same address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.site = self._start(0)

    def _start(self, port: int) -> Site:
        return start_web(self.folder, port, DJANGO_SETTINGS_MODULE="tests.settings")

    def kill(self) -> None:
        self.site.process.kill()
        self.site.process.wait()

    def rise(self) -> None:
        self.site = self._start(urlsplit(self.site.url).port or 0)


@pytest.fixture
def server(transactional_db: None, tmp_path: Path) -> Iterator[Mortal]:
    mortal = Mortal(tmp_path)
    yield mortal
    stop(mortal.site.process)


def keys(line: Line) -> list[str]:
    line.refresh_from_db()
    return [station["key"] for station in line.draft["stations"]]


@pytest.mark.wide
def test_a_killed_server_loses_nothing_and_everything_is_saved_when_it_is_back(
    world: World, drawn: Line, server: Mortal, open_canvas: Open
) -> None:
    page = open_canvas(world.admin, base_url=server.site.url)
    server.kill()
    add_station(page)
    expect(page.get_by_role("alert").first).to_contain_text("The server cannot be reached")
    expect(page.locator(".ed-save")).to_have_text("Not saved")
    node(page, "build").click()
    rename_chosen(page, "Compile")
    page.get_by_role("tab", name="Comments").click()
    page.get_by_label("Comment on Compile").fill("Kept")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Not sent")).to_be_visible()
    server.rise()
    saved(page)
    assert keys(drawn) == ["build", "ship", "manual"]
    assert drawn.draft["stations"][0]["name"] == "Compile"
    page.get_by_label("Comment on Compile").press("Control+Enter")
    expect(page.get_by_role("article")).to_contain_text("Kept")
    expect(page.get_by_label("Comment on Compile")).to_have_value("")
    assert Comment.objects.count() == 1


@pytest.mark.wide
def test_a_page_that_was_closed_before_the_server_came_back_goes_on_where_it_was(
    world: World, drawn: Line, server: Mortal, open_canvas: Open
) -> None:
    page = open_canvas(world.admin, base_url=server.site.url)
    node(page, "ship").click()
    page.get_by_role("tab", name="Configure").click()
    field = page.get_by_label("Instructions")
    expect(field).to_be_visible()
    server.kill()
    field.fill("Half a sen")
    page.get_by_role("tab", name="Comments").click()
    page.get_by_label("Comment on Ship").fill("Half a comm")
    add_station(page)
    expect(page.get_by_role("alert").first).to_contain_text("The server cannot be reached")
    asked: list[Dialog] = []
    page.on("dialog", lambda dialog: (asked.append(dialog), dialog.accept()))
    page.close(run_before_unload=True)
    server.rise()
    again = open_canvas(world.admin, page.context)
    assert asked == [], "what is kept in the browser is no reason to ask"
    saved(again)
    expect(node(again, "manual")).to_be_visible()
    assert keys(drawn) == ["build", "ship", "manual"]
    node(again, "ship").click()
    again.get_by_role("tab", name="Comments").click()
    expect(again.get_by_label("Comment on Ship")).to_have_value("Half a comm")
    again.get_by_role("tab", name="Configure").click()
    expect(again.get_by_label("Instructions")).to_have_value("Half a sen")


@pytest.mark.wide
def test_a_template_changed_offline_is_saved_when_it_is_opened_again(
    world: World, new_context: Callable[..., BrowserContext], sign_in: Callable[..., None]
) -> None:
    context = new_context()
    sign_in(context, world.admin)
    page = context.new_page()
    page.goto(at(world, "lines-new"))
    page.get_by_role("button", name="Use this template").first.click()
    expect(page.locator(".ed-station").first).to_be_visible()
    line = Line.objects.get(key=page.url.rstrip("/").split("/")[-2])
    [first, *_] = line.draft["stations"]
    comments = [each for each in line.draft_text.splitlines() if each.lstrip().startswith("#")]
    assert comments, "a template comes with a text that was typed"
    context.set_offline(True)
    node(page, first["key"]).click()
    rename_chosen(page, "Renamed while away")
    expect(page.get_by_role("alert").first).to_contain_text("The server cannot be reached")
    again = context.new_page()
    with page.expect_event("close"):
        page.close(run_before_unload=True)
    context.set_offline(False)
    again.goto(at(world, "line-draw", line.key))
    expect(node(again, first["key"])).to_contain_text("Renamed while away")
    saved(again)
    line.refresh_from_db()
    assert line.draft["stations"][0]["name"] == "Renamed while away"
    assert native.loads(line.draft_text) == line.draft
    assert [each for each in line.draft_text.splitlines() if each.lstrip().startswith("#")] == comments


@pytest.mark.wide
def test_a_second_tab_leaves_what_the_first_has_not_saved_to_the_first(
    world: World, drawn: Line, open_canvas: Open
) -> None:
    first = open_canvas(world.admin)
    first.route(SAVING, lambda route: route.abort())
    add_station(first)
    expect(first.get_by_role("alert").first).to_contain_text("The server cannot be reached")
    second = open_canvas(world.admin, first.context)
    node(second, "build").click()
    rename_chosen(second, "Compile")
    saved(second)
    expect(node(second, "manual")).to_have_count(0)
    first.unroute(SAVING)
    saved(first)
    assert keys(drawn) == ["build", "ship", "manual"]
    assert drawn.draft["stations"][0]["name"] == "Compile"
    expect(node(second, "manual")).to_be_visible()


@pytest.mark.wide
def test_who_was_signed_out_meanwhile_signs_in_again_and_loses_nothing(
    world: World,
    drawn: Line,
    open_canvas: Open,
    sign_in: Callable[[Page | BrowserContext, User], None],
) -> None:
    page = open_canvas(world.admin)
    Session.objects.all().delete()
    add_station(page)
    # The form of what is chosen says so, too.
    banner = page.locator(".ed-middle").get_by_role("alert").filter(has_text="You are signed out")
    expect(banner.get_by_role("link", name="Sign in")).to_be_visible()
    expect(banner.get_by_role("button", name="Try again")).to_be_enabled()
    assert keys(drawn) == ["build", "ship"]
    sign_in(page, world.admin)
    # Coming back from the other tab is enough.
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    saved(page)
    assert keys(drawn) == ["build", "ship", "manual"]


@pytest.mark.wide
def test_a_browser_without_room_says_so_and_asks_before_it_leaves(
    world: World, drawn: Line, open_canvas: Open
) -> None:
    page = open_canvas(world.admin)
    page.evaluate(
        """() => { Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError") } }"""
    )
    page.route(SAVING, lambda route: route.abort())
    add_station(page)
    expect(page.get_by_role("alert").filter(has_text="no room")).to_be_visible()
    with page.expect_event("dialog") as asked:
        page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    asked.value.dismiss()
    page.unroute(SAVING)
    saved(page)
    expect(page.get_by_text("no room")).to_have_count(0)
    assert keys(drawn) == ["build", "ship", "manual"]
