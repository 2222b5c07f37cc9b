"""Gates that ask all of a role or group, after somebody left whose approval alone was missing (law §6, All)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from pipelines.engine.commands.vote import store_decision_and_move_task, votes_decide_visit
from pipelines.engine.commands.vote_request import VoteRequest
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.moves.gates import (
    approval_policy_of_visit,
    visit_with_id,
    visits_asked_together,
    votes_of_visit,
)
from pipelines.models import GateVisit, Vote
from pipelines.queries import versions


def decide_gates_all_have_approved(_now: datetime, project_id: int | None = None) -> int:
    """Decide the open gates where all who are asked now have approved, and return how many: nobody votes there any
    more, so that no vote counts the others again. `project_id`: in this project alone."""
    votes = Vote.objects.filter(visit=OuterRef("pk"))
    voted = GateVisit.objects.filter(Exists(votes), state=GateVisit.State.OPEN)
    if project_id is not None:
        voted = voted.filter(task__project=project_id)
    visits = voted.select_related("task", "job", "asked_by").prefetch_related("votes__user").order_by("pk")
    # Looked at without a lock first: most wait for somebody who is there
    decided_visits = [
        (visit.pk, visit.task_id) for visit in visits if _is_decided_by(visit, list(visit.votes.all()))
    ]
    return sum(run_in_transaction(partial(_decide_visit, *one)) for one in decided_visits)


def decide_gates_all_have_approved_on_commit(project_id: int, now: datetime) -> None:
    """Do so in a project as soon as it is stored that somebody left, or is asked no longer."""
    # Robust, since their leaving is stored: what fails here is done within the hour
    transaction.on_commit(partial(decide_gates_all_have_approved, now, project_id), robust=True)


def _is_decided_by(visit: GateVisit, votes: Sequence[Vote]) -> bool:
    policy = approval_policy_of_visit(visit, versions.parsed_line_by_version_id(visit.asked_by.pinned_id))
    return policy.is_unanimous and votes_decide_visit(visit.task, visit, policy, votes)


def _decide_visit(visit_id: UUID, task_id: int) -> bool:
    batch, (together, votes) = Batch.of_task_and_answers(
        task_id, visits_asked_together.bind(visit=visit_id), votes_of_visit.bind(visit=visit_id)
    )
    visit = visit_with_id(visit_id, together)
    task = visit.task = batch.tasks[task_id]
    if visit.state != GateVisit.State.OPEN or not _is_decided_by(visit, votes):
        return False
    # Decided by the last approval, as if it had been cast when the other one left
    last = votes[-1]
    evidence_version = (visit.token_version, visit.evidence_digest)
    request = VoteRequest(last.user, last.word, last.reason, last.route, *evidence_version, last.via)
    store_decision_and_move_task(batch, task, batch.tokens[visit.token_id], visit, request, votes, together)
    batch.flush()
    return True
