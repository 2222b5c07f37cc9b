"""Supplying what a held task waits for: its handoff document or metadata (law §8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from pipelines.engine.commands.inputs import (
    accepted_secret_names,
    input_fault_text,
    repositories_inputs_may_name,
    repository_value_to_store,
    unknown_repository_fault_or_empty,
    unknown_secret_fault_or_empty,
)
from pipelines.engine.commands.reconsider import held_token_context_and_situation
from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import (
    DecisionContext,
    decide_and_store_decision,
    facts_for_deciding_again,
)
from pipelines.engine.core.handoffs import agent_or_station_name
from pipelines.engine.core.locked_token import LockedToken, lock_token_if_it_is_left
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import Actor
from pipelines.engine.moves import decision_application
from pipelines.errors import Conflict, Invalid
from pipelines.models import Handoff, Status, Task, Token, User
from pipelines.ports.vault.value_lookup import ValueScope
from pipelines.routing.decide import effects
from pipelines.routing.document.handoffs import handoff_faults
from pipelines.routing.document.line import Input, ParsedLine, Problem
from pipelines.routing.document.preconditions import HANDOFF, METADATA


def store_handoff_and_decide_again(token_id: int, *, user: User, token_version: int, document: Any) -> Task:
    """Store the document and decide the task again. Raises NotFound, Invalid (every schema fault with its path),
    Conflict (no longer held for a handoff)."""
    payload.checked_digest(document, "handoff")
    return run_in_transaction(
        partial(_store_handoff_and_decide_again, token_id, user, token_version, document)
    )


def _store_handoff_and_decide_again(token_id: int, user: User, token_version: int, document: Any) -> Task:
    batch, task, token = _lock_unchanged_held_token(token_id, token_version)
    if not is_held_for_missing_handoff(token):
        raise Conflict(str(CHANGED))
    context, situation = _reconsidered_context_and_situation(batch, task, token, user, "handoff")
    problems = handoff_faults(document, context.judging_line.handoff_schema(token.station))
    if problems:
        raise Invalid(problems)
    source = agent_or_station_name(context.judging_line, token.station)
    # Without a name, which a handoff gets from the move that takes it along
    Handoff.objects.create(
        task=task, job=context.job, source=source, document=document, by=str(context.actor), at=batch.now
    )
    batch.append_event(
        task, "handoff.added", context.actor, token=token, source=token.station, trigger=context.cause
    )
    decision_application.apply_decision(context, decide_and_store_decision(context, situation))
    batch.flush()
    return task


def is_held_for_missing_handoff(token: Token) -> bool:
    return token.status == Status.HELD and HANDOFF in token.wait.get("missing", ())


def supply_metadata_and_decide_again(
    token_id: int, *, user: User, token_version: int, values: Mapping[str, Any]
) -> Task:
    """Supply missing metadata by name and decide the task again. A field of the start form that was left empty
    becomes an input, checked as there; anything else is stored as text in the task's context. Whatever is still
    missing holds the task as before. Raises NotFound, Invalid (path `metadata.<name>`; no path if nothing is given),
    Conflict (it no longer waits for any of these)."""
    payload.checked_digest(dict(values), "metadata")
    entered = {name: value for name, value in values.items() if value is not None and str(value).strip()}
    return run_in_transaction(
        partial(_supply_metadata_and_decide_again, token_id, user, token_version, entered)
    )


def _supply_metadata_and_decide_again(
    token_id: int, user: User, token_version: int, values: dict[str, Any]
) -> Task:
    batch, task, token = _lock_unchanged_held_token(token_id, token_version)
    if not values:
        raise Invalid.at("", "Fill in at least one field.")
    context, situation = _reconsidered_context_and_situation(batch, task, token, user, "metadata")
    fields = {field.key: field for field in fields_for_missing_metadata(context.judging_line, token)}
    if not fields.keys() >= values.keys():
        raise Conflict(str(CHANGED))
    reach = ValueScope.scope_of_task(task)
    known, connected = (
        accepted_secret_names(fields.values(), reach),
        repositories_inputs_may_name(fields.values(), reach),
    )
    problems = [
        Problem(
            f"metadata.{key}",
            input_fault_text(fields[key], value)
            or unknown_secret_fault_or_empty(fields[key], value, known)
            or unknown_repository_fault_or_empty(fields[key], value, reach, connected),
            "",
        )
        for key, value in values.items()
    ]
    if any(problem.message for problem in problems):
        raise Invalid(problem for problem in problems if problem.message)
    values = {key: repository_value_to_store(fields[key], value, connected) for key, value in values.items()}
    input_keys = {field.key for field in context.judging_line.inputs}
    inputs = {key: value for key, value in values.items() if key in input_keys}
    rest = {key: value for key, value in values.items() if key not in input_keys}
    task.inputs, task.context = {**task.inputs, **inputs}, {**task.context, **rest}
    batch.mark_task_changed(task, "inputs", "context")
    details: dict[str, Any] = {"given": sorted(values), "inputs": inputs, "context": rest}
    batch.append_event(
        task,
        "metadata.added",
        context.actor,
        token=token,
        source=token.station,
        trigger=context.cause,
        **details,
    )
    # Once more, since inputs and context have just changed
    now = {
        **situation,
        "facts": effects.facts_of_waiting_token_now(situation["facts"], facts_for_deciding_again(context)),
    }
    decision_application.apply_decision(context, decide_and_store_decision(context, now))
    batch.flush()
    return task


def fields_for_missing_metadata(line: ParsedLine, token: Token) -> tuple[Input, ...]:
    """The fields for what this held token is missing: from the line's start form, or else a text field with that
    name."""
    known = {field.key: field for field in line.inputs if field.type != "file"}
    missing = token.wait.get("missing", ()) if token.status == Status.HELD else ()
    # Other preconditions are met by something else than a value
    names = [name.removeprefix(METADATA) for name in missing if name.startswith(METADATA)]
    return tuple(replace(known.get(name) or Input(name, "text", label=name), required=True) for name in names)


CHANGED = "This task changed after you opened the page. Reload the page."


def _lock_unchanged_held_token(token_id: int, token_version: int) -> LockedToken:
    """The token, read under its task's lock, if it has not changed since the person saw it."""
    locked = lock_token_if_it_is_left(token_id)
    # Somebody else may have supplied it since the form was shown
    if locked is None or locked.token.version != token_version or not locked.token.wait.get("missing"):
        raise Conflict(str(CHANGED))
    return locked


def _reconsidered_context_and_situation(
    batch: Batch, task: Task, token: Token, user: User, why: str
) -> tuple[DecisionContext, dict[str, Any]]:
    context, situation, _before = held_token_context_and_situation(
        batch, task, token, Actor.person(user), why
    )
    return context, situation
