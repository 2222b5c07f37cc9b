"""`gateline bulk`: the plan, the question, and what became of each task."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from django.db import connection

from pipelines import engine
from pipelines.lines import bulk_commands
from pipelines.models import BulkCommand
from tests.cli.conftest import Gateline
from tests.factories import World, document
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True)]
Cli = Callable[..., Gateline]


@pytest.fixture
def runner() -> Iterator[None]:
    """Works on what is given, as a runner does on its tickets."""
    ended = threading.Event()

    def has_ended() -> bool:
        under_way = BulkCommand.objects.filter(state__in=("planning", "running"))
        for pk in under_way.values_list("pk", flat=True):
            bulk_commands.work_on_bulk_command(pk)
        return ended.is_set()

    def work() -> None:
        try:
            until(has_ended, "the end of the test")
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    ended.set()
    thread.join()


@pytest.mark.usefixtures("runner")
def test_it_shows_the_plan_and_says_what_became_of_each(cli: Cli, world: World) -> None:
    version = world.line(document(["build", "ship"], "line"))
    first, second, ended = (world.start(version) for _ in range(3))
    engine.cancel(ended.pk, actor=engine.Actor.person(world.admin))
    mine = cli(world.operator)
    match = ("bulk", "move", "--all-that-match", "--line", "line", "--to", "ship")
    plan = mine.ok(*match, "--plan")
    assert "2 tasks can be moved." in plan and "ship starts: 2 tasks." in plan
    assert [world.at(task) for task in (first, second)] == [["build"]] * 2
    asked = mine.run(*match)
    assert (asked.returncode, "Add --yes." in asked.stderr) == (2, True)
    done = mine.ok(*match, "--yes", "--reason", "Freeze")
    assert "Finished: 2 done." in done
    assert [world.at(task) for task in (first, second)] == [["ship"]] * 2
    bulk_id = done.split()[-1]
    assert mine.json("bulk", "show", bulk_id)["counts"] == {"done": 2}
    refused = mine.run("bulk", "cancel", first.name, ended.name, "--yes")
    assert (refused.returncode, "already ended" in refused.stdout) == (6, True)
    assert mine.run("bulk", "stop", bulk_id).returncode == 0
    for words in (("dance", "WI-x-1"), ("move",), ("show",), ("cancel", first.name, "--all-that-match")):
        assert mine.run("bulk", *words).returncode == 2
