"""Guarantees of live versions that were published under an earlier revision of the law: read anew, once for each."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef

from pipelines.models import Line, LineEvent, LineVersion
from pipelines.ports import observers
from pipelines.queries import versions
from pipelines.queries.members import responsible_user_ids
from pipelines.routing.analysis.lint.guarantee_findings import REFUTED
from pipelines.routing.document.line import REVISION
from pipelines.routing.guarantees.guarantee_proofs import GuaranteeAnswer, prove_guarantees


def prove_next_live_version_again(now: datetime) -> int:
    """Prove one of them again, note it in the record of its line, and tell who answers for it of what is refuted: it
    runs on. 1, or 0 where none is left."""
    known = LineEvent.objects.filter(version=OuterRef("live"), kind=LineEvent.RecordKind.REREAD)
    waiting = Line.objects.filter(
        live__revision__lt=REVISION, archived_at=None, live__document__has_key="guarantees"
    )
    # One at a time, since proving may take seconds: this is called again until none is left
    line = waiting.exclude(Exists(known)).select_related("live", "project").order_by("pk").first()
    if line is None or line.live is None:
        return 0
    refuted = [
        answer for answer in prove_guarantees(versions.parsed_version(line.live)) if answer.answer == REFUTED
    ]
    with transaction.atomic():
        note = {"revision": REVISION, "refuted": [answer.id for answer in refuted]}
        LineEvent.objects.create(
            line=line, kind=LineEvent.RecordKind.REREAD, version=line.live, by=None, at=now, data=note
        )
        observers.emit_consequences(*_refutation_events(line, line.live, refuted, now))
    return 1


def _refutation_events(
    line: Line, version: LineVersion, refuted: list[GuaranteeAnswer], now: datetime
) -> list[observers.GuaranteeRefuted]:
    if not refuted:
        return []
    return [
        observers.GuaranteeRefuted(
            version.pk, version.number, line.key, line.name, len(refuted), line.project_id, person, now
        )
        for person in responsible_user_ids(line)
    ]
