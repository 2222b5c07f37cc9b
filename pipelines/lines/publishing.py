"""Draft → checked → LineVersion: the only door to a version (house §1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Max

from pipelines import access
from pipelines.engine.core import payload
from pipelines.errors import Conflict, Forbidden, Invalid, Refused
from pipelines.formats import native
from pipelines.formats.authorship import ROOT, Author, updated_authorship
from pipelines.lines import four_eyes
from pipelines.lines.jump_endings import jump_ending_findings
from pipelines.lines.project_lint import examine_document
from pipelines.lines.repository_checks import (
    credential_problems,
    may_user_publish_pushing_line,
    repository_problems,
)
from pipelines.models import (
    Line,
    LineEvent,
    LineVersion,
    Project,
    SampledDraw,
    User,
    VersionGate,
    VersionRule,
    VersionStation,
)
from pipelines.models.people import slug
from pipelines.ports import clock, queue
from pipelines.ports.observers import LineHint, publish_committed_hints
from pipelines.ports.queue_tasks import DRAW_DRAFT, DRAW_VERSION, DRAWINGS
from pipelines.queries import versions
from pipelines.queries.same_patch_approvals import same_patch_gates
from pipelines.routing.analysis.lint.examination import Examination
from pipelines.routing.analysis.lint.finding import Finding
from pipelines.routing.basics.values import MAX_VALUES, has_more_nodes
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document import line as routing
from pipelines.routing.document.line import Problem
from pipelines.routing.document.networks import document_to_publish
from pipelines.work.handlers.code import untrusted_code

__all__ = [
    "DraftConflict",
    "LineArchived",
    "LiveConflict",
    "NothingToPublish",
    "PublishRefused",
    "check_draft",
    "create_line",
    "executing_stations",
    "lock_line",
    "publish_draft",
    "replace_draft",
    "save_draft",
    "write_version_rows",
]

DRAFT_REST = timedelta(seconds=1)
"""Between a save and the drawing of what it saved."""


class _ConcurrentChange(Conflict):
    def __init__(self, what: str, number: int, user: User | None, at: datetime | None) -> None:
        who = str(user) if user else ""
        message = f"{what} by {who}." if who else f"{what}."
        super().__init__(message, by=who, at=at)
        self.number = number


class DraftConflict(_ConcurrentChange):
    """Somebody saved another draft of this line meanwhile. `number` is the stored draft's."""

    def __init__(self, line: Line) -> None:
        number = line.draft_number
        what = f"This line has changed in the meantime: draft {number}"
        super().__init__(what, number, line.draft_by, line.draft_at)


class LiveConflict(_ConcurrentChange):
    """Another version was published meanwhile. `number` is the one that is live now."""

    def __init__(self, version: LineVersion) -> None:
        what = f"Version {version.number} was published in the meantime"
        super().__init__(what, version.number, version.published_by, version.published_at)


class LineArchived(Conflict):
    says = "It is archived. Restore it first."


class NothingToPublish(Conflict):
    says = "The draft has no changes compared with the live version."


class PublishRefused(Refused):
    """This draft cannot be published; `findings` are the errors that keep it from that, with their place in the text,
    what to do about them and, where one was found, a situation that shows it."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        self.findings = findings
        super().__init__("; ".join(map(str, findings)))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The findings as problems of a document."""
        return tuple(Problem(f.path, f.message, f.hint, f.line, f.column) for f in self.findings)


def check_draft(line: Line, text: str = "") -> Examination:
    """Lint the stored draft; its errors keep it from being published. Line and column are those of
    `text`, a text of the draft; without it, of the text as it was typed."""
    examination = examine_document(line.draft, line.project, text or line.draft_text)
    if examination.line is not None:
        problems = [
            *repository_problems(examination.line, line.project),
            *credential_problems(examination.line, line),
        ]
        examination = examination.with_warnings(jump_ending_findings(line, examination.line)).with_problems(
            problems
        )
    key = line.draft.get("key")
    if examination.line is None or key == line.key:
        return examination
    renamed = Problem("key", _("is not “%(key)s”", key=line.key), "The key of a line never changes.")
    return examination.with_problems([renamed])


def names_of_gates_with_changed_sampling(line: Line, parsed: routing.ParsedLine) -> list[str]:
    """Names of the gates that ask about another sample than in the published version, can be approved in other ways, or
    whose approval stands on a moved base where it did not (law §15)."""
    before = _gate_sampling(versions.parsed_version(line.live)) if line.live else {}
    changed = [
        # A new gate counts only if it says one of the three.
        key
        for key, sampling in _gate_sampling(parsed).items()
        if sampling != before.get(key, (None, None, False))
    ]
    return [parsed.gate(key).name for key in changed]


def _gate_sampling(line: routing.ParsedLine) -> dict[str, tuple[Any, ...]]:
    stands = same_patch_gates(line)
    return {gate.key: (gate.sample, gate.channels, gate.key in stands) for gate in line.gates}


def executing_stations(line: routing.ParsedLine) -> list[str]:
    """Keys of the stations that run code on a worker, or send a secret of the worker somewhere."""
    return [station.key for station in line.stations if untrusted_code(line, station)]


def create_line(
    project: Project,
    key: str,
    name: str,
    document: str | Mapping[str, Any],
    user: User,
    writers: Iterable[int] = (),
) -> Line:
    """A new line with its first draft. `writers`: ids of who else wrote it, of a copy. Raises Forbidden, Invalid (path
    `key`, or of the text), Conflict (key taken)."""
    access.require_permission(user, "design", project)
    if project.archived_at:
        raise LineArchived
    try:
        slug(key)
    except ValidationError as fault:
        raise Invalid.at("key", str(slug.message)) from fault
    if not 0 < len(name.strip()) <= 200:
        raise Invalid.at("name", "Give the line a name of at most 200 characters.")
    draft, text = _checked_draft_and_typed_text(document)
    now = clock.now()
    try:
        with transaction.atomic():
            line = Line.objects.create(
                project=project,
                key=key,
                name=name.strip(),
                draft=draft,
                draft_text=text,
                draft_by=user,
                draft_at=now,
                # The whole document is this person's, as of draft 1.
                draft_hands={ROOT: {str(user.pk): [1, now.isoformat()]}},
                draft_writers=sorted({user.pk, *writers}),
                created_at=now,
            )
            _enqueue_drawing_of_draft(line, now)
            return line
    except IntegrityError as conflict:
        raise Conflict(f"This project already has a line “{key}”.") from conflict


def save_draft(line: Line, document: str | Mapping[str, Any], user: User, based_on: int) -> Line:
    """Store a draft, which may be invalid as a line but not as YAML or JSON. `based_on`: the draft's number that was
    changed. Raises Forbidden, DocumentError (the text cannot be read), DraftConflict."""
    access.require_permission(user, "design", line.project)
    draft, text = _checked_draft_and_typed_text(document)
    with transaction.atomic():
        stored = lock_line(line, based_on)
        replace_draft(stored, draft, text, user)
    return stored


def replace_draft(
    stored: Line, draft: Mapping[str, Any], text: str, user: User, writers: Iterable[int] = ()
) -> None:
    """Put another draft into a locked line, and record who changed what. `writers`: ids of who else wrote it,
    of one that was put aside."""
    now = clock.now()
    number = stored.draft_number + 1
    hand = Author(str(user.pk), number, now.isoformat())
    # Before the draft is replaced, with which the new one is compared.
    stored.draft_hands = updated_authorship(stored.draft_hands, stored.draft, draft, hand)
    stored.draft, stored.draft_text, stored.draft_number = dict(draft), text, number
    stored.draft_by, stored.draft_at = user, now
    # law §14: who wrote a part stays its writer until the line is published.
    stored.draft_writers = sorted({*stored.draft_writers, user.pk, *writers})
    fields = ["draft", "draft_text", "draft_number", "draft_by", "draft_at", "draft_hands", "draft_writers"]
    stored.save(update_fields=fields)
    _enqueue_drawing_of_draft(stored, now)
    _send_hint_that_line_changed(stored, "draft", number)


def _enqueue_drawing_of_draft(line: Line, now: datetime) -> None:
    """Once it rests: of drafts that follow one another only the last is drawn."""
    later = now + DRAFT_REST
    queue.enqueue_queue_jobs(
        DRAW_DRAFT, DRAWINGS, {"line_id": line.pk, "number": line.draft_number}, not_before=later
    )


def _send_hint_that_line_changed(line: Line, what: str, number: int) -> None:
    hint = LineHint(line.project_id, line.pk, what, number)
    # After the commit: whoever fetches at the hint has to see the change.
    transaction.on_commit(lambda: publish_committed_hints([hint]))


def publish_draft(
    line: Line,
    *,
    user: User,
    name: str = "",
    based_on: int,
    over: int | None = None,
    record: Mapping[str, Any] | None = None,
) -> LineVersion:
    """Freeze the draft as the line's next version, from which new tasks start.

    `over`: the number of the version that is live for who publishes (0: none); then nothing that equals it is
    published. `record`: what the record of the line tells besides, {warnings, others, running}.
    Raises Forbidden (designer; `execute` for executing stations), Invalid (path `name`), DraftConflict,
    LiveConflict, NothingToPublish, PublishRefused, Archived, SecondPersonNeeded."""
    access.require_permission(user, "publish", line.project)
    payload.checked_text(name, "name", 200)
    with transaction.atomic():
        stored = lock_line(line, based_on)
        if stored.archived_at or stored.project.archived_at:
            raise LineArchived
        parsed = _publishable_line(stored, user)
        if over is not None:
            _check_live_is_as_seen(stored, parsed, over)
        # Behind all other checks: nobody asks for what could not be published.
        request = four_eyes.publish_request_to_fulfil_or_none(stored, parsed, user)
        version = _create_version(stored, parsed, user, name)
        if request is not None:
            four_eyes.mark_request_published(request, version, user)
        _allow_draws_at_changed_samples(stored, parsed)
        stored.live, stored.name, stored.draft_hands = version, parsed.name[:200], {}
        stored.draft_writers = []
        stored.save(update_fields=["live", "name", "draft_hands", "draft_writers"])
        LineEvent.objects.create(
            line=stored,
            kind=LineEvent.RecordKind.PUBLISHED,
            version=version,
            by=user,
            at=version.published_at,
            data={
                "draft": stored.draft_number,
                **({"requested_by": request.requested_by.username} if request else {}),
                **(record or {}),
            },
        )
        four_eyes.emit_version_published(version, stored, user)
        _send_hint_that_line_changed(stored, "live", version.number)
        queue.enqueue_queue_jobs(DRAW_VERSION, DRAWINGS, {"version_id": version.pk})
    return version


def _allow_draws_at_changed_samples(stored: Line, parsed: routing.ParsedLine) -> None:
    """Let gates whose sample is another one than in the live version draw again: a person has decided about it anew."""
    live = versions.parsed_version(stored.live).gates_by_key if stored.live else {}
    changed = [gate.key for gate in parsed.gates if gate.key in live and gate.sample != live[gate.key].sample]
    if changed:
        SampledDraw.objects.filter(line=stored, gate__in=changed, about=SampledDraw.ALL).delete()


def _check_live_is_as_seen(stored: Line, parsed: routing.ParsedLine, over: int) -> None:
    live = stored.live
    if live and live.number != over:
        raise LiveConflict(live)
    # The same text may mean other jumps under the revision that was the newest when it was published.
    same = live and versions.parsed_version(live).jump_targets == parsed.jump_targets
    unchanged = (
        live and same and live.digest == routing.canonical_digest(document_to_publish(parsed.to_document()))
    )
    if unchanged and not four_eyes.is_live_version_published_by_one(stored, parsed):
        raise NothingToPublish


def _publishable_line(line: Line, user: User) -> routing.ParsedLine:
    refused = check_draft(line).errors
    if refused:
        raise PublishRefused(refused)
    parsed = routing.read_line(line.draft)
    running = executing_stations(parsed)
    if running and not access.is_permitted(user, "execute", line.project):
        raise Forbidden(
            f"Stations that run code or use secrets ({', '.join(running)}) need the permission “execute”, "
            "which you do not have."
        )
    changed = names_of_gates_with_changed_sampling(line, parsed)
    if changed and not access.is_permitted(user, "execute", line.project):
        raise Forbidden(
            "Sampling, ways to approve without the page, and approvals that stand on a moved branch "
            f"({', '.join(changed)}) need the permission “execute”, which you do not have."
        )
    if not may_user_publish_pushing_line(parsed, line.project, user):
        raise Forbidden(
            "This line pushes to a repository, and you may not publish lines that do. Ask an administrator."
        )
    return parsed


def _create_version(line: Line, parsed: routing.ParsedLine, user: User, name: str) -> LineVersion:
    document = document_to_publish(parsed.to_document())
    # Under the lock of the line, so that no number is given twice.
    last = line.versions.aggregate(last=Max("number"))["last"] or 0
    version = LineVersion.objects.create(
        line=line,
        number=last + 1,
        document=document,
        digest=routing.canonical_digest(document),
        law=routing.LAW,
        revision=parsed.revision,
        name=name.strip()[:200],
        published_by=user,
        published_at=clock.now(),
    )
    write_version_rows(version, parsed)
    return version


def write_version_rows(version: LineVersion, parsed: routing.ParsedLine) -> None:
    """The read-only rows of a version: for keys, the admin and analytics. Decisions never read them."""
    # For keys, the admin and analytics alone: a decision reads the document
    stations = VersionStation.objects.bulk_create(
        VersionStation(
            version=version, position=i, key=station.key, name=station.name[:200], kind=station.kind[:32]
        )
        for i, station in enumerate(parsed.stations)
    )
    VersionRule.objects.bulk_create(
        VersionRule(version=version, station=row, position=i, key=rule.id, label=rule.label[:200])
        for row, station in zip(stations, parsed.stations, strict=True)
        for i, rule in enumerate(station.rules)
    )
    VersionGate.objects.bulk_create(
        VersionGate(version=version, position=i, key=gate.key, name=gate.name[:200], mode=gate.mode)
        for i, gate in enumerate(parsed.gates)
    )


def lock_line(line: Line, based_on: int) -> Line:
    """Return the stored line, locked until the end of the transaction. Raises DraftConflict."""
    rows = Line.objects.select_for_update(of=("self",)).select_related("draft_by", "project__owner")
    stored = rows.get(pk=line.pk)
    if stored.draft_number != based_on:
        raise DraftConflict(stored)
    return stored


def _checked_draft_and_typed_text(document: str | Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The document, and the text as typed. A draft must be an object that the database can hold, no more."""
    text = document if isinstance(document, str) else ""
    draft = native.loads(document) if isinstance(document, str) else dict(document)
    payload.checked_digest(draft)
    # The values of a text were counted when it was read.
    if not text and has_more_nodes(draft, MAX_VALUES):
        raise Invalid.at("", f"the document holds more than {MAX_VALUES} values")
    return draft, text
