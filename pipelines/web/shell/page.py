"""Helpers that pages share: who may open one, what the shell around it needs, and how a conflict is answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import cached_property, wraps
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django_htmx.http import HttpResponseClientRedirect

from pipelines import access
from pipelines.errors import NotFound
from pipelines.models import Line, Project, Task, User
from pipelines.people import accounts
from pipelines.queries.dates import DateRange
from pipelines.templatetags.shell import LAST_PROJECT
from pipelines.web.shell import errors
from pipelines.web.shell.costly_requests import TurnRefused, taking_turn
from pipelines.web.shell.navigation import is_htmx_request, is_navigation, return_path

Crumb = Mapping[str, str]


LOOPBACK = frozenset(("127.0.0.1", "::1"))


def is_local_request(request: HttpRequest) -> bool:
    """Return whether nobody else can have sent the request: a proxy in front would make everybody local."""
    # A proxy on this machine would make everybody local
    return request.META.get("REMOTE_ADDR") in LOOPBACK and "HTTP_X_FORWARDED_FOR" not in request.META


class SignedInRequest(HttpRequest):
    """A request of somebody who is signed in, as the views behind `sign_in_required` and `project_required` get it."""

    user: User


def sign_in_required(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate a view for people who are signed in. Others go to the sign-in page and come back; whoever has no
    password, or lacks a required second factor, sets one up first."""

    @wraps(view)
    def view_after_access_check(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_sign_in(request)
        if accounts.lacks_password_and_provider(request.user) and request.path != reverse("password-set"):
            return _redirect_with_return(request, "password-set")
        if accounts.needs_second_factor(request.user) and request.path != reverse("password-set"):
            return _redirect_to_second_factor(request)
        return view(request, *args, **kwargs)

    return view_after_access_check


def redirect_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect to the sign-in page; a request of a script leaves the page, and the text typed in it, where it
    is, and says so (static/ts/failures.ts)."""
    if is_htmx_request(request) and not is_navigation(request):
        return HttpResponse(status=401)
    # Read here: the answer that has no session takes the cookie away
    reason = {"reason": "ended"} if settings.SESSION_COOKIE_NAME in request.COOKIES else {}
    return _redirect_with_return(request, "sign-in", reason)


def _redirect_with_return(
    request: HttpRequest, name: str, fields: Mapping[str, str] = MappingProxyType({})
) -> HttpResponse:
    """Redirect to a page outside, with the way back to where the person was.

    :param fields: more of the query
    """
    back = return_path(request)
    query = urlencode(({"next": back} if back else {}) | dict(fields))
    address = reverse(name) + (f"?{query}" if query else "")
    # A redirect that a script follows would put that page into a part of this one.
    return HttpResponseClientRedirect(address) if is_htmx_request(request) else redirect(address)


def _redirect_to_second_factor(request: HttpRequest) -> HttpResponse:
    """Redirect to the pages of second factors. A part of these pages, such as a number in the sidebar, leads
    nobody away."""
    place = reverse("mfa_index"), reverse("account_reauthenticate")
    on = urlsplit(request.headers.get("HX-Current-URL", "")).path
    return (
        HttpResponse(status=204)
        if is_htmx_request(request) and on.startswith(place)
        else _redirect_with_return(request, "mfa_index")
    )


def project_required(action: str = "view") -> Callable[..., Callable[..., HttpResponse]]:
    """Decorate a view so that it gets the Project instead of the two keys of its address. A project that the
    reader may not see is a 404, never a 403; what the role of a member does not allow is a 403 that says so."""

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @sign_in_required
        @wraps(view)
        def view_after_access_check(
            request: HttpRequest, owner: str, project: str, **rest: Any
        ) -> HttpResponse:
            try:
                visible_project = access.visible_project_by_keys(request.user, owner, project)
            except NotFound as error:
                raise Http404 from error
            require_permission(request, action, visible_project)
            try:
                return view(request, visible_project, **rest)
            except NotFound as error:
                raise Http404 from error

        return view_after_access_check

    return decorate


def line_required(action: str = "view") -> Callable[..., Callable[..., HttpResponse]]:
    """Decorate a view so that it gets the Line instead of the three keys of its address; refused as in
    `project_required`."""
    return _object_required(
        lambda project, rest: access.line_of_permitted_project(project, rest.pop("line")), action
    )


def task_required(
    action: str = "view", *, shows_purged: bool = False
) -> Callable[..., Callable[..., HttpResponse]]:
    """Decorate a view so that it gets the Task instead of the three keys of its address; refused as in
    `project_required`. Of one that was purged everything but what `shows_purged` leads to its page, which says so."""
    return _object_required(
        lambda project, rest: access.task_of_permitted_project(project, rest.pop("wi")), action, shows_purged
    )


def _object_required(
    find: Callable[..., Any], action: str, shows_purged: bool = True
) -> Callable[..., Callable[..., HttpResponse]]:
    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @project_required(action)
        @wraps(view)
        def view_of_object_or_redirect_if_purged(
            request: HttpRequest, project: Project, **rest: Any
        ) -> HttpResponse:
            target = find(project, rest)
            if not shows_purged and target.is_purged:
                page = reverse("task", args=[project.owner.key, project.key, target.name])
                return HttpResponseClientRedirect(page) if is_htmx_request(request) else redirect(page)
            return view(request, target, **rest)

        return view_of_object_or_redirect_if_purged

    return decorate


def costly_view(view: Callable[..., HttpResponse], saves: bool = True) -> Callable[..., HttpResponse]:
    """Decorate an expensive view, behind `project_required`: it takes a turn (`costly_requests`), or answers 429.

    `saves`: whether a POST counts as saving; False where viewers post, too.
    """

    @wraps(view)
    def view_in_turn(request: SignedInRequest, *args: Any, **rest: Any) -> HttpResponse:
        try:
            with taking_turn(request.user, saves=saves and request.method == "POST"):
                return view(request, *args, **rest)
        except TurnRefused as refusal:
            return errors.too_many(request, refusal.seconds, refusal.detail)

    return view_in_turn


def costly_to_post(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A form that costs nothing to show and much to send."""
    sent = costly_view(view)

    @wraps(view)
    def limited_on_post(request: SignedInRequest, *args: Any, **rest: Any) -> HttpResponse:
        return (sent if request.method == "POST" else view)(request, *args, **rest)

    return limited_on_post


REFUSALS = {
    "submit": "Starting a task needs the role Operator.",
    "operate": "Working on tasks needs the role Operator.",
    "design": "Changing a line needs the role Designer.",
    "publish": "Publishing a line needs the role Designer.",
    "settings": "Project settings need the role Admin.",
    "repositories": "Repositories need the role Admin.",
    "secrets": "Secrets and variables need the role Admin.",
    "admin": "Project settings need the role Admin.",
}


def require_permission(request: HttpRequest, action: str, project: Project) -> None:
    if not access.is_permitted(request.user, action, project):
        raise PermissionDenied(REFUSALS.get(action, ""))


def breadcrumbs(*parts: tuple[str, str] | str) -> Sequence[Crumb]:
    """`(label, address)` pairs; the last part is the page itself."""
    return [
        {"label": part} if isinstance(part, str) else {"label": part[0], "url": part[1]} for part in parts
    ]


def project_breadcrumb(project: Project, label: str) -> Sequence[Crumb]:
    lines = reverse("lines", args=[project.owner.key, project.key])
    return breadcrumbs((project.name or project.key, lines), label)


def task_breadcrumbs(task: Task) -> Sequence[Crumb]:
    keys = (task.project.owner.key, task.project.key)
    return breadcrumbs(
        (task.project.name or task.project.key, reverse("lines", args=keys)),
        (task.line.name, reverse("line-live", args=[*keys, task.line.key])),
        task.name,
    )


def render_in_shell(
    request: HttpRequest,
    template: str,
    *,
    project: Project | None = None,
    scope: PageScope | None = None,
    section: str = "",
    trail: Sequence[Crumb] = (),
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    """A page in the shell: of one project, of those that a `scope` spans, or of none."""
    if scope:
        project = scope.project
    shell = {
        "project": project,
        "scope": scope,
        "section": section,
        "breadcrumb": trail,
        "may": Permissions(request.user, project) if project else None,
    }
    response = render(request, template, {**shell, **context}, status=status)
    # Sent only where it changes
    if project and request.COOKIES.get(LAST_PROJECT) != str(project.pk):
        response.set_cookie(
            LAST_PROJECT, str(project.pk), samesite="Lax", httponly=True, secure=request.is_secure()
        )
    return response


def show_line(
    request: HttpRequest, template: str, line: Line, /, *, status: int = 200, **context: Any
) -> HttpResponse:
    """Show one of the pages behind the tabs of a line. `line` in the context overrides the argument."""
    return render_in_shell(
        request,
        template,
        project=line.project,
        section="lines",
        trail=project_breadcrumb(line.project, line.name),
        status=status,
        **{"line": line, **context},
    )


class Permissions:
    """`may.operate` in templates: the table of `pipelines.access` for the reader and this project. Each action is asked
    once for a page, however many rows show a button."""

    def __init__(self, who: Any, project: Project) -> None:
        self._who, self._project = who, project
        self._known: dict[str, bool] = {}

    def __getitem__(self, action: str) -> bool:
        if action not in self._known:
            self._known[action] = access.is_permitted(self._who, action, self._project)
        return self._known[action]


def replace_url(response: HttpResponse, request: HttpRequest, query: str) -> HttpResponse:
    """Tells htmx which address the page has now, so that what it is narrowed to can be kept and sent."""
    response["HX-Replace-Url"] = request.path + (f"?{query}" if query else "")
    return response


def is_fragment_request(request: HttpRequest, name: str) -> bool:
    """Return whether this request asks for the part `name` of its page (`?fragment=…`)."""
    return request.GET.get("fragment") == name


# Scope of Home, Inbox and Tasks: all projects that their reader may see, or the one that the switcher chose.
# The choice stands in the address (`?project=owner/key`), so that it can be saved and sent.


RELATIVE_DAY = re.compile(r"(\d{1,4})d|today|yesterday")


class PageScope:
    """Projects in view. `address`: where the switcher narrows it. `visible`: all that its reader may see, read
    when it is asked for; `asked`: which of them the address names."""

    def __init__(self, read: Callable[[], Sequence[Project]], address: str, requested: str = "") -> None:
        self._read, self.address, self.asked = read, address, requested

    @classmethod
    def of_project(cls, project: Project, address: str = "") -> PageScope:
        """Choose one project."""
        return cls(lambda: [project], address, str(project))

    @cached_property
    def visible_projects(self) -> Sequence[Project]:
        return self._read()

    @cached_property
    def chosen_project(self) -> Project | None:
        """Name the project that narrows it: one that the reader may not see narrows
        nothing, like every value in an address that does not exist."""
        return (
            next((project for project in self.visible_projects if str(project) == self.asked), None)
            if self.asked
            else None
        )

    @property
    def projects(self) -> list[Project]:
        return [self.chosen_project] if self.chosen_project else list(self.visible_projects)

    @property
    def project(self) -> Project | None:
        """The only one that is shown, if it is one."""
        return self.projects[0] if len(self.projects) == 1 else None

    @property
    def has_several_projects(self) -> bool:
        """Return whether a row has to name its project."""
        return len(self.projects) > 1

    @property
    def project_key(self) -> str:
        """Key of the project in the address."""
        return str(self.chosen_project) if self.chosen_project else ""

    @property
    def hint_topic(self) -> str:
        """Source of the hints that a page of the scope receives: the one project, or all that its reader may
        see."""
        return str(self.project) if self.project else "*" if self.projects else ""

    @property
    def query_string(self) -> str:
        """End of an address that has no other parameter: "?project=…" or ""."""
        return f"?{urlencode({'project': self.project_key})}" if self.chosen_project else ""


def page_scope(request: HttpRequest, page: str) -> PageScope:
    """Read the scope from the address."""

    def visible_projects() -> Sequence[Project]:
        visible = access.visible_projects_read_at_once(request.user)
        request.seen_projects = visible  # type: ignore[attr-defined]  # the switcher shows them, too
        return visible

    return PageScope(visible_projects, reverse(page), request.GET.get("project", ""))


def requested_date_range(request: HttpRequest) -> DateRange:
    return DateRange(
        parse_day_or_none(request.GET.get("since", "")), parse_day_or_none(request.GET.get("until", ""))
    )


def parse_day_or_none(text: str) -> date | None:
    """Return the day of `2026-11-30`, `today`, `yesterday`, or `30d` for 30 days ago; None of anything else."""
    text = text.strip().lower()
    if days := RELATIVE_DAY.fullmatch(text):
        return timezone.localdate() - timedelta(days=int(days[1]) if days[1] else text == "yesterday")
    try:
        day = parse_date(text)
    except ValueError:
        return None
    # Days at the edge of the calendar have no next one, or none in another time zone.
    return day if day and date.min.year < day.year < date.max.year else None
