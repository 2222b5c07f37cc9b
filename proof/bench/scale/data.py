"""What a large team leaves in a year: on every line the engine makes one task of each sort, and SQL copies their rows
with all that hangs on them. Copies differ in their ids, in their times and in who requested them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.db import connection, models
from django.utils import timezone

from pipelines import engine
from pipelines.models import Lease, LineVersion, Membership, Project, Role, Task, TaskText, User
from reviews.models import Sitting
from tests.factories import World, make_member, make_project, make_user, make_worker
from tests.reviews.conftest import gated

STEP = 100_000
"""The ids of copy k are those of its model and k times this."""
PEOPLE = 100
PROJECTS = 5
COST = {
    "agent": {"name": "Claude Code"},
    "usage": {"cost_usd": 0.5, "tokens_in": 9_000, "tokens_out": 700, "price": "reported"},
}
LATEST = {"waiting": 90, "queued": 2, "approved": 365, "cancelled": 365}
"""Sort of a task → the days over which its copies are spread."""


@dataclass(frozen=True)
class Size:
    """How many of what. `open`, `over`: reviews; `board`: living tasks of the first line, the rest is spread over all
    `lines`. A team that has been at work for longer has no more open than before: from 150,000 tasks on only what is
    over grows."""

    tasks: int
    lines: int = 50

    @property
    def open(self) -> int:
        return min(self.tasks, 150_000) // 3

    @property
    def over(self) -> int:
        return self.tasks // 3

    @property
    def board(self) -> int:
        return min(self.tasks, 150_000) // 15

    def of(self, line: int) -> dict[str, int]:
        """How many tasks of each sort this line has."""
        queued, waiting = (self.board // 5, self.board - self.board // 5) if line == 0 else (0, 0)
        if line:
            waiting = (self.open - (self.board - self.board // 5)) // (self.lines - 1)
        cancelled = (self.tasks - self.open - self.over - self.board // 5) // self.lines
        return {
            "waiting": waiting,
            "queued": queued,
            "approved": self.over // self.lines,
            "cancelled": cancelled,
        }


@dataclass
class Model:
    """The tasks of a line that the engine made, by sort."""

    version: LineVersion
    tasks: dict[str, Task] = field(default_factory=dict)


def make(size: Size) -> None:
    """The reader of the measurement is the first person named `reader`, a reviewer and admin everywhere."""
    reader = make_user("reader")
    reader.set_password("correct horse battery")
    reader.save()
    models_of: list[Model] = []
    worker = make_worker()
    projects = [make_project(f"team{number}") for number in range(PROJECTS)]
    for project in projects:
        Membership.objects.create(project=project, user=reader, roles=[Role.REVIEWER, Role.ADMIN])
        for number in range(PEOPLE // PROJECTS):
            make_member(project, Role.OPERATOR, f"person{number}")
    worlds = [World(project, worker, {Role.REVIEWER: reader}) for project in projects]
    for number in range(size.lines):
        models_of.append(_drive(worlds[number % PROJECTS], number))
    _multiply(models_of, size)


def _drive(world: World, number: int) -> Model:
    said = {**gated(notify=[]), "key": f"line{number}", "name": f"Line {number}"}
    made = Model(world.line(**said))
    for sort in LATEST:
        made.tasks[sort] = world.start(made.version, title=f"Change {sort} of line {number}")
    for sort in ("waiting", "approved"):
        world.report(made.tasks[sort], {"result": "success", "facts": COST})
    Sitting.objects.create(visit=world.visit(made.tasks["approved"]), seconds=90, last_at=timezone.now())
    world.vote(made.tasks["approved"])
    world.report(made.tasks["approved"])
    engine.cancel(made.tasks["cancelled"].pk, actor=engine.Actor.person(world.operator), reason="Not needed")
    return made


def _multiply(made: list[Model], size: Size) -> None:
    copied = _copied()
    others = User.objects.exclude(username__startswith="reader").values_list("pk", flat=True)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE scale_model (task bigint, copies int, days int)")
        for number, each in enumerate(made):
            for sort, copies in size.of(number).items():
                row = [each.tasks[sort].pk, copies - 1, LATEST[sort]]
                cursor.execute("INSERT INTO scale_model VALUES (%s, %s, %s)", row)
        cursor.execute("SET session_replication_role = replica")  # neither triggers nor foreign keys
        cursor.execute("SET maintenance_work_mem = '512MB'")
        with _indexes_afterwards(cursor, [model._meta.db_table for model in (*copied, TaskText)]):
            for model, task in copied.items():
                cursor.execute(_insertion(model, task, copied), {"people": list(others)})
                if isinstance(model._meta.pk, models.AutoField):
                    table = model._meta.db_table
                    cursor.execute(
                        f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}"
                    )
            cursor.execute(TEXTS)
        cursor.execute("SET session_replication_role = origin")
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CREATE TABLE scale_made ()")


@contextmanager
def _indexes_afterwards(cursor: Any, tables: list[str]) -> Iterator[None]:
    """Those that hold no constraint are made when the rows are there, which takes a fraction of the time."""
    cursor.execute(
        """SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
           WHERE indrelid::regclass::text = ANY(%s) AND NOT indisunique""",
        [tables],
    )
    found = cursor.fetchall()
    for name, _text in found:
        cursor.execute(f"DROP INDEX {name}")
    yield
    for _name, text in found:
        cursor.execute(text)


Copied = dict[type[models.Model], str]


def _copied() -> Copied:
    """What hangs on a task, with how the id of the task is read from a row `t` of it."""
    found: Copied = {Task: "t.id"}
    rest = {each for app in ("pipelines", "reviews") for each in apps.get_app_config(app).get_models()} - {
        Task,
        TaskText,
        Lease,
    }
    while grown := {model: task for model in rest if (task := _task_of(model, found))}:
        found |= grown
        rest -= grown.keys()
    return found


def _task_of(model: type[models.Model], found: Copied) -> str:
    keys: list[Any] = [
        each for each in model._meta.local_concrete_fields if isinstance(each, models.ForeignKey)
    ]
    to = {each.related_model: each for each in keys if not each.null and each.related_model in found}
    if Task in to:
        return f"t.{to[Task].column}"
    for parent, key in to.items():
        if found[parent] == "t.task_id":
            table, held = parent._meta.db_table, parent._meta.pk
            assert held is not None
            return f"(SELECT p.task_id FROM {table} p WHERE p.{held.column} = t.{key.column})"
    return ""


TEXTS = """INSERT INTO pipelines_tasktext SELECT id, gateline_task_text(title, labels, number) FROM pipelines_task
           ON CONFLICT DO NOTHING"""
AGE = "86400.0 * m.days * (m.copies - k) / m.copies"
"""Of copy `k`, in seconds; rows are written in the order of time, as they come."""
LOOSE = {"token_id", "job_id"}
"""Ids without a foreign key."""


def _insertion(model: type[models.Model], task: str, copied: Copied) -> str:
    fields = model._meta.local_concrete_fields
    columns = ", ".join(f'"{each.column}"' for each in fields)
    values = ", ".join(_value(model, each, copied) for each in fields)
    return f"""INSERT INTO {model._meta.db_table} ({columns}) SELECT {values}
               FROM {model._meta.db_table} t JOIN scale_model m ON m.task = {task}
               CROSS JOIN LATERAL generate_series(1, m.copies) k ORDER BY {AGE} DESC"""


def _value(model: type[models.Model], column: Any, copied: Copied) -> str:
    """The value of this column in copy `k`."""
    name, key = f't."{column.column}"', isinstance(column, models.ForeignKey)
    if column.primary_key or column.column in LOOSE or (key and column.related_model in copied):
        made = column.target_field if key else column
        is_uuid = isinstance(made, models.UUIDField)
        return f"md5({name}::text || k)::uuid" if is_uuid else f"{name} + {STEP} * k::bigint"
    if column.column == "requester_id":
        return f"CASE WHEN {name} IS NOT NULL THEN (%(people)s::int[])[1 + k %% cardinality(%(people)s::int[])] END"
    if model is Task and column.column == "number":
        return f"{name} + 1000 * k"
    if isinstance(column, models.DateTimeField):
        return f"{name} - make_interval(secs => {AGE})"
    return name


def there() -> bool:
    """Whether this database has the data already. Ends where it was broken off while it was made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('scale_made') IS NOT NULL")
        [[made]] = cursor.fetchall()
    if not made and Project.objects.exists():
        raise SystemExit("These data were not finished: remove the folder.")
    return bool(made)


def counts() -> dict[str, int]:
    names = ("Task", "Token", "Job", "Decision", "Event", "GateVisit", "Vote")
    return {name: apps.get_model("pipelines", name).objects.count() for name in names}
