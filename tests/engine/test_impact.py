"""The impact that is shown is what migrating then does, token by token; and undoing brings it back."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from pipelines.engine.invariants import find_violations
from pipelines.lines import line_migration
from pipelines.lines.line_migration import Impact
from pipelines.models import Event, Task, Token
from pipelines.routing.analysis.migration_impact import MigrationEffect
from tests.engine.lines_in_change import KEYS, documents, published, shape, walk
from tests.factories import World

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("IMPACT_EXAMPLES", "8"))
SLOW = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)


def mapping_of(draw: st.DrawFn, found: Impact) -> dict[str, str]:
    """What is needed, and now and then more."""
    keys = [each.key for each in found.parsed.stations]
    known = [
        key
        for key in KEYS
        if key in found.unmapped_stations
        or (key in found.task_counts_by_gone_next_station and draw(st.booleans()))
    ]
    return {key: draw(st.sampled_from(keys)) for key in known}


def agrees(effect: MigrationEffect, before: dict[str, Any], after: dict[int, dict[str, Any]]) -> None:
    """One token is where its effect said."""
    now = after[effect.token]
    if effect.how in ("keep", "there"):
        assert {**now, "origin": before["origin"]} == before
    elif len(effect.to) > 1 and not effect.gates:
        born = [each["station"] for pk, each in after.items() if pk > effect.token]
        assert now["forked"]
        assert set(effect.to) <= set(born)
    elif effect.effect == "moves" and effect.how in ("again", "ended") and now["end"]:
        assert (now["end"], now["status"]) == (effect.to[0], effect.status)
    elif effect.effect == "moves":
        assert (now["station"], now["status"], now["job"]) == (effect.to[0], effect.status, effect.to[0])
    else:
        assert (now["station"], now["status"], now["error"]) == (effect.station, effect.status, effect.error)
        gates = list(effect.gates) if effect.status == "awaiting_review" else []
        assert now["gates"] == gates


@pytest.mark.wide
@SLOW
@given(data=st.data())
def test_what_the_impact_says_is_what_migrating_does(world: World, data: st.DataObject) -> None:
    draw: Any = data.draw
    first = published(world, draw(documents()))
    tasks = [world.start(first) for _ in range(draw(st.integers(1, 3)))]
    for task in tasks:
        walk(world, draw, task, draw(st.integers(0, 6)))
    second = published(world, draw(documents()))
    numbers = [task.number for task in Task.objects.filter(pk__in=[t.pk for t in tasks], ended_at=None)]
    mapping = mapping_of(draw, line_migration.migration_impact_of(first.line, second, tasks=numbers))
    found = line_migration.migration_impact_of(first.line, second, mapping, numbers)
    if not found.tasks or found.unmapped_stations:
        return
    before = {task.pk: shape(task) for task in tasks}
    done = line_migration.migrate_line(
        first.line,
        user=world.admin,
        to=second,
        mapping=mapping,
        reason="Better.",
        digest=found.digest,
        tasks=numbers,
    )
    assert {entry.result for entry in done.entries.all()} == {"migrated"}
    for each in found.tasks:
        after = {said["token"]: said for said in shape(each.task)}
        for said in before[each.task.pk]:
            effects = [effect for effect in each.planned.effects if effect.token == said["token"]]
            for effect in effects:
                event(f"{effect.effect} by {effect.how}, from {said['status']}")
                agrees(effect, said, after)
    assert find_violations([task.pk for task in tasks]) == []
    comes_back(world, done, before)
    if draw(st.booleans()):
        for task in tasks:
            walk(world, draw, task, 4)
    assert find_violations([task.pk for task in tasks]) == []


def comes_back(world: World, done: Any, before: dict[int, list[dict[str, Any]]]) -> None:
    undone = line_migration.undo_migration(done, user=world.admin, reason="Worse.")
    for entry in undone.entries.all():
        forked = Event.objects.filter(task=entry.task_id, kind="token.forked", trigger="migrate").exists()
        ended = Event.objects.filter(task=entry.task_id, kind="token.ended", trigger="migrate").exists()
        if forked or ended:
            assert entry.result == "refused", entry.detail
            continue
        event("put back")
        assert (entry.result, entry.detail) == ("restored", "")
        task = Task.objects.get(pk=entry.task_id)
        assert task.pinned_id == entry.to_id
        assert shape(task) == before[task.pk]


@pytest.mark.wide
@SLOW
@given(data=st.data())
def test_a_task_that_was_migrated_goes_on_whatever_happens(world: World, data: st.DataObject) -> None:
    """Through three versions, with work between them, and no invariant breaks."""
    draw: Any = data.draw
    version = published(world, draw(documents()))
    task = world.start(version)
    for _ in range(3):
        walk(world, draw, task, draw(st.integers(0, 3)))
        version = published(world, draw(documents()))
        if not Token.objects.filter(task=task, ended_at=None).exists():
            break
        found = line_migration.migration_impact_of(version.line, version, tasks=[task.number])
        mapping = dict.fromkeys(found.unmapped_stations, found.parsed.start)
        found = line_migration.migration_impact_of(version.line, version, mapping, [task.number])
        if not found.unmapped_stations and found.tasks:
            line_migration.migrate_line(
                version.line,
                user=world.admin,
                to=version,
                mapping=mapping,
                reason="On.",
                digest=found.digest,
                tasks=[task.number],
            )
        assert find_violations([task.pk]) == []
    walk(world, draw, task, 5)
    assert find_violations([task.pk]) == []
