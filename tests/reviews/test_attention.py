"""Claiming a review, asking its requester, seeing it later: on pages, over the API, and in the lists of others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.urls import reverse
from django.utils import timezone

from pipelines.models import Absence, Task, User
from reviews.models import Notification, ReviewClaim, ReviewQuestion, ReviewSnooze
from reviews.review.attention_actions import chosen_time_or_none
from tests.api.conftest import Apis, gate_path
from tests.factories import World
from tests.pages.conftest import client_of

pytestmark = pytest.mark.django_db


def post(user: User, name: str, *arguments: Any, **said: str) -> Any:
    return client_of(user).post(reverse(name, args=arguments), said)


def list_of(user: User, query: str = "") -> str:
    return client_of(user).get(f"{reverse('needs-me')}?fragment=list&{query}").content.decode()


def test_a_claim_is_shown_to_others_and_keeps_nobody_from_deciding(world: World, waiting: Task) -> None:
    visit, [second] = world.visit(waiting), world.reviewers(1)
    assert post(world.reviewer, "gate-claim", visit.pk, action="claim").status_code == 302
    assert f"Claimed by {world.reviewer}" in list_of(second)
    post(second, "gate-claim", visit.pk, action="claim")
    assert ReviewClaim.objects.get().user == world.reviewer
    assert "Claimed by" in list_of(second, "state=claimed")
    assert "Add login" not in list_of(second, "state=unclaimed")
    world.vote(waiting, by=second)
    assert world.at(waiting) == ["ship"]


def test_a_claim_ends_by_itself_or_by_its_owner_or_an_administrator(world: World, waiting: Task) -> None:
    visit, [second] = world.visit(waiting), world.reviewers(1)
    for releases, status in ((second, 403), (world.admin, 302), (world.reviewer, 302)):
        post(world.reviewer, "gate-claim", visit.pk, action="claim")
        assert post(releases, "gate-claim", visit.pk, action="release").status_code == status
        assert ReviewClaim.objects.exists() == (status == 403)
    post(world.reviewer, "gate-claim", visit.pk, action="claim")
    ReviewClaim.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert "Claimed by" not in list_of(second)
    post(second, "gate-claim", visit.pk, action="claim")
    assert ReviewClaim.objects.get().user == second


def test_a_question_reaches_the_requester_and_voids_nothing(world: World, waiting: Task) -> None:
    visit, [second] = world.visit(waiting), world.reviewers(1)
    before = (visit.token_version, visit.evidence_digest)
    post(world.reviewer, "gate-ask", visit.pk, text="Why <b>now</b>?\u202e")
    question = ReviewQuestion.objects.get()
    told = Notification.objects.get(kind="questions")
    assert (told.user, told.read_at) == (world.operator, None)
    assert f"Asked, waiting for {world.operator}" in list_of(second)
    mine = list_of(world.operator)
    assert "Why &lt;b&gt;now" in mine and "\u202e" not in mine
    page = client_of(second).get(reverse("gate-visit", args=[visit.pk])).content.decode()
    assert "Why &lt;b&gt;now" in page and "\u202e" not in page and "Your answer" not in page
    assert post(second, "gate-answer", visit.pk, question.pk, text="x").status_code == 403
    assert post(world.operator, "gate-answer", visit.pk, question.pk, text="Because.").status_code == 302
    told.refresh_from_db()
    assert told.read_at, "it was answered"
    assert Notification.objects.get(about__endswith=":answered").user == world.reviewer
    post(world.operator, "gate-answer", visit.pk, question.pk, text="Another.")
    question.refresh_from_db()
    assert question.answer == "Because."
    visit.refresh_from_db()
    assert (visit.token_version, visit.evidence_digest) == before
    assert "Why &lt;b&gt;now" not in list_of(world.operator)


def test_the_requester_answers_in_their_inbox(world: World, waiting: Task) -> None:
    visit = world.visit(waiting)
    post(world.reviewer, "gate-ask", visit.pk, text="Why?")
    question = ReviewQuestion.objects.get()
    answer = post(world.operator, "need-act", "reply", question.pk, verb="reply", text="Because.")
    assert answer.status_code == 302
    question.refresh_from_db()
    assert question.answer == "Because."


def test_what_is_no_question_is_not_asked(world: World, waiting: Task) -> None:
    for text in ("", "  ", "x" * 10_001, "a\x00b"):
        assert post(world.reviewer, "gate-ask", world.visit(waiting).pk, text=text).status_code == 302
    assert not ReviewQuestion.objects.exists()


def test_a_snooze_is_of_one_list_and_ends_by_itself(world: World, waiting: Task) -> None:
    visit, [second] = world.visit(waiting), world.reviewers(1)
    post(world.reviewer, "gate-snooze", visit.pk, until="hour")
    assert "Add login" not in list_of(world.reviewer)
    assert "Add login" in list_of(world.reviewer, "state=snoozed")
    assert "Add login" in list_of(second)
    count = client_of(world.reviewer).get(reverse("needs-count")).content
    assert count == b""
    ReviewSnooze.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert "Add login" in list_of(world.reviewer)
    post(world.reviewer, "gate-snooze", visit.pk, until="tomorrow")
    world.vote(waiting, by=world.reviewer)
    assert world.at(waiting) == ["ship"], "who snoozed may decide all the same"


def test_a_time_that_is_none_snoozes_nothing(world: World, waiting: Task) -> None:
    for until in ("soon", "2001-01-01T00:00", "9999-12-31T23:59", "0001-01-01T00:00", "2031-13-01T00:00"):
        assert post(world.reviewer, "gate-snooze", world.visit(waiting).pk, until=until).status_code == 302
    assert not ReviewSnooze.objects.exists()


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-03-28T12:00+00:00", "2026-03-29T07:00+00:00"),  # the night in which summer time begins
        ("2026-10-24T12:00+00:00", "2026-10-25T08:00+00:00"),  # and ends
    ],
)
def test_tomorrow_is_nine_by_the_clock_on_the_wall(now: str, expected: str) -> None:
    person = User(time_zone="Europe/Berlin")
    found = chosen_time_or_none("tomorrow", person, datetime.fromisoformat(now))
    assert found is not None and found.astimezone(UTC).isoformat(timespec="minutes") == expected
    assert found.astimezone(ZoneInfo("Europe/Berlin")).hour == 9


def test_the_row_says_in_whose_place(world: World, waiting: Task) -> None:
    far = datetime(2999, 1, 1, tzinfo=UTC)
    Absence.objects.create(user=world.reviewer, stand_in=world.viewer, until=far, created_at=far)
    assert f"As stand-in for {world.reviewer}" in list_of(world.viewer)
    assert "As stand-in" not in list_of(world.reviewer)


def test_all_of_it_over_the_api(world: World, waiting: Task) -> None:
    api = Apis(world)
    reviewer, operator = api.as_(world.reviewer, "read", "decide"), api.as_(world.operator, "read", "decide")
    path = gate_path(waiting)
    assert reviewer.post(f"{path}/claim", {}).json()["by"] == str(world.reviewer)
    assert operator.post(f"{path}/claim", {}).status_code == 403
    asked = reviewer.post(f"{path}/questions", {"text": "Why?"})
    assert asked.status_code == 201
    answer = f"{path}/questions/{asked.json()['id']}/answer"
    assert reviewer.post(answer, {"text": "Because."}).status_code == 403
    assert operator.post(answer, {"text": "Because."}).json()["answer"] == "Because."
    assert operator.post(answer, {"text": "Because."}).status_code == 409
    assert reviewer.get(f"{path}/questions").json()[0]["answer"] == "Because."
    assert operator.post(f"{path}/questions/{2**70}/answer", {"text": "x"}).status_code == 404
    shown = reviewer.get(f"{path}/review").json()
    assert shown["claimed"]["by"] == str(world.reviewer)
    assert [each["answer"] for each in shown["questions"]] == ["Because."]
    history = client_of(world.viewer).get(reverse("gate-history", args=[world.visit(waiting).pk])).json()
    [told] = history["rounds"]
    assert (told["claim"]["by"], told["questions"][0]["text"]) == (world.reviewer.username, "Why?")
    assert told["questions"][0]["answer"] == "Because." and told["questions"][0]["answered_at"]
    assert api.machine("read").get(f"{path}/questions").status_code == 403
    world.vote(waiting, by=world.reviewer)
    assert reviewer.post(f"{path}/claim", {}).status_code == 409
