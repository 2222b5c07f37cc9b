"""Home: the first steps of a newcomer; panels of what concerns its reader (of the inbox), the lines, and today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, Count, ExpressionWrapper, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from pipelines import access
from pipelines.lines.demo.lint_example import FINDINGS, IN_FILES
from pipelines.models import (
    ENDED,
    GateVisit,
    Job,
    Line,
    LineVersion,
    Membership,
    Project,
    Status,
    Task,
    TaskCounter,
    User,
    VisitCommit,
)
from pipelines.models.plumbing.compiled_queries import array_field, compiled
from pipelines.ports.terms import SHIPPED
from pipelines.queries import log_tails, versions
from pipelines.queries.home import read_home as read_home
from pipelines.queries.task_branch import DeliveryReceipt
from pipelines.queries.task_view import TaskView
from pipelines.web.lines.drawing import LineDrawing, drawing_of_version
from pipelines.web.shell.page import (
    SignedInRequest,
    breadcrumbs,
    is_fragment_request,
    page_scope,
    render_in_shell,
    sign_in_required,
)
from pipelines.web.shell.repeated_requests import new_form_key
from pipelines.web.tasks.task import delivery_receipts
from pipelines.web.tasks.task_path import policy_endings, task_path_json_text

# The first task of a newcomer, on Home: its line drawn, one button, and then the task as it moves on that
# drawing.


@dataclass(frozen=True, slots=True)
class FirstTask:
    """The first task of a newcomer on Home. `task`: the newest one that the reader started on this line, None
    before. `path`: the JSON that the drawing is updated with. `others`: lines that can be tried instead.
    `last_lines`: of the logs of what works now."""

    line: Line
    drawing: LineDrawing
    others: QuerySet[Line]
    task: Task | None = None
    view: TaskView | None = None
    path: str = ""
    receipts: tuple[DeliveryReceipt, ...] = ()
    last_lines: tuple[str, ...] = ()
    may_set_up: bool = False

    @property
    def description(self) -> str:
        return versions.parsed_version(self.line.live).description if self.line.live else ""

    @property
    def request_key(self) -> str:
        """Key of one showing of its button."""
        return new_form_key()

    @property
    def has_ended(self) -> bool:
        return self.task is not None and self.task.status in ENDED

    @property
    def demo_finding_counts_or_none(self) -> Mapping[str, Any] | None:
        """Count what the repository of the demo has before a task changed it; None of any other line."""
        live = self.line.live
        if self.task is not None or live is None or live.name != SHIPPED or "workspace" not in live.document:
            return None
        return {"findings": FINDINGS, "files": IN_FILES}


def first_task(line: Line, user: User) -> FirstTask:
    """`line`: with its live version and its project with the owner."""
    others = Line.objects.filter(project=line.project_id, live__isnull=False, archived_at=None).exclude(
        pk=line.pk
    )
    others = others.order_by("name").only("key", "name")[:20]
    tasks = Task.objects.filter(line=line, requester=user).select_related("pinned", "line", "project__owner")
    task = tasks.order_by("-pk").first()
    if task is None:
        live: LineVersion = line.live  # type: ignore[assignment]
        may_set_up = access.is_permitted(user, "design", line.project)
        return FirstTask(line, drawing_of_version(live, line.project_id), others, may_set_up=may_set_up)
    view = TaskView(task, timezone.now())
    working = [job for job in view.jobs if job.state == Job.State.RUNNING]
    if task.status == Status.AWAITING_REVIEW:
        # Nothing runs then: the last words of the job under review are shown.
        working = view.jobs[-1:]
    last = log_tails.last_log_line_by_job(job.pk for job in working)
    endings = policy_endings(view)
    return FirstTask(
        line,
        drawing_of_version(task.pinned, line.project_id, endings),
        others,
        task,
        view,
        task_path_json_text(view, endings),
        tuple(delivery_receipts(task, view.line)),
        tuple(last.values()),
    )


COOKIE = "gl_first_steps"
YEAR = 365 * 24 * 3600
MANY = 100  # tasks: where so many were started, nobody has to be shown how


@dataclass(frozen=True, slots=True)
class FirstStep:
    """`again`: where it can be done another time, "" where nobody would."""

    title: str
    words: str
    verb: str
    address: str
    done: bool
    again: str = ""


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """`first`: the task that they begin with, and None once somebody went all of its way; then `rest` is folded.
    `alone`: there is nothing else to be seen on Home."""

    first: FirstTask | None
    rest: Sequence[FirstStep]
    alone: bool


@sign_in_required
@require_safe
def home_page(request: SignedInRequest) -> HttpResponse:
    scope = page_scope(request, "home")
    steps = (
        first_steps_or_none(request.user, scope.projects) if request.COOKIES.get(COOKIE) != "off" else None
    )
    context: dict[str, Any] = {"scope": scope, "steps": steps, "first": steps and steps.first}
    if is_fragment_request(request, "first"):
        return render_in_shell(request, "home/first_task.html#live", **context)
    context["to_connect"] = project_to_connect_or_none(request.user, scope.projects)
    overview = read_home(
        scope.projects, access.ids_of_projects_where_role_allows(request.user, "design"), timezone.now()
    )
    if is_fragment_request(request, "live"):
        return render_in_shell(request, "home/live.html", home=overview, again=True, **context)
    return render_in_shell(
        request,
        "home/page.html",
        section="home",
        trail=breadcrumbs("Home"),
        home=overview,
        to_set_up=projects_to_set_up(request.user, scope.projects),
        live_project=scope.hint_topic,
        **context,
    )


def first_steps_or_none(user: User, projects: Sequence[Project]) -> FirstSteps | None:
    """Ticked by what is there, not by clicks. Only for people who could do them, on a line to do them with, and while
    their projects are young."""
    may = access.ids_of_projects_where_role_allows(user, "submit")
    able = [project.pk for project in projects if project.pk in may]
    line = _runnable_lines.first(projects=able)
    # One counter for each project, so no tasks are counted.
    if line is None or sum(_last_task_numbers(projects=able)) >= MANY:
        return None
    tasks = list(_first_task_ids(projects=able))
    rest = _steps_after_first_task(user, line, able)
    first = first_task(line, user) if not all(step.done for step in rest) else None
    if (
        first is not None
        and first.task is None
        and (_first_decided_visit_id(tasks=tasks) or _first_completed_task_id(tasks=tasks))
    ):
        first = None  # somebody else went this way
    alone = first is not None and not first.has_ended and set(tasks) <= {first.task and first.task.pk}
    return FirstSteps(first, rest, alone)


def _steps_after_first_task(user: User, line: Line, able: Sequence[int]) -> list[FirstStep]:
    """Steps after the first task."""
    keys = (line.project.owner.key, line.project.key, line.key)
    change = FirstStep(
        "Change the line",
        "Edit the line and publish it. New tasks use your version.",
        "Edit",
        reverse("line-draw", args=keys),
        bool(_first_line_with_two_versions(projects=able)),
    )
    if line.project_id not in access.ids_of_projects_where_role_allows(user, "repositories"):
        return [change]
    setup = reverse("project-setup", args=keys[:2])
    own = FirstStep(
        "Work in your own repository",
        "Connect a repository, choose an agent, start from a template: about 5 minutes.",
        "Set up",
        setup,
        # That of the demo was never tested: the steps of setup do that.
        VisitCommit.objects.filter(
            repository__project=line.project_id, repository__tested_at__isnull=False
        ).exists(),
        f"{setup}?another=yes",
    )
    invite = FirstStep(
        "Invite people",
        "Whoever follows the link lands on the review that waits.",
        "Invite",
        reverse("project-settings", args=keys[:2]) + "#invite",
        Membership.objects.filter(project=line.project_id).exclude(user=user).exists(),
    )
    return [own, change, invite]


@compiled(projects=array_field())
def _runnable_lines(projects: Any) -> QuerySet[Line]:
    lines = Line.objects.filter(project__among=projects, live__isnull=False, archived_at=None)
    # Of the demo “Fix lint findings”: what a newcomer runs first ends in a merged commit.
    changes = ExpressionWrapper(Q(live__document__has_key="workspace"), BooleanField())
    read = lines.select_related("project__owner", "live").defer("draft", "draft_text", "draft_hands")
    return read.order_by(changes.desc(), "pk")[:1]


@compiled(projects=array_field())
def _last_task_numbers(projects: Any) -> QuerySet[TaskCounter, int]:
    return TaskCounter.objects.filter(project__among=projects).values_list("last", flat=True)


@compiled(projects=array_field())
def _first_task_ids(projects: Any) -> QuerySet[Task, int]:
    return Task.objects.filter(project__among=projects).values_list("pk", flat=True)[:MANY]


@compiled(tasks=array_field())
def _first_decided_visit_id(tasks: Any) -> QuerySet[GateVisit, UUID]:
    decided = GateVisit.objects.filter(task__among=tasks, state=GateVisit.State.DECIDED)
    return decided.values_list("pk", flat=True)[:1]


@compiled(tasks=array_field())
def _first_completed_task_id(tasks: Any) -> QuerySet[Task, int]:
    return Task.objects.filter(pk__among=tasks, status=Status.COMPLETED).values_list("pk", flat=True)[:1]


@compiled(projects=array_field())
def _first_line_with_two_versions(projects: Any) -> QuerySet[Line, int]:
    counted = Line.objects.filter(project__among=projects).annotate(n=Count("versions"))
    # The first version is the line itself; a second one is a change of it.
    return counted.filter(n__gt=1).order_by().values_list("pk", flat=True)[:1]


def projects_to_set_up(user: User, projects: Sequence[Project]) -> list[Project]:
    """Return the projects without a live line in which this person may draw lines. Publishing a line removes a
    project from the list."""
    designed = access.ids_of_projects_where_role_allows(user, "design")
    own_projects = {
        project.pk: project for project in projects if project.pk in designed and project.archived_at is None
    }
    with_lines = set(_ids_of_projects_with_live_line(projects=list(own_projects)))
    without_line = [project for pk, project in own_projects.items() if pk not in with_lines]
    return sorted(without_line, key=lambda project: (project.name, project.key))


def project_to_connect_or_none(user: User, projects: Sequence[Project]) -> Project | None:
    """The one project in which this person connects repositories; None where it would have to be chosen."""
    able = access.ids_of_projects_where_role_allows(user, "repositories")
    connectable = [project for project in projects if project.pk in able and project.archived_at is None]
    # Of several none is guessed: what is connected reaches secrets of its project
    return connectable[0] if len(connectable) == 1 else None


@compiled(projects=array_field())
def _ids_of_projects_with_live_line(projects: Any) -> QuerySet[Line, int]:
    live = Line.objects.filter(project__among=projects, live__isnull=False, archived_at=None)
    return live.order_by().values_list("project_id", flat=True).distinct()


@sign_in_required
@require_POST
def dismiss_first_steps(request: SignedInRequest) -> HttpResponse:
    response = redirect("home")
    response.set_cookie(
        COOKIE, "off", max_age=YEAR, samesite="Lax", httponly=True, secure=request.is_secure()
    )
    return response
