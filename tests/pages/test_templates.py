"""The templates on the page of a new line: each is a good line, and its sample run goes where the page says."""

from __future__ import annotations

from html import unescape

import pytest

from pipelines.lines.project_lint import examine_text
from pipelines.lines.publishing import publish_draft
from pipelines.lines.starters.catalogue import STARTERS, Starter
from pipelines.models import Line, Membership
from pipelines.routing.analysis.lint.finding import INFO
from pipelines.routing.sentences.names import end_name, gate_name
from tests.factories import World
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db
every = pytest.mark.parametrize("starter", STARTERS, ids=lambda starter: starter.key)


def test_there_are_twelve() -> None:
    assert len({starter.key for starter in STARTERS}) == 12


@every
def test_a_template_is_free_of_errors_and_warnings(world: World, starter: Starter) -> None:
    world.reviewers(4)
    found = examine_text(starter.text, world.project)
    assert [str(each) for each in found.findings if each.severity != INFO] == []


@every
def test_its_sample_run_takes_every_step_and_ends_well(starter: Starter) -> None:
    sample = starter.sample_run
    assert sample.holds
    assert len(sample.steps) == len(starter.steps) + 1
    assert sample.walk is not None
    assert sample.walk.status == "completed"
    *passed, end = starter.sample_path
    assert passed[0] == starter.line.stations[0].name
    assert end in {end_name(starter.line, each.key) for each in starter.line.ends}
    decided = [key for step in starter.steps for key in step.get("gates", {})]
    assert [gate_name(starter.line, key) for key in decided] == [
        each for each in passed if each in {gate.name for gate in starter.line.gates}
    ]


@every
def test_a_line_is_begun_with_it_and_can_be_published_as_it_is(
    world: World, signed_in: As, starter: Starter
) -> None:
    world.reviewers(4)
    Membership.objects.filter(user=world.designer).update(execute=True)
    client = signed_in(world.designer)
    for key in (starter.key, f"{starter.key}-2"):
        answer = client.post(at(world, "lines-new"), {"starter": starter.key})
        assert answer.headers["Location"] == at(world, "line-draw", key)
        line = Line.objects.get(key=key)
        assert line.draft_text.startswith("# ")
        assert publish_draft(line, user=world.designer, based_on=1).number == 1


def test_the_page_shows_each_with_its_picture_its_needs_and_its_run(world: World, signed_in: As) -> None:
    page = unescape(text(signed_in(world.designer).get(at(world, "lines-new"))))
    for starter in STARTERS:
        assert starter.line.name in page
        assert str(starter.purpose) in page
        assert all(str(need) in page for need in starter.needs)
        assert all(promise in page for promise in starter.guarantee_sentences)
    assert page.count('class="starter-picture" inert') == 12
    assert "Nothing reaches Merge without Code review · After Code review rejects" in page
    assert "Build → Test → Fix → Build → Test → Released" in page
    assert "Prepare → Review → Deliver → Delivered" in page
