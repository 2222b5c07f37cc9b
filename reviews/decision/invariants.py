"""I12: one mail per (gate visit, address, kind), and none forgotten. I20: lists of reviews know who may decide. Run by
`manage.py check_invariants`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import QuerySet

from pipelines.engine.invariants.record_reading import all_rows_or_chunked
from pipelines.models import GateVisit, User
from pipelines.models.plumbing.compiled_queries import server_prepared
from pipelines.ports.observers import Invariant, Violation
from pipelines.queries.versions import parsed_version
from reviews.decision.entitlements import Entitlements
from reviews.decision.review_access import asked_people_rows, visits_among_which_user_may_decide
from reviews.models import AskedPlace, Mail

SAMPLE = 500
"""So many open visits are asked about for every member; the rows of all of them are compared."""


@server_prepared()
def _first_open_visit_id() -> QuerySet[GateVisit, Any]:
    return GateVisit.objects.values_list("pk", flat=True)[:1]


def one_mail_per_visit_address_and_kind(task_ids: Sequence[int] | None) -> Iterable[Violation]:
    """Every address in a gate's `notify` was asked exactly once, and nobody else was asked but who chose to be."""
    if not _first_open_visit_id():
        return
    visits = GateVisit.objects.select_related("asked_by__pinned")
    mails = Mail.objects.all()
    if task_ids is not None:
        visits = visits.filter(task_id__in=task_ids)
        mails = mails.filter(visit__task_id__in=task_ids)
    written: Counter[tuple[Any, ...]] = Counter()
    asked_of = defaultdict(set)
    for visit_id, address, kind, number, chosen in all_rows_or_chunked(
        mails.values_list("visit_id", "address", "kind", "number", "chosen"), 2000
    ):
        written[visit_id, address, kind, number] += 1
        if kind == Mail.MailKind.ASKED and not chosen:
            asked_of[visit_id].add(address)
    for (visit_id, address, kind, _number), count in written.items():
        if count > 1:
            yield Violation("I12", f"gate visit {visit_id}", f"{count} mails of kind {kind} to {address}")
    for visit in all_rows_or_chunked(visits, 500):
        due = set(_addresses_gate_notifies(visit))
        mailed = asked_of.get(visit.pk, set())
        if due != mailed:
            yield Violation(
                "I12", f"gate visit {visit.pk}", f"asked {sorted(mailed)}, the gate notifies {sorted(due)}"
            )


def _addresses_gate_notifies(visit: GateVisit) -> Iterable[str]:
    gates = parsed_version(visit.asked_by.pinned).gates
    return next((gate.notify for gate in gates if gate.key == visit.gate), ())


def asked_place_violations(task_ids: Sequence[int] | None) -> Iterable[Violation]:
    """The rows that lists read (`reviews.decision.review_access`) are those of the open visits, as the policies say."""
    if not _first_open_visit_id():
        return
    visits = GateVisit.objects.filter(state=GateVisit.State.OPEN)
    rows = AskedPlace.objects.all()
    if task_ids is not None:
        visits, rows = visits.filter(task_id__in=task_ids), rows.filter(visit__task_id__in=task_ids)
    listed = defaultdict(set)
    for row in all_rows_or_chunked(rows, 2000):
        listed[row.visit_id].add(_comparable_place_fields(row))
    for visit in all_rows_or_chunked(visits.select_related("task", "job", "asked_by"), 500):
        expected, actual = (
            {_comparable_place_fields(row) for row in asked_people_rows(visit)},
            listed.pop(visit.pk, set()),
        )
        if expected != actual:
            yield Violation(
                "I20", f"gate visit {visit.pk}", f"asks {sorted(expected)}, lists have {sorted(actual)}"
            )
    for visit_id in listed:
        yield Violation("I20", f"gate visit {visit_id}", "is listed though it is not open")


def _comparable_place_fields(row: AskedPlace) -> tuple[Any, ...]:
    who = (row.project_id, row.line_id, row.gate, row.kind, row.name, row.first, row.requester_id or 0)
    return (*who, tuple(row.barred), row.opened_at, row.order_at)


def asked_people_violations(task_ids: Sequence[int] | None) -> Iterable[Violation]:
    """Check that for every member of a project, SQL selects the open visits where the engine lets them
    decide, and no others."""
    if not _first_open_visit_id():
        return
    visits = GateVisit.objects.filter(state=GateVisit.State.OPEN).select_related("task", "job", "asked_by")
    if task_ids is not None:
        visits = visits.filter(task_id__in=task_ids)
    # No more than that: for each person the engine is asked about each of them
    sample = list(visits.prefetch_related("votes").order_by("opened_at", "pk")[:SAMPLE])
    projects = sorted({visit.task.project_id for visit in sample})
    if not sample:
        return
    ids = {visit.pk for visit in sample}
    for user in User.objects.filter(memberships__project__in=projects, is_active=True).distinct():
        standings = Entitlements(user)
        may = {visit.pk for visit in sample if standings.entitlement_to_visit(visit).may}
        actual = visits_among_which_user_may_decide(user, projects, ids)
        if may != actual:
            difference = f"{len(may - actual)} missing, {len(actual - may)} too many"
            yield Violation(
                "I20", f"person {user.pk}", f"the inbox differs from who may decide: {difference}"
            )


INVARIANTS: tuple[Invariant, ...] = (
    one_mail_per_visit_address_and_kind,
    asked_place_violations,
    asked_people_violations,
)
