"""Search of the command palette: lines, tasks, people and projects by their names, pages and commands by what
they do. Each is offered only to those who may see or do it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from pipelines import access
from pipelines.models import Line, Membership, Project, Role, Task, User
from pipelines.queries.task_search import NEWEST, ids_of_matching_tasks
from pipelines.templatetags.gateline import status
from pipelines.web.help.help_targets import help_target
from pipelines.web.help.pages import help_pages
from pipelines.web.help.search import search_pages, significant_words, word_stem
from pipelines.web.help.vocabulary import WORDS
from pipelines.web.shell.page import Permissions, SignedInRequest, sign_in_required

MAX_RESULTS, HELP, BEGIN = 8, 4, 4
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

    def match_count(self, stems: Sequence[str]) -> int:
        """Count the stems that its own words say or begin; none counts where fewer than half of them do."""
        vocabulary = {word_stem(word) for word in re.findall(r"\w+", f"{self.label} {self.also}".lower())}
        number = sum(any(word.startswith(typed) for word in vocabulary) for typed in stems)
        return number if 2 * number > len(stems) else 0


@dataclass(frozen=True, slots=True)
class Command:
    """A page, or what is done on it. `route`: its name, by which the help has words for it (`vocabulary`); `may`:
    what one must be allowed to do in a project of which the page is, "" for pages of none. `part` of the page."""

    label: str
    route: str
    icon: str = "settings"
    also: str = ""
    may: str = ""
    part: str = ""
    open_only: bool = False

    def to_option(self, note: str = "", keys: Sequence[str] = ()) -> PaletteOption:
        page = help_target(self.help_topic)
        vocabulary = WORDS.get(page) or WORDS.get(page.partition("#")[0], "")
        address = reverse(self.route, args=keys) + self.part
        return PaletteOption(str(self.label), address, self.icon, note, also=f"{self.also} {vocabulary}")

    @property
    def help_topic(self) -> str:
        return "member-invite" if self.part == "#invite" else self.route


OF_PROJECT = (
    Command("New task", "task-new-choose", "plus", "create run", "submit", open_only=True),
    Command("New schedule", "trigger-new-choose", "schedule",
            "run regularly nightly every night hourly daily weekly monthly cron timer trigger",
            "submit", open_only=True),
    Command("New webhook", "trigger-new-choose", "webhook",
            "incoming hook call http trigger start from another program github gitlab gitea", "submit", "?kind=webhook",
            open_only=True),
    Command("New line trigger", "trigger-new-choose", "join",
            "after another line ends follow chain downstream pipeline flow start next", "submit", "?kind=line_end",
            open_only=True),
    Command("New line", "lines-new", "plus", "create workflow import yaml", "design", open_only=True),
    Command("Set up with a repository", "project-setup", "settings",
            "setup connect agent template first steps wizard", "design", open_only=True),
    Command("Invite people", "project-settings", "actor-people", "somebody", "admin", "#invite"),
    Command("Connect a repository", "project-repositories", "plus", "folder", "repositories"),
    Command("Add a secret or variable", "project-secrets", "plus", "store new", "secrets"),
    Command("Connect Slack, Teams, Mattermost, or a webhook", "project-channels", "bell",
            "chat channel channels notify alert message post tell when fails failed failure stuck late merged", "admin",
            "#connect"),
    Command("New machine token", "project-tokens", "plus", "ci bot", "admin"),
    Command("Add a runner", "project-runners", "plus", "machine worker", "admin"),
    Command("Runners", "project-runners", also="machine worker", may="view"),
    Command("Agents", "project-agents", "settings", "ai contract", "view"),
    Command("Groups", "project-groups", "actor-people", "team group", "admin"),
    Command("Working time", "project-working-time", "clock", "calendar public holidays", "settings"),
    Command("Audit log", "project-audit", also="who changed what history", may="admin"),
    Command("Pause or resume the project", "lines", "pause", "freeze stop hold halt", "settings", "#open=pause"),
    Command("Tasks", "tasks", "tasks", may="view"),
    Command("Lines", "lines", "lines", may="view"),
    Command("Triggers", "project-triggers", "schedule", "schedules automation", "view"),
    Command("Insights", "insights", "insights", "numbers statistics throughput lead time export csv", "view"),
    Command("Human minutes at gates", "insights", "insights", "time wait first-pass approval", "view", "#gates"),
    Command("Cost by agent and model", "insights", "insights", "spending price tokens", "view", "#agents"),
    Command("Health of the project", "insights", "insights", "alert threshold queue", "view", "#health"),
    Command("Members", "project-settings", "actor-people", "people role rights", "view"),
    Command("Project settings", "project-general", also="rename name cost limit", may="settings"),
    Command("Quotas", "project-general", "limit",
            "limit budget tasks a day month money rate concurrency", "settings", "#quotas"),
)  # fmt: skip
OF_NONE = (
    Command("Home", "home", "home"),
    Command("Inbox", "needs-me", "needs", "review approve approval decide needs"),
    Command("Notifications", "notifications", "bell", "news unread"),
    Command("All tasks", "tasks-everywhere", "tasks"),
    Command("All open work", "tasks-live", "tasks", "board live running waiting stuck late all lines"),
    Command("All activity", "activity", "history", "feed log news happened who did what votes moves publishes"),
    Command("Timeline of all open work", "tasks-live", "timeline", "gantt bars time", part="?view=timeline"),
    Command("Projects, new project", "projects", "lines", "create switch"),
    Command("Second factor", "mfa_index", also="passkey 2fa recovery codes"),
    Command("Personal settings", "account", also="profile name mail time zone compact"),
    Command("Password", "account", also="change", part="#password"),
    Command("New personal token (API key)", "account", "plus", "access", part="#tokens"),
    Command("Choose notifications", "account-notifications", "bell", "fewer digest quiet hours"),
    Command("Approve in a chat", "account-chats", "bell", "slack link"),
    Command("Away", "account-away", "clock", "vacation holiday absent stand deputy out office"),
    Command("Help", "help", "help", "documentation manual"),
)  # fmt: skip


@sign_in_required
@require_safe
def palette_results(request: SignedInRequest) -> HttpResponse:
    words = request.GET.get("q", "").strip()[:200]
    projects = list(access.visible_projects_with_owner(request.user))
    here = next((p for p in projects if str(p) == request.GET.get("project")), None)
    first, others = best_and_other_commands(request.user, projects, here, words)
    options = [
        *first,
        *_line_options(projects, words),
        *(_task_options(projects, words) if words else ()),
        *(_people_options(request.user, projects, words) if words else ()),
        *others,
        *_help_options(words),
    ]
    return render(request, "shell/palette_options.html", {"options": options, "words": words})


def best_and_other_commands(
    user: User, projects: Sequence[Project], here: Project | None, words: str
) -> tuple[list[PaletteOption], list[PaletteOption]]:
    """Rank the commands of a person: those that have all of several words, and the others that fit, the best first."""
    stems = [word_stem(word) for word in significant_words(words.lower().strip(" ?!."))]
    offered = [*_command_options(user, projects, here), *(_project_options(projects) if words else ())]
    if not stems:
        return offered[:BEGIN], offered[BEGIN:]
    ranked = sorted(
        (
            (option.match_count(stems), replace(option, also="").match_count(stems), option)
            for option in offered
        ),
        # The words that fit at all, then those that fit the label; options have no order.
        key=lambda row: row[:2],
        reverse=True,
    )
    first = [option for fit, _label, option in ranked if len(stems) > 1 and fit == len(stems)]
    return first, [option for fit, _label, option in ranked if fit and option not in first]


def _help_options(words: str) -> Iterator[PaletteOption]:
    """Search the help, in the pages for users."""
    for hit in [hit for hit in search_pages(help_pages(), words) if hit.page.is_for_users][:HELP]:
        anchor = f"#{hit.part.anchor}" if hit.part.anchor else ""
        yield PaletteOption(
            f"{hit.page.title} › {hit.part.title}" if anchor else hit.page.title,
            reverse("help-page", args=[hit.page.slug]) + anchor,
            "help",
            "Help",
        )


def _line_options(projects: Sequence[Project], words: str) -> list[PaletteOption]:
    lines = Line.objects.filter(project__in=projects, name__icontains=words).select_related("project__owner")
    return [
        PaletteOption(
            line.name, reverse("line-live", args=_url_keys(line.project, line.key)), "line", str(line.project)
        )
        for line in lines.only("name", "key", "project").order_by("name")[:MAX_RESULTS]
    ]


def _task_options(projects: Sequence[Project], words: str) -> list[PaletteOption]:
    tasks = Task.objects.filter(project__in=projects)
    ids = ids_of_matching_tasks(tasks, tasks, words, NEWEST, MAX_RESULTS)
    matching_tasks = tasks.filter(pk__in=ids).select_related("project__owner").order_by(*NEWEST)
    return [
        PaletteOption(task.title, reverse("task", args=_url_keys(task.project, task.name)), f"status-{task.status}",
               str(status(task.status).word), task.name)
        # Large columns that no option shows
        for task in matching_tasks.defer("context", "variables", "inputs")
    ]  # fmt: skip


def _url_keys(project: Project, last: str) -> list[str]:
    return [project.owner.key, project.key, last]


def _people_options(user: User, projects: Sequence[Project], words: str) -> Iterator[PaletteOption]:
    """People of one's projects: an admin of theirs goes to their page, anybody else to the list of members."""
    admin_memberships = Membership.objects.filter(user=user, roles__contains=[Role.ADMIN])
    administered = set(admin_memberships.values_list("project_id", flat=True))
    name_filter = reduce(and_, (_name_condition(word, administered) for word in words.split()))
    members = Membership.objects.filter(name_filter, project__in=projects, user__is_active=True)
    rows = list(
        members.select_related("user", "project__owner").order_by("user__username", "pk")[:MEMBERSHIPS]
    )
    people: dict[int, list[Membership]] = {}
    for row in rows:
        people.setdefault(row.user_id, []).append(row)
    for memberships in list(people.values())[:MAX_RESULTS]:
        member = next(
            # Somebody may be in several projects: where the reader may change them leads furthest
            (membership for membership in memberships if membership.project_id in administered),
            memberships[0],
        )
        keys = [member.project.owner.key, member.project.key]
        address = f"{reverse('project-settings', args=keys)}#member-{member.pk}"
        if member.project_id in administered:
            address = reverse("member-change", args=[*keys, member.pk])
        names = ", ".join(membership.project.name or membership.project.key for membership in memberships)
        yield PaletteOption(str(member.user), address, "actor-person", names)


def _name_condition(word: str, administered: Collection[int]) -> Q:
    """Return the condition for people by name; by the address, which only admins see, in the projects that
    the reader administers."""
    condition = Q(user__email__icontains=word, project__in=administered)
    for field in NAMES:
        condition |= Q(**{f"{field}__icontains": word})
    return condition


def _project_options(projects: Sequence[Project]) -> Iterator[PaletteOption]:
    for project in projects:
        keys = [project.owner.key, project.key]
        yield PaletteOption(
            f"Switch to {project.name or project.key}", reverse("lines", args=keys), "lines",
            str(project), also=f"{project} project",
        )  # fmt: skip


def _command_options(
    user: User, projects: Sequence[Project], here: Project | None
) -> Iterator[PaletteOption]:
    if here:
        keys, note, may = [here.owner.key, here.key], here.name or here.key, Permissions(user, here)
        for command in OF_PROJECT:
            if not (command.open_only and here.archived_at) and may[command.may]:
                yield command.to_option(note, keys)
    elif projects and access.projects_where_role_allows(user, "submit").exists():
        yield PaletteOption("New task", reverse("task-new-everywhere"), "plus", also="create run")
    if not here:
        yield from _all_project_options(user)
    for command in OF_NONE:
        yield command.to_option()
    yield PaletteOption(
        "Show shortcuts", "", "keyboard", click="[data-dialog=shortcuts]", also="keys keyboard shortcut"
    )
    for theme, label, icon in (
        ("light", "Light theme", "sun"),
        ("dark", "Dark theme", "moon"),
        ("system", "System theme", "system"),
    ):
        click = f"#user-menu [name=theme][value={theme}]"
        yield PaletteOption(label, "", icon, click=click, also="switch mode appearance")
    yield PaletteOption("Sign out", "", "sign-out", click="#user-menu [data-sign-out]", also="log out logout")


def _all_project_options(user: User) -> Iterator[PaletteOption]:
    """Offer what is done in a project where the page is of none: in each, as far as these are few."""
    for action in dict.fromkeys(command.may for command in OF_PROJECT if command.may != "view"):
        able = (
            access.projects_where_role_allows(user, action).filter(archived_at=None).select_related("owner")
        )
        for project in able.order_by("name", "key")[:MAX_RESULTS]:
            for command in OF_PROJECT:
                # “New task” is offered once for all projects.
                if command.may == action and command.route != "task-new-choose":
                    yield command.to_option(project.name or project.key, [project.owner.key, project.key])
