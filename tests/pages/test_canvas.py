"""What the canvas sends and is answered, whatever it sends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpResponse

from pipelines.formats import native
from pipelines.lines.publishing import create_line, save_draft
from pipelines.models import Line
from tests.factories import World, document, station
from tests.pages.conftest import As, at, door, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", document(key="drawn"), world.designer)


def sent(world: World, signed_in: As, body: Any) -> HttpResponse:
    client = signed_in(world.designer)
    if isinstance(body, dict):
        body = {"base": document(key="drawn"), **body}
    said = body if isinstance(body, (str, bytes)) else json.dumps(body)
    return client.patch(door(world, "/draft"), said, content_type="application/json")


def test_a_saved_draft_is_answered_with_what_lint_finds(world: World, signed_in: As, line: Line) -> None:
    rules = [{"id": "all", "to": "completed"}, {"id": "never", "to": "failed"}]
    changed = document(key="drawn", stations=[station("build", rules=rules)])
    answer = sent(world, signed_in, {"based_on": 1, "document": changed})
    said = answer.json()
    assert said["number"] == 2
    assert said["findings"]["rules"]["all"]["status"] == "live"
    assert said["findings"]["rules"]["never"]["status"] == "dead"
    assert "1" in said["findings"]["rules"]["never"]["why"]
    assert ("dead-rule", "build") in {(f["check"], f["station"]) for f in said["findings"]["findings"]}
    line.refresh_from_db()
    assert line.draft == changed


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"stations": []},
        {"stations": [{"key": "a", "rules": [{"id": "x", "when": 3}]}]},
        {"stations": {"a": 1}},
        {"gateline": 1, "key": "drawn", "stations": [{"key": "a", "work": {"kind": "unheard of"}}]},
    ],
)
def test_an_unfinished_draft_is_kept_and_its_problems_are_told(
    world: World, signed_in: As, line: Line, broken: dict[str, Any]
) -> None:
    answer = sent(world, signed_in, {"based_on": 1, "document": broken})
    assert answer.status_code == 200
    assert any(f["severity"] == "error" for f in answer.json()["findings"]["findings"])
    line.refresh_from_db()
    assert line.draft == broken
    page = signed_in(world.designer).get(at(world, "line-draw", "drawn"))
    assert page.status_code == 200


def test_a_draft_that_cannot_be_drawn_leads_to_its_code(world: World, signed_in: As, line: Line) -> None:
    Line.objects.update(draft={"stations": "none"})
    page = text(signed_in(world.designer).get(at(world, "line-draw", "drawn")))
    assert "This draft cannot be drawn" in page
    assert at(world, "line-edit", "drawn") in page


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        "[]",
        "null",
        '{"based_on": 1}',
        '{"based_on": -1, "base": {}, "document": {}}',
        '{"based_on": 99999999999999999999, "base": {}, "document": {}}',
        '{"based_on": 1, "base": {}, "document": []}',
        '{"based_on": 1, "base": {}, "document": {"name": "a\\u0000b"}}',
        '{"based_on": 1, "base": {}, "document": {"name": "\\ud800"}}',
        '{"based_on": 1, "base": {}, "document": {"a": ' + "[" * 200 + "]" * 200 + "}}",
        '{"based_on": 1, "base": {}, "document": {"a": NaN}}',
    ],
)
def test_what_cannot_be_a_draft_is_refused_and_changes_nothing(
    world: World, signed_in: As, line: Line, body: str | bytes
) -> None:
    answer = sent(world, signed_in, body)
    assert answer.status_code == 400
    assert answer.json()["detail"]
    line.refresh_from_db()
    assert line.draft_number == 1


def test_who_is_late_is_told_the_places_that_both_changed(world: World, signed_in: As, line: Line) -> None:
    theirs = document(key="drawn", name="Theirs")
    Line.objects.update(draft_number=3, draft=theirs)
    mine = {"based_on": 1, "document": document(key="drawn", name="Mine")}
    answer = sent(world, signed_in, mine)
    assert answer.status_code == 409
    assert [(each["path"], each["theirs"], each["mine"]) for each in answer.json()["clashes"]] == [
        ("name", "Theirs", "Mine")
    ]
    line.refresh_from_db()
    assert line.draft == theirs
    shown = answer.json()
    settled = {"based_on": shown["number"], "base": shown["document"], "document": mine["document"]}
    assert sent(world, signed_in, settled).json()["number"] == 4
    line.refresh_from_db()
    assert line.draft["name"] == "Mine"


def test_a_save_tells_which_outcomes_now_go_elsewhere(world: World, signed_in: As, line: Line) -> None:
    ok = {"id": "ok", "when": {"result": "success"}, "to": "ship"}
    high = {"id": "high", "when": {"output": {"path": "high", "op": "gt", "value": 0}}, "to": "failed"}
    before, after = (
        document(key="drawn", stations=[station("build", *rules), "ship"])
        for rules in ((ok, high), (high, ok))
    )
    Line.objects.update(draft=before)
    told = sent(world, signed_in, {"based_on": 1, "base": before, "document": after}).json()["findings"]
    change, unreadable = told["elsewhere"]["changes"]
    assert "output_error" in unreadable["example"]
    assert change == {
        "station": "build",
        "rule": "high",
        "example": "{result: success, output: {high: 1}}",
        "old": "went to ship by rule 1",
        "new": "end as Failed by rule 1",
    }
    moved = {**after, "extra": {"editor": {"positions": {"build": [1, 2]}}}}
    again = sent(world, signed_in, {"based_on": 2, "base": after, "document": moved}).json()["findings"]
    assert again["elsewhere"] is None


def test_what_goes_elsewhere_is_not_asked_of_a_base_that_is_no_line(
    world: World, signed_in: As, line: Line
) -> None:
    for number, base in enumerate(({}, {"a": "\0"}, {"stations": 3}), 1):
        body = {"based_on": number, "base": base, "document": document(key="drawn", name=str(number))}
        answer = sent(world, signed_in, body)
        assert answer.status_code == 200
        assert answer.json()["findings"]["elsewhere"] is None


TYPED = """\
# Why this line is here
gateline: 1
key: drawn
name: Drawn   # as it is called
stations:
  - {key: build, work: {kind: noop}}
"""


def typed(words: str = TYPED) -> dict[str, Any]:
    return {"text": words, "document": native.loads(words)}


def test_the_text_of_a_change_is_kept_as_it_was_typed(world: World, signed_in: As, line: Line) -> None:
    assert sent(world, signed_in, {"based_on": 1, **typed()}).status_code == 200
    line.refresh_from_db()
    assert (line.draft_text, line.draft) == (TYPED, native.loads(TYPED))


@pytest.mark.parametrize("words", [TYPED.replace("Drawn ", "Another "), "stations: [", "- a list\n"])
def test_a_text_that_says_something_else_than_its_document_is_refused(
    world: World, signed_in: As, line: Line, words: str
) -> None:
    answer = sent(world, signed_in, {"based_on": 1, "document": native.loads(TYPED), "text": words})
    assert answer.status_code == 400
    line.refresh_from_db()
    assert (line.draft_number, line.draft_text) == (1, "")


def test_a_long_integer_keeps_its_digits_and_one_that_a_browser_rounded_is_refused(
    world: World, signed_in: As, line: Line
) -> None:
    words = f"{TYPED}extra: {{n: 12345678901234567890}}\n"
    exact = native.loads(words)
    rounded = {**exact, "extra": {"n": 12345678901234567000}}
    answer = sent(world, signed_in, {"based_on": 1, "document": rounded, "text": words})
    assert answer.status_code == 400
    assert sent(world, signed_in, {"based_on": 1, "document": exact, "text": words}).status_code == 200
    line.refresh_from_db()
    assert line.draft["extra"] == {"n": 12345678901234567890}


def test_a_text_that_lacks_what_somebody_else_saved_is_stored_only_when_it_says_that_too(
    world: World, signed_in: As, line: Line
) -> None:
    base = line.draft
    save_draft(line, f"# theirs\n{native.dumps({**base, 'description': 'Theirs.'})}", world.admin, 1)
    mine = {**base, "name": "Mine"}
    said = sent(
        world, signed_in, {"based_on": 1, "base": base, "document": mine, "text": native.dumps(mine)}
    ).json()
    assert said["behind"]
    assert said["document"] == {**base, "name": "Mine", "description": "Theirs."}
    assert said["text"].startswith("# theirs")
    line.refresh_from_db()
    assert line.draft_number == 2
    both = f"# theirs\n{native.dumps(said['document'])}"
    sent(world, signed_in, {"based_on": said["number"], "base": said["base"], **typed(both)})
    line.refresh_from_db()
    assert (line.draft_text, line.draft) == (both, said["document"])
