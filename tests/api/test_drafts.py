"""Drafts over HTTP: read as an editor does, and a form that answers and saves in one request."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines.formats import native
from pipelines.lines.publishing import create_line, save_draft
from pipelines.models import Line
from tests.api.conftest import Apis
from tests.factories import World, document, station

pytestmark = pytest.mark.django_db
BUILD = station("build", {"id": "on", "to": "completed"}, work={"kind": "command", "argv": ["make"]})
DRAWN = document(key="drawn", stations=[BUILD])
IN_SRC = {**BUILD, "work": {**BUILD["work"], "cwd": "src"}}
AFTER = document(key="drawn", stations=[IN_SRC])
Ask = Callable[..., Any]


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", DRAWN, world.designer)


@pytest.fixture
def ask(world: World, api: Apis, line: Line) -> Ask:
    def asked(expected: Any = IN_SRC, edit: dict[str, Any] | None = None, **more: Any) -> Any:
        """What the inspector sends when the folder of a station was typed in."""
        known = {"based_on": 1, "base": DRAWN, "document": AFTER, **(edit or {})}
        body = {"fragment": BUILD, "own": "build", "typed": {"work.cwd": ["src"]}}
        save = {"expected": expected, "edit": known}
        person = api.as_(more.pop("by", world.designer))
        return person.post("/lines/drawn/draft/forms/station", {**body, "save": save, **more})

    return asked


def stored(line: Line) -> tuple[int, Any]:
    line.refresh_from_db()
    return line.draft_number, line.draft


def test_a_form_answers_and_saves_in_one_request(ask: Ask, line: Line) -> None:
    said = ask().json()
    assert (said["fragment"], said["label"], said["refused"]) == (IN_SRC, "Folder", [])
    assert 'value="src"' in said["html"]
    assert said["saved"]["number"] == 2
    assert said["saved"]["findings"]["rules"]["on"]["status"] == "live"
    assert "document" not in said["saved"]
    assert stored(line) == (2, AFTER)


def test_what_is_merged_with_anothers_edit_comes_back_with_it(ask: Ask, world: World, line: Line) -> None:
    save_draft(line, {**DRAWN, "name": "Theirs"}, world.admin, 1)
    said = ask().json()
    assert said["saved"]["document"] == {**AFTER, "name": "Theirs"}
    assert str(world.admin) in said["saved"]["draft"]["others"]
    assert stored(line) == (3, {**AFTER, "name": "Theirs"})


def test_a_form_that_is_only_looked_at_takes_along_what_waits(ask: Ask, line: Line) -> None:
    renamed = document(key="drawn", name="Other", stations=[BUILD])
    said = ask(BUILD, {"document": renamed}, typed={}, peek=True).json()
    assert said["saved"]["number"] == 2
    assert stored(line) == (2, renamed)


@pytest.mark.parametrize(
    "sent",
    [
        {"expected": {**IN_SRC, "labels": ["x"]}},
        {"expected": {**IN_SRC, "work": {**IN_SRC["work"], "cwd": 1}}},
        {"typed": {"work.cwd": ["src"], "limits.expected": ["soon"]}},
        {"edit": {"document": {"name": "a\0b"}}},
        {"edit": {"text": "stations: ["}},
    ],
    ids=["another", "of another type", "refused", "no document", "no text"],
)
def test_what_is_not_as_expected_is_answered_and_not_saved(
    ask: Ask, line: Line, sent: dict[str, Any]
) -> None:
    answer = ask(**sent)
    assert answer.status_code == 200, answer.content
    assert answer.json()["saved"] is None
    assert answer.json()["fragment"] == IN_SRC
    assert stored(line) == (1, DRAWN)


def test_what_both_changed_is_left_to_a_save_that_asks(ask: Ask, world: World, line: Line) -> None:
    theirs = document(key="drawn", stations=[{**BUILD, "work": {**BUILD["work"], "cwd": "lib"}}])
    save_draft(line, theirs, world.admin, 1)
    assert ask().json()["saved"] is None
    commented = f"# theirs\n{native.dumps({**DRAWN, 'name': 'Theirs'})}"
    save_draft(line, commented, world.admin, 2)
    assert ask(edit={"text": native.dumps(AFTER)}).json()["saved"] is None
    line.refresh_from_db()
    assert (line.draft_number, line.draft_text) == (3, commented)


def test_saving_by_a_form_needs_what_saving_needs(ask: Ask, world: World, api: Apis, line: Line) -> None:
    assert ask(by=world.viewer).status_code == 403
    assert ask(by=world.viewer, save=None).status_code == 200
    machine = api.machine("read", "design", role="designer")
    body = {
        "fragment": BUILD,
        "save": {"expected": BUILD, "edit": {"based_on": 1, "base": {}, "document": {}}},
    }
    assert machine.post("/lines/drawn/draft/forms/station", body).status_code == 403
    assert stored(line) == (1, DRAWN)


def test_a_clash_says_what_is_stored_and_where(world: World, api: Apis, line: Line) -> None:
    save_draft(line, {**DRAWN, "name": "Theirs"}, world.admin, 1)
    designer = api.as_(world.designer)
    edit = {"based_on": 1, "base": DRAWN, "document": {**DRAWN, "name": "Mine"}}
    answer = designer.client.patch(
        f"{designer.base}/lines/drawn/draft", json.dumps(edit), "application/json", headers=designer.headers
    )
    assert (answer.status_code, answer["Content-Type"]) == (409, "application/problem+json")
    said = answer.json()
    assert (said["number"], said["document"]["name"], said["by"]) == (2, "Theirs", str(world.admin))
    assert [each["path"] for each in said["clashes"]] == ["name"]


def test_the_draft_that_one_has_comes_without_its_document(world: World, api: Apis, line: Line) -> None:
    viewer = api.as_(world.viewer)
    whole = viewer.get("/lines/drawn/draft").json()
    assert (whole["document"], whole["text"], whole["mayEdit"], whole["differs"]) == (DRAWN, "", False, True)
    assert whole["findings"]["rules"]["on"]["status"] == "live"
    known = viewer.get("/lines/drawn/draft?since=1").json()
    assert (sorted(known), known["draft"]["number"]) == (["differs", "draft", "mayEdit"], 1)
    assert "document" not in viewer.get("/lines/drawn/draft?since=9&alone=true").json()
    assert viewer.get("/lines/drawn/draft?since=soon").status_code == 400


def test_members_cost_the_same_statements_however_many(world: World, api: Apis) -> None:
    viewer = api.as_(world.viewer)

    watches = {str(world.viewer): True, str(world.designer): False}

    def statements() -> int:
        with CaptureQueriesContext(connection) as found:
            said = {each["name"]: each["watches"] for each in viewer.get("/members").json()}
        assert watches.items() <= said.items()
        return len(found)

    statements()  # the first call notes that the token was used
    few = statements()
    world.reviewers(5)
    assert statements() == few


def test_scenarios_follow_a_part_to_its_new_key_and_back(world: World, api: Apis, line: Line) -> None:
    script = {
        "key": "s",
        "steps": [{"at": "build", "outcome": {"result": "success"}}],
        "inputs": {"build": 1},
        "expect": {"path": ["build"], "rules": ["on"], "end": "completed"},
    }
    person = api.as_(world.designer)
    assert person.send("PUT", "/lines/drawn/scenarios/s", script).status_code == 200

    def keyed(key: str, number: int, base: Any, *renamed: tuple[str, str, str]) -> Any:
        changed = document(key="drawn", stations=[{**BUILD, "key": key}], inputs=[{"key": "build"}])
        sent = [{"kind": kind, "from": before, "to": after} for kind, before, after in renamed]
        edit = {"based_on": number, "base": base, "document": changed, "renamed": sent}
        answer = person.send("PATCH", "/lines/drawn/draft", edit)
        assert answer.status_code == 200, answer.json()
        return changed

    made = keyed("make", 1, DRAWN, ("station", "build", "compile"), ("station", "compile", "make"))
    stored = person.get("/lines/drawn/scenarios").json()[0]["document"]
    assert (stored["steps"][0]["at"], stored["expect"]["path"], stored["inputs"]) == (
        "make",
        ["make"],
        {"build": 1},
    )
    report = person.post("/lines/drawn/run-scenarios", {"against": "draft"}).json()
    assert report["holds"] is True, report["scenarios"]
    keyed("build", 2, made, ("station", "make", "build"), ("input", "build", "other"))
    stored = person.get("/lines/drawn/scenarios").json()[0]["document"]
    assert (stored["expect"]["path"], stored["inputs"]) == (["build"], {"build": 1})


@pytest.mark.parametrize("digits", ["0.12345678901234567890", "1e400", "-123456789012345678.5"])
def test_a_number_that_would_be_rounded_is_refused_and_not_stored(
    world: World, api: Apis, line: Line, digits: str
) -> None:
    edit = json.dumps({"based_on": 1, "base": DRAWN, "document": {**AFTER, "extra": {"theirs": "number"}}})
    body = edit.replace('"number"', digits)
    person = api.as_(world.designer)
    place, headers = f"{person.base}/lines/drawn/draft", person.headers
    refused = person.client.patch(place, body, "application/json", headers=headers)
    assert refused.status_code == 400
    assert digits in refused.text
    form = json.dumps({"fragment": BUILD, "save": {"expected": BUILD, "edit": json.loads(edit)}})
    form = form.replace('"number"', digits)
    saved = person.client.post(f"{place}/forms/station", form, "application/json", headers=headers)
    assert saved.status_code == 400
    assert digits in saved.text
    assert stored(line) == (1, DRAWN)
    body = edit.replace('"number"', f'"{digits}"')
    assert person.client.patch(place, body, "application/json", headers=headers).status_code == 200
