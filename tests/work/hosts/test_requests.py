"""A delivery that opens a pull or merge request: one for a branch, whatever gets lost on the way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pipelines.models import Delivery
from pipelines.work.hosts.branch_request import BEGIN, END
from pipelines.work.transport.local.transport import LocalTransport
from tests.factories import World
from tests.pages.conftest import client_of
from tests.work.driving import Bench, done, outcome_of, text_of
from tests.work.hosts.conftest import line, repository, run, to
from tests.work.hosts.servers import BY_KEY, TOKEN

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
one_then_every = pytest.mark.parametrize(
    "hosted",
    ["github", *(pytest.param(key, marks=pytest.mark.wide) for key in BY_KEY if key != "github")],
    indirect=True,
)


def opened(world: World, bench: Bench, **more: Any) -> Any:
    """A task whose change was approved and proposed."""
    task = world.start(line(world, **more), title="Fix the `answer` @team")
    run(bench, task)
    world.vote(task, reason="app.py:1: fixes #12 <!-- hide -->")
    run(bench, task)
    return task


@one_then_every
def test_a_request_is_opened_and_grows(world: World, bench: Bench, hosted: Any) -> None:
    task = opened(world, bench)
    said = outcome_of(task, "open")
    assert said["result"] == "success", said
    branch = f"gateline/{task.name}-fix-the-answer-team"
    request = said["output"]["request"]
    assert (request["number"], request["state"]) == (1, "open") and request["url"].startswith(hosted.page)
    assert said["output"]["commit"] == hosted.origin.head(branch)
    assert hosted.origin.files(branch)["app.py"] == b"x = 1\ny = 2\n"
    text = hosted.text(1)
    assert "`Fix` → `Code review` (approved by `" in text and f"/tasks/{task.name}/" in text
    assert "```text\napp.py:1: fixes #12 <!-\u200b- hide -->\n```" in text
    assert hosted.requests[0]["title"] == "Fix the `answer` @team"
    assert Delivery.objects.get().request["url"] == request["url"]
    page = client_of(world.operator).get(f"/p/acme/{world.project.key}/tasks/{task.name}/").content.decode()
    assert request["url"] in page and "Proposed" in page
    assert TOKEN not in page and TOKEN not in text_of(done(task, "open"))
    # A second round pushes to the same branch, and keeps what people wrote.
    hosted.write(1, f"Mine above\n\n{text}\n\nMine below")
    world.vote(task, "reject", reason="More", route="fix")
    run(bench, task)
    world.vote(task)
    run(bench, task)
    assert outcome_of(task, "open", 2)["output"]["request"]["number"] == 1 and len(hosted.requests) == 1
    assert hosted.origin.files(branch)["app.py"].count(b"y") == 2
    # The last look rejected other files than those it is asked about now: it is asked again (law §12).
    assert world.status(task) == "awaiting_review"
    grown = hosted.text(1)
    assert grown.startswith("Mine above") and grown.endswith("Mine below")
    assert grown.count(BEGIN) == grown.count(END) == 1 and "`Last look` (rejected by" in grown


@pytest.mark.wide
@one_then_every
def test_an_answer_that_gets_lost_opens_no_second_one(world: World, bench: Bench, hosted: Any) -> None:
    hosted.lose, hosted.busy = 1, 1
    task = opened(world, bench)
    assert outcome_of(task, "open")["output"]["request"]["number"] == 1
    assert len(hosted.requests) == 1 and len(hosted.asked("POST")) == 1


@pytest.mark.wide
@pytest.mark.parametrize(
    "then", ["closed", *(pytest.param(each, marks=pytest.mark.wide) for each in ("open", "merged"))]
)
def test_a_request_opened_before_a_crash_is_found(
    world: World, bench: Bench, hosted: Any, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    """The worker dies when the request is open and nothing of it is reported; people close it meanwhile."""
    whole = LocalTransport.report_delivered

    async def dies(
        self: LocalTransport, started: Any, commit: str, request: Any = None, base: Any = None
    ) -> None:
        if request is not None:
            raise asyncio.CancelledError
        await whole(self, started, commit, request, base)

    monkeypatch.setattr(LocalTransport, "report_delivered", dies)
    task = opened(world, bench)
    assert len(hosted.requests) == 1 and Delivery.objects.get().request is None
    if then != "open":
        hosted.close(1, merged=then == "merged")
    pushed = hosted.origin.head(hosted.requests[0]["head"]["ref"])
    monkeypatch.setattr(LocalTransport, "report_delivered", whole)
    run(bench, task)
    assert outcome_of(task, "open")["output"]["request"] == {**Delivery.objects.get().request, "state": then}
    assert len(hosted.requests) == 1 and hosted.origin.head(hosted.requests[0]["head"]["ref"]) == pushed


@pytest.mark.wide
def test_a_closed_request_is_left_alone_and_the_next_round_opens_one(
    world: World, bench: Bench, hosted: Any
) -> None:
    task = opened(world, bench)
    hosted.close(1)
    world.vote(task, "reject", reason="More", route="fix")
    run(bench, task)
    world.vote(task)
    run(bench, task)
    assert outcome_of(task, "open", 2)["output"]["request"]["number"] == 2
    assert [each["state"] for each in hosted.requests] == ["closed", "open"]


@pytest.mark.wide
@one_then_every
def test_a_branch_of_that_name_in_a_fork_is_not_ours(world: World, bench: Bench, hosted: Any) -> None:
    task = world.start(line(world), title="Fix it")
    hosted.fork(f"gateline/{task.name}-fix-it", "main", "Take mine")
    run(bench, task)
    world.vote(task)
    run(bench, task)
    assert outcome_of(task, "open")["output"]["request"]["number"] == 2
    assert hosted.text(1) == "Take mine" and len(hosted.requests) == 2


@pytest.mark.wide
def test_a_branch_that_was_deleted_with_its_merge_is_pushed_anew(
    world: World, bench: Bench, hosted: Any
) -> None:
    task = opened(world, bench)
    branch = Delivery.objects.get().branch
    hosted.close(1, merged=True)
    hosted.origin.point("main", hosted.origin.head(branch))
    hosted.origin.point(branch, "")
    world.vote(task, "reject", reason="More", route="fix")
    run(bench, task)
    world.vote(task)
    run(bench, task)
    assert outcome_of(task, "open", 2)["output"]["request"]["number"] == 2
    assert hosted.origin.files(branch)["app.py"].count(b"y") == 2


@pytest.mark.wide
def test_nothing_is_proposed_that_was_not_approved(world: World, bench: Bench, hosted: Any) -> None:
    task = world.start(line(world))
    run(bench, task)
    world.vote(task, "reject", reason="No")
    assert world.status(task) == "failed" and not hosted.server.asked


@pytest.mark.wide
def test_what_a_host_refuses_is_said_and_goes_on_by_the_rules(
    world: World, bench: Bench, hosted: Any
) -> None:
    """The branch is pushed; the second try finds it there and pushes nothing."""
    from_store = repository()
    from_store.page = from_store.page.replace("app", "other")
    from_store.save()
    again = {
        "id": "again",
        "to": "open",
        "when": {"eval": {"op": "equals", "value": "host_refused"}},
        "max_retries": 1,
        "on_exhausted": "stuck",
    }
    task = opened(world, bench, rules=(to("look"), again))
    first, second = outcome_of(task, "open"), outcome_of(task, "open", 2)
    assert first["failure_type"] == "host_refused" == second["eval"]
    assert "GitHub has no acme/other that this token may see. It says: Not Found" in first["summary"]
    commits = set(Delivery.objects.values_list("commit", flat=True))
    assert len(commits) == 1 and Delivery.objects.count() == 2


@pytest.mark.wide
def test_a_host_that_stays_away_is_a_failure_of_its_own(world: World, bench: Bench, hosted: Any) -> None:
    hosted.busy = 100
    task = opened(world, bench)
    assert outcome_of(task, "open")["failure_type"] == "host_away"
