"""Resolving an escalation: the task continues, the station runs again, the task goes elsewhere, or it is cancelled
(law §8)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from pipelines.engine.commands import manual_actions
from pipelines.engine.commands.reconsider import decide_held_tokens_again
from pipelines.engine.commands.role_answers import RoleAnswer, checked_row_to_answer, refuse_if_resolved
from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import (
    DecisionContext,
    decide_and_store_decision,
    facts_for_deciding_again,
)
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import Actor
from pipelines.engine.moves import decision_application, escalations
from pipelines.engine.moves.releases import CIRCLE
from pipelines.errors import Conflict, Invalid
from pipelines.models import Decision, Escalation, Job, Status, Task, Token, User
from pipelines.queries import versions
from pipelines.routing.analysis.redecide.recorded_decision import answer_without_trace, decide_again
from pipelines.routing.decide.effects import facts_of_waiting_token_now
from pipelines.routing.decide.escalation_targets import escalation_targets
from pipelines.routing.decide.transitions import escalation_feedback_or_none
from pipelines.routing.document.escalations import LONGEST, ROUTED, WORDS_TO_RESOLVE

DEADLOCK = "deadlock"
"""The trigger of an escalation that was opened for a deadlock."""


@dataclass(frozen=True)
class EscalationAnswer(RoleAnswer):
    route: str


def escalate(task_id: int, *, user: User, trigger: str, reason: str) -> Escalation:
    """Escalate a task by hand: it cannot move forward until somebody with the role resolves it. `trigger`: one that
    the line has a rule for, or any other word; then the administrators are asked.

    Raises NotFound, Invalid (path `trigger` or `reason`), Conflict (it has ended).
    """
    trigger, reason = (
        payload.checked_text(trigger, "trigger").strip(),
        payload.checked_text(reason, "reason").strip(),
    )
    if not trigger or len(trigger) > LONGEST:
        raise Invalid.at(
            "trigger",
            f"has 1 to {LONGEST} characters",
            "Enter a word that names the problem.",
        )
    if not reason:
        raise Invalid.at("reason", "A reason is needed.", "Describe what is wrong. It is stored and shown.")
    return run_in_transaction(partial(_escalate, task_id, user, trigger, reason))


def _escalate(task_id: int, user: User, trigger: str, reason: str) -> Escalation:
    batch, task = manual_actions.lock_batch_and_open_task(task_id)
    line = versions.parsed_line_by_version_id(task.pinned_id)
    opened = escalations.open_escalation(batch, task, line, trigger, Actor.person(user), reason=reason)
    batch.flush()
    return opened


def resolve_escalation(escalation_id: UUID, *, user: User, word: str, reason: str, route: str = "") -> Task:
    """Resolve an escalation, once. `go_on`: what it held is decided again with the current facts. `retry`: the
    station runs again with the reason as feedback. `route`: the task goes to one of the station's `ways`. `cancel`:
    the task is cancelled. `choose`: where branches contradict each other, the values of the branch from the station
    `route` count.

    Raises NotFound (none such, or a stranger), Forbidden (for another role), Invalid (path `word`, `reason` or
    `route`), Conflict (resolved already; or the same would come out again).
    """
    answer = EscalationAnswer(user, word, payload.checked_text(reason, "reason").strip(), route)
    return run_in_transaction(partial(_resolve_escalation, escalation_id, answer))


def _resolve_escalation(escalation_id: UUID, answer: EscalationAnswer) -> Task:
    known = Escalation.objects.select_related("task").filter(pk=escalation_id).first()
    escalation = checked_row_to_answer(known, answer, WORDS_TO_RESOLVE, WORDS_TO_RESOLVE)
    if answer.route and answer.word not in ROUTED:
        raise Invalid.at("route", "is not asked for here", "Leave it out.")
    batch = Batch.of_tasks(escalation.task_id)
    task = batch.tasks[escalation.task_id]
    # Once more, under the lock: somebody else may have resolved it meanwhile.
    escalation = Escalation.objects.select_related("resolved_by").get(pk=escalation_id)
    refuse_if_resolved(escalation)
    _do_what_answer_says(batch, task, escalation, answer)
    batch.flush()
    if answer.word == "cancel":
        # Only after the flush, since it reads the task in a batch of its own
        manual_actions.cancel(task.pk, actor=answer.actor, reason=answer.reason)
    else:
        # law §8: no open escalation is a precondition, for which other positions may be held.
        decide_held_tokens_again(task.pk, actor=answer.actor)
    return task


def _do_what_answer_says(batch: Batch, task: Task, escalation: Escalation, answer: EscalationAnswer) -> None:
    token = token_whose_decision_escalated_or_none(batch, escalation)
    if answer.word in ("retry", "route") and token is None:
        raise Invalid.at("word", "it holds no station", "Let it continue, or cancel the task.")
    target = _checked_route_target(task, token, answer.route) if token and answer.word == "route" else ""
    chosen = _chosen_branch_values(token, answer) if answer.word == "choose" else {}
    escalations.close_escalation_and_release(
        batch,
        task,
        escalation,
        answer.word,
        answer.actor,
        by=answer.user,
        answer=answer.reason,
        route=target or answer.route,
        context=chosen,
    )
    if escalation.trigger == DEADLOCK:
        # A circle of waiting tasks still exists unless somebody opened it in the meantime.
        batch.schedule_due_time(CIRCLE, task, batch.now)
    if chosen:
        task.context = {**task.context, **chosen}
        batch.mark_task_changed(task, "context")
    if token is None or answer.word == "cancel":
        return
    # Where branches of a join contradict each other, it starts with the values written last.
    feedback = escalation_feedback_or_none(answer.word, answer.reason, "decision" in token.wait)
    if feedback is None:
        _decide_again(batch, task, token, escalation, answer)
        return
    manual_actions.refuse_work_beside_forbidden(batch, task, token, target or token.station)
    reason = "" if answer.word == "go_on" else answer.reason
    cause = f"escalation:{escalation.pk}"
    manual_actions.open_another_visit(
        batch, task, token, answer.actor, cause, feedback=feedback, reason=reason, at=target
    )


def token_whose_decision_escalated_or_none(batch: Batch, escalation: Escalation) -> Token | None:
    """Return the position that the escalation holds because its decision was to escalate; None if it only keeps
    branches from moving forward."""
    token = batch.tokens.get(escalation.token_id) if escalation.token_id else None
    holds = token is not None and token.wait.get("escalation") == str(escalation.pk)
    return token if holds and token is not None and token.status == Status.HELD else None


def _chosen_branch_values(token: Token | None, answer: EscalationAnswer) -> dict[str, Any]:
    """The values of the chosen branch for the contradicted keys."""
    values_by_branch: dict[str, dict[str, Any]] = token.wait.get("values", {}) if token else {}
    if not values_by_branch:
        raise Invalid.at("word", "nothing is contradicted here", "Let it continue, or cancel the task.")
    if answer.route not in values_by_branch:
        raise Invalid.at("route", "has to name a branch", f"Use one of: {', '.join(values_by_branch)}.")
    return values_by_branch[answer.route]


def _checked_route_target(task: Task, token: Token, route: str) -> str:
    open_ways = escalation_targets(versions.parsed_line_by_version_id(task.pinned_id), token.station)
    if route not in open_ways:
        known = ", ".join(open_ways) or "none from here"
        raise Invalid.at(
            "route",
            "is not a station that the rules lead to from here",
            f"Use one of: {known}.",
        )
    return route


def _decide_again(
    batch: Batch, task: Task, token: Token, escalation: Escalation, answer: EscalationAnswer
) -> None:
    """Decide the same outcome with the current facts, under the task's current version."""
    before = Decision.objects.get(pk=token.wait["decision"])
    job = Job.objects.get(pk=before.job_id)
    cause = f"escalation:{escalation.pk}"
    context = DecisionContext(
        batch, task, token, job, answer.actor, cause, cause, other_judge_version_id=before.pinned_id
    )
    situation = {
        **before.situation,
        "facts": facts_of_waiting_token_now(before.situation["facts"], facts_for_deciding_again(context)),
    }
    if answer_without_trace(decide_again(context.judging_line, situation)).get("decision") == "escalate":
        raise Conflict(
            "The same would be escalated again. Run the station again, send the task on, or cancel it."
        )
    decision_application.apply_decision(context, decide_and_store_decision(context, situation))
