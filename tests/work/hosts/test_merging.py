"""A delivery into a protected branch: the host merges what was approved, once, whatever gets lost (law §15)."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from pipelines import engine
from pipelines.formats.receipts import verified_landed_change
from pipelines.models import Delivery, Job, Repository
from pipelines.ports.vault.signing import configured_receipt_key
from pipelines.work.handlers import deliver
from pipelines.work.transport.local.transport import LocalTransport
from tests.factories import World, station
from tests.pages.conftest import client_of
from tests.waiting import until
from tests.work.driving import Bench, command, done, outcome_of, text_of
from tests.work.hosts.conftest import GATE, run, to
from tests.work.hosts.test_issues import tell

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
one_then_both = pytest.mark.parametrize(
    "hosted", ["github", pytest.param("gitlab", marks=pytest.mark.wide)], indirect=True
)


def merging_line(world: World, commit: str = "visit") -> Any:
    moved = {"id": "moved", "to": "fix", "when": {"eval": {"op": "equals", "value": "base_moved"}}}
    return world.line(
        stations=[
            command(
                "fix", "open('new.py', 'a').write('y = 2\\n')", to("merge", gates=["review"]), name="Fix"
            ),
            station(
                "merge",
                to("completed"),
                {**moved, "max_retries": 2},
                kind="deliver",
                work={"to": "merge", "gate": "review"},
            ),
        ],
        gates=[GATE],
        workspace={"git": {"repository": "app", "commit": commit}},
        policy={"no_match": "stuck", "on_failure": "stuck"},
    )


def approved(world: World, bench: Bench, **more: Any) -> Any:
    task = world.start(merging_line(world, **more), title="Add it")
    run(bench, task)
    world.vote(task)
    run(bench, task)
    return task


def look_again(bench: Bench, task: Any) -> None:
    """As when the time has come that the job was put off to."""
    Job.objects.filter(task=task, state="queued").update(not_before=None)
    run(bench, task)


@pytest.mark.smoke(1)
@one_then_both
def test_the_host_merges_what_was_approved(world: World, bench: Bench, hosted: Any) -> None:
    """A required status of ours is green before, and no push goes to the branch."""
    hosted.protected, base = True, hosted.origin.head()
    hosted.requires = ["gateline"] if hosted.key == "github" else []
    task = approved(world, bench)
    said, made = outcome_of(task, "merge"), Delivery.objects.get()
    assert said["result"] == "success", said
    landed = hosted.origin.commit()
    assert hosted.merged == 1 and landed.parents[0].decode() == base
    assert f"Gateline-Delivery: {made.job_id}" in landed.message.decode()
    assert (made.commit, made.landed_tree, made.way) == (hosted.origin.head(), made.tree, "merge")
    assert said["output"]["merged_by"] == hosted.key and said["output"]["request"]["state"] == "merged"
    assert said["facts"]["git"]["head"] == hosted.origin.head()
    assert hosted.statuses[made.head][0]["state"] == "success"
    page = client_of(world.operator)
    receipt = page.get(f"/p/acme/{world.project.key}/tasks/{task.name}/receipt/")
    change = verified_landed_change(receipt.content, configured_receipt_key().public_key())
    assert (change.commit, change.host, change.is_exact) == (hosted.origin.head(), hosted.key, True)


@pytest.mark.wide
def test_squash_and_what_the_repository_allows(world: World, bench: Bench, hosted: Any) -> None:
    hosted.protected, hosted.methods = True, ("squash",)
    task = approved(world, bench)
    assert outcome_of(task, "merge")["result"] == "success"
    assert len(hosted.origin.commit().parents) == 1


@pytest.mark.wide
@one_then_both
@pytest.mark.parametrize("lost", ["record", pytest.param("answer", marks=pytest.mark.wide)])
def test_a_merge_whose_end_got_lost_is_asked_for_and_not_done_again(
    world: World, bench: Bench, hosted: Any, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """The answer of the merge call is lost; or the server is killed between the call and the record."""
    hosted.protected = True
    whole, merge = LocalTransport.report_host_progress, hosted.merge

    async def dies(self: LocalTransport, started: Any, said: Any) -> None:
        if said.commit:
            raise asyncio.CancelledError
        await whole(self, started, said)

    def loses(*given: Any) -> str:
        hosted.lose = 1
        return str(merge(*given))

    if lost == "record":
        monkeypatch.setattr(LocalTransport, "report_host_progress", dies)
    else:
        monkeypatch.setattr(hosted, "merge", loses)
    task = approved(world, bench)
    landed = hosted.origin.head()
    assert hosted.merged == 1 and Delivery.objects.get().landed_at is None
    monkeypatch.setattr(LocalTransport, "report_host_progress", whole)
    look_again(bench, task)
    assert outcome_of(task, "merge")["output"]["commit"] == landed == hosted.origin.head()
    assert hosted.merged == 1 and len(hosted.requests) == 1 and world.status(task) == "completed"


@pytest.mark.wide
@one_then_both
def test_checks_that_the_host_requires_are_waited_for(world: World, bench: Bench, hosted: Any) -> None:
    """Nobody holds a lease meanwhile, and another delivery to the branch waits for this one."""
    name = {"github": "unit", "gitlab": "pipeline"}[hosted.key]
    pending = {"github": "in_progress", "gitlab": "running"}[hosted.key]
    hosted.protected, hosted.requires, hosted.checks = True, [name], {name: pending}
    task = approved(world, bench)
    job = done(task, "merge")
    assert (job.state, job.lease_key, hosted.merged) == ("queued", None, 0)
    other = approved(world, bench)
    assert done(other, "merge").state == "queued" and len(hosted.requests) == 1
    hosted.checks[name] = "success"
    look_again(bench, task)
    assert outcome_of(task, "merge")["result"] == "success" and hosted.merged == 1


@pytest.mark.smoke(1)
@one_then_both
def test_a_rule_of_the_host_is_named_with_its_remedy(world: World, bench: Bench, hosted: Any) -> None:
    hosted.protected = True
    hosted.rule = {
        "github": "At least 1 approving review is required by reviewers with write access.",
        "gitlab": "not_approved",
    }[hosted.key]
    task = approved(world, bench)
    said = outcome_of(task, "merge")
    assert said["failure_type"] == "host_refused" and hosted.merged == 0
    assert "approv" in said["summary"] and "Meet this rule of main" in said["summary"], said["summary"]
    assert Delivery.objects.get().landed_at is None


@pytest.mark.wide
def test_a_required_check_that_failed_is_named(world: World, bench: Bench, hosted: Any) -> None:
    hosted.protected, hosted.requires, hosted.checks = True, ["unit"], {"unit": "failure"}
    said = outcome_of(approved(world, bench), "merge")
    assert said["failure_type"] == "host_refused" and "unit failed" in said["summary"]


@pytest.mark.wide
@one_then_both
def test_the_queue_of_the_host_merges_with_what_landed_meanwhile(
    world: World, bench: Bench, hosted: Any
) -> None:
    """The receipt names the tree that landed, which is the host's, beside the approved one."""
    hosted.queues = True
    task = approved(world, bench)
    assert (done(task, "merge").state, hosted.waiting, Delivery.objects.get().at_host) == (
        "queued",
        [1],
        True,
    )
    look_again(bench, task)
    assert hosted.waiting == [1] and done(task, "merge").state == "queued"
    hosted.origin.add({**hosted.origin.files(), "other.txt": b"1\n"}, "Of another task")
    # A look while the base stands elsewhere already, and the request waits still
    look_again(bench, task)
    assert hosted.waiting == [1] and done(task, "merge").state == "queued"
    hosted.land()
    look_again(bench, task)
    said, made = outcome_of(task, "merge"), Delivery.objects.get()
    assert said["result"] == "success", said
    assert made.commit == hosted.origin.head() and made.landed_tree == hosted.origin.commit().tree.decode()
    assert made.landed_tree != made.tree and "what else landed there" in said["summary"]
    page = client_of(world.operator)
    at = f"/p/acme/{world.project.key}/tasks/{task.name}/"
    change = verified_landed_change(page.get(f"{at}receipt/").content, configured_receipt_key().public_key())
    assert (change.tree, change.is_exact, change.host) == (made.landed_tree, False, hosted.key)
    assert change.approval is not None and change.approval.tree == made.tree
    assert "the host merged them" in page.get(at).content.decode()


@pytest.mark.wide
@one_then_both
def test_what_the_queue_throws_out_is_said(world: World, bench: Bench, hosted: Any) -> None:
    hosted.queues = True
    task = approved(world, bench)
    hosted.waiting.clear()
    look_again(bench, task)
    said = outcome_of(task, "merge")
    assert said["failure_type"] == "host_refused" and "out of its queue" in said["summary"]


@pytest.mark.smoke(1)
@one_then_both
def test_a_task_that_is_cancelled_while_it_comes_into_the_queue_leaves_it(
    world: World, bench: Bench, hosted: Any
) -> None:
    """Its own withdrawal finds nothing, for the request is not in the queue yet; the report that it is is refused."""
    hosted.queues = True
    task = world.start(merging_line(world), title="Add it")
    run(bench, task)
    world.vote(task)

    def cancel() -> None:
        engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="Not wanted")
        connection.close()

    hosted.on_queued = cancel
    run(bench, task)
    assert world.status(task) == "cancelled" and hosted.requests
    until(lambda: hosted.waiting == [])


@pytest.mark.wide
@one_then_both
def test_what_waits_too_long_is_taken_out_of_the_queue(
    world: World, bench: Bench, hosted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted.queues = True
    task = approved(world, bench)
    assert hosted.waiting == [1]
    monkeypatch.setitem(deliver.MOST, "queue", -timedelta(hours=1).total_seconds())
    look_again(bench, task)
    assert hosted.waiting == [] and outcome_of(task, "merge")["failure_type"] == "host_refused"


@pytest.mark.wide
def test_a_host_that_is_away_for_a_moment_after_an_hour_is_looked_at_again(
    world: World, bench: Bench, hosted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted.queues = True
    task = approved(world, bench)
    later = SimpleNamespace(time=lambda: timezone.now().timestamp() + 3600, monotonic=time.monotonic)
    monkeypatch.setattr(deliver, "time", later)
    hosted.busy = 1
    look_again(bench, task)
    assert hosted.waiting == [1] and done(task, "merge").state == "queued"
    hosted.land()
    look_again(bench, task)
    assert outcome_of(task, "merge")["result"] == "success"


@pytest.mark.wide
@one_then_both
@pytest.mark.parametrize("end", ["refused", pytest.param("moved", marks=pytest.mark.wide)])
def test_a_delivery_that_ends_otherwise_leaves_the_queue(
    world: World, bench: Bench, hosted: Any, settings: Any, end: str
) -> None:
    settings.PRIVATE_HOSTS, hosted.queues = ["127.0.0.1"], True
    task = approved(world, bench)
    assert hosted.waiting == [1]
    if end == "refused":
        Repository.objects.update(pushing=Repository.Pushing.NOBODY)
        look_again(bench, task)
        assert outcome_of(task, "merge")["failure_type"] == "push_refused"
    else:
        token = world.token(task)
        engine.move_or_retry_by_hand(
            token.pk, to="fix", user=world.admin, token_version=token.version, reason="Not like this"
        )
    tell()
    assert hosted.waiting == []


@pytest.mark.wide
def test_a_withdrawal_that_comes_late_leaves_the_next_delivery_alone(
    world: World, bench: Bench, hosted: Any, settings: Any
) -> None:
    settings.PRIVATE_HOSTS, hosted.queues = ["127.0.0.1"], True
    task = approved(world, bench)
    Repository.objects.update(pushing=Repository.Pushing.NOBODY)
    look_again(bench, task)
    Repository.objects.update(pushing=Repository.Pushing.EXECUTE)
    hosted.waiting.clear()
    token = world.token(task)
    engine.move_or_retry_by_hand(
        token.pk, to="merge", user=world.admin, token_version=token.version, reason="Again"
    )
    run(bench, task)
    assert hosted.waiting == [1]
    tell()
    assert hosted.waiting == [1]


@pytest.mark.wide
def test_a_base_that_moved_is_taken_in_and_asked_again(world: World, bench: Bench, hosted: Any) -> None:
    hosted.protected = True
    task = world.start(merging_line(world), title="Add it")
    run(bench, task)
    hosted.origin.add({**hosted.origin.files(), "other.txt": b"1\n"}, "Meanwhile")
    world.vote(task)
    run(bench, task)
    assert outcome_of(task, "merge")["eval"] == "base_moved" and not hosted.requests
    assert world.status(task) == "awaiting_review"
    world.vote(task)
    run(bench, task)
    assert outcome_of(task, "merge", 2)["result"] == "success" and hosted.merged == 1
    assert set(hosted.origin.files()) >= {"new.py", "other.txt"}


@pytest.mark.wide
def test_what_people_merged_that_nobody_approved_here_is_no_delivery(
    world: World, bench: Bench, hosted: Any
) -> None:
    """Somebody pushes to the task's branch on the host and merges there, while its checks run."""
    hosted.protected, hosted.requires, hosted.checks = True, ["unit"], {"unit": "in_progress"}
    task = approved(world, bench)
    branch = hosted.requests[0]["head"]["ref"]
    theirs = hosted.origin.add({**hosted.origin.files(branch), "evil.py": b"1\n"}, "Mine", branch=branch)
    hosted.one("1", None, None)
    hosted.landed(1, hosted.merge(theirs, "By hand", False))
    look_again(bench, task)
    said = outcome_of(task, "merge")
    assert said["failure_type"] == "branch_changed" and "not what was approved" in said["summary"]
    assert Delivery.objects.get().landed_at is None


@pytest.mark.wide
def test_a_host_that_does_not_say_what_it_merged_delivered_nothing(
    world: World, bench: Bench, hosted: Any
) -> None:
    hosted.protected, hosted.requires, hosted.checks = True, ["unit"], {"unit": "in_progress"}
    task = approved(world, bench)
    [request] = hosted.requests
    hosted.one("1", None, None)
    hosted.landed(1, hosted.merge(hosted.origin.head(request["head"]["ref"]), "By hand", False))
    request["head"]["sha"] = ""
    if "sha" in request:
        request["sha"] = ""
    look_again(bench, task)
    assert "does not say what" in outcome_of(task, "merge")["summary"]
    assert Delivery.objects.get().landed_at is None


@pytest.mark.wide
def test_a_branch_without_rules_is_pushed_to(world: World, bench: Bench, hosted: Any) -> None:
    task = approved(world, bench)
    assert outcome_of(task, "merge")["result"] == "success"
    assert hosted.merged == 0 and not hosted.requests and "pushed to main" in text_of(done(task, "merge"))
