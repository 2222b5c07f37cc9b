"""The page where one says that one is away, and what a stand-in sees of a review."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.urls import reverse
from django.utils import timezone

from pipelines.models import Absence, Vote
from tests.api.conftest import Apis, gate_path
from tests.factories import World
from tests.pages.conftest import client_of
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db
PAGE = "/account/away/"


def test_one_names_a_stand_in_and_comes_back(world: World) -> None:
    client, today = client_of(world.reviewer), timezone.localdate()
    world.viewer.first_name = "<b>Vera</b>"
    world.viewer.save()
    said = {"stand_in": world.viewer.pk, "project": "", "until": today.isoformat()}
    assert client.post(PAGE, said).status_code == 302
    row = Absence.objects.get()
    assert (row.user, row.stand_in, row.project) == (world.reviewer, world.viewer, None)
    assert 0 < (row.until - timezone.now()).total_seconds() <= 24 * 3600
    page = client.get(PAGE).content.decode()
    assert "All projects" in page and "&lt;b&gt;Vera" in page and "<b>Vera" not in page
    assert "You stand in for" in client_of(world.viewer).get(PAGE).content.decode()
    end = reverse("absence-end", args=[row.pk])
    assert client_of(world.viewer).post(end).status_code == 404
    assert client.post(end).status_code == 302
    assert not Absence.objects.exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("until", "2001-01-01"),
        ("until", "9999-12-31"),
        ("until", "soon"),
        ("stand_in", "0"),
        ("stand_in", "x\x00"),
        ("project", "999999"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_field(world: World, field: str, value: str) -> None:
    said = {"stand_in": world.viewer.pk, "project": world.project.pk, "until": timezone.localdate()}
    answer = client_of(world.reviewer).post(PAGE, said | {field: value})
    assert answer.status_code == 422
    assert answer.context["form"].errors.keys() == {field}
    assert not Absence.objects.exists()


def test_a_stranger_is_nobodys_stand_in(world: World) -> None:
    said = {"stand_in": world.stranger.pk, "project": "", "until": timezone.localdate()}
    assert client_of(world.reviewer).post(PAGE, said).status_code == 422


def test_the_review_says_in_whose_place_one_decides(world: World) -> None:
    task = world.start(world.line(**gated(approval={"who": [{"role": "reviewer", "count": 2}]})))
    world.report(task)
    far = datetime(2999, 1, 1, tzinfo=UTC)
    [second] = world.reviewers(1)
    for user, stand_in in ((world.reviewer, world.viewer), (world.reviewer, second)):
        Absence.objects.update_or_create(
            user=user, project=None, defaults={"stand_in": stand_in, "until": far, "created_at": far}
        )
        visit = world.visit(task)
        page = client_of(stand_in).get(reverse("gate-visit", args=[visit.pk])).content.decode()
        assert f"In place of {world.reviewer}, who is away" in page
        assert ("As yourself" in page) is (stand_in == second)
    about = {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
    decide = reverse("gate-decide", args=[visit.pk])
    said = {"word": "approve", **about, "seat": world.reviewer.username}
    assert client_of(world.viewer).post(decide, said).status_code == 403
    assert client_of(second).post(decide, said).status_code == 302
    assert Vote.objects.get().stands_for == world.reviewer
    address = reverse("gate-visit", args=[visit.pk]) + "?show=history"
    assert f"in place of {world.reviewer}" in client_of(second).get(address).content.decode()
    history = client_of(second).get(reverse("gate-history", args=[visit.pk])).json()
    vote = history["rounds"][0]["votes"][0]
    assert (vote["by"], vote["stands_for"]) == (second.username, world.reviewer.username)


def test_it_is_decided_over_the_api_in_a_place(world: World) -> None:
    task = world.start(world.line(**gated()))
    world.report(task)
    far = datetime(2999, 1, 1, tzinfo=UTC)
    Absence.objects.create(user=world.reviewer, stand_in=world.viewer, until=far, created_at=far)
    viewer = Apis(world).as_(world.viewer)
    for name, status in (("nobody", 403), (world.reviewer.username, 200)):
        said = {"action": "approve", "inPlaceOf": name}
        assert viewer.post(gate_path(task), said).status_code == status, name
