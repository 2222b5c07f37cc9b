"""The status `gateline` of a commit that was only pushed: a branch rule can require it (law §15)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.engine import Actor
from pipelines.models import HostLink
from tests.factories import World, station
from tests.work.driving import Bench, command
from tests.work.hosts.conftest import GATE, run, to
from tests.work.hosts.test_issues import tell
from tests.work.hosts.test_merging import approved

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]


def pushed(world: World, bench: Bench) -> Any:
    gate = {**GATE, "name": "Security review", "approval": {"who": [{"role": "reviewer", "count": 2}]}}
    version = world.line(
        stations=[
            command("fix", "open('app.py', 'a').write('y = 2\\n')", to("push")),
            station("push", to("look"), kind="deliver", work={"to": "push"}),
            command("look", "pass", to("completed", gates=["review"])),
        ],
        gates=[gate],
        workspace={"git": {"repository": "app"}},
    )
    task = world.start(version, title="Fix it")
    run(bench, task)
    tell()
    return task


@pytest.mark.parametrize("hosted", ["github", pytest.param("gitlab", marks=pytest.mark.wide)], indirect=True)
def test_a_pushed_branch_says_what_is_missing(world: World, bench: Bench, hosted: Any, settings: Any) -> None:
    """By gate and by how many have agreed, without a pull request."""
    settings.PRIVATE_HOSTS = ["127.0.0.1"]
    task = pushed(world, bench)
    head = hosted.origin.head(f"gateline/{task.name}-fix-it")
    assert hosted.statuses[head][-1]["description"] == "Waits for Security review: 0 of 2"
    assert hosted.statuses[head][-1]["state"] == "pending" and not hosted.requests
    world.vote(task)
    tell()
    if hosted.key == "github":  # GitLab keeps the first words of what is pending
        assert hosted.statuses[head][-1]["description"] == "Waits for Security review: 1 of 2"
    world.vote(task, by=world.reviewers(1)[0])
    tell()
    assert hosted.statuses[head][-1]["state"] == "success"
    assert [each.kind for each in HostLink.objects.all()] == ["branch"] and not hosted.comments


@pytest.mark.wide
@pytest.mark.parametrize("hosted", ["github", "gitlab"], indirect=True)
def test_a_cancelled_task_leaves_the_queue_of_its_host(
    world: World, bench: Bench, hosted: Any, settings: Any
) -> None:
    settings.PRIVATE_HOSTS, hosted.queues = ["127.0.0.1"], True
    task = approved(world, bench)
    tell()
    head = hosted.origin.head(f"gateline/{task.name}-add-it")
    assert hosted.waiting == [1] and hosted.statuses[head][-1]["state"] == "success"
    engine.cancel(task.pk, actor=Actor.person(world.operator), reason="Not wanted")
    tell()
    assert hosted.waiting == [] and hosted.statuses[head][-1]["state"] in ("failure", "failed")
