"""Tasks that issues of a host start: which, and what becomes of a delivery that says so (law §15)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.views.decorators.debug import sensitive_variables

from pipelines import access, engine
from pipelines.engine.core.values import Actor
from pipelines.errors import Conflict, Forbidden, Invalid, Refused
from pipelines.lines import branch_pushes
from pipelines.models import (
    ENDED,
    UNKNOWN,
    HookReceipt,
    HostLink,
    IssueTrigger,
    Line,
    Membership,
    Repository,
    Task,
    User,
)
from pipelines.ports import audit
from pipelines.ports.host_notices import STARTED, note
from pipelines.queries import versions
from pipelines.routing.document import line as routing
from pipelines.work.hosts import table
from pipelines.work.hosts.answers import link as link_of
from pipelines.work.hosts.hooks import IssueHeard
from pipelines.work.results.text import escaped
from pipelines.work.transport.local.host_access import host_key, secret_of
from pipelines.work.transport.local.pushes import people_named

KEPT, FRESH = timedelta(days=8), timedelta(days=1)
"""For how long a delivery is remembered, and how old the change may be that one tells of: so nothing comes twice."""
MOST = 20
TEXTS = ("text", "long_text")
ISSUE_INPUT = "issue"
DESCRIPTION, TITLE, FARTHEST = 100_000, 300, 2**62


class Unsigned(Refused):
    """Nobody knows who sent this."""


@dataclass(frozen=True)
class HookAnswer:
    """What became of a delivery: the task that it started, if it did, and a sentence."""

    said: str
    task: Task | None = None


@sensitive_variables("secret")
def take(repository: Repository, headers: Mapping[str, str], body: bytes, now: datetime) -> HookAnswer:
    """A delivery of the host of a repository. `headers`: their names in small letters.

    Raises Unsigned; Conflict: this one was taken already; Invalid: it is no JSON"""
    secret, _missing = secret_of(repository, repository.hook_secret)
    try:
        found = table.found(repository.host, repository.address, repository.page)
    except ValueError:
        found = None
    if not secret or found is None or not table.CLASSES[found[0]].signed(headers, body, secret):
        raise Unsigned
    said = _read(body)
    heard, push = (
        table.CLASSES[found[0]].heard(headers, said)[:MOST],
        table.CLASSES[found[0]].pushed(headers, said),
    )
    digest = hashlib.sha256(body).hexdigest()
    with transaction.atomic():
        # One delivery of a repository after the other: two that tell of one issue start one task.
        Repository.objects.select_for_update(no_key=True).get(pk=repository.pk)
        HookReceipt.objects.filter(repository=repository, at__lt=now - KEPT).delete()
        if HookReceipt.objects.filter(repository=repository, digest=digest).exists():
            raise Conflict("This delivery was taken already.")
        if push is not None and push.path.lower() == found[1].path.lower():
            taken = HookAnswer(*branch_pushes.taken(repository, push))
        else:
            taken = _taken(
                repository, [each for each in heard if each.path.lower() == found[1].path.lower()], now
            )
        HookReceipt.objects.create(
            repository=repository, digest=digest, said=taken.said[:500], task=taken.task, at=now
        )
    return taken


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Invalid.at(
            "", "The body is no JSON. Set the content type of the webhook to application/json."
        ) from error


def _taken(repository: Repository, heard: list[IssueHeard], now: datetime) -> HookAnswer:
    last = HookAnswer("Nothing here waits for this.")
    for each in heard:
        if not 0 < each.number < FARTHEST:
            continue
        if each.at is None or now - each.at > FRESH:
            last = HookAnswer(f"Issue #{each.number} changed long ago.")
            continue
        triggers = IssueTrigger.objects.filter(repository=repository, on=each.on, value__iexact=each.value)
        for trigger in triggers.select_related("line__project", "line__live", "made_by").order_by("pk"):
            last = _started(repository, trigger, each, now)
            if last.task is not None:
                return last
    return last


def _started(repository: Repository, trigger: IssueTrigger, heard: IssueHeard, now: datetime) -> HookAnswer:
    named, line = f"Issue #{heard.number}", trigger.line
    before = HostLink.objects.filter(
        repository=repository, kind=HostLink.LinkKind.ISSUE, number=heard.number, task__line=line
    )
    if not heard.exact and before.exists():
        return HookAnswer(f"{named} had a task already.")
    if before.exclude(task__status__in=ENDED).exists():
        return HookAnswer(f"{named} has a task that has not ended.")
    if (
        line.live is None
        or not trigger.made_by.is_active
        or not access.can(trigger.made_by, "submit", line.project)
    ):
        return HookAnswer(
            f"{named}: {line.name} has no version, or who set this up may not start tasks any more."
        )
    document = versions.parsed(line.live)
    title = escaped(" ".join(heard.title.split()))[:TITLE] or f"{named} of {repository.name}"
    who = escaped(f"{heard.by or 'Somebody'} on {table.NAMES[host_key(repository)]}")[:200]
    try:
        with transaction.atomic():
            task = engine.submit(
                line.live,
                actor=Actor("engine", name=who),
                title=title,
                description=escaped(heard.body)[:DESCRIPTION],
                inputs=inputs_of(document, repository, title, escaped(heard.body), escaped(heard.url)),
                requesters=requesters_of(line.project_id, heard),
            )
    except Refused as fault:
        return HookAnswer(f"{named} started nothing: {fault.detail}")
    link = HostLink.objects.create(
        task=task,
        repository=repository,
        kind=HostLink.LinkKind.ISSUE,
        number=heard.number,
        url=link_of(escaped(heard.url), ""),
    )
    note([(link, STARTED)], now)
    return HookAnswer(f"{named} started {task.name}.", task)


def requesters_of(project_id: int, heard: IssueHeard) -> list[str]:
    """List whoever may have written the issue or passed it on, as `Task.requesters`: whoever has the user name or a
    verified address that the host names, whether a member yet or not. Nobody is known where none of them is a member,
    or where the host does not say who wrote it."""
    people = people_named(filter(None, (heard.by, heard.author)), heard.addresses)
    known = Membership.objects.filter(project=project_id, user__in=people).exists() and heard.author
    return [*(f"person:{pk}" for pk in sorted(people)), *([] if known else [UNKNOWN])]


def inputs_of(
    line: routing.ParsedLine, repository: Repository, title: str, body: str, url: str
) -> dict[str, Any]:
    """What the start form of a line gets of an issue: the repository in the first input for one, the address as
    `issue`, and as the first other required text what it says."""
    first = next((each.key for each in line.inputs if each.type == "repository"), None)
    found: dict[str, Any] = {}
    for field in line.inputs:
        if field.key == first:
            found[field.key] = repository.title
        elif field.key == ISSUE_INPUT and field.type in TEXTS:
            found[field.key] = url
    asked = next((f for f in line.inputs if f.type in TEXTS and f.required and f.key not in found), None)
    if asked is not None:
        whole = f"{title}\n\n{body}".strip() if asked.type == "long_text" else title
        found[asked.key] = whole[: asked.maximum] if asked.maximum else whole
    return found


def lacking(line: routing.ParsedLine) -> list[str]:
    """Labels of the inputs that no issue fills."""
    filled = inputs_of(line, Repository(address="-"), "-", "-", "-")
    return [
        each.label or each.key
        for each in line.inputs
        if each.required and not each.has_default and each.key not in filled
    ]


def add(
    repository: Repository, line_key: str, on: str, value: str, *, by: User, now: datetime
) -> IssueTrigger:
    """Raises Invalid with the field, Forbidden, Conflict."""
    project = repository.project
    line = Line.objects.filter(project=project, key=line_key, archived_at=None).select_related("live").first()
    if line is None or line.live is None:
        raise Invalid.at("line", "Choose a line that is published.")
    if not access.can(by, "submit", project):
        raise Forbidden
    document = versions.parsed(line.live)
    if missing := lacking(document):
        said = "Its start form also asks for %(inputs)s, which no issue says."
        raise Invalid.at("line", said % {"inputs": ", ".join(missing)})
    workspace = document.workspace
    if workspace is not None and not workspace.input and workspace.repository != repository.name:
        raise Invalid.at("line", "It works in another repository.")
    if on not in IssueTrigger.On.values:
        raise Invalid.at("on", "Choose one of the options.")
    named = " ".join(value.split())
    if not named or len(named) > 100 or not named.isprintable():
        raise Invalid.at("value", "Enter the label, or the name of the account, as the host shows it.")
    try:
        with transaction.atomic():
            made = IssueTrigger.objects.create(
                repository=repository, line=line, on=on, value=named, made_by=by, created_at=now
            )
            _record("trigger.added", made, by, now)
    except IntegrityError as taken:
        raise Conflict("That starts a task of this line already.") from taken
    return made


def remove(trigger: IssueTrigger, *, by: User, now: datetime) -> None:
    with transaction.atomic():
        _record("trigger.removed", trigger, by, now)
        trigger.delete()


def _record(kind: str, trigger: IssueTrigger, by: User, now: datetime) -> None:
    repository = trigger.repository
    audit.record(
        kind,
        by=by,
        at=now,
        project=repository.project,
        about=f"repository:{repository.pk}",
        name=repository.name,
        line=trigger.line.key,
        on=trigger.on,
        value=trigger.value,
    )
