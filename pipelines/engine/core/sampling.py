"""Draws of gates that ask about a sample (law §15, Sampling)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.engine.core import payload
from pipelines.engine.statements import TASK_CHAIN
from pipelines.models import Event, GateVisit, SampledDraw, Task
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports.sampling import sampling_key
from pipelines.routing.decide.sampling import (
    DRAWN,
    FELL_BACK,
    NOT_DRAWN,
    SAME_CHANGE,
    SAME_REQUEST,
    is_chain_drawn,
)
from pipelines.routing.document.line import Gate, ParsedLine

CHANGE = "change:"


def draw_result_by_gate(line: ParsedLine, task: Task, outcome: Mapping[str, Any]) -> dict[str, str]:
    """Return {gate: drawn, same_change, same_request, fell_back or not_drawn} of the gates that ask about a sample."""
    gates = [gate for gate in line.gates if gate.sample is not None]
    if not gates:
        return {}
    chain, change = ids_of_tasks_that_led_here(task), _changed_lines_digest_or_empty(outcome)
    subjects = [
        SampledDraw.ALL,
        _sampling_key_of_task_chain(chain[0]),
        _sampling_key_of_request(task.inputs, task),
        *([change] if change else []),
    ]
    before = SampledDraw.objects.filter(line=task.line_id, about__in=subjects)
    subjects_by_gate: dict[str, set[str]] = {}
    for gate, about in before.values_list("gate", "about"):
        subjects_by_gate.setdefault(gate, set()).add(about)
    return {
        gate.key: _draw_result_for_gate(gate, task.line_id, chain, subjects_by_gate.get(gate.key, set()))
        for gate in gates
    }


def _draw_result_for_gate(gate: Gate, line_id: int, chain: Sequence[int], prior_subjects: set[str]) -> str:
    """Every task of the chain draws: that one was drawn holds for those that follow it, that none was does not."""
    assert gate.sample is not None
    # With the line: another one may have a gate of this key, and would draw the same tasks
    key, place, one_in = sampling_key(), f"{line_id}/{gate.key}", gate.sample.one_in
    by_key = any(is_chain_drawn(key, place, str(task_id), one_in) for task_id in chain)
    if by_key or _sampling_key_of_task_chain(chain[0]) in prior_subjects:
        return DRAWN
    if SampledDraw.ALL in prior_subjects:
        return FELL_BACK
    if not prior_subjects:
        return NOT_DRAWN
    return SAME_CHANGE if any(about.startswith(CHANGE) for about in prior_subjects) else SAME_REQUEST


def always_ask_about_change_from_now(visit: GateVisit, gate: Gate, outcome: Mapping[str, Any]) -> None:
    """Store that people were asked about this change, so that its chain of tasks and the same changed lines are
    always asked about from now on."""
    if gate.sample is None:
        return
    change = _changed_lines_digest_or_empty(outcome)
    abouts = [
        _sampling_key_of_task_chain(ids_of_tasks_that_led_here(visit.task)[0]),
        *([change] if change else []),
    ]
    rows = [SampledDraw(line_id=visit.task.line_id, gate=gate.key, about=about) for about in abouts]
    SampledDraw.objects.bulk_create(rows, ignore_conflicts=True)


def keep_request_drawn_until_approved(task: Task, draws: Mapping[str, str]) -> None:
    """Let whatever asks the same as a task that was drawn be asked about as well, until somebody approves it: nobody
    draws anew by cancelling, by leaving it where it waits, or after a rejection. Nothing is kept of a task that was not
    drawn."""
    drawn = [gate for gate, draw in draws.items() if draw == DRAWN]
    rows = [
        SampledDraw(line_id=task.line_id, gate=gate, about=_sampling_key_of_request(task.inputs, task))
        for gate in drawn
    ]
    SampledDraw.objects.bulk_create(rows, ignore_conflicts=True)


def allow_new_draw_for_request(gate: Gate, task: Task) -> None:
    """Let what asks the same draw anew, now that somebody approved it."""
    SampledDraw.objects.filter(
        line=task.line_id, gate=gate.key, about__in=_sampling_keys_of_request_so_far(task)
    ).delete()


def is_drawn_or_asks_the_same_as_drawn(gate: Gate, task: Task, facts: Mapping[str, Any]) -> bool:
    """Return whether the gate asks because this task was drawn, or because what it asks for was and nobody has approved
    that yet. `facts`: those of the decision that asks."""
    # The draw as it was frozen: the row goes when another task that asks the same is approved
    if (facts.get("samples") or {}).get(gate.key) == DRAWN:
        return True
    return SampledDraw.objects.filter(
        line=task.line_id, gate=gate.key, about=_sampling_key_of_request(task.inputs, task)
    ).exists()


def ids_of_tasks_that_led_here(task: Task) -> list[int]:
    """Return the ids of the linked tasks that led to this one, itself among them: retries, forks from a moment,
    follow-ups. The one with which they began comes first."""
    if task.follows_id is None:
        return [int(task.pk)]
    return [int(number) for (number,) in fetch(TASK_CHAIN, [task.pk])] or [int(task.pk)]


def _sampling_key_of_task_chain(root: int) -> str:
    return f"task:{root}"


def _sampling_key_of_request(inputs: Mapping[str, Any], task: Task) -> str:
    """Name what a task with these inputs asks for, whatever its spacing: the inputs, or its words where its line takes
    none."""
    return (
        f"request:{payload.json_digest(_value_with_single_spaces(inputs or [task.title, task.description]))}"
    )


def _sampling_keys_of_request_so_far(task: Task) -> set[str]:
    """Return the keys of what the task asks for, and asked for before inputs that were missing were supplied: it may
    have been drawn by each of them."""
    supplied = (
        Event.objects.filter(task=task, kind="metadata.added").order_by("-seq").values_list("data", flat=True)
    )
    inputs, keys = dict(task.inputs), {_sampling_key_of_request(task.inputs, task)}
    for event_data in supplied:
        inputs = {key: value for key, value in inputs.items() if key not in event_data.get("inputs", {})}
        keys.add(_sampling_key_of_request(inputs, task))
    return keys


def _value_with_single_spaces(value: Any) -> Any:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, Mapping):
        return {key: _value_with_single_spaces(member) for key, member in value.items()}
    return [_value_with_single_spaces(member) for member in value] if isinstance(value, list) else value


def _changed_lines_digest_or_empty(outcome: Mapping[str, Any]) -> str:
    """The digest of the changed lines, as the server counted them (law §13); "" without any."""
    facts = outcome.get("facts")
    digest = (facts.get("git") or {}).get("lines") if isinstance(facts, Mapping) else ""
    return f"{CHANGE}{digest}" if digest else ""
