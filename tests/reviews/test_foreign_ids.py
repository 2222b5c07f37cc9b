"""Whatever of a gate's address, or of what is sent to it, is of another tenant, another project or another line: there
is no such gate, and nothing changes. A machine decides nothing anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pipelines.models import Absence, Event, GateVisit, Membership, Task, Vote
from reviews.models import ChatCode, Follow, ReviewClaim, ReviewQuestion, ReviewSnooze
from tests.factories import World, make_project, make_worker
from tests.pages.conftest import client_of
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db
PARTS = "/api/owners/{}/projects/{}/stages/{}/tasks/{}/gates/{}"


@dataclass
class Gate:
    """A task that waits at a gate, with a question that was asked there."""

    world: World
    task: Task
    visit: GateVisit
    question: ReviewQuestion

    @property
    def address(self) -> tuple[str, ...]:
        project = self.world.project
        return project.owner.key, project.key, self.task.line.key, self.task.name, self.visit.gate


def gate(world: World, mark: str) -> Gate:
    given = gated()
    given |= {"key": f"release{mark}", "gates": [given["gates"][0] | {"key": f"review{mark}"}]}
    given["stations"][0]["rules"][0]["gates"] = [f"review{mark}"]
    task = world.start(world.line(**given), title=f"Task {mark}")
    world.report(task)
    visit = world.visit(task)
    question = ReviewQuestion.objects.create(
        visit=visit, task=task, gate=visit.gate, asked_by=world.reviewer, asked=world.operator,
        text="Why?", at=timezone.now(),
    )  # fmt: skip
    return Gate(world, task, visit, question)


@dataclass
class Places:
    """One gate that somebody may decide; and one of the same project, of another project of theirs, and of a project
    that they never saw."""

    mine: Gate
    others: tuple[Gate, ...]

    def __post_init__(self) -> None:
        self.before = state()


@pytest.fixture
def places(world: World) -> Places:
    theirs = World(make_project("where", "else"), make_worker())
    second = World(make_project("second", "second"), make_worker(), dict(world.people))
    for user, role in ((world.reviewer, "reviewer"), (world.operator, "operator"), (world.admin, "admin")):
        execute = role == "admin"
        Membership.objects.create(project=second.project, user=user, roles=[role], execute=execute)
    second.people = dict(world.people)
    others = gate(world, "-sibling"), gate(second, "-second"), gate(theirs, "-theirs")
    return Places(gate(world, ""), others)


def state() -> list[Any]:
    """All that somebody could have changed."""
    rows = (Vote, ReviewClaim, ReviewSnooze, Absence, Event, Follow, ChatCode)
    visits = GateVisit.objects.order_by("pk").values_list("pk", "state")
    questions = ReviewQuestion.objects.order_by("pk").values_list("pk", "answer")
    return [*(each.objects.count() for each in rows), *visits, *questions]


def mixtures(places: Places) -> Iterator[tuple[str, ...]]:
    """Each address that is put together from those of the gates, but for their own."""
    gates = (places.mine, *places.others)
    right = {each.address for each in gates if each.world.project.key != "where"}
    for other in places.others:
        for address in product(*zip(places.mine.address, other.address, strict=True)):
            if address not in right:
                yield address


def asked(places: Places) -> list[tuple[str, str, dict[str, Any]]]:
    later = (timezone.now() + timedelta(hours=1)).isoformat()
    mine = places.mine
    return [
        ("POST", "", {"action": "approve"}),
        ("POST", "", {"action": "approve", "visit": str(mine.visit.pk)}),
        ("POST", "", {"action": "reject", "reason": "No", "evidence": mine.visit.evidence_digest}),
        ("GET", "/review", {}),
        ("POST", "/claim", {}),
        ("DELETE", "/claim", {}),
        ("GET", "/questions", {}),
        ("POST", "/questions", {"text": "Why?"}),
        ("POST", f"/questions/{mine.question.pk}/answer", {"text": "Because."}),
        ("PUT", "/snooze", {"until": later}),
        ("DELETE", "/snooze", {}),
    ]


def call(method: str, address: str, body: dict[str, Any], secret: str) -> Any:
    headers = {"Authorization": f"Bearer {secret}"}
    return Client(headers=headers).generic(method, address, json.dumps(body), "application/json")


@pytest.mark.parametrize(
    ("person", "one_in"),
    [
        ("reviewer", 12),
        pytest.param("reviewer", 1, marks=pytest.mark.wide),
        pytest.param("operator", 1, marks=pytest.mark.wide),
        pytest.param("admin", 1, marks=pytest.mark.wide),
    ],
)
def test_no_mixture_of_addresses_is_a_gate(places: Places, person: str, one_in: int) -> None:
    user = getattr(places.mine.world, person)
    secret = places.mine.world.token_of(user)[1]
    tried = 0
    for address in sorted(set(mixtures(places)))[::one_in]:
        for method, rest, body in asked(places):
            answer = call(method, PARTS.format(*address) + rest, body, secret)
            assert answer.status_code == 404, (address, method, rest, answer.content)
            tried += 1
    assert state() == places.before
    print(f"{person}: {tried} requests, all 404")


def test_no_id_of_another_gate_is_taken_in_a_body(places: Places) -> None:
    world, mine = places.mine.world, places.mine
    secret = world.token_of(world.reviewer)[1]
    answers = world.token_of(world.operator)[1]
    here = PARTS.format(*mine.address)
    reviewer = client_of(world.reviewer)
    before = state()
    for other in places.others:
        visit, question = other.visit, other.question
        body = {"action": "approve", "visit": str(visit.pk)}
        assert call("POST", here, body, secret).status_code == 400
        address = f"{here}/review?visit={visit.pk}"
        assert call("GET", address, {}, secret).status_code == 404
        address = f"{here}/questions/{question.pk}/answer"
        assert call("POST", address, {"text": "Because."}, answers).status_code == 404
        address = reverse("gate-answer", args=[mine.visit.pk, question.pk])
        assert client_of(world.operator).post(address, {"text": "Because."}).status_code == 404
        shown = {"token_version": visit.token_version, "evidence_digest": "0" * 64}
        said = {"word": "approve", **shown}
        assert reviewer.post(reverse("gate-decide", args=[mine.visit.pk]), said).status_code == 409
    theirs = places.others[-1].visit
    seen = f"{theirs.token_version}:{theirs.evidence_digest}"
    for name in ("gate-decide", "gate-claim", "gate-snooze", "gate-ask", "gate-override", "gate-attend"):
        address = reverse(name, args=[theirs.pk])
        said = {"word": "approve", "action": "claim", "until": "hour", "text": "Why?", "comment": "Now"}
        said |= {"token_version": str(theirs.token_version), "evidence_digest": theirs.evidence_digest}
        assert reviewer.post(address, said).status_code == 404, name
    bulk = reviewer.post(reverse("gate-bulk"), {"visit": str(theirs.pk), f"seen-{theirs.pk}": seen})
    assert bulk.context["rows"] == [] and places.others[-1].task.title not in bulk.content.decode()
    assert state() == before


def test_a_machine_decides_nothing_anywhere(places: Places) -> None:
    """A token of a machine with every scope that one may have."""
    world, mine = places.mine.world, places.mine
    secret = world.machine("read", "submit", "report", "design", role="admin")[1]
    here = PARTS.format(*mine.address)
    for method, rest, body in asked(places):
        assert call(method, here + rest, body, secret).status_code == 403, (method, rest)
    absent = {"stand_in": world.reviewer.username, "until": (timezone.now() + timedelta(days=1)).isoformat()}
    for method, body in (("GET", {}), ("POST", absent)):
        assert call(method, "/api/absences", body, secret).status_code == 403
    assert call("GET", "/api/needs", {}, secret).status_code == 403
    machine = Client(headers={"Authorization": f"Bearer {secret}"})
    visit = mine.visit.pk
    ids = {"visit": visit, "question": mine.question.pk}
    pages = {
        "gate-decide": [visit],
        "gate-bulk": [],
        "gate-claim": [visit],
        "gate-ask": [visit],
        "gate-answer": [visit, ids["question"]],
        "gate-snooze": [visit],
        "gate-override": [visit],
        "gate-remark": [visit],
        "account-chats": [],
        "account-away": [],
        "follow": [world.project.owner.key, world.project.key],
    }
    said = {"word": "approve", "action": "claim", "until": "hour", "text": "Why?", "visit": str(visit)}
    said |= {"token_version": str(mine.visit.token_version), "evidence_digest": mine.visit.evidence_digest}
    for name, arguments in pages.items():
        answer = machine.post(reverse(name, args=arguments), said)
        assert (answer.status_code, "/sign-in/" in answer.headers["Location"]) == (302, True), name
    assert state() == places.before
