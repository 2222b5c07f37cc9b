"""What gates that ask about a sample have drawn for a task (law §15, Sampling)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection

from pipelines.models import GateVisit, SampledDraw, Task
from pipelines.ports.sampling import sampling_key
from pipelines.routing.decide.sampling import DRAWN, NOT_DRAWN, SAME_CHANGE, is_drawn
from pipelines.routing.document.line import Gate, Line

ROOT = """WITH RECURSIVE chain(id, follows_id) AS (
            SELECT id, follows_id FROM pipelines_task WHERE id = %s
            UNION SELECT task.id, task.follows_id FROM pipelines_task task JOIN chain ON task.id = chain.follows_id)
          SELECT id FROM chain WHERE follows_id IS NULL"""


def samples(line: Line, task: Task, outcome: Mapping[str, Any]) -> dict[str, str]:
    """{gate: drawn, same_change or not_drawn} of the gates that ask about a sample; none where the line has none."""
    gates = [gate for gate in line.gates if gate.sample is not None]
    if not gates:
        return {}
    root, change = root_of(task), _change(outcome)
    wanted = [_of_task(root), *([change] if change else [])]
    before = SampledDraw.objects.filter(line=task.line_id, about__in=wanted)
    asked: dict[str, set[str]] = {}
    for gate, about in before.values_list("gate", "about"):
        asked.setdefault(gate, set()).add(about)
    return {gate.key: _drawn(gate, task.line_id, root, asked.get(gate.key, set())) for gate in gates}


def _drawn(gate: Gate, line_id: int, root: int, asked: set[str]) -> str:
    assert gate.sample is not None
    by_key = is_drawn(sampling_key(), f"{line_id}/{gate.key}", str(root), gate.sample.one_in)
    if by_key or _of_task(root) in asked:
        return DRAWN
    return SAME_CHANGE if asked else NOT_DRAWN


def remember(visit: GateVisit, gate: Gate | None, outcome: Mapping[str, Any]) -> None:
    """That people are asked about this change now: its chain of tasks and its changed lines are asked about ever
    after."""
    if gate is None or gate.sample is None:
        return
    change = _change(outcome)
    abouts = [_of_task(root_of(visit.task)), *([change] if change else [])]
    rows = [SampledDraw(line_id=visit.task.line_id, gate=gate.key, about=about) for about in abouts]
    SampledDraw.objects.bulk_create(rows, ignore_conflicts=True)


def root_of(task: Task) -> int:
    """The id of the task with which the chain of linked tasks began: retries, forks from a moment, follow-ups."""
    if task.follows_id is None:
        return int(task.pk)
    with connection.cursor() as cursor:
        cursor.execute(ROOT, [task.pk])
        row = cursor.fetchone()
    return int(row[0]) if row else int(task.pk)


def _of_task(root: int) -> str:
    return f"task:{root}"


def _change(outcome: Mapping[str, Any]) -> str:
    """The digest of the changed lines, as the server counted them (law §13); "" without any."""
    facts = outcome.get("facts")
    digest = (facts.get("git") or {}).get("lines") if isinstance(facts, Mapping) else ""
    return f"change:{digest}" if digest else ""
