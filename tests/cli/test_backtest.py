"""`gateline backtest`: recorded decisions of a line under another version."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest

from pipelines.formats import native
from pipelines.models import Decision, Task
from tests.backtest.test_run import line
from tests.cli.conftest import Gateline
from tests.engine.breaks import unguarded
from tests.factories import World
from tests.fixtures.site import Site
from tests.outgoing.servers import Asked, say, serving

Cli = Callable[..., Gateline]


@pytest.fixture
def task(world: World) -> Task:
    task = world.start(world.line(line()))
    world.report(task)
    return task


def test_it_tries_the_draft_a_version_and_a_file(cli: Cli, world: World, task: Task) -> None:
    mine = cli(world.viewer)
    done = mine.run("backtest", "line")
    assert "Tried on the draft: 1 decision of 1 task." in done.stdout
    assert "1 of 1 decisions" in done.stderr
    assert "Tried on version 1" in mine.ok("backtest", "line", "--to", "1")
    assert "Tried on version 1" in mine.ok("backtest", "line", "--to", "live")
    file = mine.config.parent / "line.yaml"
    file.write_text(native.dumps(line("other")))
    text = mine.ok("backtest", "line", "--file", str(file), "--each-task")
    assert f"{task.name}  different  first at build" in text
    assert "different, 1 at build: check by on → other by on" in text
    assert f"for example {task.name}" in text
    rows = mine.ok("backtest", "line", "--file", str(file), "--json", "--each-task").splitlines()
    assert [json.loads(row)["type"] for row in rows] == ["task", "result"]
    assert json.loads(rows[-1])["decisions"]["different"] == 1
    assert "No recorded decisions" in mine.ok("backtest", "line", "--since", "2999-01-01")


@pytest.mark.wide
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("line", "--to", "9"), 5, "has no version 9"),
        (("line", "--file", "/nowhere/at/all"), 2, "There is no file"),
        (("line", "--since", "soon"), 7, "since"),
        (("line", "--tasks", "some"), 7, "tasks"),
        (("nowhere",), 5, "There is no line"),
    ],
)
def test_what_it_cannot_do_it_says(
    cli: Cli, world: World, task: Task, words: tuple[str, ...], code: int, says: str
) -> None:
    done = cli(world.viewer).run("backtest", *words)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr


@pytest.mark.wide
@pytest.mark.broken
def test_a_draft_that_is_no_line_and_a_damaged_decision_are_named(cli: Cli, world: World, task: Task) -> None:
    mine = cli(world.viewer)
    task.line.draft = {**line(), "stations": []}
    task.line.save()
    unreadable = mine.run("backtest", "line")
    assert (unreadable.returncode, "stations" in unreadable.stderr) == (7, True)
    with unguarded():
        Decision.objects.filter(task=task).update(situation={"station": 7})
    damaged = mine.run("backtest", "line", "--to", "live")
    assert (damaged.returncode, "is damaged and cannot be tried" in damaged.stderr) == (1, True)


def test_an_answer_that_ends_before_its_result_fails(cli: Cli, site: Site, world: World, task: Task) -> None:
    """As where a proxy between cuts it."""

    def cuts_back_tests(to: BaseHTTPRequestHandler, asked: Asked) -> None:
        if "/backtest" in asked.path:
            say(to, 200, content_type="application/x-ndjson")
            return
        request = urllib.request.Request(
            site.url + asked.path, headers={"Authorization": asked.headers["authorization"]}
        )
        with urllib.request.urlopen(request) as answer:
            say(to, answer.status, answer.read(), content_type="application/json")

    with serving(cuts_back_tests) as proxy:
        refused = cli(world.viewer).run("backtest", "line", GATELINE_URL=proxy.url)
    assert refused.returncode == 1 and "ended before the result came" in refused.stderr
