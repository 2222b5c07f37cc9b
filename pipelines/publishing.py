"""Draft → checked → LineVersion: the only door to a version (house §1)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.models import Max

from pipelines import access
from pipelines.engine import payload
from pipelines.errors import Conflict, Forbidden, Invalid, Refused
from pipelines.formats import native
from pipelines.handlers import EXECUTING
from pipelines.linting import BUILT, examined
from pipelines.models import (
    Line,
    LineVersion,
    Project,
    User,
    VersionGate,
    VersionRule,
    VersionStation,
)
from pipelines.models.people import slug
from pipelines.routing import line as routing
from pipelines.routing.line import Problem
from pipelines.routing.lint.examination import Examination
from pipelines.routing.lint.finding import Finding

__all__ = [
    "BUILT",
    "DraftConflict",
    "PublishRefused",
    "check",
    "create_line",
    "executes",
    "publish",
    "save_draft",
    "write_rows",
]


class DraftConflict(Conflict):
    """Somebody saved another draft of this line meanwhile. `number` is the stored draft's."""

    def __init__(self, line: Line) -> None:
        who = str(line.draft_by) if line.draft_by else ""
        super().__init__(
            f"This line was changed meanwhile: draft {line.draft_number}{f' by {who}' if who else ''}.",
            by=who,
            at=line.draft_at,
        )
        self.number = line.draft_number


class PublishRefused(Refused):
    """This draft cannot be published; `findings` are the errors that keep it from that, with their place in the text,
    what to do about them and, where one was found, a situation that shows it."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        self.findings = findings
        super().__init__("; ".join(map(str, findings)))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The same as what is wrong with a document elsewhere."""
        return tuple(Problem(f.path, f.message, f.hint, f.line, f.column) for f in self.findings)


def check(line: Line, text: str = "") -> Examination:
    """All that lint says of the stored draft; its errors keep it from being published. Line and column are those of
    `text`, a text of the draft; without it, of the text as it was typed."""
    found = examined(line.draft, line.project, text or line.draft_text)
    key = line.draft.get("key")
    if found.line is None or key == line.key:
        return found
    renamed = Problem("key", f"is not “{line.key}”", "The key of a line never changes.")
    return found.adding([renamed])


def executes(line: routing.Line) -> list[str]:
    """Keys of the stations that run code on a worker."""
    return [station.key for station in line.stations if station.kind in EXECUTING]


def create_line(project: Project, key: str, name: str, document: str | Mapping[str, Any], user: User) -> Line:
    """A new line with its first draft. Raises Forbidden, Invalid (path `key`, or of the text), Conflict (key taken)."""
    access.require(user, "design", project)
    try:
        slug(key)
    except ValidationError as fault:
        raise Invalid.at("key", str(slug.message)) from fault
    if not 0 < len(name.strip()) <= 200:
        raise Invalid.at("name", "Give the line a name of at most 200 characters.")
    draft, text = _read(document)
    now = _now()
    try:
        with transaction.atomic():
            return Line.objects.create(
                project=project,
                key=key,
                name=name.strip(),
                draft=draft,
                draft_text=text,
                draft_by=user,
                draft_at=now,
                created_at=now,
            )
    except IntegrityError as taken:
        raise Conflict(f"This project has a line “{key}” already.") from taken


def save_draft(line: Line, document: str | Mapping[str, Any], user: User, based_on: int) -> Line:
    """Store a draft, which may be invalid as a line but not as YAML or JSON. `based_on`: the draft's number that was
    changed. Raises Forbidden, DocumentError (the text cannot be read), DraftConflict."""
    access.require(user, "design", line.project)
    draft, text = _read(document)
    with transaction.atomic():
        stored = _locked(line, based_on)
        stored.draft, stored.draft_text = draft, text
        stored.draft_number += 1
        stored.draft_by, stored.draft_at = user, _now()
        stored.save(update_fields=["draft", "draft_text", "draft_number", "draft_by", "draft_at"])
    return stored


def publish(line: Line, *, user: User, name: str = "", based_on: int) -> LineVersion:
    """Freeze the draft as the line's next version, from which new tasks start.

    Raises Forbidden (designer; `execute` for executing stations), Invalid (path `name`), DraftConflict,
    PublishRefused."""
    access.require(user, "publish", line.project)
    payload.text(name, "name")
    with transaction.atomic():
        stored = _locked(line, based_on)
        parsed = _publishable(stored, user)
        version = _freeze(stored, parsed, user, name)
        stored.live, stored.name = version, parsed.name[:200]
        stored.save(update_fields=["live", "name"])
    return version


def _publishable(line: Line, user: User) -> routing.Line:
    refused = check(line).errors
    if refused:
        raise PublishRefused(refused)
    parsed = routing.read_line(line.draft)
    running = executes(parsed)
    if running and not access.can(user, "execute", line.project):
        raise Forbidden(
            f"Stations that run code ({', '.join(running)}) need the permission “execute”, which you do not have."
        )
    return parsed


def _freeze(line: Line, parsed: routing.Line, user: User, name: str) -> LineVersion:
    document = parsed.to_document()
    last = line.versions.aggregate(last=Max("number"))["last"] or 0
    version = LineVersion.objects.create(
        line=line,
        number=last + 1,
        document=document,
        digest=routing.digest(document),
        law=routing.LAW,
        name=name.strip()[:200],
        published_by=user,
        published_at=_now(),
    )
    write_rows(version, parsed)
    return version


def write_rows(version: LineVersion, parsed: routing.Line) -> None:
    """The read-only rows of a version: for keys, the admin and analytics. Decisions never read them."""
    stations = VersionStation.objects.bulk_create(
        VersionStation(version=version, position=i, key=each.key, name=each.name[:200], kind=each.kind[:32])
        for i, each in enumerate(parsed.stations)
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


def _locked(line: Line, based_on: int) -> Line:
    rows = Line.objects.select_for_update(of=("self",)).select_related("draft_by", "project__owner")
    stored = rows.get(pk=line.pk)
    if stored.draft_number != based_on:
        raise DraftConflict(stored)
    return stored


def _read(document: str | Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The document, and the text as typed. A draft must be an object that the database can hold, no more."""
    text = document if isinstance(document, str) else ""
    draft = native.loads(document) if isinstance(document, str) else dict(document)
    payload.accept(draft)
    return draft, text


def _now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]
