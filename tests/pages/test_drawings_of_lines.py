"""Drawings of a line as images and files: for whoever may see it, of the newest draft alone, and taken from a browser
where the server cannot draw."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from pipelines.lines import drawings, publishing
from pipelines.models import Drawing, Line
from pipelines.web.editor import drawing_tasks
from pipelines.web.lines.images import IMMUTABLE, TONES
from pipelines.work.scheduler.scheduler import Scheduler
from tests.factories import World, make_member, make_project
from tests.pages.conftest import As, at, door
from tests.pages.test_stored_drawings import draw_all, simple
from tests.waiting import eventually
from tests.work.driving import in_thread
from tests.work.test_queue import Taken

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("not_requested")]


def lines_page(world: World, client: Client) -> str:
    return client.get(at(world, "lines")).content.decode()


def images_in(page: str) -> list[str]:
    return re.findall(r'class="line-image"\s+src="([^"]+)"', page)


def test_a_list_shows_the_live_version_as_an_image_that_is_kept(world: World, signed_in: As) -> None:
    version = world.line(simple())
    client = signed_in(world.viewer)
    assert images_in(lines_page(world, client)) == []
    drawing_tasks._draw_version(version.pk)
    [address] = images_in(lines_page(world, client))
    answer = client.get(address)
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/svg+xml; charset=utf-8")
    assert answer["Cache-Control"] == IMMUTABLE
    assert "script" not in answer["Content-Security-Policy"]
    assert ElementTree.fromstring(answer.content).tag.endswith("svg")
    assert "<title>Build</title>" in answer.content.decode()
    drawing_tasks._draw_version(world.line(simple() | {"name": "Renamed"}).pk)
    assert images_in(lines_page(world, client)) != [address]


def test_an_image_is_for_its_own_project(world: World, signed_in: As) -> None:
    version = world.line(simple())
    drawing_tasks._draw_version(version.pk)
    [address] = images_in(lines_page(world, signed_in(world.viewer)))
    digest = Path(address).stem
    other = make_project("other", owner="elsewhere")
    client = signed_in(make_member(other, "admin", "their-admin"))
    assert client.get(address).status_code == 404
    assert client.get(reverse("drawing", args=[other.owner.key, other.key, digest])).status_code == 404
    assert Client().get(address).status_code == 302


def test_a_list_of_many_lines_takes_as_many_statements(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)

    def statements(count: int) -> int:
        row = Drawing.objects.create(
            project=world.project,
            digest=str(count),
            picture={},
            wide="<svg/>",
            narrow="<svg/>",
            used_at="2026-01-01T00:00:00Z",
        )
        for number in range(count):
            name = f"l{count}-{number}"
            line = publishing.create_line(world.project, name, name, simple() | {"key": name}, world.admin)
            Line.objects.filter(pk=line.pk).update(drawing=row)
        lines_page(world, client)
        with CaptureQueriesContext(connection) as captured:
            page = lines_page(world, client)
        assert len(images_in(page)) >= count
        return len(captured)

    assert statements(2) == statements(20)


def test_the_tones_of_an_image_are_those_of_the_page() -> None:
    tokens = Path(settings.BASE_DIR, "static", "css", "tokens.css").read_text()
    declared = dict(re.findall(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}, #[0-9a-f]{6})\)", tokens))
    own = {name: ", ".join(pair) for name, pair in TONES.items() if name in declared}
    assert own == {name: declared[name] for name in own}
    assert {*TONES} - {*own} == {"text"}


@pytest.mark.django_db(transaction=True)
async def test_five_drafts_in_a_second_make_one_drawing(world: World) -> None:
    def saved() -> Line:
        line = publishing.create_line(world.project, "line", "Line", simple(), world.designer)
        for number in range(1, 6):
            changed = simple() | {"name": f"Draft {number + 1}"}
            line = publishing.save_draft(line, changed, world.designer, number)
        return line

    scheduler = Scheduler(1, 2.0)
    running = asyncio.create_task(scheduler.run(Taken(), lambda: 0.0))
    try:
        line = await in_thread(saved)

        def drawn() -> list[str]:
            assert not running.done(), running.result()
            return [row.wide for row in Drawing.objects.exclude(wide="")]

        [svg] = await eventually(lambda: in_thread(drawn), "the drawing")
        assert "<title>Draft 6</title>" in svg

        def waiting() -> int:
            text = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
            with connection.cursor() as cursor:
                cursor.execute(text)
                return int(cursor.fetchone()[0])

        async def all_taken() -> bool:
            return await in_thread(waiting) == 0

        await eventually(all_taken, "every ticket")
        # For pages, and for the canvas, which knows more of its rules.
        assert await in_thread(Drawing.objects.count) == 2
        await in_thread(line.refresh_from_db)
        assert line.drawing_id is not None
    finally:
        scheduler.end()
        await eventually(running.done, "the end")
        await asyncio.to_thread(scheduler.close)


def test_a_published_line_s_draft_is_drawn_as_its_page_compares_it(world: World, signed_in: As) -> None:
    line = world.line(simple()).line
    line = publishing.save_draft(line, simple() | {"name": "Next"}, world.admin, line.draft_number)
    drawing_tasks._draw_draft(line.pk, line.draft_number - 1)
    assert not Drawing.objects.exists()
    drawing_tasks._draw_draft(line.pk, line.draft_number)
    draw_all()
    page = signed_in(world.admin).get(at(world, "line-publish", line.key)).content.decode()
    assert page.count("<svg xmlns") == len(drawings.FRAMES)


def test_the_file_of_a_version_and_of_the_draft(world: World, signed_in: As) -> None:
    line = world.line(simple()).line
    client = signed_in(world.viewer)
    address = door(world, "/drawing", line.key)
    pending = client.get(address)
    assert (pending.status_code, "Try again" in pending.json()["detail"]) == (409, True)
    draw_all()
    for version, name in (("", "1"), ("1", "1"), ("draft", "draft")):
        client.get(address, {"version": version})
        draw_all()
        answer = client.get(address, {"version": version}).json()
        assert answer["version"] == name
        for frame in drawings.FRAMES:
            assert answer[frame]["svg"].count("<g data-station=") == 2
            keys = {part["key"] for part in answer[frame]["geometry"]["placed"]["parts"]}
            assert {"build", "ship"} <= keys
    assert client.get(address, {"version": "7"}).status_code == 404
    other = make_project("other", owner="elsewhere")
    assert signed_in(make_member(other, "admin", "their-admin")).get(address).status_code == 404


FORGERIES: dict[str, Callable[[dict[str, Any]], None]] = {
    "The station “ship” has no place": lambda placed: placed["parts"].pop(
        next(index for index, part in enumerate(placed["parts"]) if part["key"] == "ship")
    ),
    "The part “ship” has 2 places": lambda placed: placed["parts"].append({"key": "ship", "x": 0, "y": 0}),
    "The part “other” has a place": lambda placed: placed["parts"].append({"key": "other", "x": 0, "y": 0}),
    "The gate of the rule “good” has no place": lambda placed: placed["gates"].clear(),
    "The gate “bad” has a place": lambda placed: placed["gates"].append({"key": "bad", "x": 0, "y": 0}),
    "The edge of the rule “good” has no place": lambda placed: placed.update(
        ways=[way for way in placed["ways"] if way["rule"] != "good"]
    ),
    "The edge “good → ship” has 2 places": lambda placed: placed["ways"].append(
        next(way for way in placed["ways"] if way["rule"] == "good")
    ),
    "The edge “bad” has a place": lambda placed: placed["ways"].append(
        {"rule": "bad", "target": "ship", "points": [[0, 0], [1, 1]], "back": False}
    ),
}


def test_where_no_node_runs_a_browser_s_drawing_is_checked(
    world: World, signed_in: As, request: pytest.FixtureRequest
) -> None:
    version = world.line(simple())
    client = signed_in(world.designer)
    page = at(world, "line", version.line.key)
    client.get(page)
    good = drawings.DRAWER.drawings_wide_and_narrow(Drawing.objects.get().picture)
    digest = Drawing.objects.get().digest
    address = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}/drawings/{digest}"

    def hand_over(drawing: dict[str, Any], by: Client = client) -> Any:
        return by.put(address, json.dumps(drawing), "application/json")

    # The server draws itself, and takes none of anybody.
    assert hand_over(good).status_code == 409
    request.getfixturevalue("no_node")
    content = client.get(page).content.decode()
    assert f'data-hand-over="/api/v1{address.removeprefix("/api")}"' in content
    assert "the server has no Node" in content
    assert address not in signed_in(world.viewer).get(page).content.decode()
    assert "no Node" in client.get(door(world, "/drawing", version.line.key)).json()["detail"]
    for message, forge in FORGERIES.items():
        forged = deepcopy(good)
        forge(forged["narrow"]["geometry"]["placed"])
        answer = hand_over(forged)
        assert answer.status_code == 400, message
        [fault] = answer.json()["errors"]
        assert (fault["path"], message in fault["message"], bool(fault["hint"])) == ("narrow", True, True)
    for old, new in (("<title>Ship</title>", "<title>Shop</title>"), ("</svg>", "<script/></svg>")):
        forged = deepcopy(good)
        forged["wide"]["svg"] = forged["wide"]["svg"].replace(old, new)
        assert hand_over(forged).json()["errors"][0]["path"] == "wide"
    for number in ("NaN", "1e999", "1e8"):
        text = re.sub(r'"x": [-0-9.]+', f'"x": {number}', json.dumps(good), count=1)
        assert client.put(address, text, "application/json").status_code in (400, 422)
    assert not Drawing.objects.get().wide
    assert client.get(page).status_code == 200
    assert hand_over(good, signed_in(world.viewer)).status_code == 403
    assert hand_over(good).status_code == 204
    assert hand_over(good).status_code == 409
    assert client.get(page).content.decode().count("<svg xmlns") == len(drawings.FRAMES)
    other = make_project("other", owner="elsewhere")
    stranger = signed_in(make_member(other, "admin", "their-admin"))
    assert hand_over(good, stranger).status_code == 404
    own = address.replace(
        f"/{world.project.owner.key}/projects/{world.project.key}/", "/elsewhere/projects/other/"
    )
    assert stranger.put(own, json.dumps(good), "application/json").status_code == 404
