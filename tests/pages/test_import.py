"""Taking a whole document into a line: what is read, what is told, and what another system's documents are called."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from pipelines.api.imports import FIRST
from pipelines.formats import native
from pipelines.lines.publishing import create_line
from pipelines.lines.starters.catalogue import BY_KEY
from pipelines.models import Line
from pipelines.routing.document.line import DocumentError, read_line
from tests.api.conftest import Apis, api
from tests.factories import World, document, station
from tests.pages.conftest import As, at, door, text
from tests.pages.foreign_documents import ALP, FLUX, PARTS, READ

__all__ = ["api"]
pytestmark = pytest.mark.django_db
HERE = document(key="drawn", stations=[station("build", {"id": "on", "to": "completed"})])


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", HERE, world.designer)


@pytest.fixture
def client(world: World, line: Line, signed_in: As) -> Client:
    return signed_in(world.designer)


def sent(world: World, client: Client, body: Any) -> HttpResponse:
    said = body if isinstance(body, (str, bytes)) else json.dumps({"document": HERE, **body})
    return client.post(door(world, "/draft/import"), said, content_type="application/json")


def problems(answer: HttpResponse) -> list[dict[str, Any]]:
    assert answer.status_code == 400
    return answer.json()["errors"]


def test_a_document_comes_back_under_the_key_of_the_line_with_its_changes_in_words(
    world: World, client: Client, line: Line
) -> None:
    other = document(key="other", name="Other", stations=[station("build", {"id": "on", "to": "failed"})])
    typed = "# kept\n" + native.dumps(other)
    said = sent(world, client, {"text": typed}).json()
    assert said["document"] == {**other, "key": "drawn"}
    assert said["text"] == typed
    assert said["problems"] == []
    told = {group["affects"]: [row["sentence"] for row in group["rows"]] for group in said["changes"]}
    assert len(told["routing"]) == 1
    assert "failed" in told["routing"][0].lower()
    assert "Other" in told["words"][0]
    line.refresh_from_db()
    assert (line.draft, line.draft_number) == (HERE, 1)


def test_json_is_read_as_well_as_yaml(world: World, client: Client) -> None:
    assert sent(world, client, {"text": json.dumps(HERE)}).json()["changes"] == []


def test_what_is_no_line_yet_can_be_looked_at_and_its_problems_have_their_place(
    world: World, client: Client
) -> None:
    typed = (
        "key: x\nstations:\n  - key: a\n    work: {kind: noop}\n    rules:\n      - {id: r, to: nowhere}\n"
    )
    said = sent(world, client, {"text": typed}).json()
    assert [(each["line"], each["column"]) for each in said["problems"]] == [(6, 17)]
    assert "nowhere" in said["problems"][0]["message"]
    assert said["document"]["stations"][0]["key"] == "a"


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        ("key: [", (1, 7)),
        ("key: x\nkey: y\n", (2, 1)),
        ("key: x\nstations:\n\t- key: a\n", (3, 1)),
        ("a: *nothing\n", (1, 4)),
        ('{"key": "x",\n "stations": [}', (2, 15)),
        ("- a\n- b\n", (1, 1)),
        ("", (1, 1)),
        ("key: x\n", (1, 1)),
        ("key: x\nstations: 5\n", (2, 1)),
        ("key: x\nstations:\n  - name: A\n", (3, 5)),
        ("key: x\nstations:\n  - key: a\n    rules: [{to: completed}]\n", (4, 13)),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_line_and_column(
    world: World, client: Client, typed: str, place: tuple[int, int]
) -> None:
    found = problems(sent(world, client, {"text": typed}))
    assert place in {(each["line"], each["column"]) for each in found}
    assert all(each["message"] for each in found)


@pytest.mark.smoke(9)
@pytest.mark.parametrize(("system", "given"), PARTS, ids=lambda each: each if type(each) is str else "")
@pytest.mark.parametrize("written", [json.dumps, native.dumps], ids=["json", "yaml"])
def test_what_is_no_whole_line_of_another_system_is_called_by_its_name(
    world: World, client: Client, system: str, given: Any, written: Any
) -> None:
    (problem,) = problems(sent(world, client, {"text": written(given)}))
    assert system in problem["message"]
    assert problem["hint"]
    assert problem["line"] >= 1


@pytest.mark.parametrize("given", READ)
def test_a_document_of_another_system_takes_the_place_of_the_draft_with_what_differs_first(
    world: World, client: Client, given: dict[str, Any]
) -> None:
    said = sent(world, client, {"text": json.dumps(given)}).json()
    assert said["document"]["key"] == "drawn" and native.loads(said["text"]).keys() == said["document"].keys()
    assert said["problems"] == []
    if given in (ALP, FLUX):
        assert said["changes"][0]["title"].startswith("Different from the document of")


def test_a_line_is_shown_as_a_document_of_another_system_with_what_it_loses(
    world: World, client: Client, line: Line
) -> None:
    page = at(world, "line-export", line.key)
    shown = client.get(page, {"dialect": "own"})
    assert shown.status_code == 200 and "as a document of ALP (Agentics)" in text(shown)
    assert "Kind of work:" in text(client.get(page, {"dialect": "alp"}))
    saved = client.get(page, {"dialect": "contenox", "version": "draft", "download": "1"})
    assert "drawn-draft.contenox.json" in saved.headers["Content-Disposition"]
    assert json.loads(saved.content)["tasks"][0]["handler"] == "noop"
    Line.objects.update(draft={"key": "drawn", "stations": 5})
    assert client.get(page, {"dialect": "alp"}).status_code == 404


def test_a_draft_of_such_a_document_is_refused_over_http(world: World, api: Apis) -> None:
    answer = api.as_(world.designer).put("/lines/checks/draft", json.dumps(ALP))
    assert answer.status_code == 400
    assert "seems to be an assembly line of ALP" in answer.content.decode()
    assert not Line.objects.exists()


@pytest.mark.parametrize("given", [HERE, {**HERE, "gateline": 1, "transitionRules": []}])
def test_what_says_gateline_is_never_taken_for_another_system(given: dict[str, Any]) -> None:
    assert native.loads(json.dumps(given)) == given


@pytest.mark.smoke(8)
@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "null",
        b"\xff\xfe",
        "{",
        '{"document": 5, "text": "a"}',
        '{"document": {}, "text": 5}',
        '{"document": {}, "starter": "no such"}',
        '{"document": {}, "starter": ["triage"]}',
        {"text": "\0"},
        {"text": "a: \ud800"},
        {"text": "a: .nan\nstations: []"},
        {"text": '{"stations": [], "a": NaN}'},
        {"text": "&a [*a]"},
        {"text": "a: " + "[" * 3000},
        {"text": '{"a":' * 3000},
        {"text": "a: &b [1]\nb: " + "[" + "*b, " * 5000 + "]"},
        {"text": "stations: [{key: a, rules: null}]"},
        {"text": "stations: [{key: [a]}]\ngates: 5\nends: {a: b}"},
        {"text": "stations: [{key: a, work: 7, rules: [{id: r, when: {all: 3}, to: {a: 1}}]}]\nname: [1]\nextra: 4"},
        {"text": "stations: []\nextra: {editor: {positions: [1], notes: 9}}", "document": {"extra": 5}},
        {"text": native.dumps(HERE), "document": {"stations": 5, "gates": {"a": 1}, "key": None}},
        {"text": native.dumps(HERE), "document": {"stations": [[], 7, {"key": {}}], "extra": []}},
        {"text": "x" * 3_000_000},
    ],
)  # fmt: skip
def test_nothing_that_is_sent_is_a_fault_of_the_server(world: World, client: Client, body: Any) -> None:
    client.raise_request_exception = False
    answer = sent(world, client, body)
    assert answer.status_code in (200, 400)
    assert "json" in answer.headers["Content-Type"]


def test_an_empty_line_is_offered_templates_and_one_of_them_takes_its_key_and_name(
    world: World, client: Client
) -> None:
    offered = client.get(door(world, "/draft/starters")).json()
    assert [each["key"] for each in offered] == list(FIRST)
    assert all(each["picture"]["document"]["stations"] and each["purpose"] for each in offered)
    for key in FIRST:
        said = sent(world, client, {"starter": key, "document": {"name": "Mine", "stations": []}}).json()
        starter = native.loads(BY_KEY[key].text)
        assert said["document"] == {**starter, "key": "drawn", "name": "Mine"}
        assert read_line(said["document"]).key == "drawn"
        assert said["text"] == BY_KEY[key].text


def test_only_a_version_that_is_live_can_be_named(world: World, client: Client, line: Line) -> None:
    page = at(world, "line-draw", line.key)
    assert "nameVersion" not in text(client.get(page))
    live = world.line(document(key="other")).line
    address = f"{at(world, 'line-versions', live.key)}?to=1"
    assert f'"nameVersion": "{address}#open=name-version"' in text(
        client.get(at(world, "line-draw", live.key))
    )
    assert 'id="name-version"' in text(client.get(address))


def test_what_a_text_is_refused_for_stands_at_its_place_and_not_at_a_path() -> None:
    with pytest.raises(DocumentError) as refused:
        native.loads(json.dumps(ALP, indent=1))
    (problem,) = refused.value.problems
    assert (problem.path, problem.line) == ("", 14)


def test_what_is_only_written_differently_is_no_change(world: World, client: Client) -> None:
    bare = {key: said for key, said in HERE.items() if key not in ("gateline",)}
    said = sent(world, client, {"text": native.dumps({**bare, "gates": [], "ends": [], "inputs": []})}).json()
    assert said["changes"] == []


def test_a_document_without_gates_tells_each_gate_that_goes(world: World, client: Client) -> None:
    gated = {**HERE, "gates": [{"key": "look", "name": "A look"}, {"key": "say", "name": "A word"}]}
    said = sent(world, client, {"text": native.dumps(HERE), "document": gated}).json()
    (group,) = said["changes"]
    assert [row["what"] for row in group["rows"]] == ["removed", "removed"]
    assert all("{" not in row["sentence"] for row in group["rows"])
