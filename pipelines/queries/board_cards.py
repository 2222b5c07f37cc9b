"""Cards of a board: each position with what is read of it, by the same few statements for one and for many."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pipelines.models import WAITING_FOR_INPUT, GateVisit, Job, Project, Status, Task, Token
from pipelines.queries import log_tails, versions
from pipelines.queries.actors import station_actor_kind_and_name
from pipelines.queries.board_places import BoardPlaces
from pipelines.queries.board_rows import (
    approved_visit_ids,
    latest_jobs,
    open_visits_of_tokens,
    tokens_with_tasks,
)
from pipelines.queries.failure_causes import error_line_by_run
from pipelines.queries.join_waits import join_wait_sentence_by_token
from pipelines.queries.unanswered_questions import unanswered_sentence_by_token
from pipelines.queries.usage import NOTHING, Spending, spending_by_task_id
from pipelines.routing.decide.approval import approval_policy_with_extra_votes
from pipelines.routing.decide.effects import is_move_barred_by_holds
from pipelines.routing.document.kinds import may_cost
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.routing.sentences.names import gate_name, station_name
from pipelines.routing.sentences.waits import ProblemAndRemedy, wait_sentence_or_none

REVIEWED_BY_PEOPLE = (Status.AWAITING_REVIEW, Status.BLOCKED, Status.HELD)


@dataclass(slots=True)
class Card:
    """Card of one position of one task. `since` is when its present state began, `expected` seconds."""

    task: Task
    token: Token
    status: str
    since: datetime
    expected: float | None
    run: int = 1
    attempt: int = 1
    job: Job | None = None
    actor: str = ""
    actor_kind: str = "system"
    line: str = ""  # last line of the log
    left: int | None = None  # retries
    sentence: ProblemAndRemedy | None = None
    gate: str = ""
    visit: GateVisit | None = None
    votes: int = 0
    needed: int = 1
    due: datetime | None = None
    place: str = ""  # its line and station or gate, where several lines are shown
    late: bool = False
    paused: bool = False
    branches: tuple[int, int] | None = None  # alive, all
    elapsed: float = 0  # seconds since `since`
    spending: Spending = NOTHING  # of the whole task, where a station of its version may cost

    @property
    def is_manual(self) -> bool:
        return is_manual_work(self.token, self.job)

    @property
    def is_running(self) -> bool:
        """Somebody is at work, a worker or a person."""
        return self.token.status == Status.RUNNING

    @property
    def is_overrunning(self) -> bool:
        """A program has been at work for longer than its station expects."""
        return bool(self.is_running and not self.is_manual and self.expected and self.elapsed > self.expected)

    @property
    def is_gate_overdue(self) -> bool:
        """The due time of its gate has passed; it may be late by that of its task, too."""
        return bool(self.due and self.expected is not None and self.elapsed > self.expected)

    @property
    def is_movable_by_hand(self) -> bool:
        """It may be moved to another station by hand: nothing has to be resolved first, and it waits for no sibling
        (law §17)."""
        barred = is_move_barred_by_holds(self.token.wait, stays=False)
        return not barred and not self.token.waits_at_join

    @property
    def key(self) -> str:
        return f"{self.task.name}.{self.token.pk}"


def displayed_cards(board_places: BoardPlaces, projects: Mapping[int, Project], now: datetime) -> list[Card]:
    """Return the cards that are displayed, in the order in which they came, each complete."""
    tokens = [token_id for place in board_places.of.values() for token_id in place.ids]
    positions = list(tokens_with_tasks(tokens=tokens))
    for token in positions:
        token.task.project = projects[token.task.project_id]
    cards = _cards_of_tokens(positions, now)
    _complete_cards(cards)
    return cards


def place_name_of_card(card: Card) -> str:
    """Return the name of the station or gate at which the position is, as its version has it."""
    parsed = versions.parsed_line_by_version_id(card.task.pinned_id)
    return gate_name(parsed, card.gate) if card.gate else station_name(parsed, card.token.station)


def _cards_of_tokens(tokens: Sequence[Token], now: datetime) -> list[Card]:
    jobs = _last_job_by_token(token.pk for token in tokens)
    visits = _open_visits_by_token(token for token in tokens if token.status == Status.AWAITING_REVIEW)
    branches, joined = _branch_counts_by_parent(tokens), join_wait_sentence_by_token(tokens)
    cards = [
        _card_of_token(token, jobs.get(token.pk), visits.get(token.pk, []), branches, now) for token in tokens
    ]
    spent, lacking = _spending_by_task(tokens), _unanswered_sentence_by_token(tokens)
    for card in cards:
        card.sentence = joined.get(card.token.pk) or lacking.get(card.token.pk, card.sentence)
        card.spending = spent.get(card.task.pk, NOTHING)
    return cards


def _unanswered_sentence_by_token(tokens: Sequence[Token]) -> dict[int, ProblemAndRemedy]:
    evaluating: defaultdict[Project, list[Token]] = defaultdict(list)
    for token in tokens:
        if token.status == Status.EVALUATING:
            evaluating[token.task.project].append(token)
    return dict(
        item
        for project, rows in evaluating.items()
        for item in unanswered_sentence_by_token(project, rows).items()
    )


def _spending_by_task(tokens: Sequence[Token]) -> dict[int, Spending]:
    """Asked only where a station may cost: outcomes are large."""
    pinned = {token.task.pinned_id for token in tokens}
    costly = {
        version_id
        for version_id in pinned
        if any(map(may_cost, versions.parsed_line_by_version_id(version_id).stations))
    }
    tasks = {token.task_id for token in tokens if token.task.pinned_id in costly}
    return spending_by_task_id(tasks) if tasks else {}


def _last_job_by_token(token_ids: Iterable[int]) -> dict[int, Job]:
    return {job.token_id: job for job in latest_jobs(tokens=list(token_ids))}


def _open_visits_by_token(tokens: Iterable[Token]) -> dict[int, list[GateVisit]]:
    token_ids = [token.pk for token in tokens]
    visits_by_token: defaultdict[int, list[GateVisit]] = defaultdict(list)
    for visit in open_visits_of_tokens(tokens=token_ids) if token_ids else ():
        visits_by_token[visit.token_id].append(visit)
    return visits_by_token


def _branch_counts_by_parent(tokens: Sequence[Token]) -> dict[int, tuple[int, int]]:
    parents = {token.parent_id for token in tokens if token.parent_id}
    if not parents:
        return {}
    alive_by_parent: defaultdict[int, list[bool]] = defaultdict(list)
    children = Token.objects.filter(parent__in=parents, joined=None)
    for parent, ended in children.values_list("parent_id", "ended_at"):
        alive_by_parent[parent].append(ended is None)
    return {parent: (sum(alive), len(alive)) for parent, alive in alive_by_parent.items()}


def _card_of_token(
    token: Token,
    job: Job | None,
    visits: list[GateVisit],
    branches: dict[int, tuple[int, int]],
    now: datetime,
) -> Card:
    parsed = versions.parsed_line_by_version_id(token.task.pinned_id)
    station = parsed.stations_by_key.get(token.station)
    status = WAITING_FOR_INPUT if token.asks_question or is_manual_work(token, job) else token.status
    card = Card(
        token.task, token, status, _status_since(token, job), _expected_seconds_or_none(station), job=job
    )
    card.run = job.visit if job else 1
    card.attempt = job.attempt if job else 1
    card.actor_kind, card.actor = station_actor_kind_and_name(station)
    card.sentence = wait_sentence_or_none(token, parsed, job.summary if job else "")
    card.branches = branches.get(token.parent_id or 0)
    if visits:
        _fill_gate_fields(card, visits, parsed)
    card.elapsed = (now - card.since).total_seconds()
    card.late = _is_late(card, now)
    return card


def is_manual_work(token: Token, job: Job | None) -> bool:
    """Return whether a person is doing the work of this position."""
    return job is not None and job.kind == "manual" and token.status == Status.RUNNING


def _status_since(token: Token, job: Job | None) -> datetime:
    if token.status == Status.RUNNING and job and job.started_at:
        return job.started_at
    return token.changed_at if token.status in (Status.STUCK, *REVIEWED_BY_PEOPLE) else token.entered_at


def _expected_seconds_or_none(station: Station | None) -> float | None:
    return station.limits.expected if station else None


def _fill_gate_fields(card: Card, visits: list[GateVisit], parsed: ParsedLine) -> None:
    first = visits[0]
    gate = parsed.gates_by_key.get(first.gate)
    card.gate, card.visit, card.due = first.gate, first, first.running_due_at
    card.since = first.opened_at
    card.needed = approval_policy_with_extra_votes(gate.approval, first.producers).min_votes if gate else 1
    card.expected = (card.due - first.opened_at).total_seconds() if card.due else None


def _is_late(card: Card, now: datetime) -> bool:
    """Return whether a due time passed, that of its gate or of its task, or it is at work for too long."""
    if any(due and now > due for due in (card.due, card.task.running_due_at)):
        return True
    return bool(card.is_running and card.expected and card.elapsed > card.expected)


def _complete_cards(cards: Sequence[Card]) -> None:
    """Fill in the parts of the cards that are read once for all columns: last log lines, errors, approvals,
    retries left."""
    lines = log_tails.last_log_line_by_job(
        [card.job.pk for card in cards if card.job and card.status == Status.RUNNING]
    )
    # At once for all columns: the statements do not grow with the cards
    lines |= error_line_by_run(card.job for card in cards if card.job and card.status == Status.STUCK)
    votes = Counter(approved_visit_ids(visits=[card.visit.pk for card in cards if card.visit]))
    for card in cards:
        card.line = lines.get(card.job.pk, "") if card.job else ""
        card.left = _retries_left_at_own_station_or_none(card)
        card.votes = votes[card.visit.pk] if card.visit else 0


def _retries_left_at_own_station_or_none(card: Card) -> int | None:
    """Return the retries left to the rule that sends a task back to its own station; None where there is no
    such limit."""
    parsed = versions.parsed_line_by_version_id(card.task.pinned_id)
    station = parsed.stations_by_key.get(card.token.station)
    if station is None:
        return None
    limits = [(rule.max_retries, rule.id) for rule in station.rules if station.key in rule.to]
    left = [most - card.task.rules.get(rule_id, 0) for most, rule_id in limits if most is not None]
    return max(0, min(left)) if left else None
