"""People whom open gate visits ask, stored in a narrow table and read by SQL (law §6, house §1).

The observer writes the rows of a visit when it opens and deletes them when it is decided or closed. A
visit's policy, requester and producer do not change while it is open. Roles, groups, votes and membership
do: the queries look them up. `reviews.decision.invariants` compares the answers with the engine's own rule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from pipelines.engine.moves.absences import Seat, seats_of_user_by_project
from pipelines.engine.moves.entitlement import barred_person_ids
from pipelines.engine.moves.gates import approval_policy_of_visit
from pipelines.models import GateVisit, User
from pipelines.models.plumbing import bulk_rows
from pipelines.models.plumbing.compiled_queries import Statement, execute_all_and_fetch, fetch
from pipelines.ports.observers import Consequence, GateClosed, GateDecided, GateDueMoved
from pipelines.queries import versions
from pipelines.routing.decide.approval import fillable_requirements
from reviews.models import AskedPlace
from reviews.models.statements import (
    AFTER_PLACE,
    AMONG_VISITS,
    AT_GATE,
    DECIDABLE_VISITS,
    DECIDED,
    DECIDED_AFTER_PLACE,
    DECIDED_AS,
    DECIDED_AT_GATE,
    DECIDED_BEFORE,
    DECIDED_IN_PROJECTS,
    DECIDED_ON_LINES,
    DECIDED_SINCE,
    DELETE_PLACES,
    ON_LINES,
    OPENED_BEFORE,
    OPENED_SINCE,
    REQUESTED,
    SNOOZED,
    TEAM,
    VISIT_STATES,
)

AFTER_ALL_DUE = timedelta(days=365_000)
"""What has no due time comes after what has one, the oldest first."""
MOST = 200
"""A count says “200+” beyond it."""
LONGEST_NAME = 150


Place = tuple[datetime, UUID]
"""The place of a visit in a list: `order_at`, then its id."""


# Writing


def follow_opened_and_closed_visits(batch: Sequence[Consequence], opened: Iterable[GateVisit]) -> None:
    """Follow the gate visits that opened, were decided or closed in this batch."""
    over = [event.visit_id for event in batch if isinstance(event, GateDecided | GateClosed)]
    # A visit may be opened and decided within one batch
    still_open = [visit for visit in opened if visit.state == GateVisit.State.OPEN]
    if still_open:
        bulk_rows.insert_rows([row for visit in still_open for row in asked_people_rows(visit)])
    if over:
        execute_all_and_fetch([Statement(DELETE_PLACES, [over])])
    for moved in (event for event in batch if isinstance(event, GateDueMoved)):
        visit = GateVisit.objects.only("opened_at").get(pk=moved.visit_id)
        AskedPlace.objects.filter(visit=visit).update(
            order_at=due_time_or_after_all_due(moved.due_at, visit.opened_at)
        )


def asked_people_rows(visit: GateVisit) -> list[AskedPlace]:
    """The rows of an open visit."""
    policy = approval_policy_of_visit(visit, versions.parsed_line_by_version_id(visit.asked_by.pinned_id))
    candidates = dict.fromkeys(
        (candidate.kind, candidate.lookup_key[:LONGEST_NAME]) for candidate in policy.who
    )
    barred = barred_person_ids(visit.task, visit, policy)
    return [
        bulk_rows.new_row(
            AskedPlace,
            visit=visit,
            project_id=visit.task.project_id,
            line_id=visit.task.line_id,
            gate=visit.gate,
            kind=kind,
            name=name,
            # Of one row per visit: lists of a team or a requester show each visit once
            first=number == 0,
            requester_id=visit.task.requester_id,
            barred=barred,
            opened_at=visit.opened_at,
            order_at=due_time_or_after_all_due(visit.running_due_at, visit.opened_at),
        )
        for number, (kind, name) in enumerate(candidates)
    ]


def due_time_or_after_all_due(due_at: datetime | None, since: datetime) -> datetime:
    """Due first, then the oldest."""
    return due_at or since + AFTER_ALL_DUE


# Asking


@dataclass(frozen=True)
class ReviewFilter:
    """Filter of a list. `projects` None, of what asks a person: all of theirs. `lines` None: any. `since`,
    `until`: when the gate opened. `reader`: whose snoozed visits are left out, or else (`state` is
    `snoozed`) are all that is there; None leaves nothing out. `state`: a key of VISIT_STATES, or, for what
    is over, a word."""

    projects: Sequence[int] | None
    lines: Sequence[int] | None = None
    gate: str = ""
    since: datetime | None = None
    until: datetime | None = None
    oldest: bool = False
    visits: Sequence[UUID] | None = None
    reader: int | None = None
    state: str = ""

    @property
    def column(self) -> str:
        """Column that the list is sorted by."""
        return "opened_at" if self.oldest else "order_at"

    def conditions_and_values(self, after: Place | None) -> tuple[str, list[Any]]:
        """Conditions on a row `a`, each with its values."""
        conditions: list[tuple[str, list[Any]]] = []
        if self.lines is not None:
            conditions.append((ON_LINES, [list(self.lines)]))
        if self.gate:
            conditions.append((AT_GATE, [self.gate]))
        if self.since:
            conditions.append((OPENED_SINCE, [self.since]))
        if self.until:
            conditions.append((OPENED_BEFORE, [self.until]))
        if self.visits is not None:
            conditions.append((AMONG_VISITS, [list(self.visits)]))
        if self.reader is not None:
            conditions.append((SNOOZED if self.state == "snoozed" else f"NOT {SNOOZED}", [self.reader]))
        if self.state in VISIT_STATES:
            conditions.append((VISIT_STATES[self.state], []))
        if after:
            conditions.append((AFTER_PLACE.format(column=self.column), [*after]))
        return _joined_conditions_and_values(conditions)

    def conditions_and_values_of_decided(
        self, after: Place | None, at: str, visit: str
    ) -> tuple[str, list[Any]]:
        """Return the conditions for visits that are over (`g`, of a task `t`). `at`, `visit`: the columns that
        the list is sorted by."""
        conditions: list[tuple[str, list[Any]]] = [(DECIDED_IN_PROJECTS, [list(self.projects or ())])]
        if self.lines is not None:
            conditions.append((DECIDED_ON_LINES, [list(self.lines)]))
        if self.gate:
            conditions.append((DECIDED_AT_GATE, [self.gate]))
        if self.since:
            conditions.append((DECIDED_SINCE.format(at=at), [self.since]))
        if self.until:
            conditions.append((DECIDED_BEFORE.format(at=at), [self.until]))
        if self.state:
            conditions.append((DECIDED_AS, [self.state]))
        if after:
            conditions.append((DECIDED_AFTER_PLACE.format(at=at, visit=visit), [*after]))
        return _joined_conditions_and_values(conditions)


def _joined_conditions_and_values(conditions: list[tuple[str, list[Any]]]) -> tuple[str, list[Any]]:
    return "".join(f" AND {text}" for text, _values in conditions), [
        v for _text, values in conditions for v in values
    ]


Seats = Mapping[int, Sequence[Seat]]
"""Of one person, by project: what `seats` finds."""


def ordered_visits_user_may_decide(
    user: User, within: ReviewFilter, limit: int, after: Place | None = None, own_seats: Seats | None = None
) -> list[Place]:
    """Return the open visits where this person may decide now, in order. `own_seats`: the person's seats, if
    they have been read."""
    places = _columns_of_places_user_fills(
        user, within.projects, seats_of_user_by_project(user) if own_seats is None else own_seats
    )
    if not places[0]:
        return []
    where, values = within.conditions_and_values(after)
    arguments = [*places, user.pk, *values, limit, limit]
    return fetch(DECIDABLE_VISITS.format(column=within.column, where=where), arguments)


def visits_among_which_user_may_decide(
    user: User, projects: Sequence[int], visits: Collection[UUID]
) -> set[UUID]:
    """Return those of these visits where this person may decide now."""
    within = ReviewFilter(projects, visits=list(visits))
    return {visit_id for _at, visit_id in ordered_visits_user_may_decide(user, within, len(visits))}


def ordered_open_visits_of_projects(
    user: User, within: ReviewFilter, limit: int, after: Place | None = None
) -> list[Place]:
    """Every open visit of the projects, whoever is asked, in order."""
    where, values = within.conditions_and_values(after)
    arguments = [list(within.projects or ()), *values, limit, limit]
    return fetch(TEAM.format(column=within.column, where=where), arguments)


def ordered_open_visits_user_requested(
    user: User, within: ReviewFilter, limit: int, after: Place | None = None
) -> list[Place]:
    """Open visits of tasks that this person requested, in order."""
    where, values = within.conditions_and_values(after)
    arguments = [user.pk, list(within.projects or ()), *values, limit]
    return fetch(REQUESTED.format(column=within.column, where=where), arguments)


def latest_closed_visits_user_voted_on(
    user: User, within: ReviewFilter, limit: int, after: Place | None = None
) -> list[Place]:
    """Visits that are over, of which this person decided or voted, the latest first."""
    decided, values = within.conditions_and_values_of_decided(after, "g.decided_at", "g.id")
    voted, others = within.conditions_and_values_of_decided(after, "v.at", "v.visit_id")
    arguments = [user.pk, *values, limit, user.pk, *others, limit, limit]
    return fetch(DECIDED.format(decided=decided, voted=voted), arguments)


def _columns_of_places_user_fills(
    user: User, projects: Collection[int] | None, seats_by_project: Seats
) -> list[list[Any]]:
    """Return the places that this person fills in each project, as columns. `people` among them: those on whom
    there may be no bar, nobody in a project of one."""
    project_ids = None if projects is None else set(projects)
    seat_rows = [
        (
            project_id,
            kind,
            name,
            seat.person.user_id,
            _postgres_array(() if seat.person.alone else seat.people),
        )
        for project_id, person_seats in seats_by_project.items()
        if project_ids is None or project_id in project_ids
        for seat in person_seats
        for kind, name in sorted(fillable_requirements(seat.person.as_voter))
    ]
    return [list(column) for column in zip(*seat_rows, strict=True)] if seat_rows else [[]]


def _postgres_array(ids: Iterable[int]) -> str:
    """Format ids as PostgreSQL reads them: arrays of several lengths are no column of one array."""
    return "{" + ",".join(map(str, ids)) + "}"
