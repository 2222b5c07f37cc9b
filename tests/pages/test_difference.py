"""The pages of the difference and of the numbers."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.models import Line
from tests.factories import World, document, station
from tests.fixtures.older import published_before
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db


def with_target(target: str, *more: dict[str, Any]) -> dict[str, Any]:
    rules = [{"id": "bad", "when": {"result": "failure"}, "to": target}, *more]
    return document([station("check", *rules, name="Check"), "fix", "ship"], key="app-check")


@pytest.fixture
def line(world: World) -> Line:
    world.line(with_target("fix"))
    return world.line(with_target("ship")).line


def page(world: World, signed_in: As, query: str = "") -> str:
    return text(signed_in(world.viewer).get(at(world, "line-difference", "app-check") + query))


def test_it_shows_each_change_in_words_with_its_sample(world: World, signed_in: As, line: Line) -> None:
    shown = page(world, signed_in, "?from=1&to=2")
    assert "1 change" in shown
    assert "Outcomes of Check such as {result: failure} went to fix by rule 1; now they go to ship" in shown
    assert "&quot;station&quot;: &quot;check&quot;" in shown


def test_it_says_that_nothing_goes_elsewhere(world: World, signed_in: As, line: Line) -> None:
    assert "No routing changes" in page(world, signed_in)


def test_a_draft_that_is_no_line_names_its_problems(world: World, signed_in: As, line: Line) -> None:
    Line.objects.filter(pk=line.pk).update(draft={"gateline": 1, "key": "app-check", "stations": 7})
    shown = page(world, signed_in)
    assert "The draft cannot be read yet" in shown
    assert "stations" in shown


def test_a_line_that_was_never_published_has_nothing_to_compare(world: World, signed_in: As) -> None:
    signed_in(world.designer).post(
        at(world, "lines-new"),
        {"text": "gateline: 1\nkey: app-check\nstations: [{key: a, work: {kind: noop}}]\n"},
    )
    assert "There is no version to compare with" in page(world, signed_in)


@pytest.mark.parametrize("query", ["?from=9", "?to=x"])
def test_a_version_that_there_is_not_is_404(world: World, signed_in: As, line: Line, query: str) -> None:
    answer = signed_in(world.viewer).get(at(world, "line-difference", "app-check") + query)
    assert answer.status_code == 404


def test_markup_in_names_stays_text(world: World, signed_in: As, line: Line) -> None:
    hostile = with_target("fix")
    hostile["stations"][0]["name"] = "<script>alert(1)</script>"
    Line.objects.filter(pk=line.pk).update(draft=hostile)
    shown = page(world, signed_in)
    assert "<script>alert(1)" not in shown
    assert "&lt;script&gt;alert(1)" in shown


def test_publishing_leads_to_the_difference(world: World, signed_in: As, line: Line) -> None:
    shown = text(signed_in(world.designer).get(at(world, "line-publish", "app-check")))
    assert at(world, "line-difference", "app-check") + "?from=live&amp;to=draft" in shown


# Numbers


def numbers(world: World, signed_in: As, query: str = "") -> str:
    return text(signed_in(world.viewer).get(at(world, "line-insights", "app-check") + query))


def test_numbers_without_tasks_say_how_to_get_some(world: World, signed_in: As, line: Line) -> None:
    shown = numbers(world, signed_in)
    assert "Nothing ended in this period" in shown
    assert "Not used in 0 tasks, but matched by" in shown


@pytest.mark.moves
def test_numbers_tell_never_from_cannot(world: World, signed_in: As) -> None:
    more = (
        {"id": "again", "when": {"result": "failure"}, "to": "failed"},
        {"id": "late", "when": {"result": "cancelled"}, "to": "failed"},
    )
    version = published_before(world, with_target("fix", *more))
    world.report(world.start(version), {"result": "failure"})
    shown = numbers(world, signed_in)
    assert "Never matches: rule 1 already takes everything" in shown
    assert "Not used in 1 task, but matched by" in shown
    assert "{result: cancelled}" in shown
    assert "100%" in shown


def test_numbers_of_a_version_that_there_is_not_are_404(world: World, signed_in: As, line: Line) -> None:
    answer = signed_in(world.viewer).get(at(world, "line-insights", "app-check") + "?version=9")
    assert answer.status_code == 404
