"""Runners: which machines do the work of this project, and adding, draining and revoking one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from pipelines.models import ApiToken, Project, User
from pipelines.people import runners as people_runners
from pipelines.queries import unclaimable_jobs, workers
from pipelines.queries.runners import runner_rows as listed
from pipelines.web.shell.forms import DAYS
from pipelines.web.shell.page import SignedInRequest, project_breadcrumb, project_required, render_in_shell

LABEL = re.compile(r"[\w.:-]{1,64}")
MOST_LABELS = 20


class NewRunnerForm(forms.Form):
    """A token for one machine."""

    name = forms.RegexField(
        r"^[\w][\w .-]*$",
        max_length=60,
        label="Name",
        error_messages={"invalid": "Use letters, digits, spaces, “.”, “-” and “_”."},
    )
    labels = forms.CharField(max_length=500, required=False, label="Labels")
    days = forms.TypedChoiceField(choices=DAYS, coerce=int, initial=365, label="Valid for")

    def clean_labels(self) -> list[str]:
        words = [word for word in self.cleaned_data["labels"].replace(",", " ").split() if word]
        wrong = next((word for word in words if not LABEL.fullmatch(word)), "")
        if wrong:
            raise forms.ValidationError(
                f"“{wrong}” is not a label. Use letters, digits, “.”, “:”, “-” and “_”."
            )
        if len(words) > MOST_LABELS:
            raise forms.ValidationError(f"A runner has at most {MOST_LABELS} labels.")
        return words


@project_required("view")
@require_http_methods(["GET", "HEAD", "POST"])
def runners_page(request: SignedInRequest, project: Project) -> HttpResponse:
    """Members see where their work is done; changing it is for whoever may run programs there."""
    form, now = NewRunnerForm(request.POST or None), timezone.now()
    manages = people_runners.may_manage_runners(request.user, project)
    if request.method == "POST":
        _require_management(request.user, project)
        if form.is_valid():
            form_data: dict[str, Any] = form.cleaned_data
            lasts = timedelta(days=form_data["days"])
            token, secret = people_runners.add_runner_token_and_secret(
                project, form_data["name"], form_data["labels"], lasts, request.user, now
            )
            return _runner_added_page(request, project, token, secret)
    rows = listed(project, now)
    return render_in_shell(
        request,
        "project/runners.html",
        project=project,
        section="settings",
        trail=project_breadcrumb(project, "Runners"),
        status=422 if request.method == "POST" else 200,
        form=form,
        manages=manages,
        unprotected=workers.protection_gaps(now, project.pk),
        unclaimed=unclaimable_jobs.unclaimable_in_project(project.pk),
        own=[row for row in rows if row.token],
        # Workers of the installation itself have no token.
        beside=(without_token := [row for row in rows if not row.token]),
        beside_programs=any(row.starts_programs for row in without_token),
    )


def _runner_added_page(
    request: SignedInRequest, project: Project, token: ApiToken, secret: str
) -> HttpResponse:
    return render_in_shell(
        request,
        "project/runner_added.html",
        project=project,
        section="settings",
        trail=project_breadcrumb(project, "Runners"),
        token=token,
        command=runner_command(token.name, secret),
    )


def runner_command(name: str, secret: str) -> str:
    """Return the command that starts the runner, in a copy of the repository on its machine."""
    words = f"--server {settings.BASE_URL} --name {shlex.quote(name)}"
    return f'GATELINE_TOKEN={secret} make runner ARGS="{words}"'


@project_required("view")
@require_POST
def drain_runner(request: SignedInRequest, project: Project, token: int) -> HttpResponse:
    return _act_on_runner(
        request, project, token, people_runners.drain_runner, "“%(name)s” gets no new work."
    )


@project_required("view")
@require_POST
def resume_runner(request: SignedInRequest, project: Project, token: int) -> HttpResponse:
    return _act_on_runner(
        request, project, token, people_runners.resume_runner, "“%(name)s” gets work again."
    )


@project_required("view")
@require_POST
def revoke_runner(request: SignedInRequest, project: Project, token: int) -> HttpResponse:
    return _act_on_runner(
        request, project, token, people_runners.revoke_runner_and_requeue_jobs, "“%(name)s” is revoked."
    )


def _act_on_runner(
    request: SignedInRequest,
    project: Project,
    token: int,
    do: Callable[[ApiToken, User, datetime], None],
    success_message: str,
) -> HttpResponse:
    # The pages are open to members; to act takes more than to look.
    _require_management(request.user, project)
    runner_token = get_object_or_404(
        ApiToken.objects.filter(pk=token, project=project, kind=ApiToken.TokenKind.RUNNER)
    )
    do(runner_token, request.user, timezone.now())
    messages.success(request, success_message % {"name": runner_token.name})
    return redirect("project-runners", project.owner.key, project.key)


def _require_management(user: User, project: Project) -> None:
    if not people_runners.may_manage_runners(user, project):
        raise PermissionDenied
