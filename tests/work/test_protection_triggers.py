"""A protected repository takes nothing that whoever let a trigger start alone approved, whichever way it started.

Each way is open without the protection, so that a test of it can fail."""

from __future__ import annotations

import pytest

from pipelines.models import Task
from tests.factories import World
from tests.reviews import test_bans as bans
from tests.reviews.test_channels import Chat, chat  # noqa: F401 a fixture
from tests.work import test_trigger_ways_around as triggers
from tests.work.driving import Bench
from tests.work.remotes import RemoteRepository
from tests.work.repository_lines import origin, run
from tests.work.siege import besieged

__all__ = ["origin"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]


@pytest.mark.smoke(2)
@pytest.mark.parametrize("protected", [True, False])
@pytest.mark.parametrize("way", triggers.WAYS)
def test_no_trigger_lands_what_its_requester_alone_approved(
    world: World,
    origin: RemoteRepository,
    chat: Chat,  # noqa: F811
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    way: triggers.Way,
    protected: bool,
) -> None:
    siege = besieged(world, origin, chat)
    document = siege.line() | {"inputs": triggers.INPUTS}
    monkeypatch.setattr(triggers, "line_of", lambda world: world.line(document).line)
    way(world, siege.mallory)
    task = Task.objects.filter(line__key="line").latest("pk")
    run(bench, task)
    if protected:
        siege.protect()
    assert bans.by_page(siege, siege.visit(task), siege.mallory) in (200, 302)
    run(bench, task)
    assert siege.landed is not protected
    assert world.status(task) == ("failed" if protected else "completed")
