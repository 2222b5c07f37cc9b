"""Decide held tokens again when the missing facts may have changed (law §5 step 7)."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import (
    DecisionContext,
    decide_and_store_decision,
    facts_for_deciding_again,
    situation_with_current_facts,
)
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import ENGINE, Actor
from pipelines.engine.moves import decision_application
from pipelines.models import Decision, Due, Job, Status, Task, Token
from pipelines.routing.analysis.redecide.recorded_decision import answer_without_trace, decide_again
from pipelines.routing.decide import effects


def decide_held_tokens_again(task_id: int, *, actor: Actor = ENGINE) -> list[int]:
    """Decide the held tokens of a task again with the current facts: the same stored outcome with its votes and
    answers, under the version that decided. Returns the ids of the tokens that moved or wait for something else.
    Writes nothing when the result would be the same, so it can be called whenever facts may have changed. Does
    nothing for a task that does not exist, has ended or is not held."""
    return run_in_transaction(partial(_decide_held_tokens_again, task_id, actor))


def _decide_held_tokens_again(task_id: int, actor: Actor) -> list[int]:
    # Looked at before locking: it is called wherever facts may have changed.
    if not Token.objects.filter(task=task_id, status=Status.HELD, wait__has_key="missing").exists():
        return []
    batch = Batch.of_tasks(task_id)
    task = batch.tasks[task_id]
    changed = []
    for token in batch.living_tokens(task):
        # A token before it may have ended the whole task.
        if (
            token.status == Status.HELD
            and token.wait.get("missing")
            and _decide_again_unless_held_for_same_reason(batch, task, token, actor)
        ):
            changed.append(token.pk)
    batch.flush()
    return changed


class HeldSituation(NamedTuple):
    """Held token as it is decided about again: `before` is the decision that holds it, `situation` that decision's
    with the facts of now."""

    context: DecisionContext
    situation: dict[str, Any]
    before: Decision


def held_token_context_and_situation(
    batch: Batch, task: Task, token: Token, actor: Actor, why: str
) -> HeldSituation:
    """Return the decision context of a held token, its situation with the current facts, and the decision that
    holds it."""
    before = Decision.objects.get(pk=token.wait["decision"])
    job = Job.objects.get(pk=before.job_id)
    # With the version of the token, so that the same reason may come again (house §3 I4)
    cause = f"{why}:{token.pk}.{token.version}"
    context = DecisionContext(
        batch, task, token, job, actor, cause, cause, other_judge_version_id=before.pinned_id
    )
    situation = {
        **before.situation,
        "facts": effects.facts_of_waiting_token_now(
            before.situation["facts"], facts_for_deciding_again(context)
        ),
    }
    return HeldSituation(context, situation_with_current_facts(context, situation), before)


def _decide_again_unless_held_for_same_reason(batch: Batch, task: Task, token: Token, actor: Actor) -> bool:
    context, situation, before = held_token_context_and_situation(batch, task, token, actor, "facts")
    if _would_hold_for_same_reason(context, before, situation):
        return False
    decision_application.apply_decision(context, decide_and_store_decision(context, situation))
    return True


def decide_again_when_agent_is_free(batch: Batch, due: Due) -> None:
    """Handle the due time of a token that is held for an agent which may be free by now."""
    token = batch.tokens.get(due.token_id or 0)
    if token is not None and token.status == Status.HELD and token.wait.get("missing"):
        _decide_again_unless_held_for_same_reason(batch, batch.tasks[due.task_id], token, ENGINE)
    batch.flush()


def _would_hold_for_same_reason(
    context: DecisionContext, before: Decision, situation: dict[str, Any]
) -> bool:
    """Return whether the new decision would hold the token for the same reason."""
    # Facts change often: what would come out the same leaves no decision and no event behind
    return answer_without_trace(decide_again(context.judging_line, situation)) == before.answer
