"""Where a gate leads what people reject: what drawings are told, the list in their place, the paths of tasks, tests,
reviews and guarantees."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from django.utils import timezone

from pipelines.formats.changes import document_changes
from pipelines.formats.overlay import overlay_documents
from pipelines.lines.version_comparison import DocumentComparison
from pipelines.models import Task
from pipelines.queries.task_view import TaskView
from pipelines.routing.document.line import read_line
from pipelines.web.editor.findings import draft_findings
from pipelines.web.lines.change_groups import merged_canvas_data
from pipelines.web.lines.drawing import STOPPED, canvas_details, picture_of
from pipelines.web.tasks.task_path import policy_endings, task_path_json_text
from reviews.decision import choice_paths
from reviews.decision.consequences import offered_votes_within_allowed_rounds
from tests.factories import World, document, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db

READY = {"id": "ready", "label": "Ready", "when": {"result": "success"}, "to": "build", "gates": ["look"]}
LOOK = {"key": "look", "name": "A look", "on_reject": "route:triage"}


def line(*, gate: Mapping[str, Any] = LOOK, **more: Any) -> dict[str, Any]:
    """Plan leads to Build by a gate, which leads to Triage what it rejects; Triage leads back to Build."""
    stations = [
        station("plan", READY),
        station("triage", {"id": "fixed", "to": "build"}),
        station("build", {"id": "done", "to": "completed"}),
    ]
    return document(stations, gates=[dict(gate)], **more)


@pytest.mark.parametrize(
    ("of", "rejected"),
    [
        (line(), {"look": "triage"}),
        (
            line(gate={"key": "look", "name": "A look"}, policy={"on_reject": "route:build"}),
            {"look": "build"},
        ),
        (line(gate={**LOOK, "on_reject": "fail"}, policy={"on_reject": "route:build"}), {}),
        (line(gate={**LOOK, "offers": ["approve", "send_back"]}), {}),
        (line(gate={**LOOK, "on_reject": "rework"}), {}),
    ],
    ids=["gate", "line", "fail", "not offered", "again"],
)
def test_it_is_told_of_gates_whose_rejection_leads_to_a_station(
    world: World, of: dict[str, Any], rejected: dict[str, str]
) -> None:
    assert draft_findings(of, world.project)["rejected"] == rejected
    assert canvas_details(read_line(of))["rejected"] == rejected


def test_the_list_for_who_has_no_script_says_it(world: World, signed_in: As) -> None:
    version = world.line(line())
    drawing = picture_of(read_line(line()))
    assert drawing.listed[0].rules == ("Ready → build (A look)", "Rejected by A look → triage")
    page = text(signed_in(world.viewer).get(at(world, "line", version.line.key)))
    assert "<li>Rejected by A look → triage</li>" in page


def path(task: Task) -> dict[str, str]:
    view = TaskView(Task.objects.get(pk=task.pk), timezone.now())
    return dict(json.loads(task_path_json_text(view, policy_endings(view)))["ways"])


def test_a_task_that_was_rejected_lights_it_up_and_no_other_does(world: World) -> None:
    version = world.line(line())
    refused, agreed = world.start(version), world.start(version)
    for task, word in ((refused, "reject"), (agreed, "approve")):
        world.report(task)
        world.vote(task, word, reason="As it is")
    assert world.at(refused) == ["triage"]
    assert (path(refused)["ready@rejected"], path(refused)["ready"]) == ("taken", "not")
    assert (path(agreed)["ready@rejected"], path(agreed)["ready"]) == ("not", "taken")


def test_a_review_shows_it_as_what_a_rejection_does(world: World) -> None:
    task = world.start(world.line(line()))
    world.report(task)
    visit = task.gate_visits.get()
    drawn = choice_paths.draw_choices_with_consequence_or_none(
        visit, offered_votes_within_allowed_rounds(visit)
    )
    assert drawn is not None
    shown = {each.option.word: json.loads(each.told)["ways"] for each in drawn.choices}
    assert (shown["reject"]["ready@rejected"], shown["reject"]["ready"]) == ("taken", "not")
    assert (shown["approve"]["ready@rejected"], shown["approve"]["ready"]) == ("not", "taken")
    assert set(shown["send_back"].values()) == {"not"}


def test_a_review_shows_a_rejection_that_ends_the_task_as_stopped_at_the_gate(world: World) -> None:
    task = world.start(world.line(line(gate={**LOOK, "on_reject": "fail"})))
    world.report(task)
    visit = task.gate_visits.get()
    drawn = choice_paths.draw_choices_with_consequence_or_none(
        visit, offered_votes_within_allowed_rounds(visit)
    )
    assert drawn is not None
    shown = {each.option.word: json.loads(each.told) for each in drawn.choices}["reject"]
    assert {way for way, state in shown["ways"].items() if state == "taken"} == {f"plan{STOPPED}"}
    assert shown["places"]["failed"]["words"] == "the task ends"
    assert f"plan{STOPPED}" in [
        rule["id"] for rule in drawn.drawing.given["document"]["stations"][0]["rules"]
    ]


def test_the_path_that_refutes_a_promise_goes_along_it(world: World) -> None:
    promise = {"id": "never", "after": {"gate": "look", "word": "reject"}, "never": {"reach": "build"}}
    (refuted,) = draft_findings(line(guarantees=[promise]), world.project)["guarantees"]
    assert [(each["source"], each["target"], each["edge"]) for each in refuted["ways"]] == [
        ("plan", "triage", "ready@rejected"),
        ("triage", "build", "fixed"),
    ]


def apart_of(*documents: dict[str, Any]) -> DocumentComparison:
    old, new = (read_line(each).to_document() for each in documents)
    found = tuple(document_changes(old, new))
    return DocumentComparison(old, new, found, overlay_documents(old, new, found))


def test_a_comparison_tells_it_of_both_sides(world: World) -> None:
    other = {**LOOK, "on_reject": "route:build"}
    assert merged_canvas_data(apart_of(line(), line(gate=other)), 0)["rejected"] == {"look": "build"}
    without = document([station("plan"), "triage", "build"])
    assert merged_canvas_data(apart_of(line(), without), 0)["rejected"] == {"look": "triage"}
