"""Home: panels of what concerns its reader (of the inbox), the lines, what happened today; and the first steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import BooleanField, Count, Exists, ExpressionWrapper, OuterRef, Q
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from pipelines import access
from pipelines.models import GateVisit, Line, Project, Repository, Task, User
from pipelines.queries.home import home as read_home
from pipelines.web.shell.page import SignedIn, crumbs, fragment, show, signed_in
from pipelines.web.shell.scope import scope_of

COOKIE = "gl_first_steps"
YEAR = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class FirstStep:
    title: str
    words: str
    verb: str
    address: str
    done: bool


@signed_in
@require_safe
def home(request: SignedIn) -> HttpResponse:
    scope = scope_of(request, "home")
    steps = first_steps(request.user, scope.projects) if request.COOKIES.get(COOKIE) != "off" else []
    found = read_home(scope.projects, _designed(request.user), timezone.now())
    if fragment(request, "live"):
        return show(request, "shell/home/live.html", scope=scope, home=found, again=True)
    return show(
        request,
        "shell/home.html",
        scope=scope,
        section="home",
        trail=crumbs(_("Home")),
        home=found,
        steps=steps,
        to_set_up=to_set_up(request.user, scope.projects),
        live_project=scope.live,
    )


def _designed(user: User) -> set[int]:
    return set(access.projects_where(user, "design").values_list("pk", flat=True))


def first_steps(user: User, projects: Sequence[Project]) -> list[FirstStep]:
    """Ticked by what is there, not by clicks. Only for people who could do them, on a line to do them with."""
    able = access.projects_where(user, "submit").filter(pk__in=[project.pk for project in projects])
    lines = Line.objects.filter(project__in=able, live__isnull=False, archived_at=None).select_related(
        "project__owner"
    )
    # Of the demo “Fix lint findings”: what a newcomer runs first ends in a merged commit.
    changes = Q(live__document__has_key="workspace")
    line = lines.order_by(ExpressionWrapper(changes, BooleanField()).desc(), "pk").first()
    if line is None:
        return []
    keys = (line.project.owner.key, line.project.key, line.key)
    ran = Task.objects.filter(project__in=able).exists()
    decided = GateVisit.objects.filter(task__project__in=able, state=GateVisit.State.DECIDED).exists()
    changed = Line.objects.filter(project__in=able).annotate(n=Count("versions")).filter(n__gt=1).exists()
    steps = [
        FirstStep(_("Run a line"), _("Start a task of %(line)s and watch it move.") % {"line": line.name},
             _("Run"), reverse("task-new", args=keys), ran),
        FirstStep(_("Approve the task"), _("The task stops at a gate and waits for your approval."),
             _("Open the inbox"), reverse("needs-me"), decided),
        FirstStep(_("Change the line"), _("Edit the line and publish it. New tasks use your version."),
             _("Edit"), reverse("line-draw", args=keys), changed),
    ]  # fmt: skip
    if access.projects_where(user, "repositories").filter(pk=line.project_id).exists():
        tested = Repository.objects.filter(project=line.project_id, tested_at__isnull=False).exists()
        words = _("Connect a repository, choose an agent, start from a template: about 5 minutes.")
        own = FirstStep(
            _("Work in your own repository"),
            words,
            _("Set up"),
            reverse("project-setup", args=keys[:2]),
            tested,
        )
        steps.insert(2, own)
    return steps


def to_set_up(user: User, projects: Sequence[Project]) -> list[Project]:
    """Each project without a live line in which this person can draw lines. No click makes it go away: a line does."""
    live = Line.objects.filter(project=OuterRef("pk"), live__isnull=False, archived_at=None)
    designed = access.projects_where(user, "design").filter(pk__in=[project.pk for project in projects])
    found = designed.filter(~Exists(live), archived_at=None).select_related("owner")
    return list(found.order_by("name", "key"))


@signed_in
@require_POST
def dismiss_first_steps(request: SignedIn) -> HttpResponse:
    response = redirect("home")
    response.set_cookie(
        COOKIE, "off", max_age=YEAR, samesite="Lax", httponly=True, secure=request.is_secure()
    )
    return response
