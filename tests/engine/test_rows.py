"""What a batch writes in one round trip is, row by row, what Django writes: any values, each table that a move writes.

The tables stand in for the real ones under their names, without constraints, so that anything can be drawn."""

from __future__ import annotations

import itertools
import random
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models, transaction

from pipelines.engine.core.batch import JOB, TASK, TOKEN
from pipelines.models import Decision, Event, GateVisit, Group, Handoff, Job, Project, Task, Token
from pipelines.models.plumbing import bulk_rows
from pipelines.models.plumbing.compiled_queries import Statement, execute_all_and_fetch
from tests.factories import make_world

pytestmark = pytest.mark.django_db
NEW: tuple[type[models.Model], ...] = (Decision, Job, GateVisit, Event, Handoff)
CHANGED: dict[type[models.Model], tuple[str, ...]] = {
    Job: JOB,
    Token: TOKEN,
    Task: (*TASK, "context", "variables", "pinned"),
}
LETTERS = "ab Z09_-.,:'\"\\/{}[]%$&\n\t\u00e9\u4e16\U0001f600\u202e\ufeff\x7f"
_keys = itertools.count(1)


class Draw(random.Random):
    """`largest`: of the whole numbers in JSON. Rows with one of more than 64 bits are written another way."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.largest = 2**70 if seed % 2 else 2**62


def text(draw: random.Random, longest: int = 40) -> str:
    return "".join(draw.choices(LETTERS, k=draw.randint(0, min(longest, 40))))


def value(draw: Draw, depth: int = 3) -> Any:
    plain: list[Callable[[], Any]] = [
        lambda: None,
        lambda: draw.random() < 0.5,
        lambda: draw.randint(-draw.largest, draw.largest),
        lambda: draw.uniform(-1e6, 1e300),
        lambda: text(draw),
    ]
    if depth and draw.random() < 0.6:
        count = draw.randint(0, 4)
        if draw.random() < 0.3:
            return [value(draw, depth - 1) for _ in range(count)]
        return {text(draw): value(draw, depth - 1) for _ in range(count)}
    return draw.choice(plain)()


def drawn(field: Any, draw: Draw) -> Any:
    if field.primary_key:
        return uuid.UUID(int=draw.getrandbits(128)) if isinstance(field, models.UUIDField) else next(_keys)
    if field.null and draw.random() < 0.3:
        return None
    kind = field.target_field if field.is_relation else field
    made: dict[type, Callable[[], Any]] = {
        models.UUIDField: lambda: uuid.UUID(int=draw.getrandbits(128)),
        models.DateTimeField: lambda: (
            datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=draw.randint(-(10**15), 10**15))
        ),
        models.JSONField: lambda: value(draw) or {},
        models.BooleanField: lambda: draw.random() < 0.5,
        models.PositiveSmallIntegerField: lambda: draw.randint(0, 2**15 - 1),
        models.IntegerField: lambda: draw.randint(0, 2**31 - 1),
        models.PositiveIntegerField: lambda: draw.randint(0, 2**31 - 1),
        models.PositiveBigIntegerField: lambda: draw.randint(0, 2**63 - 1),
        models.BigIntegerField: lambda: draw.randint(0, 2**63 - 1),
        models.BigAutoField: lambda: draw.randint(1, 2**63 - 1),
        models.AutoField: lambda: draw.randint(1, 2**31 - 1),
        models.CharField: lambda: text(draw, kind.max_length),
        models.TextField: lambda: text(draw),
        ArrayField: lambda: [text(draw) for _ in range(draw.randint(0, 3))],
    }
    return made[type(kind)]()


def row(model: type[models.Model], draw: Draw) -> dict[str, Any]:
    return {field.attname: drawn(field, draw) for field in model._meta.concrete_fields}


def stored(model: type[models.Model]) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id::text, to_json(t)::text FROM {model._meta.db_table} t")
        return dict(cursor.fetchall())


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def tables() -> Iterator[None]:
    """Temporary ones come first where a name is looked up; what the server has prepared knows the others."""
    connection.cursor().execute("DEALLOCATE ALL")
    with connection.cursor() as cursor:
        for model in {*NEW, *CHANGED}:
            cursor.execute(f"CREATE TEMP TABLE {model._meta.db_table} (LIKE public.{model._meta.db_table})")
    yield
    with connection.cursor() as cursor:
        for model in {*NEW, *CHANGED}:
            cursor.execute(f"DROP TABLE pg_temp.{model._meta.db_table}")
        cursor.execute("DEALLOCATE ALL")


def compare(seed: int, size: int) -> None:
    draw = Draw(seed)
    for model in NEW:
        values = [row(model, draw) for _ in range(size)]
        with undone():
            execute_all_and_fetch(
                [bulk_rows.insert_statement([bulk_rows.new_row(model, **each) for each in values])]
            )
            ours = stored(model)
            kept_rows = {str(each.pk): each for each in model._default_manager.all()}
            for pk, text in ours.items():
                read, kept = bulk_rows.row_from_json(model, _parsed(text)), kept_rows[pk]
                assert {f.attname: getattr(read, f.attname) for f in model._meta.concrete_fields} == {
                    f.attname: getattr(kept, f.attname) for f in model._meta.concrete_fields
                }
        with undone():
            model._default_manager.bulk_create([model(**each) for each in values])
            assert stored(model) == ours
    for model, names in CHANGED.items():
        values = [row(model, draw) for _ in range(size)]
        model._default_manager.bulk_create([model(**each) for each in values])
        after = [{**row(model, draw), "id": each["id"]} for each in values]
        with undone():
            bulk_rows.update_rows([model(**each) for each in after], names)
            ours = stored(model)
        with undone():
            for each in after:
                model(**each).save(update_fields=names)
            assert stored(model) == ours


def _parsed(text: str) -> dict[str, Any]:
    return dict(bulk_rows.json.loads(text))


def test_a_batch_writes_what_django_writes(tables: None) -> None:
    for seed in range(3):
        compare(seed, 8)


@pytest.mark.soak
def test_a_hundred_thousand_rows(tables: None) -> None:
    for seed in range(250):
        compare(seed, 50)


def test_a_project_is_read_with_its_working_time() -> None:
    """A batch reads it with the task's row, and gates reckon with its hours and days off (law §6)."""
    project = make_world().project
    Project.objects.filter(pk=project.pk).update(
        work_from=time(8, 30), work_until=time(0), days_off=[date(2026, 12, 24), date(2026, 12, 25)]
    )
    kept = Project.objects.get(pk=project.pk)
    read = bulk_rows.row_from_json(Project, _parsed(stored(Project)[str(project.pk)]))
    fields = [field.attname for field in Project._meta.concrete_fields]
    assert [getattr(read, name) for name in fields] == [getattr(kept, name) for name in fields]


def test_new_rows_get_their_keys_in_their_order() -> None:
    project = make_world().project
    made = [
        bulk_rows.new_row(Group, project=project, key=f"g{number}", name=f"G {number}") for number in range(5)
    ]
    bulk_rows.insert_rows(made)
    assert [(each.pk, each.key, each.name) for each in made] == list(
        Group.objects.filter(project=project).order_by("key").values_list("pk", "key", "name")
    )
    more = [
        bulk_rows.new_row(Group, project=project, key=f"g{number}", name="Another") for number in range(4, 7)
    ]
    bulk_rows.insert_rows(more, unless_there=True)
    names = Group.objects.filter(project=project).order_by("key").values_list("name", flat=True)
    assert list(names) == [f"G {number}" for number in range(5)] + ["Another", "Another"]
    bulk_rows.insert_rows([])


def test_a_lost_row_is_noticed_in_both_ways() -> None:
    lost = Statement("UPDATE pipelines_task SET title = title WHERE id = %s", [2**60], 1, "rows of Task")
    with pytest.raises(bulk_rows.LostRow, match="0 of 1 rows of Task"):
        execute_all_and_fetch([lost])
    watched = connection.execute_wrapper(lambda execute, *given: execute(*given))
    with watched, pytest.raises(bulk_rows.LostRow, match="0 of 1 rows of Task"):
        execute_all_and_fetch([lost])


def test_too_long_a_text_is_refused_and_not_cut(tables: None) -> None:
    given = row(Event, Draw(1)) | {"kind": "x" * 41}
    with pytest.raises(Exception, match="too long"), transaction.atomic():
        execute_all_and_fetch([bulk_rows.insert_statement([bulk_rows.new_row(Event, **given)])])
