"""Migrating and undoing as operations: who may, what was confirmed, what is written down."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from pipelines import engine
from pipelines.engine import invariants
from pipelines.engine.commands.event_export import export_task
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.lines import line_migration
from pipelines.models import Due, Escalation, LineVersion, Migration, Task, Token, User
from tests.factories import World, make_member, station

pytestmark = pytest.mark.django_db

GATE = {"key": "review", "name": "Review", "mode": "manual"}


def gated(world: World, *gates: str) -> LineVersion:
    rule = {"id": "on", "to": "ship", "gates": list(gates)}
    used = [GATE] if gates else []
    return world.line(stations=[station("build", rule), "ship"], gates=used)


def confirmed(world: World, to: LineVersion, *, user: User | None = None, **more: Any) -> Migration:
    found = line_migration.migration_impact_of(to.line, to, more.get("mapping"), more.get("tasks"))
    said = {"digest": found.digest, "reason": "The new one is better.", **more}
    return line_migration.migrate_line(to.line, user=user or world.designer, to=to, **said)


def test_undo_brings_back_the_version_the_position_and_the_question(world: World) -> None:
    old = gated(world, "review")
    task = world.start(old)
    world.report(task, {"result": "success", "output": {"n": 1}})
    made = confirmed(world, gated(world))
    assert world.at(task) == ["ship"]
    undone = line_migration.undo_migration(made, user=world.designer, reason="Not yet.")
    task.refresh_from_db()
    assert (task.pinned_id, world.at(task), task.status) == (old.pk, ["build"], "awaiting_review")
    assert (task.context, task.rules, task.edges) == ({}, {"on": 0}, {"build->ship": 0})
    assert [entry.result for entry in undone.entries.all()] == ["restored"]
    world.vote(task)
    assert world.at(task) == ["ship"]


def test_undo_says_which_tasks_have_moved_since(world: World) -> None:
    old = world.line(stations=["build", "ship"])
    moved, rests, ended = (world.start(old) for _ in range(3))
    made = confirmed(world, world.line(stations=["build", "test", "ship"]))
    world.report(moved)
    engine.cancel(ended.pk, actor=engine.ENGINE)
    undone = line_migration.undo_migration(made, user=world.designer, reason="Back.")
    results = {entry.task_id: (entry.result, entry.detail) for entry in undone.entries.all()}
    assert results == {
        moved.pk: ("refused", "This task has moved since."),
        rests.pk: ("restored", ""),
        ended.pk: ("refused", "This task has ended; terminal is final."),
    }
    with pytest.raises(Conflict, match="already undone"):
        line_migration.undo_migration(made, user=world.designer, reason="Again.")
    with pytest.raises(Conflict, match="cannot be undone"):
        line_migration.undo_migration(undone, user=world.designer, reason="Again.")


def test_a_task_that_was_mapped_goes_back_unless_work_has_begun(world: World) -> None:
    old = world.line(stations=["build", "ship"])
    rests, works = world.start(old), world.start(old)
    made = confirmed(world, world.line(stations=["make", "ship"]), mapping={"build": "make"})
    world.started(works)
    undone = line_migration.undo_migration(made, user=world.designer, reason="Back.")
    details = {entry.task_id: entry.detail for entry in undone.entries.all()}
    assert details == {rests.pk: "", works.pk: "Work at make has begun."}
    assert (world.at(rests), world.at(works)) == (["build"], ["make"])


def test_a_fork_and_work_at_a_station_that_another_was_mapped_to_go_back_to_their_own_names(
    world: World,
) -> None:
    split = {"id": "split", "to": ["left", "right"]}
    old = world.line(stations=[station("build", split), "left", "right", "gone"])
    task, works = world.start(old), world.start(old)
    world.report(task)
    world.started(works)
    # What `gone` becomes has a name of its own before, and what stands there keeps it.
    new = world.line(stations=[station("build", split), "left", "right"])
    made = confirmed(world, new, mapping={"gone": "build"})
    line_migration.undo_migration(made, user=world.designer, reason="Back.")
    forked = Token.objects.get(task=task, forked=True)
    assert (forked.station, forked.wait["to"]) == ("build", ["left", "right"])
    world.report(works)
    assert works.jobs.order_by("pk")[0].station == "build"
    assert world.at(works) == ["left", "right"]
    assert invariants.find_violations([task.pk, works.pk]) == []


def test_work_that_becomes_one_by_hand_is_late_as_any(world: World) -> None:
    limits, policy = {"expected": "1h"}, {"deadlocks": "yes"}
    task = world.start(world.line(stations=[station("build", limits=limits)], policy=policy))
    by_hand = world.line(stations=[station("build", kind="manual", limits=limits)], policy=policy)
    done = confirmed(world, by_hand)
    assert Due.objects.filter(task=task, kind="deadlock").count() == 1
    assert invariants.find_violations() == []
    line_migration.undo_migration(done, user=world.designer, reason="Back.")
    assert (world.job(task).kind, Due.objects.filter(task=task).exists()) == ("noop", False)


def test_a_stale_confirm_is_refused(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    new = world.line(stations=["build", "test", "ship"])
    digest = line_migration.migration_impact_of(new.line, new).digest
    world.report(task)
    with pytest.raises(line_migration.StaleImpact):
        line_migration.migrate_line(new.line, user=world.designer, to=new, digest=digest, reason="Now.")
    assert not Migration.objects.exists()


def test_nothing_moves_while_a_mapping_is_missing(world: World) -> None:
    old = world.line(stations=["build", "test", "ship"])
    task, other = world.start(old), world.start(old)
    world.report(other)
    new = world.line(stations=["test", "ship"])
    with pytest.raises(Invalid) as refused:
        confirmed(world, new)
    assert [problem.path for problem in refused.value.problems] == ["mapping.build"]
    assert {Task.objects.get(pk=pk).pinned_id for pk in (task.pk, other.pk)} == {old.pk}


@pytest.mark.parametrize(
    ("mapping", "path"),
    [
        ({"nowhere": "test"}, "mapping.nowhere"),
        ({"build": "nowhere"}, "mapping.build"),
        ({"build": "completed"}, "mapping.build"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused_with_its_place(
    world: World, mapping: dict[str, str], path: str
) -> None:
    world.start(world.line(stations=["build", "test"]))
    new = world.line(stations=["test"])
    with pytest.raises(Invalid) as refused:
        line_migration.migration_impact_of(new.line, new, mapping)
    assert refused.value.path == path


def test_it_needs_the_role_and_for_other_code_the_permission(world: World) -> None:
    world.start(world.line(stations=["build", "ship"]))
    runs = {"argv": ["true"]}
    new = world.line(stations=[station("build", kind="command", work=runs), "ship"])
    with pytest.raises(Forbidden):
        confirmed(world, new, user=world.operator)
    with pytest.raises(Forbidden, match="execute"):
        confirmed(world, new, user=world.designer)
    may = make_member(world.project, "designer", "builder", execute=True)
    assert confirmed(world, new, user=may).finished_at


def test_it_needs_a_reason(world: World) -> None:
    world.start(world.line(stations=["build", "ship"]))
    with pytest.raises(Invalid) as refused:
        confirmed(world, world.line(stations=["build"]), reason=" ")
    assert refused.value.path == "reason"


def test_only_the_named_tasks_go(world: World) -> None:
    old = world.line(stations=["build", "ship"])
    goes, stays = world.start(old), world.start(old)
    new = world.line(stations=["build", "test", "ship"])
    confirmed(world, new, tasks=[goes.number])
    assert (Task.objects.get(pk=goes.pk).pinned_id, Task.objects.get(pk=stays.pk).pinned_id) == (
        new.pk,
        old.pk,
    )


def test_one_that_was_cut_short_is_continued(world: World) -> None:
    old = world.line(stations=["build", "ship"])
    task = world.start(old)
    new = world.line(stations=["build", "test", "ship"])
    made = confirmed(world, new)
    Migration.objects.filter(pk=made.pk).update(finished_at=None)
    again = Migration.objects.get(pk=made.pk)
    with pytest.raises(Conflict, match="not finished"):
        confirmed(world, old, tasks=[task.number])
    assert line_migration.finish_migration(again).finished_at
    assert task.events.filter(kind="task.migrated").count() == 1


def test_the_impact_of_a_draft_is_shown_and_cannot_be_done(world: World) -> None:
    version = world.line(stations=["build", "ship"])
    world.start(version)
    found = line_migration.migration_impact_of(version.line, None)
    assert found.to_dict()["to"] == "draft"
    assert [each["effect"] for each in found.to_dict()["tasks"]] == ["stays"]


def test_the_record_stays_as_it_was_written(world: World) -> None:
    world.start(world.line(stations=["build", "ship"]))
    made = confirmed(world, world.line(stations=["build"]))
    for change in (lambda: made.entries.update(result="refused"), made.delete):
        with pytest.raises(IntegrityError), transaction.atomic():
            change()


def test_the_export_names_who_worked_under_the_version_of_that_time(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    world.report(task)
    confirmed(world, world.line(stations=["deliver"]), mapping={"ship": "deliver"})
    said = list(export_task(task))
    assert {"source": "build", "target": "ship"} in [each["agent"] for each in said]
    (migrated,) = [each for each in said if each["kind"] == "task.migrated"]
    assert migrated["transition"] == {"from_state": "v1", "to_state": "v2", "trigger": "migrate"}


@pytest.mark.wide
def test_the_pages_of_a_migrated_task_still_open(world: World) -> None:
    task = world.start(gated(world, "review"))
    world.report(task)
    rule = {"id": "on", "to": "ship", "gates": ["review"]}
    confirmed(
        world, world.line(stations=[station("make", rule), "ship"], gates=[GATE]), mapping={"build": "make"}
    )
    client = Client()
    visit, where = world.visit(task), [world.project.owner.key, world.project.key]
    world.reviewer.set_password("correct horse battery")
    world.reviewer.save()
    client.force_login(world.reviewer)
    for name, arguments in (
        ("gate-visit", [visit.pk]),
        ("task", [*where, task.name]),
        ("line-live", [*where, "line"]),
        ("needs-me", []),
    ):
        assert client.get(reverse(name, args=arguments)).status_code == 200, name
    shown = client.get(reverse("task", args=[*where, task.name])).content.decode()
    assert "Migrated: v1 → v2" in shown


def test_undo_takes_back_the_failures_that_the_migration_counted(world: World) -> None:
    policy, on = {"on_failure": "stuck"}, {"id": "on", "when": {"result": "success"}, "to": "completed"}
    task = world.start(world.line(stations=[station("build", on)], policy=policy))
    world.report(task, {"result": "failure", "failure_type": "license"})
    assert world.status(task) == "stuck"
    budget = {"key": "types", "kind": "failure_type", "failure_types": ["license"], "most": 1}
    again = {"id": "again", "when": {"failure_type": "license"}, "to": "mend"}
    mended = world.line(
        stations=[station("build", again, on), station("mend", {"id": "end", "to": "completed"})],
        policy=policy,
        budgets=[budget],
    )
    made = confirmed(world, mended)
    task.refresh_from_db()
    assert (world.at(task), list(task.failures.values())) == (["mend"], [1])
    line_migration.undo_migration(made, user=world.designer, reason="Back.")
    task.refresh_from_db()
    assert (world.at(task), list(task.failures.values())) == (["build"], [0])


def test_undo_closes_what_the_migration_escalated(world: World) -> None:
    policy, on = {"on_failure": "stuck"}, {"id": "on", "when": {"result": "success"}, "to": "ship"}
    task = world.start(world.line(stations=[station("build", on), "ship"], policy=policy))
    world.report(task, {"result": "failure"})
    aeef = world.line(
        stations=[station("build", on), "ship"],
        preset="aeef",
        policy={"no_rules": "advance"},
        escalations=[{"trigger": "on_failure", "role": "Lead", "sla": "4h"}],
    )
    made = confirmed(world, aeef)
    task.refresh_from_db()
    assert (task.status, task.escalations) == ("held", 1)
    line_migration.undo_migration(made, user=world.designer, reason="Back.")
    task.refresh_from_db()
    assert (task.status, task.escalations) == ("stuck", 0)
    assert Escalation.objects.get(task=task).state == "resolved"
    assert invariants.find_violations() == []
