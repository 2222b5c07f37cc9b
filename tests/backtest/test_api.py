"""Back-tests over HTTP: what is answered, and by whom it may be asked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from pipelines.formats import native
from pipelines.lines.backtest import stream
from pipelines.models import Task
from tests.api.conftest import Api, Apis
from tests.backtest.test_run import line
from tests.factories import World

pytestmark = [
    pytest.mark.django_db,
    # The test client is no asynchronous server: it collects what it is sent.
    pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators"),
]
PATH = "/lines/line/backtest"


@pytest.fixture
def api(world: World) -> Apis:
    return Apis(world)


@pytest.fixture
def task(world: World) -> Task:
    task = world.start(world.line(line()))
    world.report(task)
    world.report(task)
    return task


def said(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"] == "application/x-ndjson"
    return [json.loads(each) for each in b"".join(answer).splitlines()]


def test_the_draft_is_tried_unless_another_is_named(world: World, api: Apis, task: Task) -> None:
    viewer = api.as_(world.viewer)
    assert [each["type"] for each in said(viewer.get(PATH))] == ["progress", "progress", "result"]
    assert [said(viewer.get(f"{PATH}?to={to}"))[-1]["against"] for to in ("draft", "live", "1")] == [
        "draft",
        "1",
        "1",
    ]


def test_a_document_is_tried_without_being_stored(world: World, api: Apis, task: Task) -> None:
    answer = api.as_(world.viewer).client.post(
        f"{api.as_(world.viewer).base}{PATH}",
        native.dumps(line("other")),
        "application/yaml",
        headers=api.as_(world.viewer).headers,
    )
    told = said(answer)
    assert (told[1]["task"], told[1]["verdict"]) == (task.name, "different")
    assert told[-1]["decisions"] | {"total": 2} == told[-1]["decisions"]
    assert told[-1]["decisions"]["different"] == 1
    assert task.line.versions.count() == 1


def test_tasks_are_left_out_where_nobody_wants_them(world: World, api: Apis, task: Task) -> None:
    draft = api.as_(world.designer)
    draft.put("/lines/line/draft?based_on=1", native.dumps(line("other")))
    assert "task" in {each["type"] for each in said(draft.get(PATH))}
    assert "task" not in {each["type"] for each in said(draft.get(f"{PATH}?each_task=false"))}


@pytest.mark.parametrize(
    ("query", "status", "path"),
    [
        ("to=9", 404, ""),
        ("to=x", 404, ""),
        ("since=soon", 400, "since"),
        ("limit=0", 400, "limit"),
        ("tasks=some", 400, "tasks"),
        ("versions=a", 400, "versions"),
    ],
)
def test_what_cannot_be_tried_is_refused_before_anything_is_read(
    world: World, api: Apis, task: Task, query: str, status: int, path: str
) -> None:
    answer = api.as_(world.viewer).get(f"{PATH}?{query}")
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert [place["path"] for place in answer.json()["errors"]] == ([path] if path else [])


def test_a_draft_that_is_no_line_is_refused_with_its_places(world: World, api: Apis, task: Task) -> None:
    task.line.draft = {**line(), "stations": [{"key": "build", "work": {"kind": "command"}}]}
    task.line.save()
    answer = api.as_(world.viewer).get(PATH)
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (400, "stations[0].work.argv")


@pytest.mark.parametrize("body", ["", "[]", "a: \0", "stations: 5"])
def test_a_body_that_is_no_line_is_refused(world: World, api: Apis, task: Task, body: str) -> None:
    assert api.as_(world.viewer).post(PATH, body).status_code == 400


def test_for_a_stranger_there_is_no_such_line(world: World, api: Apis, task: Task) -> None:
    stranger: Api = api.as_(world.stranger)
    assert (stranger.get(PATH).status_code, stranger.post(PATH, {}).status_code) == (404, 404)


def test_more_than_a_few_at_once_are_refused_as_the_last_line(
    world: World, api: Apis, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = [stream._free.acquire(blocking=False) for _ in range(stream.AT_ONCE)]
    try:
        [refused] = said(api.as_(world.viewer).get(PATH))
    finally:
        for _ in taken:
            stream._free.release()
    assert (refused["type"], refused["status"], refused["errors"]) == ("problem", 429, [])
    assert said(api.as_(world.viewer).get(PATH))[-1]["type"] == "result"


# The page


def page(world: World, path: str, **given: str) -> Any:
    client = Client()
    world.viewer.set_password("correct horse battery")
    world.viewer.save()
    client.force_login(world.viewer)
    keys = (world.project.owner.key, world.project.key, "line")
    return client.get(reverse(path, args=keys), given)


def test_the_page_says_when_nothing_is_recorded_yet(world: World) -> None:
    world.line(line())
    assert "No recorded decisions yet" in page(world, "line-backtest").content.decode()


def test_the_page_starts_by_itself_where_a_version_is_named(world: World, task: Task) -> None:
    assert "data-starts" not in page(world, "line-backtest").content.decode()
    assert "data-starts" in page(world, "line-backtest", to="draft").content.decode()


def test_the_page_shows_what_is_wrong_with_the_draft(world: World, task: Task) -> None:
    task.line.draft = {**line(), "stations": []}
    task.line.save()
    shown = page(world, "line-backtest", to="draft").content.decode()
    assert "This draft is not a valid line yet" in shown
    assert "data-starts" not in shown


def test_the_page_of_a_version_that_is_not_there_is_not_found(world: World, task: Task) -> None:
    assert page(world, "line-backtest", to="9").status_code == 404


def test_the_page_may_ask_the_api_as_a_program_does(world: World, task: Task) -> None:
    told = said(page(world, "api-1:line-backtest", to="1", each_task="false"))
    assert told[-1]["decisions"]["same"] == 2
    assert {each["type"] for each in told} == {"progress", "result"}
    refused = page(world, "api-1:line-backtest", to="1", since="soon")
    assert (refused.status_code, refused["Content-Type"]) == (400, "application/problem+json")
