"""Many recorded decisions cheaply: tasks that the engine drove, copied by SQL with all that was decided about them."""

from __future__ import annotations

from typing import Any

from django.db import connection

from pipelines.models import Decision, Line, Task

STEP = 1_000_000
"""Copies are numbered beyond it: the copied task's number and a multiple of this."""


def copy(line: Line, times: int) -> int:
    """How many decisions there are then. Copies have no tokens, jobs and events of their own: for reading only."""
    with connection.cursor() as cursor:
        cursor.execute(
            insertion(Task, {"id": None, "number": f"t.number + k * {STEP}::bigint"}, TASKS),
            [line.pk, STEP, times],
        )
        fields = {"id": "gen_random_uuid()", "task_id": "c.id"}
        cursor.execute(insertion(Decision, fields, DECISIONS), [line.pk, STEP])
        cursor.execute("ANALYZE pipelines_task, pipelines_decision")
    return Decision.objects.filter(task__line=line).count()


TASKS = """FROM pipelines_task t, (SELECT %s::bigint AS line, %s::bigint AS step) given, generate_series(1, %s) k
           WHERE t.line_id = given.line AND t.number < given.step ORDER BY k, t.id"""
DECISIONS = """FROM pipelines_decision t JOIN pipelines_task s ON s.id = t.task_id
               JOIN (SELECT %s::bigint AS line, %s::bigint AS step) given ON s.line_id = given.line
               JOIN pipelines_task c ON c.line_id = s.line_id AND c.number >= step AND c.number %% step = s.number
               WHERE s.number < step"""


def insertion(model: type[Any], changed: dict[str, str | None], source: str) -> str:
    """Every column as it is, but for the changed ones; None leaves a column to the database."""
    names = [
        field.column for field in model._meta.concrete_fields if changed.get(field.column, "") is not None
    ]
    values = [changed.get(name) or f't."{name}"' for name in names]
    columns = ", ".join(f'"{name}"' for name in names)
    return f"INSERT INTO {model._meta.db_table} ({columns}) SELECT {', '.join(values)} {source}"
