"""A new task: numbered in its project, pinned to a version, with its first job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from pipelines.engine.commands import dependencies, line_limits
from pipelines.engine.commands import inputs as forms
from pipelines.engine.commands.project_quotas import check_no_quota_used_up
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.due_times import TASK_DUE
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import Actor, job_fields_for_event, token_fields_for_event
from pipelines.engine.moves.job_creation import create_job_of_current_station
from pipelines.engine.statements import NEXT_NUMBER
from pipelines.errors import Conflict, InputError, Invalid
from pipelines.models import ENDED, Line, LineVersion, Priority, Task, Token
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports import observers
from pipelines.ports.vault.value_lookup import ValueScope
from pipelines.queries import environments, versions
from pipelines.queries.four_eyes import were_versions_published_by_two
from pipelines.queries.protections import protection_proofs, repository_protection
from pipelines.routing.analysis.lint.guarantee_findings import REFUTED
from pipelines.routing.document.line import Problem
from pipelines.routing.guarantees.protection import line_delivers

# What a retry of another task starts with; empty for any other task.
INHERITED = ("context", "variables", "unreadable")
DESCRIPTION, LABEL, LABELS = 100_000, 100, 50
# The database accepts times that Python cannot read: in another zone the end of 9999 is the year 10000.
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


def submit(
    version: LineVersion,
    *,
    actor: Actor,
    title: str | None = None,
    description: str = "",
    priority: str = Priority.MEDIUM,
    inputs: Mapping[str, Any] | None = None,
    labels: Sequence[str] = (),
    due_at: datetime | str | None = None,
    follows: Task | None = None,
    depends_on: Sequence[str] = (),
    requesters: Sequence[str] = (),
) -> Task:
    """Start a task of this version's line. Without a title it gets one from its inputs, which are checked and filled
    with defaults. `depends_on`: names of tasks of the project, such as WI-app-7, that must be completed before it
    does any work. `due_at`: a time, or text as for `inputs.parse_local_time_or_none`. The requester is the actor if
    that is a person; `requesters`: who else may have asked for it, see `Task.requesters`. `follows`: an ended task
    of the project that this one follows up (AEEF E13). Raises `InputError` with every problem."""
    line = versions.parsed_version(version)
    due, unread = _due_time_and_problems(due_at)
    # Collected before any is raised, so that a form shows them all
    problems = (
        unread
        + _task_field_problems(title, description, priority, labels, due)
        + _followed_task_problems(version, follows)
    )
    try:
        of = version.line.project
        reach = ValueScope(of.owner_id, of.pk, version.line_id)
        connected = forms.repositories_inputs_may_name(line.inputs, reach)
        filled = forms.checked_inputs_with_defaults(line.inputs, inputs or {}, reach, connected=connected)
        problems += forms.unconnected_repository_problems(line, filled, connected)
        problems += repository_protection_problems(version, filled)
    except InputError as fault:
        problems += fault.problems
    try:
        others = dependencies.tasks_named_in_project(version.line.project, depends_on) if depends_on else []
    except Invalid as fault:
        problems += fault.problems
    if problems:
        raise InputError(problems)
    if title is None:
        title = forms.title_from_inputs(version.line.name, line.inputs, filled)
    task = Task(
        project_id=version.line.project_id,
        line=version.line,
        pinned=version,
        title=title.strip(),
        description=description,
        requester_id=int(actor.id) if actor.kind == "person" else None,
        requested_by=(actor.name or str(actor))[:200],
        requesters=list(requesters),
        priority=priority,
        labels=list(labels),
        due_at=due,
        follows=follows,
        inputs=filled,
        visits={line.start: 1},
    )
    return run_in_transaction(partial(_submit, task, line.start, actor, others))


def repository_protection_problems(version: LineVersion, inputs: Mapping[str, Any]) -> list[Problem]:
    """Problems of a line that does not keep what its repository asks for (law §14)."""
    line, project = versions.parsed_version(version), version.line.project
    if line.workspace is None or not line_delivers(line):
        return []
    repository = environments.find_repository(project.pk, line, inputs)
    protection = repository_protection(repository) if repository else None
    if repository is None or not protection:
        return []
    path = f"inputs.{line.workspace.input_key}" if line.workspace.input_key else "workspace.git.repository"
    message, hint = (
        "%(repository)s is protected: %(promise)s",
        "Choose a line that asks for these approvals.",
    )
    problems = []
    if protection.four_eyes and not were_versions_published_by_two(line, repository, version.pk):
        alone = "%(repository)s is protected: version %(number)s was not published by two people"
        words = {"repository": repository.name, "number": version.number}
        problems.append(Problem(path, alone % words, "Ask another designer to publish the line."))
    return problems + [
        Problem(path, message % {"repository": repository.name, "promise": answer.sentence}, hint)
        for answer in protection_proofs(version.pk, repository.name, protection)
        if answer.answer == REFUTED
    ]


def _due_time_and_problems(due_at: datetime | str | None) -> tuple[datetime | None, list[Problem]]:
    """The time, and what is wrong with how it is written."""
    try:
        return (forms.parse_local_time_or_none(due_at), []) if isinstance(due_at, str) else (due_at, [])
    except InputError as fault:
        return None, list(fault.problems)


def _task_field_problems(
    title: str | None, description: str, priority: str, labels: Sequence[str], due_at: datetime | None
) -> list[Problem]:
    """Problems of the fields that every task has."""
    # Without a title one is made from the inputs, so nothing is wrong with its absence.
    checked_title = "-" if title is None else title
    checks = (
        ("title", bool(checked_title.strip()), "is required", "Describe the task in one line."),
        (
            "title",
            len(checked_title) <= forms.TITLE,
            f"is longer than {forms.TITLE} characters",
            "Put the details into the description.",
        ),
        (
            "description",
            len(description) <= DESCRIPTION,
            f"is longer than {DESCRIPTION} characters",
            "",
        ),
        (
            "priority",
            priority in Priority.values,
            f"has to be one of: {', '.join(Priority.values)}",
            "",
        ),
        ("labels", len(labels) <= LABELS, f"are more than {LABELS}", ""),
        (
            "labels",
            all(0 < len(label) <= LABEL for label in labels),
            f"have 1 to {LABEL} characters each",
            "",
        ),
        (
            "title",
            _is_storable(checked_title),
            "contains a character that cannot be stored",
            "Remove NUL characters and incomplete surrogate pairs.",
        ),
        ("description", _is_storable(description), "contains a character that cannot be stored", ""),
        ("labels", all(map(_is_storable, labels)), "contain a character that cannot be stored", ""),
        (
            "due_at",
            due_at is None or EARLIEST <= due_at < LATEST,
            "is not between the years 1970 and 9000",
            "",
        ),
    )
    return [Problem(path, message, hint) for path, fine, message, hint in checks if not fine]


def _followed_task_problems(version: LineVersion, followed: Task | None) -> list[Problem]:
    """Only an ended task can be followed up. Ends are final, so this stays true."""
    if followed is None:
        return []
    if followed.project_id != version.line.project_id:
        return [Problem("follows", "is a task of another project")]
    if followed.status not in ENDED:
        message = f"{followed.name} has not ended yet"
        return [
            Problem(
                "follows",
                message,
                "Only a task that has ended can be followed up. Continue with the task itself.",
            )
        ]
    return []


def _is_storable(text: str) -> bool:
    # PostgreSQL takes no NUL in a text, and UTF-8 has no lone surrogates.
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def _submit(blank: Task, start: str, actor: Actor, others: Sequence[Task]) -> Task:
    task = save_task_with_next_number(blank)
    batch = create_first_token_and_job(
        task, start, actor, *others, trigger="submit", follows=blank.followed_name
    )
    if others:
        dependencies.record_dependencies(
            batch, batch.tasks[task.pk], [batch.tasks[other.pk] for other in others], actor
        )
    batch.flush()
    return batch.tasks[task.pk]


def create_first_token_and_job(
    task: Task, start: str, actor: Actor, *others: Task, trigger: str, **more: Any
) -> Batch:
    """Put a numbered task at its first station: token, job, and first event with what the task starts with. Locks
    `others` with it."""
    # Written first, so that the batch loads and locks a new task as it does any other
    token = Token.objects.create(
        task=task, station=start, version=0, entered_at=task.created_at, changed_at=task.created_at
    )
    turn = line_limits.lock_tasks_ahead(task)
    # Together, so that they are locked in the order of their ids (house §2)
    batch = Batch.of_tasks(task.pk, *(other.pk for other in others), *turn.replaced)
    task, token = batch.tasks[task.pk], batch.tokens[token.pk]
    job = create_job_of_current_station(batch, task, token)
    if task.due_at and task.due_at > batch.now:
        batch.schedule_due_time(TASK_DUE, task, task.due_at)
    batch.mark_token_changed(token)
    batch.derive_and_set_task_status(task)
    inherited = {name: value for name in INHERITED if (value := getattr(task, name))}
    batch.append_event(
        task,
        "task.submitted",
        actor,
        token=token,
        target=start,
        trigger=trigger,
        tokens=[token_fields_for_event(token)],
        job=job_fields_for_event(job),
        pinned=task.pinned_id,
        count={"visits": {start: 1}},
        **inherited,
        **more,
    )
    line_limits.cancel_replaced_or_wait(batch, task, turn, actor)
    batch.emit(observers.TaskStarted(task.pk, batch.now))
    return batch


def save_task_with_next_number(blank: Task) -> Task:
    """The number counter is locked before any task (house §2). Raises QuotaReached, and Conflict where the line or its
    project is archived: looked at after the row of the task has locked the key of its line, which whoever archives
    waits for."""
    [(number, now)] = fetch(NEXT_NUMBER, [blank.project_id])
    check_no_quota_used_up(blank.line.project)
    values = {field.attname: getattr(blank, field.attname) for field in Task._meta.concrete_fields}
    key = line_limits.limit_key_of_inputs_or_empty(blank.line, blank.inputs)
    values |= {"id": None, "number": number, "limit_key": key, "created_at": now, "changed_at": now}
    task = Task.objects.create(**values)
    # Read with whoever starts it: its limit and its names need no query
    task.line, task.project = blank.line, blank.line.project
    open_lines = Line.objects.filter(pk=task.line_id, archived_at=None, project__archived_at=None)
    if not open_lines.exists():
        raise Conflict("This line is archived and takes no tasks. Restore it first.")
    return task
