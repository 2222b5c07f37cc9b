"""Guarantees of a line: on its overview, in its problems, and as what keeps it from being published."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.formats import native
from pipelines.lines import publish_review, publishing
from pipelines.models import Line
from pipelines.queries import versions
from pipelines.web.editor.findings import draft_findings
from pipelines.web.editor.forms.form import FormSetting, Rows
from pipelines.web.editor.forms.form_request import Outline, PartReference
from pipelines.web.editor.forms.guarantees import guarantees_section
from tests.factories import World, document, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db
KEPT = {"id": "reviewed", "never": {"reach": "ship", "without": "look"}}
BROKEN = {"id": "short", "ends_within": 2}


def promising(*guarantees: dict[str, Any], **gate: Any) -> dict[str, Any]:
    rules = {"id": "on", "to": "ship", "gates": ["look"]}
    return document(
        [
            station("build", rules, name="Build"),
            station("ship", {"id": "done", "to": "completed"}, name="Ship"),
        ],
        gates=[{"key": "look", "name": "Second look", **gate}],
        guarantees=list(guarantees),
    )


def made(world: World, of: dict[str, Any]) -> Line:
    return publishing.create_line(world.project, "line", "Line", native.dumps(of), world.designer)


def test_the_overview_says_what_the_line_is_known_to_do(world: World, signed_in: As) -> None:
    line = made(world, promising(KEPT))
    version = publishing.publish_draft(line, user=world.admin, based_on=line.draft_number)
    assert "jumps" not in version.document
    assert (version.revision, versions.parsed_version(version).jump_targets) == (3, ())
    page = text(signed_in(world.viewer).get(at(world, "line", "line")))
    assert "1 of 1 proved" in page
    assert "Nothing reaches Ship without Second look" in page
    assert "Proved" in page


def test_a_line_without_promises_says_nothing_of_them(world: World, signed_in: As) -> None:
    made(world, promising())
    assert "Guarantees" not in text(signed_in(world.viewer).get(at(world, "line", "line")))


def test_the_overview_of_a_draft_shows_the_path_that_breaks_a_promise(world: World, signed_in: As) -> None:
    made(world, promising(BROKEN))
    page = text(signed_in(world.viewer).get(at(world, "line", "line")))
    assert "Every path ends within 2 moves" in page
    assert "Refuted" in page
    assert "Build" in page.partition("Refuted")[0].partition("Every path")[2]


def test_the_canvas_is_told_of_each_promise_and_of_problems_in_two_parts(world: World) -> None:
    passed = {"id": "passed", "never": {"reach": "completed", "without": "second"}}
    document = promising(KEPT, passed)
    document["gates"].append({"key": "second", "name": "Third look"})
    line = made(world, document)
    told = draft_findings(line.draft, world.project)
    kept, broken = told["guarantees"]
    assert (kept["answer"], kept["sentence"]) == ("proved", "Nothing reaches Ship without Second look")
    assert (broken["answer"], [each["edge"] for each in broken["ways"]]) == ("refuted", ["on", "done"])
    (problem,) = [each for each in told["findings"] if each["check"] == "broken-guarantee"]
    assert problem["cause"] == "Guarantee refuted"
    assert problem["short"] == broken["sentence"]
    assert problem["why"] == broken["because"]


def test_a_broken_promise_keeps_a_line_from_being_published(world: World) -> None:
    line = made(world, promising(KEPT, BROKEN))
    with pytest.raises(publishing.PublishRefused) as refused:
        publishing.publish_draft(line, user=world.admin, based_on=line.draft_number)
    assert [(f.check, f.path) for f in refused.value.findings] == [("broken-guarantee", "guarantees[1]")]


def test_a_promise_that_is_not_proved_has_to_be_acknowledged(world: World) -> None:
    assert world.reviewer  # else lint warns that nobody can decide
    line = made(world, promising(KEPT, sample={"one_in": 5}))
    found = publishing.check_draft(line)
    assert found.errors == ()
    assert "unproved-guarantee" in [f.check for f in publish_review.warning_findings(found)]


def test_publishing_shows_each_promise_as_it_is_live_and_as_it_would_be(world: World, signed_in: As) -> None:
    assert world.reviewer  # else lint warns that nobody can decide
    line = world.line(promising(KEPT, {**KEPT, "id": "dropped"})).line
    later = promising({"id": "reviewed", "ends_within": 2}, {**KEPT, "id": "new"})
    publishing.save_draft(line, later, world.designer, line.draft_number)
    client = signed_in(world.designer)
    answer = client.get(at(world, "line-publish", line.key), {"part": "guarantees"})
    rows = [" ".join(each.split()) for each in text(answer).split('<th scope="row">')[1:]]
    changed, new, dropped = rows
    assert changed.startswith("Every path ends within 2 moves")
    assert "v1: Nothing reaches Ship without Second look" in changed
    assert changed.index("Proved") < changed.index("Refuted")
    assert new.index("Not stated") < new.index("Proved")
    assert dropped.index("Proved") < dropped.index("Not stated any more")


@pytest.mark.smoke(9)
@pytest.mark.parametrize(
    ("member", "told"),
    [
        ({"never": {"reach": "ship", "without": "look"}}, "Nothing reaches Ship without Second look"),
        ({"never": {"reach": "ship"}}, "Nothing reaches Ship without …"),
        (
            {"after": {"gate": "look", "word": "send_back"}, "never": {"reach": "ship"}},
            "After Second look sends back, nothing reaches Ship until it is approved",
        ),
        ({"at_most": {"visit": "ship", "times": 1}}, "Ship runs at most once per task"),
        ({"at_most": ["ship"]}, "… runs at most … times per task"),
        ({"ends_within": None}, "Every path ends within … moves"),
        ({"cost_at_most": "5.00"}, "A task costs at most $5.00"),
        ({}, "7"),
        ("none", "7"),
    ],
)
def test_a_form_names_a_promise_as_every_other_page_does(world: World, member: Any, told: str) -> None:
    names = Outline(
        stations=[PartReference(key="ship", name="Ship")],
        gates=[PartReference(key="look", name="Second look")],
    )
    [rows] = guarantees_section(FormSetting(world.project, names, "")).fields
    assert isinstance(rows, Rows) and rows.title(member, 6) == told
