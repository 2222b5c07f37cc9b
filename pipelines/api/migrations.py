"""Impact and migration of running tasks over HTTP (docs/versions.md)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from ninja import Query
from pydantic import BaseModel

from pipelines import access
from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import CHANGES, LINE, Operations, action_required, costly_operation
from pipelines.api.schemas import StrictBody
from pipelines.errors import Invalid, NotFound
from pipelines.lines import line_migration
from pipelines.models import Line, LineVersion, Migration

router = Operations("migrations", CHANGES)
MIGRATIONS = LINE + "/migrations"
EffectName = Literal["stuck", "approve_again", "moves", "stays"]


class MigratingPositionOut(BaseModel):
    """A living position of a task. `before` and `station`, `status`: where it stands and where it then would; `to`:
    where it goes on to; `needs`: the station that a mapping has to name; `next_gone`: stations that its work may lead
    to and that are gone; `decision`: what is decided again, if anything is."""

    token: int
    effect: EffectName
    how: str
    before: dict[str, str]
    station: str
    status: str
    to: list[str]
    gates: list[str]
    error: str
    needs: str
    next_gone: list[str]
    words: str
    decision: dict[str, Any] | None


class TaskImpactOut(BaseModel):
    task: str
    title: str
    version: int
    status: str
    effect: EffectName
    positions: list[MigratingPositionOut]


class ImpactOut(BaseModel):
    """`digest` is what a migration has to confirm."""

    line: str
    to: int | Literal["draft"]
    from_: list[int]
    mapping: dict[str, str]
    digest: str
    revision: int
    counts: dict[str, int]
    needs_mapping: dict[str, int]
    may_need_mapping: dict[str, int]
    tasks: list[TaskImpactOut]

    @classmethod
    def of(cls, found: line_migration.Impact) -> ImpactOut:
        said = found.to_dict()
        return cls(from_=said.pop("from"), **said)


class MigrateIn(StrictBody):
    """`digest`: of the impact that was looked at. `tasks`: only these (`WI-…`); without it every running one."""

    to: int
    digest: str
    reason: str
    mapping: dict[str, str] = {}
    tasks: list[str] | None = None


class UndoIn(StrictBody):
    reason: str


class EntryOut(BaseModel):
    """The result of one task: migrated, restored, already, changed, refused, or planned while it is not done yet."""

    task: str
    result: str
    detail: str
    version_before: int
    version_after: int
    positions: list[dict[str, Any]]
    at: datetime | None


class MigrationOut(BaseModel):
    """A migration of running tasks. `to` is None for an undo, which names what it `undoes`."""

    id: UUID
    to: int | None
    mapping: dict[str, str]
    reason: str
    digest: str
    by: str | None
    at: datetime
    finished_at: datetime | None
    undoes: UUID | None
    undone_by: UUID | None
    counts: dict[str, int]
    tasks: list[EntryOut] | None = None

    @classmethod
    def of(cls, made: Migration, *, tasks: bool = True) -> MigrationOut:
        undone = Migration.objects.filter(undoes=made).values_list("pk", flat=True).first()
        return cls(
            id=made.pk,
            to=made.to.number if made.to else None,
            mapping=made.mapping,
            reason=made.reason,
            digest=made.digest,
            by=str(made.by) if made.by else None,
            at=made.at,
            finished_at=made.finished_at,
            undoes=made.undoes_id,
            undone_by=undone,
            counts=line_migration.task_count_by_result(made),
            tasks=_migration_entries(made) if tasks else None,
        )


def _migration_entries(made: Migration) -> list[EntryOut]:
    rows = made.entries.select_related("task__project", "was", "to").order_by("pk")
    return [
        EntryOut(
            task=each.task.name,
            result=each.result,
            detail=each.detail,
            version_before=each.was.number,
            version_after=each.to.number,
            positions=each.tokens,
            at=each.at,
        )
        # Documents of versions may be large, and only their numbers are shown
        for each in rows.defer("was__document", "to__document")
    ]


@router.get(LINE + "/impact", response=ImpactOut, summary="What a version does to running tasks")
@costly_operation
def impact(
    request: Request,
    line: Line,
    to: str = "",
    map: list[str] = Query([]),  # noqa: A002, B008 - the name in the address; ninja reads it so
    task: list[str] = Query([]),  # noqa: B008
) -> ImpactOut:
    """Return what a version would do to running tasks.

    `to`: the number of a version, or `draft`. `map=old:new`, as often as needed, tries a mapping; `task=WI-…` looks
    at these only."""
    mapping = dict(_old_and_new_station_of_mapping(n, each) for n, each in enumerate(map))
    return ImpactOut.of(
        line_migration.migration_impact_of(
            line,
            _target_version_or_none_for_draft(line, to),
            mapping,
            _task_numbers_or_none(line, task or None),
        )
    )


@router.post(MIGRATIONS, response={201: MigrationOut}, summary="Migrate running tasks")
@action_required("publish")
def migrate(request: Request, line: Line, payload: MigrateIn) -> MigrationOut:
    """Nothing moves unless all that was confirmed still is so (409) and every station that is gone is mapped (400)."""
    made = line_migration.migrate_line(
        line,
        user=require_person(request.auth),
        to=access.version_of_permitted_line(line, payload.to),
        digest=payload.digest,
        reason=payload.reason,
        mapping=payload.mapping,
        tasks=_task_numbers_or_none(line, payload.tasks),
    )
    return MigrationOut.of(made)


@router.get(MIGRATIONS, response=list[MigrationOut], summary="List migrations, newest first")
def index(request: Request, line: Line) -> list[MigrationOut]:
    """The newest 100, without their tasks."""
    return [MigrationOut.of(each, tasks=False) for each in line_migration.migrations_newest_first(line)[:100]]


@router.get(MIGRATIONS + "/{migration}", response=MigrationOut, summary="Look at a migration")
def show(request: Request, line: Line, migration: UUID) -> MigrationOut:
    return MigrationOut.of(_get_migration(line, migration))


@router.post(MIGRATIONS + "/{migration}/undo", response={201: MigrationOut}, summary="Undo a migration")
@action_required("publish")
def undo(request: Request, line: Line, migration: UUID, payload: UndoIn) -> MigrationOut:
    """Puts back every task that has not moved since; the answer says which could not, and why."""
    found = _get_migration(line, migration)
    made = line_migration.undo_migration(found, user=require_person(request.auth), reason=payload.reason)
    return MigrationOut.of(made)


@router.post(
    MIGRATIONS + "/{migration}/continue",
    response=MigrationOut,
    summary="Finish a migration that was cut short",
)
@action_required("publish")
def resume_unfinished_migration(request: Request, line: Line, migration: UUID) -> MigrationOut:
    """Idempotent: what is done stays done."""
    found = _get_migration(line, migration)
    # For what it refuses: no machine finishes a migration
    require_person(request.auth)
    return MigrationOut.of(line_migration.finish_migration(found))


def _target_version_or_none_for_draft(line: Line, to: str) -> LineVersion | None:
    if to == "draft":
        return None
    # Any number of nine digits fits the column, which has 32 bits
    if not (to.isascii() and to.isdigit() and len(to) < 10):
        raise Invalid.at("to", "must be the number of a version, or “draft”")
    return access.version_of_permitted_line(line, int(to))


def _get_migration(line: Line, migration: UUID) -> Migration:
    found = line_migration.migrations_newest_first(line).filter(pk=migration).first()
    if found is None:
        raise NotFound("This line has no such migration.")
    # It was found by its line, which needs no statement of its own then
    found.line = line
    return found


def _old_and_new_station_of_mapping(place: int, text: str) -> tuple[str, str]:
    old, colon, new = text.partition(":")
    if not (old and colon and new):
        raise Invalid.at(f"map[{place}]", "has to be old:new", "For example map=build:compile.")
    return old, new


def _task_numbers_or_none(line: Line, names: list[str] | None) -> list[int] | None:
    if names is None:
        return None
    found = [access.task_number_or_none(line.project, name) for name in names]
    for place, number in enumerate(found):
        if number is None:
            raise Invalid.at(
                f"tasks[{place}]",
                f"is not the number of a task, like WI-{line.project.key}-42",
            )
    return [number for number in found if number is not None]
