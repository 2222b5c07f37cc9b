"""Comments on the request of a task say what was decided about it, in its words."""

from __future__ import annotations

import pytest

from pipelines.models import HostLink, HostNotice
from pipelines.work.host_notifications.texts import notice_comment
from tests.factories import World
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("word", "done"),
    [
        ("approve", "approved by"),
        ("reject", "rejected by"),
        ("send_back", "sent back by"),
        ("rework", "sent back by"),
        ("abort", "aborted by"),
    ],
)
def test_a_comment_says_what_was_decided(world: World, word: str, done: str) -> None:
    offers = ["approve", "send_back", "reject", "rework", "abort"]
    task = world.start(world.line(**gated(offers=offers)))
    HostLink.objects.create(task=task, kind=HostLink.LinkKind.REQUEST, number=1, url="https://example.com/1")
    world.report(task)
    world.vote(task, word, reason="It is late.")
    notice = HostNotice.objects.get(about__startswith="gate:")
    assert f"**`Release review`: {done} `" in notice_comment(notice)
