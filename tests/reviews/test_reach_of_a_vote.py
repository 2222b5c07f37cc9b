"""Reach of a vote on the page of a review: files and functions of the product, and SQL statements."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from pipelines.models import Task
from tests.factories import World
from tests.pages.conftest import client_of
from tests.reviews.conftest import gated
from tests.tracing import Trace, traced

pytestmark = pytest.mark.django_db
STATEMENTS = 22
FILES = 70
FUNCTIONS = 360


def _decide(client: Client, world: World, task: Task) -> Trace:
    visit = world.visit(task)
    said = {
        "word": "approve",
        "token_version": visit.token_version,
        "evidence_digest": visit.evidence_digest,
    }
    answers: list[Any] = []
    trace = traced(lambda: answers.append(client.post(reverse("gate-decide", args=[visit.pk]), said)))
    [answer] = answers
    assert isinstance(answer, HttpResponse) and answer.status_code == 302
    return trace


def test_a_vote_on_the_page_goes_a_straight_way(world: World, admin_only_where_named: None) -> None:
    version = world.line(**gated(notify=[]))
    tasks = [world.start(version) for _ in range(3)]
    for task in tasks:
        world.report(task)
    client = client_of(world.reviewer)
    _decide(client, world, tasks[0])
    trace = _decide(client, world, tasks[1])
    assert len(trace.statements) <= STATEMENTS, "\n".join(trace.statements)
    assert len(trace.files) <= FILES, "\n".join(sorted(trace.files))
    assert len(trace.functions) <= FUNCTIONS
