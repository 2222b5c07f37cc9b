"""A gate that asks about a sample asks about everything again once something went wrong, until a person lets it sample
again (law §15, Sampling)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pipelines.engine.core.agent_trust import lower_trust_after_revert
from pipelines.models import GateVisit, LineEvent, SampledDraw, Task
from pipelines.ports import observers
from pipelines.queries import versions
from pipelines.queries.members import responsible_user_ids
from pipelines.routing.document.line import Gate

REVERTED, CONTRADICTED, REFUSED = "reverted", "contradicted", "refused"


def make_gates_ask_about_every_task(task: Task, gates: Iterable[Gate], cause: str, now: datetime) -> None:
    """Let these gates of the task's line ask about every task, note why, and tell who answers for the line: once, until
    they sample again. Gates without a sample stay as they are."""
    for gate in gates:
        if gate.sample is None:
            continue
        _draw, is_new = SampledDraw.objects.get_or_create(
            line_id=task.line_id, gate=gate.key, about=SampledDraw.ALL
        )
        if is_new:
            _record_gate_asks_about_all(task, gate, cause, now)


def ask_about_every_task_after_revert(tasks: Iterable[Task], now: datetime) -> None:
    """Let the gates ask about every task that did not ask about these, whose changes were reverted, and lower the trust
    of who worked on them."""
    reverted = list(tasks)
    lower_trust_after_revert(reverted, REVERTED, now)
    for task in reverted:
        visited_gates = set(GateVisit.objects.filter(task=task).values_list("gate", flat=True))
        gates = versions.parsed_line_by_version_id(task.pinned_id).gates
        make_gates_ask_about_every_task(
            task, (gate for gate in gates if gate.key not in visited_gates), REVERTED, now
        )


def _record_gate_asks_about_all(task: Task, gate: Gate, cause: str, now: datetime) -> None:
    line = task.line
    LineEvent.objects.create(
        line=line,
        kind=LineEvent.RecordKind.ASKS_ALL,
        version=line.live,
        by=None,
        at=now,
        data={"gate": gate.key, "name": gate.name, "cause": cause, "task": task.name},
    )
    observers.emit_consequences(
        *(
            observers.SamplingStopped(
                line.pk,
                line.key,
                line.name,
                gate.key,
                gate.name,
                cause,
                task.name,
                line.project_id,
                person,
                now,
            )
            for person in responsible_user_ids(line)
        )
    )
