"""What the command palette finds: lines, tasks, people and projects by their names, pages and commands by what they do.
Each is offered to those only who may see or do it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from pipelines import access
from pipelines.models import Line, Membership, Project, Role, Task, User
from pipelines.queries.task_search import NEWEST, first_found
from pipelines.templatetags.gateline import status
from pipelines.web.shell.page import SignedIn, signed_in

FOUND = 8
MEMBERSHIPS = 100
"""Read to find FOUND people: each may be a member of several projects."""
NAMES = ("user__first_name", "user__last_name", "user__username")


@dataclass(frozen=True, slots=True)
class PaletteOption:
    """`click`: instead of an address, the control of the page that does it. `also`: other words that people use."""

    label: str
    address: str
    icon: str
    note: str = ""
    mono: str = ""
    click: str = ""
    also: str = ""

    def answers(self, words: str) -> bool:
        said = f"{self.label} {self.also}".lower()
        return all(word in said for word in words.lower().split())


@signed_in
@require_safe
def palette(request: SignedIn) -> HttpResponse:
    words = request.GET.get("q", "").strip()[:200]
    projects = list(access.visible_projects(request.user))
    here = next((p for p in projects if str(p) == request.GET.get("project")), None)
    options = [
        *_lines(projects, words),
        *(_tasks(projects, words) if words else ()),
        *(_people(request.user, projects, words) if words else ()),
        *(each for each in _commands(request.user, projects, here) if each.answers(words)),
        *(each for each in _projects(projects) if words and each.answers(words)),
    ]
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
    tasks = Task.objects.filter(project__in=projects)
    ids = first_found(tasks, tasks, words, NEWEST, FOUND)
    found = tasks.filter(pk__in=ids).select_related("project__owner").order_by(*NEWEST)
    return [
        PaletteOption(task.title, reverse("task", args=_keys(task.project, task.name)), f"status-{task.status}",
               str(status(task.status).word), task.name)
        for task in found.defer("context", "variables", "inputs")
    ]  # fmt: skip


def _keys(project: Project, last: str) -> list[str]:
    return [project.owner.key, project.key, last]


def _people(user: User, projects: Sequence[Project], words: str) -> Iterator[PaletteOption]:
    """People of one's projects: an admin of theirs goes to their page, anybody else to the list of members."""
    mine = Membership.objects.filter(user=user, roles__contains=[Role.ADMIN])
    administered = set(mine.values_list("project_id", flat=True))
    named = reduce(and_, (_is_named(word, administered) for word in words.split()))
    members = Membership.objects.filter(named, project__in=projects, user__is_active=True)
    rows = list(
        members.select_related("user", "project__owner").order_by("user__username", "pk")[:MEMBERSHIPS]
    )
    people: dict[int, list[Membership]] = {}
    for row in rows:
        people.setdefault(row.user_id, []).append(row)
    for found in list(people.values())[:FOUND]:
        member = next((each for each in found if each.project_id in administered), found[0])
        keys = [member.project.owner.key, member.project.key]
        address = f"{reverse('project-settings', args=keys)}#member-{member.pk}"
        if member.project_id in administered:
            address = reverse("member-change", args=[*keys, member.pk])
        names = ", ".join(each.project.name or each.project.key for each in found)
        yield PaletteOption(str(member.user), address, "actor-person", names)


def _is_named(word: str, administered: Collection[int]) -> Q:
    """By a name; by the address, which only admins see, in the projects that one administers."""
    found = Q(user__email__icontains=word, project__in=administered)
    for field in NAMES:
        found |= Q(**{f"{field}__icontains": word})
    return found


def _projects(projects: Sequence[Project]) -> Iterator[PaletteOption]:
    for each in projects:
        keys = [each.owner.key, each.key]
        yield PaletteOption(
            _("Switch to %(project)s") % {"project": each.name or each.key}, reverse("lines", args=keys), "lines",
            str(each), also=f"{each} {_('project')}",
        )  # fmt: skip


def _commands(user: User, projects: Sequence[Project], here: Project | None) -> Iterator[PaletteOption]:
    if here:
        yield from _of_project(user, here)
    elif projects and access.projects_where(user, "submit").exists():
        yield PaletteOption(_("New task"), reverse("task-new-everywhere"), "plus", also=_("start create"))
    if not here:
        yield from _setups(user)
    yield PaletteOption(_("Home"), reverse("home"), "home")
    yield PaletteOption(_("Inbox"), reverse("needs-me"), "needs", also=_("review approve"))
    yield PaletteOption(_("Notifications"), reverse("notifications"), "bell", also=_("news unread"))
    yield PaletteOption(_("All tasks"), reverse("tasks-everywhere"), "tasks")
    yield PaletteOption(_("Projects, new project"), reverse("projects"), "lines", also=_("create switch"))
    yield PaletteOption(
        _("Personal settings"), reverse("account"), "settings", also=_("account password token profile")
    )
    yield PaletteOption(
        _("Second factor"), reverse("mfa_index"), "settings", also=_("passkey 2fa recovery codes")
    )
    yield PaletteOption(_("Help"), reverse("help"), "help", also=_("documentation manual"))
    yield PaletteOption(
        _("Show shortcuts"), "", "keyboard", click="[data-dialog=shortcuts]", also=_("keys keyboard")
    )
    for theme, label, icon in (
        ("light", _("Light theme"), "sun"),
        ("dark", _("Dark theme"), "moon"),
        ("system", _("System theme"), "system"),
    ):
        click = f"#user-menu [name=theme][value={theme}]"
        yield PaletteOption(label, "", icon, click=click, also=_("switch mode appearance"))
    yield PaletteOption(
        _("Sign out"), "", "sign-out", click="#user-menu [data-sign-out]", also=_("log out logout")
    )


def _setups(user: User) -> Iterator[PaletteOption]:
    """Where the page is of no project."""
    designed = access.projects_where(user, "design").filter(archived_at=None).select_related("owner")
    for each in designed.order_by("name", "key")[:FOUND]:
        yield PaletteOption(
            _("Set up with a repository"),
            reverse("project-setup", args=[each.owner.key, each.key]),
            "settings",
            each.name or each.key,
            also=_("setup connect agent template first steps wizard"),
        )


def _of_project(user: User, here: Project) -> Iterator[PaletteOption]:
    keys, note = [here.owner.key, here.key], here.name or here.key
    members, open_project = reverse("project-settings", args=keys), not here.archived_at
    if open_project and access.can(user, "submit", here):
        yield PaletteOption(
            _("New task"), reverse("task-new-choose", args=keys), "plus", note, also=_("start create")
        )
    if open_project and access.can(user, "design", here):
        yield PaletteOption(
            _("New line"), reverse("lines-new", args=keys), "plus", note, also=_("create import")
        )
        yield PaletteOption(
            _("Set up with a repository"),
            reverse("project-setup", args=keys),
            "settings",
            note,
            also=_("setup connect agent template first steps wizard"),
        )
    if access.can(user, "admin", here):
        yield PaletteOption(
            _("Invite people"), f"{members}#invite", "actor-people", note, also=_("add member user")
        )
        yield PaletteOption(_("Audit log"), reverse("project-audit", args=keys), "settings", note)
    yield PaletteOption(_("Tasks"), reverse("tasks", args=keys), "tasks", note)
    yield PaletteOption(_("Lines"), reverse("lines", args=keys), "lines", note)
    yield PaletteOption(
        _("Insights"), reverse("project-health", args=keys), "insights", note, also=_("health numbers")
    )
    yield PaletteOption(_("Members"), members, "actor-people", note, also=_("people roles"))
    if access.can(user, "admin", here):
        general = reverse("project-general", args=keys)
        yield PaletteOption(
            _("Project settings"), general, "settings", note, also=_("rename archive transfer")
        )
    else:
        yield PaletteOption(_("Project settings"), members, "settings", note)
