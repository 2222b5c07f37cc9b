"""Where the policy leads what no rule takes: what drawings are told, the list in their place, the path of a task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from django.utils import timezone

from pipelines.models import Task
from pipelines.queries.task_view import TaskView
from pipelines.routing.document.line import read_line
from pipelines.web.editor.findings import draft_findings
from pipelines.web.lines.drawing import canvas_details, picture_of
from pipelines.web.tasks.task_path import policy_endings, task_path_json_text
from reviews.decision import choice_paths
from reviews.decision.consequences import offered_votes_within_allowed_rounds
from tests.factories import World, document, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db

OK, FAILURE = {"result": "success"}, {"result": "failure"}
SKIP = {"id": "skip", "label": "Skip it", "when": FAILURE, "to": "ship"}
GOOD = {"id": "good", "label": "Good", "when": OK, "to": "ship"}
ALWAYS = {"id": "always", "to": "ship"}


def line(*rules: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Build has these rules; after it stand Check and Ship."""
    return document([station("build", *rules), "check", "ship"], **more)


REST = {"check": "ship", "ship": "completed"}


@pytest.mark.smoke(8)
@pytest.mark.parametrize(
    ("of", "onward"),
    [
        (line(SKIP), {"build": "check", **REST}),
        (line(), {"build": "check", **REST}),
        (line(SKIP, GOOD), REST),
        (line(ALWAYS), REST),
        (line(SKIP, policy={"no_match": "stuck"}), REST),
        (line(SKIP, policy={"no_match": "fail"}), REST),
        (
            line({**GOOD, "when": {"all": [OK, {"output": {"path": "x", "op": "exists"}}]}}),
            {"build": "check", **REST},
        ),
        (
            document(["check", station("build", {**SKIP, "to": "check"})]),
            {"check": "build", "build": "completed"},
        ),
    ],
    ids=["failure", "none", "both", "always", "stuck", "fail", "some", "last"],
)
def test_it_is_told_only_where_the_policy_goes_on_with_what_no_rule_takes(
    world: World, of: dict[str, Any], onward: dict[str, str]
) -> None:
    assert draft_findings(of, world.project)["onward"] == onward
    told_there = canvas_details(read_line(of))
    assert told_there["onward"] == onward
    ruled = {each["key"] for each in of["stations"] if each.get("rules")}
    assert told_there["otherwise"].keys() == ruled & onward.keys()


def test_pages_say_it_in_words_and_in_the_list_for_who_has_no_script(world: World, signed_in: As) -> None:
    version = world.line(line(SKIP))
    drawing = picture_of(read_line(line(SKIP)))
    assert drawing.given["otherwise"]["build"].startswith("No rule matched → on to check")
    assert [each.rules for each in drawing.listed] == [("Skip it → ship", "Otherwise → check"), (), ()]
    page = text(signed_in(world.viewer).get(at(world, "line", version.line.key)))
    assert "<li>Otherwise → check</li>" in page


def path(task: Task) -> dict[str, str]:
    view = TaskView(Task.objects.get(pk=task.pk), timezone.now())
    ways = json.loads(task_path_json_text(view, policy_endings(view)))["ways"]
    return {way: state for way, state in ways.items() if way.startswith("build")}


def test_a_task_that_went_that_way_lights_it_up_and_no_other_does(world: World) -> None:
    version = world.line(line({**SKIP, "to": "check"}))
    passed, failed = world.start(version), world.start(version)
    world.report(passed)
    world.report(failed, FAILURE)
    assert path(passed) == {"build@onward": "taken"}
    assert path(failed) == {"build@onward": "not"}


def test_a_task_that_it_ends_has_no_other_edge_to_its_end(world: World) -> None:
    version = world.line(document([station("build", {**SKIP, "to": "failed"})]))
    passed = world.start(version)
    world.report(passed)
    assert path(passed) == {"build@onward": "taken"}
    bare = world.start(world.line(document(["build"], key="bare")))
    world.report(bare)
    view = TaskView(Task.objects.get(pk=bare.pk), timezone.now())
    assert picture_of(view.line, policy_endings(view)).given["onward"] == {}


def test_a_rejection_that_leads_elsewhere_is_not_drawn_as_where_the_policy_leads(world: World) -> None:
    gate = {"key": "look", "name": "Look", "on_reject": "route:ship"}
    stations = [station("build", SKIP, gate="look"), "check", "ship"]
    task = world.start(world.line(document(stations, gates=[gate])))
    world.report(task)
    visit = task.gate_visits.get()
    drawn = choice_paths.draw_choices_with_consequence_or_none(
        visit, offered_votes_within_allowed_rounds(visit)
    )
    assert drawn is not None
    (reject,) = [each for each in drawn.choices if each.option.word == "reject"]
    shown = json.loads(reject.told)
    assert shown["places"]["ship"]["words"] == "next"
    assert shown["ways"]["build@onward"] == "not"
