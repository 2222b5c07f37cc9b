"""The queries behind the kinds: each finds what one person may act on, in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from django.db.models import Case, Q, QuerySet, Value, When, Window
from django.db.models.functions import RowNumber

from pipelines.engine.commands.supply_preconditions import fields_for_missing_metadata
from pipelines.engine.commands.tool_permissions import call_text
from pipelines.models import (
    ASKS,
    WAITING_FOR_INPUT,
    Deadlock,
    Escalation,
    GateVisit,
    Job,
    Status,
    Token,
    ToolPermission,
)
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.queries import versions
from pipelines.queries.failures import last_words_by_token
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.evaluations import ANSWERS
from pipelines.routing.sentences.conditions import condition_words
from pipelines.routing.sentences.names import station_name
from pipelines.routing.sentences.waits import (
    ProblemAndRemedy,
    question_text_blocker_texts_and_choices,
    wait_sentence_or_none,
)
from pipelines.templatetags.cuts import shortened
from pipelines.web.tasks.escalation_cards import deadlock_card, escalation_card
from pipelines.work.transport.local.instructions import rendered_instructions
from reviews.decision.gates import approval_count_text_or_empty, gate_with_approval_policy_of_visit
from reviews.decision.review_access import ReviewFilter, ordered_visits_user_may_decide
from reviews.inbox.item import InboxItem, InboxViewer
from reviews.models import ReviewQuestion
from reviews.models.statements import PRESENT_KINDS

# A page has to be readable: the rest of a kind shows up as these are done.
LIMIT = 200
# Columns of a task that may be large, and that no item shows
HEAVY = ("context", "variables", "inputs", "visits", "edges", "rules", "rounds")
TASK = ("task__project__owner", "task__line", "task__pinned")
NOT_READ = (*(f"task__{name}" for name in HEAVY), "task__line__draft", "task__line__draft_text",
            "task__line__draft_hands", "task__pinned__document")  # fmt: skip

EVALUATION = Q(status=Status.BLOCKED, wait__has_key="evaluation")
BLOCKED = Q(status=Status.BLOCKED) & ~Q(wait__has_any_keys=["question", "evaluation"])
STUCK = Q(status=Status.STUCK)
MISSING = Q(status=Status.HELD, wait__has_key="missing")
IN_VAIN = Q(wait__has_key="depends_on") & Q(wait__has_key="failed")
ON_HOLD = Q(status=Status.HELD) & (
    ~Q(wait__has_any_keys=["missing", "escalation", "paused_by", "depends_on", "paused"]) | IN_VAIN
)
POSITIONS = {
    "evaluation": EVALUATION,
    "asks": ASKS,
    "blocked": BLOCKED,
    "stuck": STUCK,
    "missing": MISSING,
    "held": ON_HOLD,
}
WAITING = EVALUATION | ASKS | BLOCKED | STUCK | MISSING | ON_HOLD
"""Positions that a person has to move on; each kind has some of them, and each position is of the first that fits."""


def decidable_gate_items(viewer: InboxViewer) -> list[InboxItem]:
    """Open gate visits where this person may decide now."""
    places = ordered_visits_user_may_decide(viewer.user, _filter_of_visible_reviews(viewer), LIMIT)
    visits = (
        GateVisit.objects.filter(pk__in=[visit_id for _at, visit_id in places])
        .select_related(*TASK, "asked_by")
        .defer(*NOT_READ, "asked_by__situation", "asked_by__trace")
        .prefetch_related("votes")
    )
    by_id = {visit.pk: visit for visit in visits}
    # One that was decided meanwhile is not there any more.
    return [_gate_item(by_id[visit_id]) for _at, visit_id in places if visit_id in by_id]


def _filter_of_visible_reviews(viewer: InboxViewer) -> ReviewFilter:
    return ReviewFilter([project.pk for project in viewer.visible_projects], reader=viewer.user.pk)


def may_have_items_of_kind(viewer: InboxViewer, kind: str) -> bool:
    """Return whether anybody may have an item of this kind: `reply`, `position`, `manual`, `escalation`, `deadlock`,
    `permission` or `late`."""
    # All kinds by one statement, since most people have none of most of them
    if viewer.present is None:
        [there] = fetch(
            PRESENT_KINDS,
            {"user": viewer.user.pk, "projects": [project.pk for project in viewer.visible_projects]},
        )
        kinds = ("reply", "position", "manual", "escalation", "deadlock", "permission", "late")
        viewer.present = {kind for kind, is_present in zip(kinds, there, strict=True) if is_present}
    return kind in viewer.present


def unanswered_reviewer_questions(viewer: InboxViewer) -> list[InboxItem]:
    """Questions that reviewers ask this person about a task of theirs, while the review is open."""
    if not may_have_items_of_kind(viewer, "reply"):
        return []
    rows = (
        _unanswered_questions_of_open_reviews(viewer)
        .select_related(*TASK, "asked_by")
        .defer(*NOT_READ)
        .order_by("at")
    )
    return [
        InboxItem(
            "reply",
            str(row.pk),
            row.task,
            str(row.asked_by),
            ProblemAndRemedy(row.text_with_hidden_characters_escaped),
            row.at,
            Status.AWAITING_REVIEW,
            icon="comment",
            about={"visit": row.visit_id},
        )
        for row in rows[:LIMIT]
    ]


def _unanswered_questions_of_open_reviews(viewer: InboxViewer) -> QuerySet[ReviewQuestion]:
    waiting = ReviewQuestion.objects.filter(
        asked=viewer.user, answered_at=None, task__project__in=viewer.visible_projects
    )
    return waiting.filter(visit__state=GateVisit.State.OPEN)


def count_items_up_to_limit_per_source(viewer: InboxViewer, limit: int) -> int:
    """Count what needs this person, up to `limit` of each source; nothing of it is read."""
    gates = len(ordered_visits_user_may_decide(viewer.user, _filter_of_visible_reviews(viewer), limit))
    gates += (
        _unanswered_questions_of_open_reviews(viewer)[:limit].count()
        if may_have_items_of_kind(viewer, "reply")
        else 0
    )
    tokens = (
        _living_positions_of_waiting_tasks(viewer).filter(WAITING)[:limit].count()
        if may_have_items_of_kind(viewer, "position")
        else 0
    )
    jobs = _running_manual_jobs(viewer)[:limit].count() if may_have_items_of_kind(viewer, "manual") else 0
    jobs += _asked_permissions(viewer)[:limit].count() if may_have_items_of_kind(viewer, "permission") else 0
    alarms: list[Escalation | Deadlock] = []
    alarms += _open_escalations(viewer)[:limit] if may_have_items_of_kind(viewer, "escalation") else ()
    alarms += _open_deadlocks(viewer)[:limit] if may_have_items_of_kind(viewer, "deadlock") else ()
    # Whom an escalation asks is only known when its row is read
    return gates + tokens + jobs + sum(_may_viewer_answer_for(viewer, row) for row in alarms)


def _gate_item(visit: GateVisit) -> InboxItem:
    line = versions.parsed_line_by_version_id(visit.asked_by.pinned_id)
    gate = gate_with_approval_policy_of_visit(visit, line)
    need = gate.approval.min_votes
    have = sum(vote.word == "approve" for vote in visit.votes.all())
    parts = [_round_text(visit.round)] if visit.round > 1 else []
    parts += [words] if (words := approval_count_text_or_empty(gate.approval, have)) else []
    return InboxItem(
        "gate",
        str(visit.pk),
        visit.task,
        gate.name,
        ProblemAndRemedy(gate.description or _sentence_of_rule_leading_here(visit), " · ".join(parts)),
        visit.opened_at,
        Status.AWAITING_REVIEW,
        visit.token_version,
        visit.running_due_at,
        "gate",
        "manual",
        votes=_later_round_and_votes_text(visit.round, have, need),
    )


def _later_round_and_votes_text(number: int, have: int, need: int) -> str:
    counted = singular_or_plural("%(n)s of %(m)s vote", "%(n)s of %(m)s votes", need) % {"n": have, "m": need}
    return " · ".join(
        filter(None, (_round_text(number).capitalize() if number > 1 else "", counted if need else ""))
    )


def _sentence_of_rule_leading_here(visit: GateVisit) -> str:
    """The rule that led here, for gates without a question of their own."""
    evidence_rule = visit.evidence.get("rule")
    line = versions.parsed_line_by_version_id(visit.asked_by.pinned_id)
    words = {"station": station_name(line, visit.asked_by.station)}
    if not evidence_rule or evidence_rule.get("id") not in line.rules_by_id:
        return "{station} sent the task to this review.".format(**words)
    rule = line.rules_by_id[evidence_rule["id"]][1]
    if rule.label:
        # Its label says it in the words of who drew the line
        return f"Rule “{rule.label}” of {words['station']} sent the task to this review."
    words["when"] = condition_words(rule.when, called=partial(station_name, line))
    return "{station} sent the task to this review ({when}).".format(**words)


def _round_text(number: int) -> str:
    return f"round {number}"


def evaluations_only_people_can_answer(viewer: InboxViewer) -> Iterable[InboxItem]:
    """Evaluations that only a person can still answer: the answer is the fact (law §3)."""
    return _living_position_items(viewer, "evaluation")


def station_questions_without_tool_approvals(viewer: InboxViewer) -> Iterable[InboxItem]:
    """A station asked something, by the signal `hold`."""
    return (need for need in _living_position_items(viewer, "question", "asks") if need.icon != "tools")


def tool_call_approvals(viewer: InboxViewer) -> Iterable[InboxItem]:
    """Stations that ask whether tools may be called: one word allows them, any other denies them."""
    return (need for need in _living_position_items(viewer, "approval", "asks") if need.icon == "tools")


def permission_items(viewer: InboxViewer) -> Iterator[InboxItem]:
    """Calls of tools for which agents at work wait."""
    if not may_have_items_of_kind(viewer, "permission"):
        return
    rows = (
        _asked_permissions(viewer)
        .select_related(*TASK, "job")
        .defer(*NOT_READ)
        .order_by("requested_at", "pk")
    )
    for row in rows[:LIMIT]:
        station = station_name(versions.parsed_line_by_version_id(row.job.pinned_id), row.job.station)
        remedy = "Your answer counts for this call alone. Without one it is denied."
        sentence = ProblemAndRemedy(f"{station} asks to call {row.tool}.", remedy)
        call = call_text(row.tool, row.arguments)
        note = shortened(" ".join(call[:400].split()), 100)
        yield InboxItem(
            "permission", str(row.pk), row.task, station, sentence, row.requested_at, WAITING_FOR_INPUT,
            due_at=row.due_at, icon="agent", note=note, about={"call": call, "digest": row.digest},
        )  # fmt: skip


def _asked_permissions(viewer: InboxViewer) -> QuerySet[ToolPermission]:
    return ToolPermission.waiting.filter(task__project__in=viewer.operable_projects)


def blocked_items_without_question(viewer: InboxViewer) -> Iterable[InboxItem]:
    """Blocked by an outcome or a rule, without a question."""
    return _living_position_items(viewer, "blocked")


def stuck_items(viewer: InboxViewer) -> Iterable[InboxItem]:
    return _living_position_items(viewer, "stuck")


def items_held_for_preconditions(viewer: InboxViewer) -> Iterable[InboxItem]:
    """Held until the preconditions of a forward move are there (law §8)."""
    return _living_position_items(viewer, "missing")


def items_on_hold_otherwise(viewer: InboxViewer) -> Iterable[InboxItem]:
    """Held by a person, because nothing has changed since a rejection, or for a task that did not complete."""
    return _living_position_items(viewer, "held")


def open_escalations_for_viewer_roles(viewer: InboxViewer) -> Iterator[InboxItem]:
    """Open escalations for a role that this person has."""
    if not may_have_items_of_kind(viewer, "escalation"):
        return
    rows = (
        _open_escalations(viewer)
        .select_related(*TASK, "token", "deadlock")
        .defer(*NOT_READ)
        .iterator(chunk_size=LIMIT)
    )
    # Who may answer is decided here, so SQL cannot limit how many are read
    for row in islice((row for row in rows if _may_viewer_answer_for(viewer, row)), LIMIT):
        view = escalation_card(row, row.task, may=True)
        yield InboxItem(
            "escalation", str(row.pk), row.task, view.station or row.task.line.name, view.sentence,
            row.opened_at, Status.HELD, 0, row.due_at, about={"each": view},
        )  # fmt: skip


def open_deadlocks_for_viewer_roles(viewer: InboxViewer) -> Iterator[InboxItem]:
    """Open deadlocks for a role that this person has."""
    if not may_have_items_of_kind(viewer, "deadlock"):
        return
    rows = _open_deadlocks(viewer).select_related(*TASK).defer(*NOT_READ).iterator(chunk_size=LIMIT)
    for row in islice((row for row in rows if _may_viewer_answer_for(viewer, row)), LIMIT):
        view = deadlock_card(row, may=True)
        place = ", ".join(dict.fromkeys(party["station"] for party in row.parties))
        yield InboxItem(
            "deadlock", str(row.pk), row.task, place or row.task.line.name, view.sentence,
            row.found_at, Status.HELD, about={"each": view},
        )  # fmt: skip


def _open_escalations(viewer: InboxViewer) -> QuerySet[Escalation]:
    rows = Escalation.objects.filter(task__project__in=viewer.visible_projects, state=Escalation.State.OPEN)
    # Only those of the task: line and version are not joined here
    rows = rows.select_related("task", "deadlock").defer(*NOT_READ[: len(HEAVY)])
    return rows.order_by("opened_at", "pk")


def _open_deadlocks(viewer: InboxViewer) -> QuerySet[Deadlock]:
    rows = Deadlock.objects.filter(
        task__project__in=viewer.visible_projects, state=Deadlock.State.OPEN, escalation=None
    )
    return rows.select_related("task").defer(*NOT_READ[: len(HEAVY)]).order_by("found_at", "pk")


def _running_manual_jobs(viewer: InboxViewer) -> QuerySet[Job]:
    return Job.objects.filter(
        kind="manual", state=Job.State.RUNNING, task__project__in=viewer.operable_projects
    )


def _living_positions_of_waiting_tasks(viewer: InboxViewer) -> QuerySet[Token]:
    """Positions of tasks where one waits for a person. Such a status of a position is also that of its task (law §1),
    and of tasks there is an index by line and status."""
    tasks = Q(
        task__line__project__in=viewer.operable_projects,
        task__status__in=(Status.STUCK, Status.BLOCKED, Status.HELD),
    )
    return Token.objects.filter(tasks, ended_at__isnull=True, forked=False)


def _may_viewer_answer_for(viewer: InboxViewer, row: Escalation | Deadlock) -> bool:
    return viewer.roles[row.task.project_id].may_person_answer(row.roles, viewer.user)


def running_manual_station_items(viewer: InboxViewer) -> Iterator[InboxItem]:
    """Manual stations that wait for whoever does them."""
    if not may_have_items_of_kind(viewer, "manual"):
        return
    jobs = _running_manual_jobs(viewer).select_related(*TASK, "token").defer(*NOT_READ).order_by("created_at")
    for job in jobs[:LIMIT]:
        station = versions.parsed_line_by_version_id(job.pinned_id).station(job.station)
        says = rendered_instructions(job).strip() or "Manual station."
        yield InboxItem(
            "manual", str(job.pk), job.task, station.name, ProblemAndRemedy(shortened(says, 500)), job.created_at,
            WAITING_FOR_INPUT, job.token.version, icon="manual",
        )  # fmt: skip


def _living_position_items(viewer: InboxViewer, kind: str, among: str = "") -> list[InboxItem]:
    """Living positions, with what each waits for as the task page says it. `among`: of `POSITIONS`, if not `kind`."""
    if viewer.positions is None:
        viewer.positions = (
            _first_position_ids_by_kind(viewer) if may_have_items_of_kind(viewer, "position") else {}
        )
    ids = viewer.positions.get(among or kind)
    if not ids:
        return []
    rows = Token.objects.filter(pk__in=ids).select_related(*TASK).defer(*NOT_READ)
    tokens = list(rows.order_by("changed_at", "pk"))
    words = last_words_by_token(tokens) if kind in ("blocked", "stuck") else {}
    blockers = _blockers_by_token(tokens) if kind == "blocked" else {}
    return [
        _position_item(kind, token, words.get(token.pk, ""), blockers.get(token.pk) or ()) for token in tokens
    ]


def _first_position_ids_by_kind(viewer: InboxViewer) -> dict[str, list[int]]:
    """The ids of the first `LIMIT` of each of `POSITIONS`, of one statement: most are empty most of the time."""
    # SQL takes the first that fits, in the order of POSITIONS
    among = Case(*(When(which, then=Value(name)) for name, which in POSITIONS.items()))
    ranked = _living_positions_of_waiting_tasks(viewer).filter(WAITING).annotate(among=among)
    ranked = ranked.annotate(rank=Window(RowNumber(), partition_by="among", order_by=("changed_at", "pk")))
    positions: dict[str, list[int]] = {}
    for name, token in ranked.filter(rank__lte=LIMIT).values_list("among", "pk"):
        positions.setdefault(name, []).append(token)
    return positions


def _blockers_by_token(tokens: list[Token]) -> dict[int, list[Any] | None]:
    """Return the blockers of the last job of each."""
    jobs = Job.objects.filter(token__in=tokens).order_by("token_id", "-pk").distinct("token_id")
    return dict(jobs.values_list("token_id", "outcome__blockers"))


def _position_item(kind: str, token: Token, summary: str, blockers: Iterable[Any]) -> InboxItem:
    line = versions.parsed_line_by_version_id(token.task.pinned_id)
    station = line.stations_by_key.get(token.station)
    question, blocker_texts, choices = question_text_blocker_texts_and_choices(token.wait, blockers)
    return InboxItem(
        kind,
        str(token.pk),
        token.task,
        station_name(line, token.station),
        wait_sentence_or_none(token, line, summary) or ProblemAndRemedy("It waits."),
        token.changed_at,
        WAITING_FOR_INPUT if token.asks_question else token.status,
        token.version,
        icon=str(station.work.get("kind", "other")) if station else "other",
        branch=token.is_branch,
        about={
            "station": reported_station_or_empty(token),
            "wait": token.wait,
            "answers": _two_evaluation_answers_or_empty(token),
            "metadata": fields_for_missing_metadata(line, token),
            "question": question,
            "blockers": blocker_texts,
            "choices": choices if kind in ("blocked", "question") else (),
        },
    )


def reported_station_or_empty(subject: object) -> str:
    """Return the station whose report stopped a position; "" of any other subject of an item."""
    if isinstance(subject, Token) and subject.status in (Status.STUCK, Status.BLOCKED):
        return subject.station
    return ""


def _two_evaluation_answers_or_empty(token: Token) -> tuple[str, ...]:
    """The two possible answers to an evaluation."""
    evaluation = token.wait.get("evaluation") or {}
    return next((words for kind, words in ANSWERS.items() if kind in evaluation), ())
