"""Another version for a task that is under way, and back again; whole tasks, as one audited operation each."""

from __future__ import annotations

from django.db import OperationalError, connection

from pipelines.lines import line_migration
from pipelines.models import Event, LineVersion, Migration, MigrationEntry
from pipelines.queries import versions
from tests.engine.stateful import crash
from tests.engine.stateful.commands.tools import Act, Command
from tests.engine.stateful.lines import mapping
from tests.engine.stateful.scene import Scene
from tests.engine.stateful.sight import Subject

MOVES = ("token.moved", "token.forked", "token.ended")
WHY = "The line has changed."


def _target(scene: Scene, subject: Subject) -> LineVersion:
    """Any other version of its line; if there is none, one is published now."""
    pinned = LineVersion.objects.select_related("line").get(pk=subject.task["pinned_id"])
    others = _others(pinned)
    return scene.choice("to", others) if others else scene.publish(pinned.line.key)


def _others(pinned: LineVersion) -> list[LineVersion]:
    return list(LineVersion.objects.filter(line=pinned.line_id).exclude(pk=pinned.pk).order_by("-number"))


def _migrate(scene: Scene, subject: Subject, to: LineVersion, digest: str = "") -> Migration:
    """As a page does it: look at the impact, confirm it."""
    there = mapping(
        versions.parsed_line_by_version_id(subject.task["pinned_id"]), versions.parsed_version(to)
    )
    tasks = [subject.task["number"]]
    seen = line_migration.migration_impact_of(to.line, to, there, tasks)
    return line_migration.migrate_line(
        to.line,
        user=scene.world.admin,
        to=to,
        digest=digest or seen.digest,
        reason=WHY,
        mapping=there,
        tasks=tasks,
    )


def _result(made: Migration) -> str:
    return str(MigrationEntry.objects.get(migration=made).result)


def migrate(scene: Scene, subject: Subject) -> Act:
    def act() -> str:
        made = _migrate(scene, subject, _target(scene, subject))
        scene.migrated[subject.task["id"]] = made
        return _result(made)

    return act


def migrate_unseen(scene: Scene, subject: Subject) -> Act | None:
    if not _others(LineVersion.objects.get(pk=subject.task["pinned_id"])):
        return None  # publishing one would be a change, and nothing may have changed
    return lambda: _result(_migrate(scene, subject, _target(scene, subject), digest="0" * 64))


def migrate_cut(scene: Scene, subject: Subject) -> Act:
    """Cut in the middle, and carried on: by itself, on another connection, or by hand."""

    def act() -> str:
        to, commits = _target(scene, subject), scene.choice("commits", [2, 1])
        try:
            with crash.before_commit(scene.choice("statements", [1000, 30, 40, 50]), commits):
                return _result(_migrate(scene, subject, to))
        except OperationalError:
            connection.close()
            left = Migration.objects.filter(line=to.line, finished_at=None).first()
            return _result(line_migration.finish_migration(left) if left else _migrate(scene, subject, to))

    return act


def migrate_and_undo(scene: Scene, subject: Subject) -> Act:
    def act() -> str:
        made = _migrate(scene, subject, _target(scene, subject))
        return _result(
            line_migration.undo_migration(made, user=scene.world.admin, reason="It was a mistake.")
        )

    return act


def undo_late(scene: Scene, subject: Subject) -> Act | None:
    """Of the last migration of this task, after which it moved."""
    made = scene.migrated.get(subject.task["id"])
    if made is None or not _moved_since(made, subject):
        return None
    return lambda: _result(line_migration.undo_migration(made, user=scene.world.admin, reason="Too late."))


def _moved_since(made: Migration, subject: Subject) -> bool:
    seq = MigrationEntry.objects.get(migration=made).seq
    return Event.objects.filter(task=subject.task["id"], seq__gt=seq, kind__in=MOVES).exists()


MIGRATIONS = (
    Command("migrate", "its task is migrated to another version", migrate, whole=True, alone=False),
    Command("migrate_unseen", "an impact is confirmed that is not the one now", migrate_unseen, alone=False),
    Command(
        "migrate_cut", "a migration dies on the way and is carried on", migrate_cut, whole=True, alone=False
    ),
    Command("migrate_and_undo", "a migration is undone at once", migrate_and_undo, whole=True, alone=False),
    Command("undo_late", "a migration is undone after which it moved", undo_late, alone=False),
)
