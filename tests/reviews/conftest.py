"""A line with one gate, and a task that waits there."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from pipelines.models import GateVisit, LineVersion, Task, User
from reviews.models import NotificationSettings, Remark
from reviews.notifications.recipients import MailChoice
from tests.factories import World, station

NOTIFIED = "lead@example.com"


def gated(**gate: Any) -> dict[str, Any]:
    """`build` → gate `review` → `ship`."""
    return {
        "key": "release",
        "stations": [
            station("build", {"id": "built", "label": "Built", "to": "ship", "gates": ["review"]}),
            "ship",
        ],
        "gates": [{"key": "review", "name": "Release review", "notify": [NOTIFIED], **gate}],
    }


def remark_on(visit: GateVisit, user: User, text: str) -> Remark:
    """A draft that waits for the decision of its author."""
    return Remark.objects.create(
        visit=visit,
        user=user,
        path="app.py",
        side="new",
        line=3,
        content="0" * 64,
        text=text,
        at=timezone.now(),
    )


@pytest.fixture
def admin_only_where_named(world: World) -> None:
    """An administrator may decide at every gate, too, and would get a mail of each."""
    settings = {"review": {"bell": True, "mail": MailChoice.NAMED}}
    NotificationSettings.objects.create(user=world.admin, choices=settings)


@pytest.fixture
def line(world: World) -> LineVersion:
    return world.line(**gated())


@pytest.fixture
def waiting(world: World, line: LineVersion) -> Task:
    """A task of the operator that awaits review."""
    task = world.start(line, title="Add login")
    world.report(task, {"result": "success", "summary": "Built it <b>well</b>", "output": {"files": 3}})
    return task
