"""Tasks and lines over HTTP."""

from __future__ import annotations

import json

import pytest
from django.conf import settings
from jsonschema import Draft202012Validator

from pipelines import engine
from tests.api.conftest import Apis
from tests.effort import calls
from tests.factories import World, document
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db
START = "/stages/line/tasks"


@pytest.fixture
def _line(world: World) -> None:
    world.line(inputs=[{"key": "revision", "type": "text", "required": True}])


@pytest.mark.usefixtures("_line")
def test_it_starts_a_task(world: World, api: Apis) -> None:
    body = {"title": " Check it ", "priority": "high", "inputs": {"revision": "main"}}
    answer = api.as_(world.operator).post(START, body)
    assert answer.status_code == 201, answer.content
    task = answer.json()
    assert task["id"] == f"WI-{world.project.key}-1"
    assert (task["title"], task["priority"], task["status"]) == ("Check it", "high", "queued")
    assert (task["columnId"], task["stageId"], task["inputs"]) == ("build", "line", {"revision": "main"})


@pytest.mark.usefixtures("_line")
def test_a_machine_with_the_scope_starts_one(api: Apis) -> None:
    body = {"title": "Nightly", "inputs": {"revision": "main"}}
    assert api.machine("submit", "read").post(START, body).status_code == 201


@pytest.mark.usefixtures("_line")
def test_a_task_without_a_title_gets_one(world: World, api: Apis) -> None:
    answer = api.as_(world.operator).post(START, {"inputs": {"revision": "main"}})
    assert answer.json()["title"] == "Line: main", answer.content


@pytest.mark.usefixtures("_line")
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "inputs.revision"),
        ({"title": "  "}, "title"),
        ({"title": "x" * 301}, "title"),
        ({"title": "x", "priority": "urgent"}, "priority"),
        ({"title": "x", "inputs": {}}, "inputs.revision"),
        ({"title": "x", "inputs": {"revision": 3}}, "inputs.revision"),
        ({"title": "x", "inputs": {"revision": "a", "other": 1}}, "inputs.other"),
        ({"title": "x", "inputs": []}, "inputs"),
        ({"title": "x\0", "inputs": {"revision": "a"}}, "title"),
        ({"title": "x", "surprise": 1}, "surprise"),
    ],
)
def test_what_does_not_fit_is_400_and_names_the_place(
    world: World, api: Apis, body: object, path: str
) -> None:
    answer = api.as_(world.operator).post(START, body)
    assert answer.status_code == 400, answer.content
    assert path in [error["path"] for error in answer.json()["errors"]], answer.json()


@pytest.mark.usefixtures("_line")
@pytest.mark.parametrize("body", ["{", "[]", '"x"', "\xff", '{"title": "\\ud800"}', '{"title": NaN}'])
def test_a_body_that_is_no_object_is_400(world: World, api: Apis, body: str) -> None:
    answer = api.as_(world.operator).post(START, body)
    assert answer.status_code == 400, answer.content


def test_a_line_without_a_version_is_409(world: World, api: Apis) -> None:
    text = json.dumps(document(key="line"))
    assert api.as_(world.designer).put("/lines/line/draft", text).status_code == 200
    assert api.as_(world.operator).post(START, {"title": "x"}).status_code == 409


@pytest.mark.usefixtures("_line")
def test_viewers_look_but_start_nothing(world: World, api: Apis) -> None:
    viewer = api.as_(world.viewer)
    assert viewer.post(START, {"title": "x", "inputs": {"revision": "a"}}).status_code == 403
    assert viewer.get(START).json() == []


def test_its_events_and_decisions_tell_the_whole_story(world: World, api: Apis) -> None:
    task = world.start(world.line(**gated()))
    world.report(task)
    world.vote(task, "approve")
    world.report(task)
    viewer = api.as_(world.viewer)
    base = f"/stages/release/tasks/{task.name}"
    events = b"".join(viewer.get(base + "/events")).decode().splitlines()
    assert all(json.loads(line)["event_id"].startswith("EVT-") for line in events)
    assert {json.loads(line)["work_item_id"] for line in events} == {task.name}
    decisions = viewer.get(base + "/decisions").json()
    assert [d["decision"]["decision"] for d in decisions] == ["wait", "move", "finish"]
    assert viewer.get(base).json()["status"] == "completed"


def test_an_operator_cancels_and_nobody_twice(world: World, api: Apis) -> None:
    task = world.start(world.line())
    path = f"/stages/line/tasks/{task.name}/cancel"
    assert api.as_(world.viewer).post(path, {}).status_code == 403
    assert api.as_(world.operator).post(path, {"reason": "Not needed."}).json()["status"] == "cancelled"
    assert api.as_(world.operator).post(path, {}).status_code == 409


def test_a_line_is_made_changed_and_published(world: World, api: Apis) -> None:
    designer = api.as_(world.designer)
    text = json.dumps(document(key="fresh", name="Fresh"))
    assert designer.put("/lines/fresh/draft", text).json() == {
        "key": "fresh",
        "name": "Fresh",
        "live": None,
        "draft": 1,
        "archived": False,
        "limit": None,
    }
    assert designer.put("/lines/fresh/draft", text).status_code == 409
    assert designer.put("/lines/fresh/draft?based_on=1", text).json()["draft"] == 2
    assert designer.put("/lines/fresh/draft?based_on=1", text).status_code == 409
    assert designer.post("/lines/fresh/publish", {"draft": 1}).status_code == 409
    made = designer.post("/lines/fresh/publish", {"draft": 2, "name": "First"})
    assert (made.status_code, made.json()["number"]) == (201, 1)
    shown = designer.get("/lines/fresh/document")
    assert "gateline: 1" in shown.content.decode()
    assert [v["name"] for v in designer.get("/lines/fresh/versions").json()] == ["First"]


def test_executing_stations_need_the_permission(world: World, api: Apis) -> None:
    runs = {"key": "build", "work": {"kind": "command", "argv": ["true"]}}
    designer = api.as_(world.designer)
    designer.put("/lines/line/draft", json.dumps(document([runs])))
    refused = designer.post("/lines/line/publish", {"draft": 1})
    assert refused.status_code == 403, refused.content
    assert api.as_(world.admin).post("/lines/line/publish", {"draft": 1}).status_code == 201


@pytest.mark.parametrize("text", ["{", "a: [", "key: x\nkey: y\n", "\0", "- 1", "a: &a [*a]"])
def test_a_document_that_cannot_be_read_is_400_with_its_place(world: World, api: Apis, text: str) -> None:
    answer = api.as_(world.designer).put("/lines/line/draft", text)
    assert answer.status_code == 400, answer.content


def test_the_description_of_the_api_is_open(api: Apis) -> None:
    described = api.with_secret(None).client.get("/api/openapi.json").json()
    assert described["openapi"].startswith("3.1")
    assert [server["url"] for server in described["servers"]] == [settings.ORIGIN]
    assert api.with_secret(None).client.get("/api/line-document.schema.json").json()["type"] == "object"


def test_each_operation_has_an_example_that_its_schema_takes(api: Apis) -> None:
    described = api.with_secret(None).client.get("/api/openapi.json").json()
    faults, count = [], 0
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            answers = [answer for code, answer in operation["responses"].items() if code.startswith("2")]
            messages = [*filter(None, [operation.get("requestBody")]), *answers]
            contents = [content for message in messages for content in message.get("content", {}).values()]
            for shown in [*contents, *operation.get("parameters", [])]:
                schema = {**shown.get("schema", {}), "components": described["components"]}
                count += 1
                faults += [
                    f"{method} {path}: {error.json_path} {error.message[:90]}"
                    for error in Draft202012Validator(schema).iter_errors(shown["example"])
                ]
    assert count > 500 and not faults, "\n".join(sorted(set(faults))[:40])


def test_the_description_of_the_api_is_made_once_however_often_it_is_asked_for(api: Apis) -> None:
    client = api.with_secret(None).client
    client.get("/api/openapi.json")
    # Millions of calls if it is made, which takes seconds of a core.
    assert calls(lambda: client.get("/api/openapi.json")) < 100_000


# Retrying what has ended


@pytest.mark.moves
def test_a_task_that_has_ended_is_retried_as_a_new_one(api: Apis, world: World) -> None:
    client, task = api.as_(world.operator), world.start(world.line())
    world.report(task)
    engine.cancel(task.pk, actor=engine.ENGINE, reason="Wrong.")
    answer = client.post(f"{START}/{task.name}/retry", {"reason": "Now it is right."})
    new = answer.json()
    assert answer.status_code == 200
    assert (new["id"], new["follows"], new["columnId"]) == (f"WI-{world.project.key}-2", task.name, "ship")
    assert client.get(f"{START}/{task.name}").json()["status"] == "cancelled"
    twice = client.post(f"{START}/{task.name}/retry", {"station": "ship"})
    assert twice.status_code == 409
    assert new["id"] in twice.json()["detail"]
    unknown = client.post(f"{START}/{task.name}/retry", {"station": "nowhere"})
    assert unknown.status_code == 400
