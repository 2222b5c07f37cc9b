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
from pipelines.engine import ObservedPush
from pipelines.engine.core.values import Actor
from pipelines.errors import Conflict, Forbidden, Invalid, Refused
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
from pipelines.ports.code_host_notices import STARTED, enqueue_new_notices_and_every_status
from pipelines.queries import versions
from pipelines.routing.document import line as routing
from pipelines.work.hosts import table
from pipelines.work.hosts.answers import safe_link as link_of
from pipelines.work.hosts.hooks import IssueEvent, PushEvent
from pipelines.work.results.text import escaped_for_storage
from pipelines.work.transport.local.host_access import host_key_or_empty, secret_and_reason_for_absence
from pipelines.work.transport.local.pushes import find_members, find_people, joined_names

RETENTION, FRESH = timedelta(days=8), timedelta(days=1)
"""For how long a delivery is remembered, and how old the change may be that one tells of: so nothing comes twice."""
# Issues that are taken of one delivery
MOST = 20
TEXTS = ("text", "long_text")
ISSUE_INPUT = "issue"
# Characters of a task's description and title; issue numbers have to fit into a bigint
DESCRIPTION, TITLE, FARTHEST = 100_000, 300, 2**62


class UnsignedDelivery(Refused):
    """Nobody knows who sent this."""


@dataclass(frozen=True)
class HookAnswer:
    """Answer to a delivery of a hook: a sentence, and the task that it started, if it did."""

    detail: str
    task: Task | None = None


@sensitive_variables("secret")
def process_hook_delivery(
    repository: Repository, headers: Mapping[str, str], body: bytes, now: datetime
) -> HookAnswer:
    """A delivery of the host of a repository. `headers`: their names in small letters.

    Raises Unsigned; Conflict: this one was taken already; Invalid: it is no JSON"""
    secret, _missing = secret_and_reason_for_absence(repository, repository.hook_secret)
    try:
        host_page = table.find_host_key_and_page(repository.host, repository.address, repository.page)
    except ValueError:
        host_page = None
    # Before it is read: what is signed are the bytes as they came.
    if not secret or host_page is None or not table.CLASSES[host_page[0]].is_signed(headers, body, secret):
        raise UnsignedDelivery
    hook_payload = _parsed_body(body)
    issues, push = (
        table.CLASSES[host_page[0]].issue_events(headers, hook_payload)[:MOST],
        table.CLASSES[host_page[0]].push_event(headers, hook_payload),
    )
    digest = hashlib.sha256(body).hexdigest()
    with transaction.atomic():
        # One delivery of a repository after the other: two that tell of one issue start one task.
        Repository.objects.select_for_update(no_key=True).get(pk=repository.pk)
        HookReceipt.objects.filter(repository=repository, at__lt=now - RETENTION).delete()
        if HookReceipt.objects.filter(repository=repository, digest=digest).exists():
            raise Conflict("This delivery was taken already.")
        if push is not None and push.path.lower() == host_page[1].path.lower():
            answer = HookAnswer(*process_push_into_result_and_task(repository, push))
        else:
            answer = _process_issues(
                repository,
                [issue for issue in issues if issue.path.lower() == host_page[1].path.lower()],
                now,
            )
        HookReceipt.objects.create(
            repository=repository, digest=digest, said=answer.detail[:500], task=answer.task, at=now
        )
    return answer


def _parsed_body(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Invalid.at(
            "", "The body is no JSON. Set the content type of the webhook to application/json."
        ) from error


def _process_issues(repository: Repository, issues: list[IssueEvent], now: datetime) -> HookAnswer:
    last = HookAnswer("Nothing here waits for this.")
    for issue in issues:
        if not 0 < issue.number < FARTHEST:
            continue
        # A delivery that is sent once more when its receipt has expired starts nothing.
        if issue.at is None or now - issue.at > FRESH:
            last = HookAnswer(f"Issue #{issue.number} changed long ago.")
            continue
        triggers = IssueTrigger.objects.filter(repository=repository, on=issue.on, value__iexact=issue.value)
        for trigger in triggers.select_related("line__project", "line__live", "made_by").order_by("pk"):
            last = _start_task_or_say_why_not(repository, trigger, issue, now)
            if last.task is not None:
                return last
    return last


def _start_task_or_say_why_not(
    repository: Repository, trigger: IssueTrigger, issue: IssueEvent, now: datetime
) -> HookAnswer:
    issue_label, line = f"Issue #{issue.number}", trigger.line
    before = HostLink.objects.filter(
        repository=repository, kind=HostLink.LinkKind.ISSUE, number=issue.number, task__line=line
    )
    # The host says what the issue has now, and not since when: a task may be of that already.
    if not issue.exact and before.exists():
        return HookAnswer(f"{issue_label} had a task already.")
    if before.exclude(task__status__in=ENDED).exists():
        return HookAnswer(f"{issue_label} has a task that has not ended.")
    if (
        line.live is None
        or not trigger.made_by.is_active
        or not access.is_permitted(trigger.made_by, "submit", line.project)
    ):
        return HookAnswer(
            f"{issue_label}: {line.name} has no version, or who set this up may not start tasks any more."
        )
    document = versions.parsed_version(line.live)
    title = (
        escaped_for_storage(" ".join(issue.title.split()))[:TITLE] or f"{issue_label} of {repository.name}"
    )
    who = escaped_for_storage(f"{issue.by or 'Somebody'} on {table.NAMES[host_key_or_empty(repository)]}")[
        :200
    ]
    try:
        with transaction.atomic():
            # In a savepoint: a refused start leaves nothing, and the delivery is kept as taken.
            task = engine.submit(
                line.live,
                actor=Actor("engine", name=who),
                title=title,
                description=escaped_for_storage(issue.body)[:DESCRIPTION],
                inputs=start_form_values_from_issue(
                    document,
                    repository,
                    title,
                    escaped_for_storage(issue.body),
                    escaped_for_storage(issue.url),
                ),
                requesters=issue_requesters(line.project_id, issue),
            )
    except Refused as fault:
        return HookAnswer(f"{issue_label} started nothing: {fault.detail}")
    link = HostLink.objects.create(
        task=task,
        repository=repository,
        kind=HostLink.LinkKind.ISSUE,
        number=issue.number,
        url=link_of(escaped_for_storage(issue.url), ""),
    )
    enqueue_new_notices_and_every_status([(link, STARTED)], now)
    return HookAnswer(f"{issue_label} started {task.name}.", task)


def issue_requesters(project_id: int, issue: IssueEvent) -> list[str]:
    """List whoever may have written the issue or passed it on, as `Task.requesters`: whoever has the user name or a
    verified address that the host names, whether a member yet or not. Nobody is known where none of them is a member,
    or where the host does not say who wrote it."""
    people = find_people(filter(None, (issue.by, issue.author)), issue.addresses)
    known = Membership.objects.filter(project=project_id, user__in=people).exists() and issue.author
    return [*(f"person:{pk}" for pk in sorted(people)), *([] if known else [UNKNOWN])]


def start_form_values_from_issue(
    line: routing.ParsedLine, repository: Repository, title: str, text: str, issue_address: str
) -> dict[str, Any]:
    """Return the inputs that the start form of a line gets from an issue: the repository in the first input
    for one, the address as `issue`, and the text of the issue in the first other required text."""
    first = next((candidate.key for candidate in line.inputs if candidate.type == "repository"), None)
    input_values: dict[str, Any] = {}
    for field in line.inputs:
        if field.key == first:
            input_values[field.key] = repository.title
        elif field.key == ISSUE_INPUT and field.type in TEXTS:
            input_values[field.key] = issue_address
    text_field = next(
        (f for f in line.inputs if f.type in TEXTS and f.required and f.key not in input_values), None
    )
    if text_field is not None:
        full_text = f"{title}\n\n{text}".strip() if text_field.type == "long_text" else title
        input_values[text_field.key] = full_text[: text_field.maximum] if text_field.maximum else full_text
    return input_values


def unfilled_inputs(line: routing.ParsedLine) -> list[str]:
    """Labels of the inputs that no issue fills."""
    # Any text will do: what counts is which inputs get one.
    filled = start_form_values_from_issue(line, Repository(address="-"), "-", "-", "-")
    return [
        field.label or field.key
        for field in line.inputs
        if field.required and not field.has_default and field.key not in filled
    ]


def add_issue_trigger(
    repository: Repository, line_key: str, on: str, value: str, *, by: User, now: datetime
) -> IssueTrigger:
    """Raises Invalid with the field, Forbidden, Conflict."""
    project = repository.project
    line = Line.objects.filter(project=project, key=line_key, archived_at=None).select_related("live").first()
    if line is None or line.live is None:
        raise Invalid.at("line", "Choose a line that is published.")
    if not access.is_permitted(by, "submit", project):
        raise Forbidden
    document = versions.parsed_version(line.live)
    if missing := unfilled_inputs(document):
        message = "Its start form also asks for %(inputs)s, which no issue says."
        raise Invalid.at("line", message % {"inputs": ", ".join(missing)})
    workspace = document.workspace
    if workspace is not None and not workspace.input_key and workspace.repository != repository.name:
        raise Invalid.at("line", "It works in another repository.")
    if on not in IssueTrigger.On.values:
        raise Invalid.at("on", "Choose one of the options.")
    clean_value = " ".join(value.split())
    if not clean_value or len(clean_value) > 100 or not clean_value.isprintable():
        raise Invalid.at("value", "Enter the label, or the name of the account, as the host shows it.")
    try:
        with transaction.atomic():
            made = IssueTrigger.objects.create(
                repository=repository, line=line, on=on, value=clean_value, made_by=by, created_at=now
            )
            _record_in_audit("trigger.added", made, by, now)
    # Of two people who add the same at once the constraint refuses the second
    except IntegrityError as conflict:
        raise Conflict("That starts a task of this line already.") from conflict
    return made


def remove_issue_trigger(trigger: IssueTrigger, *, by: User, now: datetime) -> None:
    with transaction.atomic():
        _record_in_audit("trigger.removed", trigger, by, now)
        trigger.delete()


def _record_in_audit(kind: str, trigger: IssueTrigger, by: User, now: datetime) -> None:
    repository = trigger.repository
    audit.record_administrative_act(
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


# A push to the branch of a task, as a host tells of it: a visit of the person who pushed (law §15).


ANSWERS = {
    "taken": "{task} goes on with what was pushed to {branch}.",
    "known": "{task} knows this commit already.",
    "ended": "{task} has ended.",
    "side_by_side": "{task} works in branches side by side: what was pushed is looked at when it is delivered.",
    "held": "{task} is on hold: what was pushed is looked at when it is delivered.",
    "delivering": "{task} is being delivered.",
    "nowhere": "{task} has no station that works on {branch}.",
}


def process_push_into_result_and_task(repository: Repository, push: PushEvent) -> tuple[str, Task | None]:
    """Process a push; return what became of it, and the task that it concerns."""
    tasks = Task.objects.filter(
        visit_commits__repository=repository, visit_commits__branch=push.branch[:200]
    ).exclude(status__in=ENDED)
    task = tasks.distinct().order_by("-pk").first()
    if task is None:
        return "No task works on this branch.", None
    # What commits name anybody can write: it counts only where the host's own word leads to nobody here.
    by_host = find_members(task, push.logins, push.addresses)
    people = by_host or find_members(task, (), push.authors)
    who = escaped_for_storage(joined_names(push.logins or push.addresses or push.authors))
    answer = engine.record_push_visit_and_return_result(
        task.pk, ObservedPush(push.commit, who, people, by_host=bool(by_host))
    )
    return ANSWERS[answer].format(task=task.name, branch=push.branch), task
