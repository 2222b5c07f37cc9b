"""A draft differs from what is live in what it says, not in how it is drawn."""

from __future__ import annotations

import pytest

from pipelines.lines import publishing
from pipelines.models import Line
from pipelines.web.lines.lines import does_draft_differ_from_live
from tests.factories import World, document, station

pytestmark = pytest.mark.django_db

PLACES = {
    "extra": {"editor": {"positions": {"build": [8, 16]}, "notes": [{"id": "n", "text": "Mind this."}]}}
}


@pytest.fixture
def line(world: World) -> Line:
    return publishing.create_line(world.project, "drawn", "Drawn", document(key="drawn"), world.admin)


def published(line: Line, world: World) -> Line:
    publishing.publish_draft(line, user=world.admin, name="", based_on=line.draft_number)
    line.refresh_from_db()
    return line


def drafted(line: Line, world: World, **changed: object) -> Line:
    said = {**line.draft, **changed}
    return publishing.save_draft(line, said, world.admin, line.draft_number)


def test_a_line_that_was_never_published_differs(line: Line) -> None:
    assert does_draft_differ_from_live(line)


def test_what_was_just_published_does_not_differ(line: Line, world: World) -> None:
    assert not does_draft_differ_from_live(published(line, world))


def test_places_and_notes_on_the_canvas_are_no_difference(line: Line, world: World) -> None:
    assert not does_draft_differ_from_live(drafted(published(line, world), world, **PLACES))


def test_places_that_are_live_are_no_difference_from_a_draft_without(line: Line, world: World) -> None:
    live = published(drafted(line, world, **PLACES), world)
    assert not does_draft_differ_from_live(drafted(live, world, extra={}))


def test_other_data_of_a_team_is_a_difference(line: Line, world: World) -> None:
    assert does_draft_differ_from_live(drafted(published(line, world), world, extra={"team": "blue"}))


def test_a_station_more_is_a_difference(line: Line, world: World) -> None:
    live = published(line, world)
    assert does_draft_differ_from_live(
        drafted(live, world, stations=[*live.draft["stations"], station("more")])
    )


def test_a_draft_that_is_no_line_differs(line: Line, world: World) -> None:
    assert does_draft_differ_from_live(drafted(published(line, world), world, stations=3))
