"""Gates that ask about a sample of tasks (law §15, Sampling)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines import engine
from pipelines.engine.core.sampling import draw_result_by_gate
from pipelines.errors import Forbidden
from pipelines.lines import gate_sampling, publishing
from pipelines.models import Decision, LineVersion, Membership, Task
from pipelines.ports import sampling
from pipelines.queries import versions
from pipelines.routing.decide.sampling import is_chain_drawn
from tests.api.conftest import Apis
from tests.factories import World, station
from tests.work.remotes import connect, remote

pytestmark = pytest.mark.django_db

NEVER = 1_000_000


def line(world: World, one_in: int = 4, always: Any = None, takes: Any = None, **gate: Any) -> LineVersion:
    sample = {"one_in": one_in, **({"always": always} if always else {})}
    behind = {"id": "go", "to": "ship", "gates": ["review"]}
    declared = {"key": "review", "sample": sample, **gate}
    return world.line(
        stations=[station("build", behind), station("ship", kind="manual")], gates=[declared], **takes or {}
    )


def change(lines: str, **git: Any) -> dict[str, Any]:
    return {"result": "success", "facts": {"git": {"lines": lines, "tree": lines, **git}}}


def asked(world: World, task: Task, outcome: dict[str, Any] | None = None) -> bool:
    world.report(task, outcome or {"result": "success"}, station="build")
    return world.status(task) == "awaiting_review"


def why(task: Task) -> list[str]:
    trace = Decision.objects.filter(task=task, station="build").latest("at").trace
    return [entry["why"] for entry in trace if "sample" in entry["why"]]


def expected(version: LineVersion, task: Task, one_in: int) -> bool:
    return is_chain_drawn(sampling.sampling_key(), f"{version.line_id}/review", str(task.pk), one_in)


def test_it_asks_about_the_tasks_that_the_key_draws_and_the_trace_says_why(world: World) -> None:
    version = line(world, 3)
    for number in range(8):
        task = world.start(version, title=f"Change {number}")
        drawn = expected(version, task, 3)
        assert asked(world, task) == drawn
        assert why(task) == [f"review: sample: {'drawn' if drawn else 'not drawn'}, 1 in 3"]


@pytest.mark.wide
def test_a_linked_task_is_asked_about_where_one_before_it_was_drawn(world: World) -> None:
    version = line(world, 2)
    drawn, passed = None, None
    while drawn is None or passed is None:
        task = world.start(version, title=f"{drawn and drawn.pk} and {passed and passed.pk}")
        if asked(world, task):
            drawn = task
        else:
            passed = task
    for first, expect in ((drawn, True), (passed, False)):
        engine.cancel(first.pk, actor=engine.Actor.person(world.operator), reason="Again")
        for _ in range(3):
            first = engine.start_retry_task(
                first.pk, station="build", actor=engine.Actor.person(world.operator)
            )
            expect = expect or expected(version, first, 2)
            assert asked(world, first) == expect
            engine.cancel(first.pk, actor=engine.Actor.person(world.operator), reason="Again")


@pytest.mark.smoke(2)
@pytest.mark.parametrize("inputs", [False, True])
def test_nobody_draws_anew_by_cancelling_and_starting_the_same(world: World, inputs: bool) -> None:
    """Through the doors: started over the API until one is drawn, cancelled there, and started again, five times."""
    takes: dict[str, Any] = {"inputs": [{"key": "change", "type": "text"}]} if inputs else {}
    line(world, 3, takes=takes)
    who = Apis(world).as_(world.operator)

    def start(of: int, spaces: int = 1) -> Task:
        words = f"Change{' ' * spaces}{of}"
        said = {"inputs": {"change": words}} if inputs else {"title": f"{words} "}
        answer = who.post("/stages/line/tasks", said)
        assert answer.status_code == 201, answer.content
        return Task.objects.get(number=int(answer.json()["id"].rpartition("-")[2]))

    number, task = 0, start(0)
    while not asked(world, task):
        assert (
            who.post(f"/stages/line/tasks/{task.name}/cancel", {"reason": "Not this one"}).status_code == 200
        )
        number += 1
        task = start(number)
    if number:
        passed = start(number - 1)
        assert asked(world, passed) == expected(passed.pinned, passed, 3), "not asked is never inherited"
    for spaces in range(1, 6):
        assert who.post(f"/stages/line/tasks/{task.name}/cancel", {"reason": "Again"}).status_code == 200
        task = start(number, spaces)
        assert asked(world, task)
        drawn = expected(task.pinned, task, 3)
        words = "drawn" if drawn else "the same was drawn before and is not approved"
        assert why(task) == [f"review: sample: {words}, 1 in 3"]


def test_a_task_that_is_cancelled_before_its_gate_is_asked_about_again(world: World) -> None:
    """The draw stands in the facts of every decision: whoever reads it there cancels before anybody is asked."""
    version = line(world, 2)
    task = world.start(version)
    while not expected(version, task, 2):
        task = world.start(version)
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator))
    for _ in range(4):
        assert asked(world, world.start(version))


@pytest.mark.parametrize("meanwhile", ["waits", "stands before its gate", "is rejected"])
def test_nobody_draws_anew_beside_a_task_that_was_drawn(world: World, meanwhile: str) -> None:
    """Whoever starts the same again is asked, until somebody approves it: then it draws as any other."""
    first = {"id": "on", "to": "build"}
    behind = {"id": "go", "to": "ship", "gates": ["review"]}
    stations = [station("first", first), station("build", behind), station("ship", kind="manual")]
    gate = {"key": "review", "sample": {"one_in": 3}, "on_reject": "fail"}
    version = world.line(stations=stations, gates=[gate])
    number = next(
        n for n in range(99) if expected(version, task := world.start(version, title=f"Change {n}"), 3)
    )
    world.report(task, station="first")
    if meanwhile != "stands before its gate":
        assert asked(world, task)
    if meanwhile == "is rejected":
        world.vote(task, "reject", reason="No")
    for _ in range(4):
        same = world.start(version, title=f"Change  {number} ")
        world.report(same, station="first")
        assert asked(world, same), "they would have to be drawn, or the same"
    assert world.vote(same).moved
    if meanwhile == "is rejected":
        # The gate fell back by that, which is not what this asks
        gate_sampling.let_gate_draw_again(version.line, "review", by=world.admin)
    later = [world.start(version, title=f"Change {number}") for _ in range(6)]
    undrawn = next(each for each in later if not expected(version, each, 3))
    for each in later[: later.index(undrawn) + 1]:
        world.report(each, station="first")
        if each == undrawn:
            assert not asked(world, each)
        else:
            assert asked(world, each) and world.vote(each).moved


def test_follow_ups_of_a_task_that_was_not_drawn_draw_themselves(world: World) -> None:
    version = line(world, 2)
    task = world.start(version)
    while expected(version, task, 2):
        task = world.start(version)
    for _ in range(20):
        engine.cancel(task.pk, actor=engine.Actor.person(world.operator))
        task.refresh_from_db()
        task = world.start(version, title=str(task.pk), follows=task)
        if asked(world, task):
            return
    pytest.fail("a chain that began without a draw is never asked about")


def test_the_same_changed_lines_are_asked_about_again_in_another_task(world: World) -> None:
    always = {"any": [{"field": "task.labels", "operator": "contains", "value": "risky"}]}
    version = line(world, NEVER, always)
    risky = world.start(version, labels=["risky"])
    assert asked(world, risky, change("same"))
    assert "a check always asks" in why(risky)[0]
    again = world.start(version)
    assert asked(world, again, change("same"))
    assert why(again) == [f"review: sample: the same change was asked about before, 1 in {NEVER}"]
    assert not asked(world, world.start(version), change("other"))


@pytest.mark.parametrize(
    ("check", "outcome", "asks"),
    [
        ({"field": "facts.git.files_changed", "operator": "greater_than", "value": 5}, {"files_changed": 9}, True),
        ({"field": "facts.git.files_changed", "operator": "greater_than", "value": 5}, {"files_changed": 2}, False),
        ({"field": "facts.git.sensitive", "operator": "contains", "value": "ci.yml"}, {}, True),
        ({"field": "task.requester", "operator": "matches", "value": "^nobody$"}, {}, False),
    ],
)  # fmt: skip
def test_a_check_of_always_asks_where_it_passes_or_cannot_be_read(
    world: World, check: dict[str, Any], outcome: dict[str, Any], asks: bool
) -> None:
    version = line(world, NEVER, {"any": [check]})
    assert asked(world, world.start(version), change("x", **outcome)) == asks


def test_a_lower_rate_still_asks_about_a_chain_that_was_drawn(world: World) -> None:
    version = line(world, 1)
    task = world.start(version)
    assert asked(world, task)
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="Again")
    again = engine.start_retry_task(task.pk, station="build", actor=engine.Actor.person(world.operator))
    rarely = versions.parsed_version(line(world, NEVER))
    assert draw_result_by_gate(rarely, again, {}) == {"review": "drawn"}
    assert draw_result_by_gate(rarely, world.start(version, title="Another"), {}) == {"review": "not_drawn"}


def test_only_who_has_execute_lets_approvals_stand_on_a_moved_branch(world: World, tmp_path: Path) -> None:
    connect(world.project, remote(tmp_path / "origin.git", {"a": b""}))

    def merging(rebase: str) -> dict[str, object]:
        deliver = {"to": "merge", "gate": "review", "rebase": rebase}
        rules = [{"id": "asked", "to": "merge", "gates": ["review"]}]
        return {
            "stations": [
                station("build", *rules),
                station("merge", {"id": "end", "to": "completed"}, kind="deliver", work=deliver),
            ],
            "workspace": {"git": {"repository": "app"}},
            "gates": [{"key": "review"}],
        }

    version = world.line(**merging("never"))
    found = publishing.save_draft(
        version.line, {**version.document, **merging("same_patch")}, world.admin, version.line.draft_number
    )
    Membership.objects.filter(user=world.admin).update(execute=False)
    with pytest.raises(Forbidden, match="stand on a moved branch"):
        publishing.publish_draft(found, user=world.admin, based_on=found.draft_number)


def test_only_who_has_execute_changes_the_rate_or_the_channels(world: World) -> None:
    version = line(world, 4)
    Membership.objects.filter(user=world.admin).update(execute=False)
    for gate in ({"sample": {"one_in": 5}}, {"channels": {"mail_link": True}}, {"sample": {"one_in": 4}}):
        draft = {**version.document, "gates": [{"key": "review", **gate}]}
        world.designer  # noqa: B018
        found = publishing.save_draft(
            version.line, draft, world.admin, type(version.line).objects.get(pk=version.line_id).draft_number
        )
        if gate == {"sample": {"one_in": 4}}:
            draft["name"] = "Another name"
            found = publishing.save_draft(found, draft, world.admin, found.draft_number)
            publishing.publish_draft(found, user=world.admin, based_on=found.draft_number)
        else:
            with pytest.raises(Forbidden, match="approve without the page"):
                publishing.publish_draft(found, user=world.admin, based_on=found.draft_number)
