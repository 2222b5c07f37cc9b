"""Refusals that people read name words, states and kinds as the pages do, and not by their keys."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from pipelines.errors import Conflict
from pipelines.models import Word
from pipelines.ports.vault import store
from pipelines.web.project.audit import change_text
from tests.factories import World
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db


def test_who_comes_second_reads_the_word_of_the_first(world: World) -> None:
    task = world.start(world.line(**gated()))
    world.report(task)
    visit = world.visit(task)
    world.vote(task, Word.SEND_BACK, reason="Not yet.")
    with pytest.raises(Conflict, match="said “Send back” here first"):
        world.vote(task, visit=visit, by=world.admin)


def test_a_gate_that_is_passed_says_how_and_one_that_was_not_reached_says_where_the_task_is(
    world: World,
) -> None:
    task = world.start(world.line(**gated()))
    keys = (world.project.owner.key, world.project.key, "release")
    address = "/api/owners/{}/projects/{}/stages/{}/tasks/{}/gates/review".format(*keys, task.name)
    _token, secret = world.token_of(world.reviewer, "read", "decide")

    def refused() -> str:
        from_here = {"Authorization": f"Bearer {secret}"}
        answer = Client().post(address, {"action": "approve"}, "application/json", headers=from_here)
        assert answer.status_code == 409
        return str(answer.json()["detail"])

    assert refused() == "The task does not wait at this gate; it is Queued."
    world.report(task)
    world.vote(task)
    assert refused() == "Already decided: Approve."


def test_a_name_that_is_taken_says_what_it_is(world: World) -> None:
    place, now = store.ValuePlace(world.project), timezone.now()
    store.create_or_replace_value(place, "REGION", "eu-central", kind="variable", by=world.admin, now=now)
    with pytest.raises(Conflict, match="REGION is a Variable here"):
        store.create_or_replace_value(
            place, "REGION", "a secret of it", kind="secret", by=world.admin, now=now
        )


def test_the_record_of_a_token_names_what_it_may() -> None:
    assert change_text({"scopes": ["read", "design"]}) == "Read, Change lines"
