"""An approval says how many changed files this person had not opened, whichever way it comes (law §6)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.urls import reverse

from pipelines.models import Event, GateVisit, User
from tests.changes.leaving import leave
from tests.pages.conftest import client_of
from tests.reviews.test_bans import Court, by_api, by_bulk, by_chat, by_mail_link, by_page, chat, court

__all__ = ["chat", "court"]
pytestmark = pytest.mark.django_db(transaction=True)
Way = Callable[[Court, GateVisit, User], int]


@pytest.mark.parametrize("opens", [False, True])
@pytest.mark.parametrize(
    "way", [by_page, by_api, by_bulk, by_chat, by_mail_link], ids=lambda way: way.__name__
)
def test_the_record_says_what_was_not_opened(court: Court, way: Way, opens: bool) -> None:
    task = court.world.start(court.line(may=True))
    leave(court.world, task, {"a.txt": b"one\n", "b.txt": b"two\n"})
    visit = court.world.visit(task)
    if opens:
        client_of(court.other).get(
            reverse("gate-visit", args=[visit.pk]), {"tab": "changes", "file": "b.txt"}
        )
    assert way(court, visit, court.other) in (200, 302)
    assert Event.objects.get(task=task, kind="gate.voted").data["unopened"] == (1 if opens else 2)
