"""Starting a task: a form made from the line's inputs (semantics §1, Input)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from pipelines import access, engine, versions
from pipelines.errors import InputError
from pipelines.models import Line, Priority, Project, Task
from pipelines.routing.line import Input, Problem
from pipelines.views import lines
from pipelines.views.page import SignedIn, in_project, show, tab_trail

OWN = ("title", "description", "priority", "labels")  # fields that every task has


@dataclass(frozen=True, slots=True)
class Field:
    """One input with its name in the form, what was typed, and what is wrong with it."""

    input: Input
    name: str
    value: Any
    errors: Sequence[str]

    @property
    def label(self) -> str:
        return self.input.label or self.input.key

    @property
    def control(self) -> str:
        """Which HTML control fits the type."""
        return {"number": "number", "date": "date", "choice": "choice"}.get(self.input.type, "text")


def fields_of(
    inputs: Sequence[Input],
    typed: Mapping[str, str] | None,
    problems: Sequence[Problem] = (),
    at: str = "inputs",
) -> list[Field]:
    """`typed` is None for a fresh form, which shows the defaults."""
    found = []
    for each in inputs:
        name = f"{at}.{each.key}"
        value = typed.get(name, "") if typed is not None else each.default if each.has_default else ""
        said = [_sentence(problem) for problem in problems if problem.path == name]
        found.append(Field(each, name, "" if value is None else value, said))
    return found


def _sentence(problem: Problem) -> str:
    return problem.message[:1].upper() + problem.message[1:]


def given(inputs: Sequence[Input], typed: Mapping[str, str], at: str = "inputs") -> dict[str, Any]:
    """What the form says, as the values that the engine checks; a number that is none stays text, refused there."""
    return {each.key: value_of(each, typed.get(f"{at}.{each.key}", "")) for each in inputs}


def value_of(field: Input, text: str) -> Any:
    text = text if field.type == "text" else text.strip()
    if field.type == "number" and text:
        try:
            return int(text) if text.lstrip("+-").isdigit() and len(text) < 1000 else float(text)
        except ValueError:
            return text
    return text.replace("\r\n", "\n")


@in_project("submit")
@require_safe
def choose(request: SignedIn, project: Project) -> HttpResponse:
    """Which line? With only one there is nothing to choose."""
    found = list(Line.objects.filter(project=project, live__isnull=False).order_by("name"))
    if len(found) == 1:
        return redirect("task-new", project.owner.key, project.key, found[0].key)
    return show(
        request,
        "pages/task_choose.html",
        project=project,
        section="tasks",
        trail=tab_trail(project, _("New task")),
        lines=found,
    )


@in_project("submit")
@require_http_methods(["GET", "HEAD", "POST"])
def start(request: SignedIn, project: Project, line: str) -> HttpResponse:
    found = access.get_line(request.user, project.owner.key, project.key, line)
    follows = _followed(request, project)
    if found.live is None or request.method != "POST":
        return _page(request, found, _again(follows, found) if follows else None, [], follows)
    parsed = versions.parsed(found.live)
    try:
        task = engine.submit(
            found.live,
            actor=engine.Actor.person(request.user),
            title=request.POST.get("title", ""),
            description=request.POST.get("description", "").replace("\r\n", "\n"),
            priority=request.POST.get("priority", Priority.MEDIUM),
            labels=[word for part in request.POST.get("labels", "").split(",") if (word := part.strip())],
            inputs=given(parsed.inputs, request.POST),
            follows=follows,
        )
    except InputError as fault:
        return _page(request, found, request.POST, fault.problems, follows)
    return redirect(reverse("task", args=[project.owner.key, project.key, task.name]))


def _followed(request: SignedIn, project: Project) -> Task | None:
    """The task that the new one follows, if it names one. Raises NotFound."""
    name = (request.POST if request.method == "POST" else request.GET).get("follows", "")
    return access.find_task(request.user, project.owner.key, project.key, name) if name else None


def _again(old: Task, line: Line) -> dict[str, Any]:
    """The form filled with what the old task was started with; secrets are chosen anew."""
    typed: dict[str, Any] = {
        "title": old.title,
        "description": old.description,
        "priority": old.priority,
        "labels": ", ".join(old.labels),
    }
    for each in versions.parsed(line.live).inputs if line.live else ():
        value = old.inputs.get(each.key, each.default) if each.type != "secret" else each.default
        typed[f"inputs.{each.key}"] = "" if value is None else value
    return typed


def _page(
    request: SignedIn,
    line: Line,
    typed: Mapping[str, Any] | None,
    problems: Sequence[Problem],
    follows: Task | None = None,
) -> HttpResponse:
    project = lines.get(request, line.project, line.key).project
    inputs = versions.parsed(line.live).inputs if line.live else ()
    known = {*OWN, *(f"inputs.{each.key}" for each in inputs)}
    own = {
        name: [_sentence(p) for p in problems if p.path == name]
        for name in ("title", "description", "priority", "labels")
    }
    return show(
        request,
        "pages/task_new.html",
        project=project,
        section="tasks",
        trail=tab_trail(project, _("New task")),
        status=422 if problems else 200,
        line=line,
        follows=follows,
        typed=typed or {"priority": Priority.MEDIUM},
        faults=own,
        other_faults=[str(each) for each in problems if each.path not in known],
        fields=fields_of(inputs, typed, problems),
        priorities=Priority.choices,
    )
