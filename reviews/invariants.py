"""I12: one mail per (gate visit, address, kind), and none forgotten. Run by `manage.py check_invariants`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from pipelines.models import GateVisit
from pipelines.ports.observers import Invariant, Violation
from pipelines.queries.versions import parsed
from reviews.models import Mail


def one_mail_per_visit_address_and_kind(task_ids: Sequence[int] | None) -> Iterable[Violation]:
    """Every address in a gate's `notify` was asked exactly once, and nobody else was asked but who chose to be."""
    visits = GateVisit.objects.select_related("asked_by__pinned")
    mails = Mail.objects.all()
    if task_ids is not None:
        visits = visits.filter(task_id__in=task_ids)
        mails = mails.filter(visit__task_id__in=task_ids)
    written = Counter(mails.values_list("visit_id", "address", "kind"))
    for (visit_id, address, kind), count in written.items():
        if count > 1:
            yield Violation("I12", f"gate visit {visit_id}", f"{count} mails of kind {kind} to {address}")
    asked_of = defaultdict(set)
    for visit_id, address in mails.filter(kind=Mail.Kind.ASKED, chosen=False).values_list(
        "visit_id", "address"
    ):
        asked_of[visit_id].add(address)
    for visit in visits.iterator(chunk_size=500):
        due = set(_notify(visit))
        asked = asked_of.get(visit.pk, set())
        if due != asked:
            yield Violation(
                "I12", f"gate visit {visit.pk}", f"asked {sorted(asked)}, the gate notifies {sorted(due)}"
            )


def _notify(visit: GateVisit) -> Iterable[str]:
    gates = parsed(visit.asked_by.pinned).gates
    return next((gate.notify for gate in gates if gate.key == visit.gate), ())


INVARIANTS: tuple[Invariant, ...] = (one_mail_per_visit_address_and_kind,)
