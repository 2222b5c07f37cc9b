"""A person gives the handoff document that a held task waits for (semantics §8)."""

from __future__ import annotations

from functools import partial
from typing import Any

from pipelines.engine import effects, payload
from pipelines.engine.batch import Batch
from pipelines.engine.errors import Conflict, Invalid, NotFound
from pipelines.engine.handoffs import worker_of
from pipelines.engine.reconsider import once_more
from pipelines.engine.transaction import run
from pipelines.engine.turn import fresh, settle
from pipelines.engine.values import Actor
from pipelines.models import Handoff, Status, Task, Token, User
from pipelines.routing.handoffs import faults
from pipelines.routing.model import HANDOFF


def hand_over(token_id: int, *, user: User, token_version: int, document: Any) -> Task:
    """The document is kept, and the task decided again. Raises NotFound, Invalid (every fault of the schema, at its
    place), Conflict (it is not held for a handoff any more)."""
    payload.accept(document, "handoff")
    return run(partial(_hand_over, token_id, user, token_version, document))


def _hand_over(token_id: int, user: User, token_version: int, document: Any) -> Task:
    task_id = Token.objects.filter(pk=token_id).values_list("task_id", flat=True).first()
    if task_id is None:
        raise NotFound()
    batch = Batch.of_tasks(task_id)
    task, token = batch.tasks[task_id], batch.tokens.get(token_id)
    if token is None or token.version != token_version or not waits_for_it(token):
        raise Conflict("This task changed after you opened the page; look again.")
    actor = Actor.person(user)
    turn, situation, _before = once_more(batch, task, token, actor, "handoff")
    found = faults(document, turn.judged_by.handoff_schema(token.station))
    if found:
        raise Invalid(found)
    source = worker_of(turn.judged_by, token.station)
    Handoff.objects.create(
        task=task, job=turn.job, source=source, document=document, by=str(actor), at=batch.now
    )
    batch.event(task, "handoff.added", actor, token=token, source=token.station, trigger=turn.cause)
    effects.apply(turn, settle(turn, fresh(turn, situation)))
    batch.flush()
    return task


def waits_for_it(token: Token) -> bool:
    return token.status == Status.HELD and HANDOFF in token.wait.get("missing", ())
