"""One command for many tasks: planned in words, confirmed, done one by one, stopped, and read later (law §17)."""

from __future__ import annotations

import uuid

import pytest

from pipelines import engine
from pipelines.engine.invariants import find_violations
from pipelines.errors import Conflict, Invalid, NotFound
from pipelines.lines import bulk_commands
from pipelines.lines.bulk_commands import BulkRequest, Chosen, Match
from pipelines.models import BulkCommand, BulkEntry, LineVersion, Membership, Pause, Task, User
from pipelines.ports import clock
from pipelines.queries.board import Filters
from pipelines.work.scheduler import timers
from tests.engine.test_races import at_once
from tests.factories import World, document, make_world, station

pytestmark = pytest.mark.django_db

SIGN = {
    "key": "sign",
    "name": "Sign",
    "mode": "manual",
    "approval": {"who": [{"role": "reviewer", "count": 2}]},
}


def line(world: World) -> LineVersion:
    """build → (sign, by two) → ship."""
    stations = [station("build", {"id": "signed", "to": "ship", "gates": ["sign"]}), "check", "ship"]
    return world.line(document(stations, "bulk", gates=[SIGN]))


def planned(
    world: World, action: str, tasks: list[Task], by: User | None = None, **more: object
) -> BulkCommand:
    user = by or world.operator
    request = BulkRequest(action, **more)  # type: ignore[arg-type]
    selection = bulk_commands.named_selection(
        user, [Chosen(f"{world.project.owner.key}/{t.name}") for t in tasks]
    )
    command = bulk_commands.create_bulk_command(user, user, request, selection)
    bulk_commands.work_on_bulk_command(command.pk)
    command.refresh_from_db()
    assert command.state == "planned"
    return command


def done(command: BulkCommand) -> list[str]:
    """Start and finish it; return the results in the order of the tasks."""
    bulk_commands.start_bulk_command(command, command.by)
    bulk_commands.work_on_bulk_command(command.pk)
    command.refresh_from_db()
    assert command.state == "finished"
    return results(command)


def results(command: BulkCommand) -> list[str]:
    return list(command.entries.order_by("pk").values_list("result", flat=True))


def sentences(command: BulkCommand, reader: User) -> str:
    return " ".join(text for _icon, text in bulk_commands.bulk_summary(command, reader).sentences)


def test_the_plan_says_where_to_which_votes_fall_and_what_is_refused_and_changes_nothing(
    world: World,
) -> None:
    version = line(world)
    reviewed, running, ended = (world.start(version) for _ in range(3))
    world.report(reviewed)
    world.vote(reviewed, "approve", by=world.reviewer)
    world.started(running)
    engine.cancel(ended.pk, actor=engine.Actor.person(world.admin))
    before = {task.pk: world.kinds(task) for task in (reviewed, running, ended)}
    command = planned(world, "move", [reviewed, running, ended], to="check")
    text = sentences(command, world.operator)
    assert "2 tasks can be moved." in text
    assert "starts: 2 tasks." in text
    assert "1 review at Sign is closed. 1 vote no longer counts." in text
    assert "Running work of 1 task is stopped." in text
    ((reason, rows),) = bulk_commands.bulk_summary(command, world.operator).refusals
    assert "ended" in reason and [row.entry.task for row in rows] == [ended]
    assert {task.pk: world.kinds(task) for task in (reviewed, running, ended)} == before
    assert done(command) == ["done", "done", "refused"]
    assert (world.at(reviewed), world.at(running)) == (["check"], ["check"])
    assert find_violations([reviewed.pk, running.pk, ended.pk]) == []


@pytest.mark.parametrize(
    ("action", "status"), [("pause", "held"), ("cancel", "cancelled"), ("retry", "queued")]
)
def test_each_action_does_to_each_task_what_the_single_command_does(
    world: World, action: str, status: str
) -> None:
    version = line(world)
    tasks = [world.start(version) for _ in range(3)]
    if action == "retry":
        for task in tasks:
            world.started(task)
    command = planned(world, action, tasks, reason="Because.")
    assert [world.status(task) for task in tasks] == ["running" if action == "retry" else "queued"] * 3
    assert not Pause.objects.exists()
    assert done(command) == ["done"] * 3
    timers.run_due_timers_and_triggers()
    assert [world.status(task) for task in tasks] == [status] * 3
    assert find_violations([task.pk for task in tasks]) == []


def test_what_is_paused_is_resumed_and_the_rest_refused(world: World) -> None:
    version = line(world)
    paused, other = world.start(version), world.start(version)
    engine.pause(engine.PauseScope(world.project, task=paused), user=world.operator)
    timers.run_due_timers_and_triggers()
    command = planned(world, "resume", [paused, other])
    assert results(command) == ["planned", "refused"]
    assert done(command) == ["done", "refused"]
    timers.run_due_timers_and_triggers()
    assert world.status(paused) == "queued"


def test_a_task_that_somebody_else_moved_since_the_plan_is_refused_with_who_and_where(world: World) -> None:
    version = line(world)
    first, second = world.start(version), world.start(version)
    command = planned(world, "move", [first, second], to="check")
    token = world.token(second)
    engine.move_or_retry_by_hand(token.pk, user=world.admin, token_version=token.version, to="ship")
    assert done(command) == ["done", "refused"]
    detail = command.entries.get(task=second).detail
    assert detail.startswith("Something else came first.") and "→ ship" in detail.lower()
    assert (world.at(first), world.at(second)) == (["check"], ["ship"])


def test_a_stop_does_no_more_and_says_what_was_left(world: World) -> None:
    version = line(world)
    tasks = [world.start(version) for _ in range(3)]
    command = planned(world, "cancel", tasks)
    bulk_commands.start_bulk_command(command, world.operator)
    bulk_commands.stop_bulk_command(command, world.operator)
    bulk_commands.work_on_bulk_command(command.pk)
    command.refresh_from_db()
    assert (command.state, results(command)) == ("stopped", ["left"] * 3)
    assert {world.status(task) for task in tasks} == {"queued"}
    for again in (bulk_commands.start_bulk_command, bulk_commands.stop_bulk_command):
        with pytest.raises(Conflict):
            again(command, world.operator)


def test_nothing_begins_before_it_is_planned_and_started(world: World) -> None:
    tasks = [world.start(line(world))]
    request = BulkRequest("cancel")
    selection = bulk_commands.named_selection(world.operator, [Chosen(tasks[0].name)])
    command = bulk_commands.create_bulk_command(world.operator, world.operator, request, selection)
    with pytest.raises(Conflict, match="still being planned"):
        bulk_commands.start_bulk_command(command, world.operator)
    bulk_commands.work_on_bulk_command(command.pk)
    bulk_commands.work_on_bulk_command(command.pk)
    assert world.status(tasks[0]) == "queued"


def test_the_permission_is_asked_for_each_task_when_its_turn_comes(world: World) -> None:
    tasks = [world.start(line(world))]
    assert results(planned(world, "cancel", tasks, by=world.viewer)) == ["refused"]
    command = planned(world, "cancel", tasks)
    Membership.objects.filter(user=world.operator, project=world.project).update(roles=["viewer"])
    assert done(command) == ["refused"]
    assert "permission" in command.entries.get().detail
    assert world.status(tasks[0]) == "queued"


def test_of_other_tenants_nothing_is_found_by_any_name(world: World) -> None:
    theirs = make_world()
    version = line(theirs)
    task = theirs.start(version)
    own = world.start(line(world))
    name = f"{theirs.project.owner.key}/{task.name}"
    for chosen in (Chosen(name), Chosen(own.name, theirs.token(task).pk), Chosen("WI-nothing-1")):
        with pytest.raises(Invalid) as refused:
            bulk_commands.named_selection(world.operator, [chosen])
        assert refused.value.path == "tasks[0]"
    for match in (Match(project=str(theirs.project)), Match(line=f"{theirs.project}/bulk")):
        with pytest.raises(Invalid, match="There is no such"):
            bulk_commands.matching_selection(world.operator, world.operator, match, clock.now())
    command = planned(world, "cancel", [own])
    for stranger in (theirs.admin, world.admin):
        with pytest.raises(NotFound):
            bulk_commands.get_bulk_command(stranger, stranger, command.pk)
    with pytest.raises(NotFound):
        bulk_commands.get_bulk_command(world.operator, world.operator, uuid.uuid4())


def test_all_that_match_are_those_of_the_board_and_what_is_beyond_is_said(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = line(world)
    tasks = [world.start(version, title=f"fix {number}") for number in range(4)]
    world.start(version, title="other")
    monkeypatch.setattr("pipelines.queries.board.MOST_CHOSEN", 3)
    match = Match(str(world.project), "bulk", Filters("fix"))
    selection = bulk_commands.matching_selection(world.operator, world.operator, match, clock.now())
    assert [task.pk for task, _position in selection.rows] == [task.pk for task in tasks[:3]]
    assert selection.left_out == 1
    request = BulkRequest("cancel")
    command = bulk_commands.create_bulk_command(world.operator, world.operator, request, selection)
    bulk_commands.work_on_bulk_command(command.pk)
    assert "1 more match. Do it again for those." in sentences(command, world.operator)
    with pytest.raises(Invalid, match="No open task matches"):
        nothing = Match(filters=Filters("nothing of this name"))
        bulk_commands.matching_selection(world.operator, world.operator, nothing, clock.now())


def test_a_move_that_breaks_a_promise_is_refused_by_its_plan(world: World) -> None:
    promise = {"id": "signed", "never": {"reach": "ship", "without": "sign"}}
    stations = [station("build", {"id": "signed", "to": "ship", "gates": ["sign"]}), "ship"]
    version = world.line(document(stations, "promising", gates=[SIGN], guarantees=[promise]))
    task = world.start(version)
    command = planned(world, "move", [task], to="ship")
    assert results(command) == ["refused"]
    assert "promise" in command.entries.get().detail


@pytest.mark.django_db(transaction=True)
def test_of_two_commands_at_once_one_wins_each_task_and_the_other_says_so(world: World) -> None:
    version = line(world)
    tasks = [world.start(version) for _ in range(12)]
    one = planned(world, "move", tasks, to="check")
    other = planned(world, "move", tasks, by=world.admin, to="ship")
    for command in (one, other):
        bulk_commands.start_bulk_command(command, command.by)

    def work(command: BulkCommand) -> None:
        while BulkCommand.objects.filter(pk=command.pk, state="running").exists():
            bulk_commands.work_on_bulk_command(command.pk)

    # Two workers at each: none does an entry twice
    at_once([lambda each=each: work(each) for each in (one, other, one, other)])
    for task in tasks:
        of_task = BulkEntry.objects.filter(task=task)
        assert sorted(of_task.values_list("result", flat=True)) == ["done", "refused"]
        winner = of_task.get(result="done").command
        assert world.at(task) == [winner.to]
    assert find_violations([task.pk for task in tasks]) == []


def test_what_was_given_long_ago_is_forgotten(world: World) -> None:
    command = planned(world, "cancel", [world.start(line(world))])
    now = clock.now()
    assert bulk_commands.delete_some_old_commands(now) == 0
    assert bulk_commands.delete_some_old_commands(now + bulk_commands.operation.RETENTION * 2) == 1
    assert not BulkCommand.objects.filter(pk=command.pk).exists()


def test_a_task_at_which_something_breaks_does_not_keep_the_others_waiting(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [world.start(line(world))]
    tasks.append(world.start(tasks[0].line.live))
    command = planned(world, "cancel", tasks)
    cancel = engine.cancel

    def break_at_the_first(task_id: int, **more: object) -> object:
        if task_id == tasks[0].pk:
            raise ZeroDivisionError
        return cancel(task_id, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "cancel", break_at_the_first)
    assert done(command) == ["refused", "done"]
    assert "went wrong" in command.entries.order_by("pk")[0].detail
    assert [world.status(task) for task in tasks] == ["queued", "cancelled"]
