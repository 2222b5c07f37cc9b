"""Publishing what a person was shown: no draft that changed since, nobody's unseen changes, no warning without a tick.

Running tasks stay where they are, unless they are to be migrated: then the version is published, and they go over by
the operation that the Impact page offers (`migrating`), reversible and on record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import DatabaseError, transaction

from pipelines import access
from pipelines.engine.core import payload
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.formats.authorship import Author, authors_of_path
from pipelines.formats.changes import DocumentChange
from pipelines.lines import line_migration, publishing, publishing_requests, version_comparison
from pipelines.lines.four_eyes import SecondPersonNeeded
from pipelines.models import Line, LineEvent, LineVersion, Migration, PublishRequest, User
from pipelines.ports import clock
from pipelines.routing.analysis.lint.examination import Examination
from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.basics.problems import Problem


class StaleFindings(Conflict):
    says = "The problems of this draft changed after the page was loaded. Reload the page."


@dataclass(frozen=True)
class Confirmation:
    """The confirmation of a publication: the facts that the page displayed, and the answers. `live`: number of
    the version it was compared with, 0 for none; `findings`, `plan`: digests; `warnings`, `seen`: what was
    ticked; `mapping`, `reason`: of a migration."""

    draft: int
    live: int
    findings: str
    name: str = ""
    warnings: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()
    migrate: bool = False
    plan: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True)
class PublishResult:
    """`not_migrated`: why the running tasks were not, though they were to be. `request`: instead of a version, where
    another designer has to publish it."""

    version: LineVersion | None
    migration: Migration | None = None
    not_migrated: str = ""
    request: PublishRequest | None = None


@dataclass(frozen=True)
class OtherAuthor:
    """Somebody else who changed this draft. `key` is what a tick says: this person's changes up to this draft."""

    person: str
    hand: Author
    changes: int

    @property
    def key(self) -> str:
        return f"{self.person}-{self.hand.number}"


def warning_key(finding: Finding) -> str:
    """Identify what a tick at a warning is held against: this very sentence, at this very place."""
    return payload.json_digest([finding.check, finding.path, finding.message, finding.hint])[:16]


def warning_findings(examination: Examination) -> list[Finding]:
    return [finding for finding in examination.findings if finding.severity == WARNING]


def findings_digest(examination: Examination) -> str:
    grave = (*examination.errors, *warning_findings(examination))
    return payload.json_digest([[finding.severity, warning_key(finding)] for finding in grave])


def change_authors_oldest_first(line: Line, change: DocumentChange) -> tuple[Author, ...]:
    """List who changed this since the line was published, the last one last."""
    at = line.draft_at.isoformat() if line.draft_at else ""
    known = authors_of_path(change.path, line.draft_hands)
    # A change of which nobody is noted counts as that of whoever saved last.
    return known or ((Author(str(line.draft_by_id), line.draft_number, at),) if line.draft_by_id else ())


def other_authors_of_changes(
    line: Line, user: User, changes: Iterable[DocumentChange] | None
) -> list[OtherAuthor]:
    """Return the other people whose changes would be published too. `changes`: what differs from the live
    version;

    None for a line that was never published, all of which counts.
    """
    if changes is None:
        hands = [authors_of_path(path, {path: at}) for path, at in line.draft_hands.items()]
    else:
        hands = [change_authors_oldest_first(line, change) for change in changes]
    last: dict[str, Author] = {}
    counts: dict[str, int] = {}
    for hand in (hand for authors in hands for hand in authors):
        counts[hand.person] = counts.get(hand.person, 0) + 1
        # Of several changes by one person the latest is named, with their number
        if hand.person not in last or last[hand.person].number < hand.number:
            last[hand.person] = hand
    own_id = str(user.pk)
    return [OtherAuthor(person, hand, counts[person]) for person, hand in last.items() if person != own_id]


def draft_changes_or_none(line: Line) -> tuple[DocumentChange, ...] | None:
    """Find what the draft changes of the live version; None where nothing is live. Raises Invalid: no readable
    draft."""
    if line.live is None:
        return None
    sides = (
        version_comparison.comparison_side(line, version_comparison.LIVE),
        version_comparison.comparison_side(line, version_comparison.DRAFT),
    )
    return version_comparison.compare_documents(*sides).changes


def publish_or_request_as_confirmed(line: Line, confirmation: Confirmation, user: User) -> PublishResult:
    """Publish, or ask another designer to, and migrate where that was said. Nothing happens unless all of it was shown
    as it is:

    raises Forbidden, PublishRefused (errors), Invalid (paths `name`, `warnings`, `seen`, `reason`,
    `mapping.<station>`), DraftConflict, LiveConflict, NothingToPublish, StaleFindings, StaleImpact, Conflict (a
    migration under way)."""
    access.require_permission(user, "publish", line.project)
    # Remembered: tasks of this line need not wait while lint thinks under the lock.
    publishing.check_draft(line)
    with transaction.atomic():
        stored = publishing.lock_line(line, confirmation.draft)
        live = stored.live
        if live and live.number != confirmation.live:
            raise publishing.LiveConflict(live)
        examination = publishing.check_draft(stored)
        if examination.errors:
            raise publishing.PublishRefused(examination.errors)
        if findings_digest(examination) != confirmation.findings:
            raise StaleFindings
        other_authors = other_authors_of_changes(stored, user, draft_changes_or_none(stored))
        warnings = warning_findings(examination)
        _check_all_acknowledged(warnings, other_authors, confirmation)
        plan = _confirmed_migration_plan_or_none(stored, confirmation) if confirmation.migrate else None
        record = {
            "warnings": [warning.message for warning in warnings],
            "others": {other.person: other.changes for other in other_authors},
            "running": "migrate" if confirmation.migrate else "pin",
        }
        try:
            version = publishing.publish_draft(
                stored,
                user=user,
                name=confirmation.name,
                based_on=confirmation.draft,
                over=confirmation.live,
                record=record,
            )
        # Under the same lock: what is asked for is what was confirmed.
        except SecondPersonNeeded:
            return PublishResult(
                None,
                request=publishing_requests.request_publishing(
                    stored, user=user, name=confirmation.name, based_on=confirmation.draft
                ),
            )
    # Behind the transaction: a migration that is refused takes the version back no more.
    return PublishResult(version) if plan is None else _migrate_tasks(line, version, plan, confirmation, user)


def _check_all_acknowledged(
    warnings: Iterable[Finding], other_authors: Iterable[OtherAuthor], confirmation: Confirmation
) -> None:
    """Raises Invalid."""
    problems = [
        Problem("warnings", warning.message, "Acknowledge it, or fix it on the canvas.")
        for warning in warnings
        if warning_key(warning) not in confirmation.warnings
    ]
    problems += [
        Problem(
            "seen",
            "has changes by somebody else that you did not acknowledge",
            "Review and acknowledge them.",
        )
        for other in other_authors
        if other.key not in confirmation.seen
    ]
    if problems:
        raise Invalid(problems)


def _confirmed_migration_plan_or_none(stored: Line, confirmation: Confirmation) -> str | None:
    """The plan that is confirmed; None where no task would change. Raises StaleImpact, Invalid, Conflict."""
    if not confirmation.reason.strip():
        raise Invalid.at("reason", "is missing or blank", "Enter a reason. It is kept with the migration.")
    payload.checked_text(confirmation.reason, "reason", line_migration.REASON)
    line_migration.check_no_migration_under_way(stored)
    impact = line_migration.migration_impact_of(stored, None, confirmation.mapping)
    # A person agreed to what was shown: tasks have moved since
    if impact.plan != confirmation.plan:
        raise line_migration.StaleImpact
    if impact.unmapped_stations:
        raise Invalid(
            Problem(
                f"mapping.{key}",
                "does not exist any more, and tasks are there",
                "Choose the station where they continue.",
            )
            for key in impact.unmapped_stations
        )
    return impact.plan if impact.tasks else None


def _migrate_tasks(
    line: Line, version: LineVersion, plan: str, confirmation: Confirmation, user: User
) -> PublishResult:
    """Migrate the tasks. The version is live by now, whatever becomes of the migration."""
    try:
        impact = line_migration.migration_impact_of(line, version, confirmation.mapping)
        if impact.plan != plan:
            raise line_migration.StaleImpact
        made = line_migration.migrate_line(
            line,
            user=user,
            to=version,
            digest=impact.digest,
            reason=confirmation.reason,
            mapping=confirmation.mapping,
        )
    except (Conflict, Forbidden, Invalid) as refused:
        return PublishResult(
            version,
            not_migrated=_record_reason_of_no_migration_and_return_it(
                line, version, refused.detail, confirmation, user
            ),
        )
    except DatabaseError as fault:
        return PublishResult(
            version,
            not_migrated=_record_reason_of_no_migration_and_return_it(
                line, version, str(fault), confirmation, user
            ),
        )
    return PublishResult(version, made)


def _record_reason_of_no_migration_and_return_it(
    line: Line, version: LineVersion, why: str, confirmation: Confirmation, user: User
) -> str:
    data: dict[str, Any] = {
        "why": why,
        "mapping": dict(confirmation.mapping),
        "reason": confirmation.reason.strip(),
    }
    LineEvent.objects.create(
        line=line,
        kind=LineEvent.RecordKind.NOT_MIGRATED,
        version=version,
        by=user,
        at=clock.now(),
        data=data,
    )
    return why
