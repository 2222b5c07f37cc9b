"""The repositories of a project: what is connected, what the last test found, and the form that connects one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from pipelines import access
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.lines import issue_tasks
from pipelines.models import AllowedFolder, IssueTrigger, Line, Project, Repository, User
from pipelines.people import allowed_folders, code_host_notices, repositories
from pipelines.people.allowed_folders import FolderToAllow
from pipelines.people.program_requirements import serving_runners
from pipelines.people.repositories import RepositorySettings
from pipelines.ports.vault import value_lookup
from pipelines.ports.vault.store import SECRET
from pipelines.queries.allowed_folders import displayed_address as shown_address
from pipelines.queries.allowed_folders import may_see_server_folders
from pipelines.routing.basics.command_text import command_text
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.web.project.prepare_forms import prepare_forms
from pipelines.web.project.protection_forms import protection_context
from pipelines.web.shell.page import (
    SignedInRequest,
    costly_to_post,
    costly_view,
    project_breadcrumb,
    project_required,
    render_in_shell,
    require_permission,
)
from pipelines.work.hosts.table import NAMES, NONE
from pipelines.work.spec.preparation import Preparation

BY_SERVER, IN_FOLDER = (
    "as reported by the server, without a push",
    "its folder may be written to; nothing was pushed",
)
NOTICES = 50
"""Of what the host was not told, so many are shown."""


class TriggerForm(forms.Form):
    line = forms.CharField(max_length=64)
    on = forms.ChoiceField(choices=IssueTrigger.On.choices, initial=IssueTrigger.On.LABEL)
    value = forms.CharField(max_length=100)


class RepositoryForm(forms.Form):
    address = forms.CharField(max_length=1000)
    name = forms.CharField(max_length=100, required=False)
    default_branch = forms.CharField(max_length=200, required=False)
    credential = forms.CharField(max_length=64, required=False)
    pushing = forms.ChoiceField(choices=Repository.Pushing.choices)
    host = forms.CharField(max_length=20, required=False)
    page = forms.CharField(max_length=1000, required=False)
    host_credential = forms.CharField(max_length=64, required=False)
    host_app = forms.CharField(max_length=64, required=False)
    hook_secret = forms.CharField(max_length=64, required=False)
    # The folder of the server that an administrator was asked about, and allows.
    allow = forms.CharField(max_length=4096, required=False)
    question: FolderToAllow | None = None

    @property
    def repository_settings(self) -> RepositorySettings:
        return RepositorySettings(
            **{key: value for key, value in self.cleaned_data.items() if key != "allow"}
        )

    @property
    def allowed_folder(self) -> str:
        return str(self.cleaned_data["allow"])


@dataclass(frozen=True)
class CheckRow:
    """`tone`: ok, attention with what will not work all the same, danger, or neutral for what was not looked at."""

    label: str
    fact: str
    commit: str
    seconds: str
    tone: str
    icon: str


@dataclass(frozen=True)
class RepositoryRow:
    repository: Repository
    checks: list[CheckRow]
    lines: list[Line]
    chosen: list[Line]
    """Lines in which whoever starts a task chooses the repository."""

    @property
    def failure_text_or_empty(self) -> str:
        return next((check.fact for check in self.checks if check.tone == "danger"), "")

    @property
    def environment_text_or_empty(self) -> str:
        """The command that prepares it, or else its image or services; "" where nothing is set."""
        preparation = Preparation.of_dict(self.repository.prepare)
        return (
            command_text(preparation.argv)
            or preparation.image
            or ", ".join(service.name for service in preparation.services)
        )

    @property
    def tested_at(self) -> datetime | None:
        return self.repository.tested_at


@project_required("design")
@costly_to_post
@require_http_methods(["GET", "HEAD", "POST"])
def repositories_page(request: SignedInRequest, project: Project) -> HttpResponse:
    """Designers see what is connected; only admins change it."""
    form = RepositoryForm(request.POST or None, initial={"pushing": Repository.Pushing.EXECUTE})
    if request.method == "POST":
        require_permission(request, "repositories", project)
        made = connect_repository_or_none(request, project, form) if form.is_valid() else None
        if made is not None:
            return redirect("project-repositories", project.owner.key, project.key)
    return render_in_shell(
        request,
        "project/repositories.html",
        project=project,
        section="settings",
        trail=project_breadcrumb(project, "Repositories"),
        status=422 if request.method == "POST" else 200,
        form=form,
        rows=repository_rows(project),
        folders=owner_folders(request, project),
        **form_choices(request, project),
    )


def initial_values(repository: Repository, person: User) -> dict[str, Any]:
    """A folder of the server is named by its path for administrators of the installation alone."""
    fields = {key: getattr(repository, key) for key in RepositoryForm.base_fields if key != "allow"}
    return {**fields, "address": shown_address(repository, person)}


def repository_page(
    request: SignedInRequest, repository: Repository, status: int, **forms: Any
) -> HttpResponse:
    """The page, whose forms are saved together. `forms`: those in which something was typed."""
    project, place = repository.project, "/owners/{}/projects/{}/repositories/{}/hook"
    defaults = {
        "form": RepositoryForm(initial=initial_values(repository, request.user)),
        "trigger_form": TriggerForm(),
        **prepare_forms(repository),
    }
    return render_in_shell(
        request,
        "project/repository.html",
        project=project,
        section="settings",
        trail=project_breadcrumb(project, "Repositories"),
        status=status,
        repository=repository,
        may_prepare=access.is_permitted(request.user, "execute", project),
        triggers=repository.triggers.select_related("line").order_by("line__name", "on", "value"),
        events=IssueTrigger.On.choices,
        lines=[
            (line.key, line.name)
            for line in project.lines.filter(live__isnull=False, archived_at=None).order_by("name")
        ],
        hook=f"{settings.BASE_URL}/api{place.format(project.owner.key, project.key, repository.name)}",
        notices=code_host_notices.unsent_notices(repository)[:NOTICES],
        receipts=repository.hook_receipts.select_related("task").order_by("-at")[:5],
        **{**defaults, **protection_context(repository, request.user), **forms},
        **form_choices(request, project),
    )


@project_required("repositories")
@require_POST
def add_trigger(request: SignedInRequest, project: Project, repository: int) -> HttpResponse:
    project_repository = get_repository(project, repository)
    form = TriggerForm(request.POST)
    if form.is_valid():
        form_data = form.cleaned_data
        try:
            issue_tasks.add_issue_trigger(
                project_repository,
                form_data["line"],
                form_data["on"],
                form_data["value"],
                by=request.user,
                now=timezone.now(),
            )
        except Invalid as fault:
            form.add_error(fault.path if fault.path in form.fields else None, fault.message)
        except Conflict as fault:
            form.add_error("value", fault.detail)
        else:
            messages.success(request, f"Issues of {project_repository.name} start tasks")
            return redirect("project-repository", project.owner.key, project.key, project_repository.pk)
    return repository_page(request, project_repository, 422, trigger_form=form)


@project_required("repositories")
@require_POST
def delete_trigger(request: SignedInRequest, project: Project, trigger: int) -> HttpResponse:
    triggers = IssueTrigger.objects.select_related("repository__project", "line")
    issue_trigger = get_object_or_404(triggers.filter(repository__project=project, pk=trigger))
    issue_tasks.remove_issue_trigger(issue_trigger, by=request.user, now=timezone.now())
    return redirect("project-repository", project.owner.key, project.key, issue_trigger.repository_id)


@project_required("repositories")
@costly_view
@require_POST
def test_repository(request: SignedInRequest, project: Project, repository: int) -> HttpResponse:
    test_and_report(request, get_repository(project, repository))
    return redirect("project-repositories", project.owner.key, project.key)


@project_required("repositories")
@require_POST
def disconnect_repository(request: SignedInRequest, project: Project, repository: int) -> HttpResponse:
    project_repository = get_repository(project, repository)
    name = project_repository.name
    repositories.disconnect_repository(project_repository, by=request.user, now=timezone.now())
    messages.success(request, f"{name} is disconnected")
    return redirect("project-repositories", project.owner.key, project.key)


@project_required("repositories")
@require_POST
def revoke_folder(request: SignedInRequest, project: Project, folder: int) -> HttpResponse:
    """Revoke a folder of this owner, by an administrator of the installation; for anybody else there is no
    such page."""
    row = next((row for row in owner_folders(request, project) if row.pk == folder), None)
    if row is None:
        raise Http404
    allowed_folders.revoke_folder(row, by=request.user, now=timezone.now())
    messages.success(request, f"The folder is no longer allowed for {project.owner.name}")
    return redirect("project-repositories", project.owner.key, project.key)


def owner_folders(request: SignedInRequest, project: Project) -> list[AllowedFolder]:
    """Return the allowed folders of the owner, for administrators of the installation."""
    if not may_see_server_folders(request.user):
        return []
    rows = AllowedFolder.objects.filter(owner=project.owner_id)
    return list(rows.select_related("owner", "allowed_by").order_by("path"))


def get_repository(project: Project, repository: int) -> Repository:
    project_repository = get_object_or_404(Repository.objects.filter(project=project, pk=repository))
    # Loaded already, with its owner
    project_repository.project = project
    return project_repository


def form_choices(request: SignedInRequest, project: Project) -> dict[str, Any]:
    """Names of secrets only for who may store them."""
    reach = value_lookup.ValueScope(project.owner_id, project.pk)
    names = (
        reach.sorted_names_of_kind(SECRET)
        if access.is_permitted(request.user, "repositories", project)
        else []
    )
    return {
        "secrets": [("", "None"), *((name, name) for name in names)],
        "pushing": Repository.Pushing.choices,
        "hosts": [
            ("", "As its address says"),
            *NAMES.items(),
            (NONE, "None: only git"),
        ],
    }


def connect_repository_or_none(
    request: SignedInRequest, project: Project, form: RepositoryForm
) -> Repository | None:
    """None where it is refused; then the form says why."""
    try:
        made = repositories.connect_repository(
            project, form.repository_settings, by=request.user, now=timezone.now(), allow=form.allowed_folder
        )
    except Forbidden as fault:
        raise PermissionDenied from fault
    except (Invalid, Conflict) as fault:
        add_refusal(form, fault)
        return None
    test_and_report(request, made)
    return made


def test_and_report(request: SignedInRequest, repository: Repository) -> None:
    """Test it; what failed stands with the repository."""
    checks = repositories.test_connection(repository, by=request.user, now=timezone.now())
    if all(check["ok"] for check in checks):
        messages.success(request, f"{repository.name} is connected")


def add_refusal(form: RepositoryForm, fault: Invalid | Conflict) -> None:
    """Add the fault to its field."""
    if isinstance(fault, Conflict):
        form.add_error("name", fault.detail)
    elif isinstance(fault, FolderToAllow):
        # No error: an administrator is asked whether the folder is allowed.
        form.question = fault
    else:
        hint = fault.problems[0].hint
        form.add_error(
            fault.path if fault.path in form.fields else None, " ".join(filter(None, (fault.message, hint)))
        )


def repository_rows(project: Project) -> list[RepositoryRow]:
    lines = repositories.lines_by_repository(project)
    chosen = [
        # `input.repository`: whoever starts a task chooses.
        line
        for name, input_lines in lines.items()
        if name.startswith("input.")
        for line in input_lines
    ]
    workers = serving_runners(timezone.now(), project)
    return [
        RepositoryRow(
            repository,
            [
                row_of_check(check, in_folder=repository.address.startswith("/"))
                for check in repositories.last_test_with_programs_now(repository, workers)
            ],
            lines.get(repository.name, []),
            chosen,
        )
        for repository in Repository.objects.filter(project=project).order_by("name")
    ]


def row_of_check(check: dict[str, Any], *, in_folder: bool) -> CheckRow:
    labels = {
        "reach": "Reachable",
        "branch": "Default branch",
        "push": "Pushing allowed",
        "files": "Files",
        "programs": "Programs",
        "hosts": "Package hosts",
        "host": "Host",
    }
    looks = {True: ("ok", "end-completed"), False: ("danger", "end-failed"), None: ("neutral", "minus")}
    tone, icon = ("attention", "warning") if check.get("warning") else looks[check["ok"]]
    took = check["seconds"]
    seconds = "" if check["ok"] is None else "under 0.1 s" if took < 0.1 else f"{took} s"
    return CheckRow(
        labels.get(check["check"], check["check"]),
        _fact_of_check(check, in_folder),
        check["commit"][:7],
        seconds,
        tone,
        icon,
    )


def _fact_of_check(check: dict[str, Any], in_folder: bool) -> str:
    if check["ok"] is None:
        return "not checked"
    if not check["ok"]:
        return str(check["said"])
    if check["check"] in ("reach", "files") and check["said"]:
        count = int(check["said"])
        if check["check"] == "files":
            return singular_or_plural("%(count)d file", "%(count)d files", count) % {"count": count}
        return singular_or_plural("%(count)d branch", "%(count)d branches", count) % {"count": count}
    fact = str(check["said"]) or ((IN_FOLDER if in_folder else BY_SERVER) if check["check"] == "push" else "")
    warning = str(check.get("warning", ""))
    # A warning that begins with the fact says it already.
    return warning if fact and warning.startswith(fact) else ". ".join(filter(None, (fact, warning)))
