"""How many SQL statements each main page may make: as many for 1,000 rows as for 10, and no more than the table says.

A task, its drawer and Insights have theirs in `test_task_statements`."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from pipelines.lines import publishing
from pipelines.models import (
    Absence,
    Decision,
    GateVisit,
    Job,
    Line,
    LineVersion,
    Task,
    Token,
    User,
    Vote,
)
from reviews.attention import claims, questions
from reviews.decision import mail_link
from reviews.models import AskedPlace, ChannelConnection, ReviewClaim, ReviewQuestion
from tests.factories import World, make_member
from tests.pages.conftest import As, at
from tests.reviews.conftest import gated

# Copied rows have no history that the engine wrote.
pytestmark = [pytest.mark.django_db, pytest.mark.broken]
Row = TypeVar("Row", Task, Token, Job, Decision, GateVisit, Vote, AskedPlace, ReviewQuestion)

BUDGET = {
    "home": 80,
    "needs-me": 100,
    "needs-count": 20,
    "inbox?tab=mine": 40,
    "inbox?tab=others": 60,
    "inbox?tab=done": 60,
    "review": 70,
    "override": 40,
    "several": 40,
    "mail link": 30,
    "board": 40,
    "line": 60,
    "publish": 40,
    "publish, what changes": 40,
    "publish, problems": 40,
    "publish, guarantees": 40,
    "publish, routing changes": 40,
    "publish, running tasks": 40,
    "tasks of a line": 40,
    "tasks of a project": 40,
    "tasks everywhere": 40,
    "tasks everywhere, searched": 40,
    "projects": 40,
    "import": 40,
    "runners": 40,
    "channels": 40,
    "away": 40,
}
"""Page → the most statements it may make, for a member who may do everything in it."""
PARTS_OF_PUBLISH = {
    "what changes": "changes",
    "problems": "findings",
    "guarantees": "guarantees",
    "routing changes": "difference",
    "running tasks": "impact",
}
OF_REVIEWER = {
    "home",
    "needs-me",
    "needs-count",
    "inbox?tab=others",
    "inbox?tab=done",
    "review",
    "away",
    "several",
}


def _copy(row: Row, **other: Any) -> Row:
    fields = {field.attname: field.name for field in row._meta.concrete_fields if not field.primary_key}
    kept = {held: getattr(row, held) for held, name in fields.items() if not {held, name} & {*other}}
    return type(row)(**kept, **other)


def _multiply(task: Task, first: int, rows: int) -> None:
    """More tasks like this one, with where each stands, its work, and what it asks or was told."""
    task.refresh_from_db()
    token, job, asked = task.tokens.first(), task.jobs.order_by("pk").first(), task.decisions.first()
    visit = task.gate_visits.first()
    assert token and job and asked and visit
    votes, asking = list(visit.votes.all()), list(visit.asked_places.all())
    tasks = Task.objects.bulk_create(_copy(task, number=first + n) for n in range(rows))
    tokens = Token.objects.bulk_create(_copy(token, task=each) for each in tasks)
    jobs = Job.objects.bulk_create(_copy(job, task=each.task, token=each) for each in tokens)
    decided = Decision.objects.bulk_create(
        _copy(asked, task=job.task, token_id=job.token_id, job_id=job.pk, cause=f"report:{job.pk}.1")
        for job in jobs
    )
    visits = GateVisit.objects.bulk_create(
        _copy(visit, task=job.task, token=job.token, job=job, asked_by=by)
        for job, by in zip(jobs, decided, strict=True)
    )
    Vote.objects.bulk_create(_copy(vote, visit=each) for each in visits for vote in votes)
    AskedPlace.objects.bulk_create(_copy(place, visit=each) for each in visits for place in asking)
    ReviewClaim.objects.bulk_create(
        ReviewClaim(visit=each, user=visit.claim.user, at=visit.claim.at, until=visit.claim.until)
        for each in (visits if hasattr(visit, "claim") else ())
    )
    asked_about = list(visit.questions.all())
    ReviewQuestion.objects.bulk_create(
        _copy(question, visit=each, task=each.task) for each in visits for question in asked_about
    )


def _settings(world: World, first: int, rows: int) -> None:
    """More runners, channels and absences."""
    for number in range(first, first + rows):
        world.runner(f"label-{number}", project=world.project)
    ChannelConnection.objects.bulk_create(
        ChannelConnection(
            project=world.project,
            kind="webhook",
            name=f"Hook {number}",
            address="https://hooks.example.com/",
            created_at=timezone.now(),
        )
        for number in range(first, first + rows)
    )


def _draft_that_differs(version: LineVersion, user: User) -> None:
    """Without the station `ship`, so that running tasks need a place."""
    line = Line.objects.get(pk=version.line_id)
    document = copy.deepcopy(version.document)
    document["stations"] = [each for each in document["stations"] if each["key"] != "ship"]
    document["stations"][0]["rules"][0]["to"] = "completed"
    publishing.save_draft(line, document, user, line.draft_number)


def _addresses(world: World, task: Task) -> dict[str, str]:
    visit, line = world.visit(task), task.line.key
    several = list(GateVisit.objects.filter(state="open").order_by("pk").values_list("pk", flat=True)[:50])
    key = mail_link.issue_token_to_sole_member_or_empty(visit, world.reviewer.email, timezone.now())
    return {
        "home": reverse("home"),
        "needs-me": reverse("needs-me"),
        "needs-count": reverse("needs-count"),
        **{f"inbox?tab={tab}": f"{reverse('inbox')}?tab={tab}" for tab in ("mine", "others", "done")},
        "review": reverse("gate-visit", args=[visit.pk]),
        "override": reverse("gate-override", args=[visit.pk]),
        "several": f"{reverse('gate-bulk')}?{urlencode({'visit': several}, doseq=True)}",
        "mail link": reverse("mail-link-arrive", args=[key]),
        "board": at(world, "line-live", line),
        "line": at(world, "line", line),
        "publish": (publish := at(world, "line-publish", line)),
        **{f"publish, {name}": f"{publish}?part={part}" for name, part in PARTS_OF_PUBLISH.items()},
        "tasks of a line": at(world, "line-tasks", line),
        "tasks of a project": at(world, "tasks"),
        "tasks everywhere": reverse("tasks-everywhere"),
        "tasks everywhere, searched": f"{reverse('tasks-everywhere')}?{urlencode({'q': task.name})}",
        "projects": reverse("projects"),
        "import": at(world, "lines-new"),
        "runners": at(world, "project-runners"),
        "channels": at(world, "project-channels"),
        "away": reverse("account-away"),
    }


def _statements(clients: dict[str, Client], pages: dict[str, str]) -> dict[str, int]:
    found = {}
    for name, address in pages.items():
        client = clients.get(name, clients[""])
        client.get(address, follow=True)
        with CaptureQueriesContext(connection) as made:
            answer = client.get(address, follow=True)
        assert answer.status_code == 200, (name, answer.status_code)
        found[name] = len(made)
    return found


@pytest.mark.parametrize("more", [30, pytest.param(990, marks=pytest.mark.wide)])
def test_a_page_asks_as_much_however_many_rows(world: World, signed_in: As, more: int) -> None:
    version = world.line(**gated(channels={"mail_link": True}, notify=[world.reviewer.email]))
    first, waiting, decided = (world.start(version) for _ in range(3))
    for task in (first, waiting, decided):
        world.report(task)
    world.vote(decided, by=world.reviewer)
    _draft_that_differs(version, world.admin)
    away = make_member(world.project, "reviewer", "away")
    far = timezone.now() + timedelta(days=30)
    Absence.objects.create(user=away, stand_in=world.reviewer, until=far, created_at=timezone.now())
    claims.claim_or_extend_review_for_an_hour(world.visit(waiting), away)
    questions.ask_requester_in_open_review(world.visit(waiting), away, "Why?")
    admin = signed_in(world.admin)
    reviewer = signed_in(world.reviewer)
    clients = {name: reviewer for name in BUDGET if name in OF_REVIEWER} | {"": admin, "mail link": Client()}
    found = []
    for start, rows in ((100, 10), (1_000, more)):
        _multiply(waiting, start, rows)
        _multiply(decided, start + 5_000, rows)
        _settings(world, start, min(rows, 40))
        found.append(_statements(clients, _addresses(world, first)))
    few, many = found
    assert many == few
    assert {name: number for name, number in few.items() if number > BUDGET[name]} == {}
    assert few.keys() == BUDGET.keys()
