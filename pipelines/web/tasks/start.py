"""Starting a task: a form made from the line's inputs (law §1, Input)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from pipelines import access, engine
from pipelines.engine.commands.inputs import (
    accepted_secret_names,
    connected_repositories,
    title_from_inputs,
    usable_default_or_none,
)
from pipelines.engine.commands.typed_values import parsed_value_or_text
from pipelines.errors import Conflict, InputError, Refused
from pipelines.models import Line, LineVersion, Priority, Project, Repository, Task
from pipelines.ports.vault.value_lookup import ValueScope
from pipelines.queries import versions
from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.line import Input, Problem
from pipelines.web.lines.drawing import drawing_of_live_version_or_draft
from pipelines.web.shell.page import (
    SignedInRequest,
    breadcrumbs,
    page_scope,
    project_breadcrumb,
    project_required,
    render_in_shell,
    sign_in_required,
)
from pipelines.web.shell.repeated_requests import new_form_key, submit_once
from pipelines.web.tasks import uploads

# fields that every task has
OWN = {
    "title": "Title",
    "description": "Description",
    "priority": "Priority",
    "labels": "Labels",
    "due_at": "Due",
    "depends_on": "Depends on",
}
LONGEST = 10_000
"""Characters that an address may bring for a field."""


@dataclass(frozen=True, slots=True)
class StartField:
    """Input with its name in the form, the typed value, and its errors. `id`: where a page has several forms
    with this field. `repositories`: those to choose from, where the tasks of the line work in the one that
    this field names; else None."""

    input: Input
    name: str
    value: Any
    errors: Sequence[str]
    id: str = ""
    secrets: Sequence[str] = ()
    repositories: Sequence[Repository] | None = None

    @property
    def options(self) -> list[tuple[str, str]]:
        """The stored secrets to choose from, by name; or the connected repositories, by address."""
        if self.repositories is None:
            return [("", "Choose a secret"), *((name, name) for name in self.secrets)]
        return [
            ("", "Choose a repository"),
            *(
                (row.title, row.name if row.is_folder else f"{row.name} · {row.address}")
                for row in self.repositories
            ),
        ]

    @property
    def label(self) -> str:
        return self.input.label or self.input.key

    @property
    def default(self) -> Any:
        """Initial value of the form; None for an empty field. The only repository there is needs no choosing."""
        usual = usable_default_or_none(self.input, self.secrets)
        if self.repositories is None:
            return usual
        offered = [row.title for row in self.repositories]
        usual = next((row.title for row in self.repositories if usual in (row.name, row.address)), None)
        # The only one there is needs no choosing; of several none is guessed
        return offered[0] if usual is None and self.input.required and len(offered) == 1 else usual

    @property
    def html_control(self) -> str:
        """HTML control that fits the type."""
        if self.repositories is not None:
            return "connected"
        known = ("long_text", "number", "date", "choice", "yes_no", "file", "secret")
        return self.input.type if self.input.type in known else "text"

    @property
    def input_type(self) -> str:
        """Kind of the typed field, where the value is typed."""
        return "textarea" if self.html_control == "long_text" else "text"

    @property
    def phone_keyboard(self) -> str:
        """Keyboard of a phone for the field."""
        return "decimal" if self.html_control == "number" else "text"

    @property
    def is_typed_as_code(self) -> bool:
        return self.input.type in ("repository", "revision")

    @property
    def help_text(self) -> str:
        """Help of the line, and what the field accepts."""
        return " ".join(filter(None, (self.input.help, *self._bound_sentences())))

    def _bound_sentences(self) -> Iterator[str]:
        field = self.input
        if field.type == "repository" and self.repositories is None:
            yield "The name of a connected repository, or an https or ssh address."
        if field.type == "date":
            yield "As 2026-11-30."
        if field.type == "file":
            yield f"{', '.join(field.accept) or 'Any file'}, at most {self.max_size_mib} MiB."
        elif None not in (field.minimum, field.maximum):
            yield self._with_unit("%(least)s to %(most)s") % {"least": field.minimum, "most": field.maximum}
        elif field.minimum is not None:
            yield self._with_unit("At least %s") % field.minimum
        elif field.maximum is not None:
            yield self._with_unit("At most %s") % field.maximum

    def _with_unit(self, words: str) -> str:
        return f"{words}." if self.input.type == "number" else f"{words} characters."

    @property
    def max_size_mib(self) -> int:
        """Maximum size of a file, in MiB."""
        return min(self.input.maximum or uploads.max_upload_mib(), uploads.max_upload_mib())

    @property
    def file_name(self) -> str:
        """Name of the file uploaded with the previous form, when it is displayed again."""
        return uploads.uploaded_file_name_or_empty(self.value)


def start_fields(
    inputs: Sequence[Input],
    typed: Mapping[str, str] | None,
    problems: Sequence[Problem] = (),
    at: str = "inputs",
    place: str = "",
    reach: ValueScope | None = None,
    repositories: Mapping[str, Sequence[Repository]] | None = None,
) -> list[StartField]:
    """`typed` is None for a fresh form, which shows the defaults; `place` makes the ids of several forms differ;
    `reach`: where the secrets are that can be chosen; `repositories`: {key of a field: what it offers}."""
    names = accepted_secret_names(inputs, reach) if reach else ()
    fields = []
    for line_input in inputs:
        name = f"{at}.{line_input.key}"
        errors = [
            _problem_sentence(problem, line_input.label or line_input.key)
            for problem in problems
            if problem.path == name
        ]
        offered = (repositories or {}).get(line_input.key)
        field = StartField(line_input, name, "", errors, f"{name}-{place}" if place else "", names, offered)
        begins = (
            field.default if offered is not None else line_input.default if line_input.has_default else ""
        )
        # A field that was emptied stays empty: its default would come back otherwise
        value = typed.get(name, "") if typed is not None else begins
        fields.append(replace(field, value="" if value is None else value))
    return fields


def default_input_values(fields: Iterable[StartField]) -> dict[str, Any]:
    """Return the input values of a form that is submitted unchanged."""
    return {field.input.key: field.default for field in fields if field.default is not None}


def repository_choices_by_input(line: Line) -> dict[str, Sequence[Repository]]:
    """{the input that names where the tasks of the line work: the repositories that are connected}."""
    parsed = versions.parsed_version(line.live) if line.live else None
    if parsed is None or parsed.workspace is None or not parsed.workspace.input_key:
        return {}
    return {parsed.workspace.input_key: connected_repositories(parsed, line.project)}


def _problem_sentence(problem: Problem, label: str) -> str:
    """“is required” of a field as “Repository is required.”; what is a sentence already stays one."""
    message = people_text(problem.message)
    return f"{label} {message}." if message[:1].islower() else message


def input_values_of_form(
    inputs: Sequence[Input], typed: Mapping[str, str], at: str = "inputs"
) -> dict[str, Any]:
    """Return the values of the form, as the engine checks them; a number that is none stays text, refused
    there."""
    return {
        line_input.key: parsed_input_value(line_input, typed.get(f"{at}.{line_input.key}", ""))
        for line_input in inputs
    }


def parsed_input_value(field: Input, text: str) -> Any:
    if field.type == "file":
        return uploads.parsed_file_value_or_text(text)
    if field.type == "yes_no":
        # A box that is not ticked sends nothing.
        return text == "on"
    return parsed_value_or_text(field, text)


@sign_in_required
@require_safe
def choose_line_everywhere_page(request: SignedInRequest) -> HttpResponse:
    """Choose a line, of all projects in which this person may start a task."""
    scope = page_scope(request, "task-new-everywhere")
    able = access.projects_where_role_allows(request.user, "submit").filter(
        pk__in=[project.pk for project in scope.projects]
    )
    return _line_choice_page(
        request, Line.objects.filter(project__in=able), scope=scope, trail=breadcrumbs("New task")
    )


@project_required("submit")
@require_safe
def choose_line_page(request: SignedInRequest, project: Project) -> HttpResponse:
    trail = project_breadcrumb(project, "New task")
    return _line_choice_page(request, Line.objects.filter(project=project), project=project, trail=trail)


def _line_choice_page(request: SignedInRequest, lines: QuerySet[Line], **shell: Any) -> HttpResponse:
    """Choose a line. With only one there is nothing to choose. The parameters of the address go along to the
    form."""
    lines = lines.filter(live__isnull=False, archived_at=None).select_related("project__owner")
    choices = list(lines.order_by("project__owner__key", "project__key", "name"))
    if len(choices) == 1:
        (line,) = choices
        query = f"?{request.GET.urlencode()}" if request.GET else ""
        return redirect(
            reverse("task-new", args=[line.project.owner.key, line.project.key, line.key]) + query
        )
    return render_in_shell(request, "tasks/choose.html", section="tasks", lines=choices, **shell)


@project_required("submit")
@require_http_methods(["GET", "HEAD", "POST"])
def start_task_page(request: SignedInRequest, project: Project, line: str) -> HttpResponse:
    selected_line = access.line_of_visible_project_by_keys(request.user, project.owner.key, project.key, line)
    follows, blocks = (
        _related_task_or_none(request, project, "follows"),
        _related_task_or_none(request, project, "blocks"),
    )
    about = RelatedTasks(follows, blocks)
    if selected_line.live is None or request.method != "POST":
        return _render_start_page(
            request, selected_line, _prefilled_values_or_none(request, selected_line, about), [], about
        )
    post, problems = uploads.store_uploads_and_return_fields_and_problems(
        request, project, versions.parsed_version(selected_line.live).inputs, "inputs"
    )
    if problems:
        return _render_start_page(request, selected_line, post, problems, about)
    at_once = "at_once" in request.POST
    actor = str(engine.Actor.person(request.user))
    try:
        name = submit_once(
            actor,
            request.path,
            request.POST,
            partial(_start_and_link_task, request, selected_line, about, None if at_once else post),
        )
    except InputError as fault:
        return _render_start_page(request, selected_line, post, fault.problems, about)
    except Conflict as archived:
        return _render_start_page(request, selected_line, post, [Problem("", archived.detail)], about)
    if at_once:
        return redirect("home")
    return redirect(reverse("task", args=[project.owner.key, project.key, name]))


def _start_and_link_task(
    request: SignedInRequest, line: Line, about: RelatedTasks, post: Mapping[str, str] | None
) -> str:
    """Start a task, let the one that it blocks wait for it, and return its name. `post`: None takes the defaults.

    Raises InputError with every problem, Conflict."""
    assert line.live is not None
    task = (
        _submit_task_with_defaults(request, line)
        if post is None
        else _submit_task(request, line.live, about, post)
    )
    if about.blocks is not None:
        _link_dependency(request, about.blocks, task)
    return task.name


@dataclass(frozen=True, slots=True)
class RelatedTasks:
    """Tasks that the new one has to do with: `follows` has ended, `blocks` cannot go on before it."""

    follows: Task | None = None
    blocks: Task | None = None


def _submit_task(
    request: SignedInRequest, live: LineVersion, about: RelatedTasks, post: Mapping[str, str]
) -> Task:
    """Raises InputError with every problem."""
    return engine.submit(
        live,
        actor=engine.Actor.person(request.user),
        title=_typed_title_or_none_if_default(post),
        description=post.get("description", "").replace("\r\n", "\n"),
        priority=post.get("priority", Priority.MEDIUM),
        labels=_split_at_commas(post.get("labels", "")),
        due_at=post.get("due_at", ""),
        depends_on=_split_at_commas(post.get("depends_on", "")),
        inputs=input_values_of_form(versions.parsed_version(live).inputs, post),
        follows=about.follows,
    )


def _submit_task_with_defaults(request: SignedInRequest, line: Line) -> Task:
    """Start it with what a fresh form holds, as Home does. Raises InputError."""
    assert line.live is not None
    fields = start_fields(
        versions.parsed_version(line.live).inputs, None, repositories=repository_choices_by_input(line)
    )
    return engine.submit(
        line.live, actor=engine.Actor.person(request.user), inputs=default_input_values(fields)
    )


def _typed_title_or_none_if_default(post: Mapping[str, str]) -> str | None:
    """None where the form's own was left or emptied: then it is made from what was filled in."""
    title = post.get("title", "")
    form_default = post.get("default_title")
    return None if form_default and title.strip() in ("", form_default) else title


def _split_at_commas(text: str) -> list[str]:
    """Written with commas between them."""
    return [word for part in text.split(",") if (word := part.strip())]


def _link_dependency(request: SignedInRequest, blocked: Task, new: Task) -> None:
    """The blocked one is linked to what it waits for; it may have ended while the form was filled in."""
    try:
        engine.wait_for_tasks(blocked.pk, [new.name], actor=engine.Actor.person(request.user))
    except Refused as fault:
        messages.warning(request, f"{blocked.name}: {fault}")


def _related_task_or_none(request: SignedInRequest, project: Project, field: str) -> Task | None:
    """The task that is named, if one is. Raises NotFound."""
    name = (request.POST if request.method == "POST" else request.GET).get(field, "")
    return access.task_of_permitted_project(project, name) if name else None


def _prefilled_values_or_none(
    request: SignedInRequest, line: Line, about: RelatedTasks
) -> dict[str, Any] | None:
    """Return the initial values of a fresh form: those of the task that it follows, of the address, or None."""
    if about.follows is not None:
        return _form_values_of_old_task(about.follows, line)
    prefill = {name: request.GET[name][:LONGEST] for name in ("title", "description") if name in request.GET}
    if not prefill:
        return None
    inputs = versions.parsed_version(line.live).inputs if line.live else ()
    defaults = {
        field.name: field.value
        for field in start_fields(inputs, None, repositories=repository_choices_by_input(line))
    }
    return {"priority": Priority.MEDIUM, **defaults, **prefill}


def _form_values_of_old_task(old: Task, line: Line) -> dict[str, Any]:
    """The form filled with what the old task was started with; secrets are chosen anew."""
    typed: dict[str, Any] = {
        "title": old.title,
        "description": old.description,
        "priority": old.priority,
        "labels": ", ".join(old.labels),
    }
    for line_input in versions.parsed_version(line.live).inputs if line.live else ():
        # A secret is chosen anew, by whoever starts it now
        value = old.inputs.get(line_input.key, line_input.default) if line_input.type != "secret" else None
        text = json.dumps(value) if line_input.type == "file" and value else value
        typed[f"inputs.{line_input.key}"] = "" if text is None else text
    return typed


def _render_start_page(
    request: SignedInRequest,
    line: Line,
    typed: Mapping[str, Any] | None,
    problems: Sequence[Problem],
    about: RelatedTasks,
) -> HttpResponse:
    project = line.project
    return render_in_shell(
        request,
        "tasks/new.html",
        project=project,
        section="tasks",
        trail=project_breadcrumb(project, "New task"),
        status=422 if problems else 200,
        line=line,
        about=about,
        drawing=drawing_of_live_version_or_draft(line, None),
        **start_form_context(request, line, typed, problems),
    )


def start_form_context(
    request: SignedInRequest,
    line: Line,
    typed: Mapping[str, Any] | None = None,
    problems: Sequence[Problem] = (),
) -> dict[str, Any]:
    """Return the context of `tasks/_start_fields.html`."""
    project = line.project
    inputs = versions.parsed_version(line.live).inputs if line.live else ()
    offered = repository_choices_by_input(line)
    reach = ValueScope(project.owner_id, project.pk, line.pk)
    fields = start_fields(inputs, typed, problems, reach=reach, repositories=offered)
    titled = title_from_inputs(line.name, inputs, default_input_values(fields))
    known = {*OWN, *(f"inputs.{line_input.key}" for line_input in inputs)}
    own = {
        name: [_problem_sentence(p, str(label)) for p in problems if p.path.partition("[")[0] == name]
        for name, label in OWN.items()
    }
    return {
        "typed": {**dict.fromkeys(OWN, ""), "title": titled, **(typed or {"priority": Priority.MEDIUM})},
        "default_title": titled,
        "request_key": new_form_key(),
        "upload_to": uploads.upload_url(project),
        "faults": own,
        "other_faults": [str(problem) for problem in problems if problem.path.partition("[")[0] not in known],
        "fields": fields,
        "may_connect": offered and access.is_permitted(request.user, "repositories", project),
        "priorities": Priority.choices,
    }
