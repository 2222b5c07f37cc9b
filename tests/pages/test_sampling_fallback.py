"""A gate that asks about a sample falls back by itself, and people let it sample again (law §15, Sampling)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.lines import publishing
from pipelines.models import Line, LineEvent, SampledDraw, Task
from reviews.models import Notification
from tests.engine.test_sampling import NEVER, asked, change, expected, line, why
from tests.factories import World
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db

CONTRADICTED = {
    "result": "success",
    "facts": {
        "claims": {
            "made": [],
            "contradicted": [{"kind": "tests", "said": {"passed": 3}, "is": {"passed": 1}}],
        }
    },
}


def fallen_back(world: World, version: Any) -> Task:
    """A task that said what is not so."""
    task = world.start(version, title="Claims")
    assert asked(world, task, CONTRADICTED)
    return task


@pytest.mark.parametrize("word", ["reject", "send_back"])
def test_a_drawn_task_that_is_not_approved_lets_the_gate_ask_about_all(world: World, word: str) -> None:
    offers = ["approve", "send_back", "reject"]
    version = line(world, 3, offers=offers, on_reject="fail")
    task = next(
        each for n in range(99) if expected(version, each := world.start(version, title=f"Change {n}"), 3)
    )
    assert asked(world, task)
    world.vote(task, word, reason="Not so")
    for number in range(6):
        after = world.start(version, title=f"After {number}")
        assert asked(world, after)
        drawn = expected(version, after, 3)
        words = (
            "drawn, 1 in 3" if drawn else "something went wrong since, so all are asked about and not 1 in 3"
        )
        assert why(after) == [f"review: sample: {words}"]
    event = LineEvent.objects.get(kind="asks_all")
    assert event.data == {"gate": "review", "name": "review", "cause": "refused", "task": task.name}
    people = set(Notification.objects.filter(kind="sampling").values_list("user__username", flat=True))
    assert people == {world.admin.username}


def test_a_drawn_task_is_a_failed_sample_although_another_that_asks_the_same_was_approved(
    world: World,
) -> None:
    version = line(world, 3, offers=["approve", "reject"], on_reject="fail")
    drawn = next(
        task for n in range(99) if expected(version, task := world.start(version, title=f"Change {n}"), 3)
    )
    assert asked(world, drawn)
    same = world.start(version, title=drawn.title)
    assert asked(world, same) and world.vote(same).moved
    assert not SampledDraw.objects.filter(about=SampledDraw.ALL).exists()
    world.vote(drawn, "reject", reason="Not so")
    assert SampledDraw.objects.filter(about=SampledDraw.ALL).exists()


def test_a_drawn_task_that_is_approved_changes_nothing(world: World) -> None:
    version = line(world, 3)
    task = next(
        each for n in range(99) if expected(version, each := world.start(version, title=f"Change {n}"), 3)
    )
    assert asked(world, task) and world.vote(task).moved
    assert not SampledDraw.objects.filter(about=SampledDraw.ALL).exists()


def test_who_is_asked_about_by_a_check_and_refused_is_no_failed_sample(world: World) -> None:
    always = {"any": [{"field": "task.labels", "operator": "contains", "value": "risky"}]}
    version = line(world, NEVER, always, on_reject="fail", offers=["approve", "reject"])
    task = world.start(version, labels=["risky"])
    assert asked(world, task, change("x"))
    world.vote(task, "reject", reason="No")
    assert not asked(world, world.start(version, title="Another"), change("y"))


def test_a_claim_that_facts_contradict_is_asked_about_and_so_is_every_task_after_it(world: World) -> None:
    version = line(world, NEVER)
    assert not asked(world, world.start(version, title="Before"))
    fallen_back(world, version)
    assert asked(world, world.start(version, title="After"))
    fallen_back(world, version)
    assert LineEvent.objects.filter(kind="asks_all").count() == 1


def test_whoever_may_execute_lets_it_sample_again_on_insights(world: World, signed_in: As) -> None:
    version = line(world, NEVER)
    task = fallen_back(world, version)
    page = signed_in(world.admin).get(at(world, "insights")).content.decode()
    assert (
        "Gates that ask about all again" in page and f"{task.name} claimed what the facts contradict" in page
    )
    again = at(world, "sample-again", version.line.key, "review")
    assert signed_in(world.operator).post(again).status_code == 403
    assert signed_in(world.admin).post(again).status_code == 302
    assert signed_in(world.admin).post(again).status_code == 404
    assert not asked(world, world.start(version, title="Later"))
    page = signed_in(world.admin).get(at(world, "insights")).content.decode()
    assert "Gates that ask about all again" not in page
    record = signed_in(world.admin).get(at(world, "line-versions", version.line.key)).content.decode()
    assert "review asks about all again: " in record and "review asks about a sample again" in record


def test_publishing_another_sample_lets_it_sample_again_and_the_same_does_not(world: World) -> None:
    version = line(world, NEVER)
    fallen_back(world, version)
    for sample, asks in (({"one_in": NEVER}, True), ({"one_in": NEVER - 1}, False)):
        stored = Line.objects.get(pk=version.line_id)
        gates = [{"key": "review", "sample": sample, "name": f"Look {sample['one_in']}"}]
        found = publishing.save_draft(
            stored, {**stored.draft, "gates": gates}, world.admin, stored.draft_number
        )
        new = publishing.publish_draft(found, user=world.admin, based_on=found.draft_number)
        assert asked(world, world.start(new, title=f"With {sample}")) == asks


def test_a_sample_is_proposed_in_the_draft_and_published_by_a_person(world: World, signed_in: As) -> None:
    version = line(world, 4)
    gates = [{"key": "review", "name": "Review"}]
    stored = Line.objects.get(pk=version.line_id)
    found = publishing.save_draft(stored, {**stored.draft, "gates": gates}, world.admin, stored.draft_number)
    publishing.publish_draft(found, user=world.admin, based_on=found.draft_number)
    propose = at(world, "sample-propose", stored.key, "review")
    assert signed_in(world.operator).post(propose, {"one_in": "10"}).status_code == 403
    for wrong in ("3", "", "-1", "x", "1" * 5000):
        answer = signed_in(world.admin).post(propose, {"one_in": wrong}, follow=True)
        assert "Choose one of 2, 5, 10, 20." in text(answer)
    assert (
        signed_in(world.admin)
        .post(at(world, "sample-propose", stored.key, "no"), {"one_in": "10"})
        .status_code
        == 404
    )
    answer = signed_in(world.admin).post(propose, {"one_in": "10"})
    assert answer.status_code == 302 and answer["Location"] == at(world, "line-publish", stored.key)
    stored.refresh_from_db()
    assert stored.draft["gates"] == [{"key": "review", "name": "Review", "sample": {"one_in": 10}}]
    assert stored.live is not None and "sample" not in str(stored.live.document)


def test_a_sample_that_breaks_a_guarantee_is_not_proposed(world: World, signed_in: As) -> None:
    version = line(world, 4)
    stored = Line.objects.get(pk=version.line_id)
    gates, promise = (
        [{"key": "review"}],
        {"id": "seen", "never": {"reach": "ship", "without": "review"}},
    )
    draft = {**stored.draft, "gates": gates, "guarantees": [promise]}
    found = publishing.save_draft(stored, draft, world.admin, stored.draft_number)
    publishing.publish_draft(found, user=world.admin, based_on=found.draft_number)
    propose = at(world, "sample-propose", stored.key, "review")
    answer = signed_in(world.admin).post(propose, {"one_in": "10"}, follow=True)
    assert "could not be published with this sample: “" in text(answer)
    stored.refresh_from_db()
    assert stored.draft["gates"] == gates
