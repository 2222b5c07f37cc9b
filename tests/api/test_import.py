"""Documents of other systems over HTTP: looked at, then kept with the losses that were listed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpResponse

from pipelines.formats import native
from pipelines.models import Line
from tests.api.conftest import Apis
from tests.factories import World

pytestmark = pytest.mark.django_db
FOLDER = {
    ".agentics/assembly-line.json": '{"id": "a-line", "name": "A line"}',
    ".agentics/stations/01-a/station.json": '{"trigger": {"type": "dispatch_worker"}}',
    ".agentics/stations/01-a/prompt.md": "Gør det",
    ".agentics/transitions.json": "[]",
    ".agentics/gates.json": '[{"id": "g", "tool": {"kind": "cli"}}]',
}


def post(world: World, api: Apis, files: dict[str, str], **more: Any) -> HttpResponse:
    return api.as_(world.designer).post("/import", {"files": files, **more})


def test_a_folder_is_looked_at_and_kept_only_with_the_losses_that_were_listed(
    world: World, api: Apis
) -> None:
    seen = post(world, api, FOLDER)
    told = seen.json()
    assert seen.status_code == 200 and not Line.objects.exists()
    assert (told["system"], told["key"], told["stations"]) == ("ALP (Agentics)", "a-line", 1)
    assert told["picture"]["document"]["stations"]
    assert told["losses"][0]["path"].startswith(".agentics/gates.json")
    unseen = post(world, api, FOLDER, save=True)
    assert unseen.status_code == 409 and not Line.objects.exists()
    kept = post(world, api, FOLDER, save=True, losses=len(told["losses"]), key="mine")
    assert (kept.status_code, kept.json()["saved"]["key"]) == (201, "mine")
    assert Line.objects.get().draft["stations"][0]["work"]["prompt"] == "Gør det"
    again = post(world, api, FOLDER, save=True, losses=len(told["losses"]), key="mine")
    assert again.status_code == 409


def test_a_fault_names_file_line_and_path(world: World, api: Apis) -> None:
    rules = [{"id": "r", "from": "01-a", "to": "nowhere", "condition": "success"}]
    wrong = post(world, api, {**FOLDER, ".agentics/transitions.json": json.dumps(rules)})
    (problem,) = wrong.json()["errors"]
    assert wrong.status_code == 400
    assert problem["path"] == ".agentics/transitions.json: [0].to"


@pytest.mark.parametrize(
    "files",
    [
        {"a.json": ""},
        {"a.json": "[]", "b.json": "[]"},
        {"a.json": '{"gateline": 1}'},
        {"a.json": '{"gateline": 1, "key": "a", "stations": {"b": 1}}'},
        {"a.yaml": "gateline: 1\nkey: a\nstations: [5, {key: b, rules: 7}]\n"},
        {"/station.json": "5", "assembly-line.json": "[]", "transitions.json": "7"},
        {"a.json": "\u0000"},
        {"a.yaml": "a: &a [x, x]\nb: &b [*a, *a]\nstages: [*b, *b]\n"},
    ],
)
def test_no_document_is_a_fault_of_the_server(world: World, api: Apis, files: dict[str, str]) -> None:
    assert post(world, api, files, save=True).status_code in (201, 400, 409)


def test_a_line_is_written_for_the_system_it_came_from_or_any_other(world: World, api: Apis) -> None:
    post(world, api, FOLDER, save=True, losses=1)
    mine = api.as_(world.viewer)
    own = mine.get("/lines/a-line/export").json()
    assert (own["dialect"], own["losses"]) == ("alp", [])
    assert json.loads(own["text"])["stations"][0]["trigger"]["type"] == "dispatch_worker"
    other = mine.get("/lines/a-line/export?dialect=flux&version=draft").json()
    assert any("Preset" in loss["message"] for loss in other["losses"])
    for query, code in (("dialect=odd", 400), ("version=7", 404), ("version=x", 404)):
        assert mine.get(f"/lines/a-line/export?{query}").status_code == code


def test_a_line_is_written_as_its_own_document_and_a_draft_as_it_was_typed(world: World, api: Apis) -> None:
    typed = "# kept\nname: Own\nstations: [{key: build, work: {kind: noop}}]\n"
    person = api.as_(world.designer)
    assert person.put("/lines/own/draft", f"gateline: 1\nkey: own\n{typed}").status_code == 200
    own = person.get("/lines/own/export?dialect=gateline").json()
    assert own == {"dialect": "", "system": "", "text": f"gateline: 1\nkey: own\n{typed}", "losses": []}
    assert person.get("/lines/own/export").json()["dialect"] == "alp"
    assert person.post("/lines/own/publish", {"draft": 1}).status_code == 201
    version = person.get("/lines/own/export?dialect=gateline&version=1").json()["text"]
    assert native.read_text(version).to_document() == Line.objects.get(key="own").live.document
