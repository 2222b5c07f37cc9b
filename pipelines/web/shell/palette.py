"""What the command palette finds: lines, tasks, people's pages and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from pipelines import access
from pipelines.models import Line, Project, Task
from pipelines.queries.tasks import matching
from pipelines.templatetags.gateline import status
from pipelines.web.shell.page import SignedIn, signed_in

FOUND = 8


@dataclass(frozen=True, slots=True)
class PaletteOption:
    label: str
    address: str
    icon: str
    note: str = ""
    mono: str = ""


@signed_in
@require_safe
def palette(request: SignedIn) -> HttpResponse:
    words = request.GET.get("q", "").strip()[:200]
    projects = list(access.visible_projects(request.user))
    here = next((p for p in projects if f"{p.owner.key}/{p.key}" == request.GET.get("project")), None)
    options = [*_lines(projects, words), *(_tasks(projects, words) if words else ()), *_pages(here, words)]
    return render(request, "shell/palette_options.html", {"options": options, "words": words})


def _lines(projects: Sequence[Project], words: str) -> list[PaletteOption]:
    found = Line.objects.filter(project__in=projects, name__icontains=words).select_related("project__owner")
    return [
        PaletteOption(
            line.name, reverse("line-live", args=_keys(line.project, line.key)), "line", str(line.project)
        )
        for line in found.only("name", "key", "project").order_by("name")[:FOUND]
    ]


def _tasks(projects: Sequence[Project], words: str) -> list[PaletteOption]:
    found = Task.objects.filter(matching(words), project__in=projects).select_related("project__owner")
    return [
        PaletteOption(task.title, reverse("task", args=_keys(task.project, task.name)), f"status-{task.status}",
               str(status(task.status).word), task.name)
        for task in found.defer("context", "variables", "inputs").order_by("-created_at")[:FOUND]
    ]  # fmt: skip


def _keys(project: Project, last: str) -> list[str]:
    return [project.owner.key, project.key, last]


def _pages(here: Project | None, words: str) -> list[PaletteOption]:
    pages = [
        PaletteOption(_("Home"), reverse("home"), "home"),
        PaletteOption(_("Inbox"), reverse("needs-me"), "needs"),
        PaletteOption(_("All tasks"), reverse("tasks-everywhere"), "tasks"),
        PaletteOption(_("Personal settings"), reverse("account"), "settings"),
        PaletteOption(_("Help"), reverse("help"), "help"),
    ]
    if here:
        keys = [here.owner.key, here.key]
        pages += [
            PaletteOption(_("New task"), reverse("task-new-choose", args=keys), "plus", str(here)),
            PaletteOption(_("Tasks"), reverse("tasks", args=keys), "tasks", str(here)),
            PaletteOption(_("Lines"), reverse("lines", args=keys), "lines", str(here)),
            PaletteOption(_("New line"), reverse("lines-new", args=keys), "plus", str(here)),
            PaletteOption(
                _("Project settings"), reverse("project-settings", args=keys), "settings", str(here)
            ),
        ]
    return [page for page in pages if words.lower() in page.label.lower()]
