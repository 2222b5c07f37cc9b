"""A line as a whole: its name, its archive, a copy of it in another project."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from pipelines import access
from pipelines.errors import Conflict, Invalid
from pipelines.lines import line_operations as line_settings
from pipelines.models import LimitPolicy, Line, StoredValue, Task, User
from pipelines.queries.value_uses import value_references
from pipelines.routing.basics.wording import as_sentence, people_text
from pipelines.web.lines.guarantees import (
    first_gate_guarantee_id_or_empty,
    station_with_covering_second_rule_or_empty,
)
from pipelines.web.lines.lines import live_line_or_draft_and_problems
from pipelines.web.shell.forms import ChoiceForm
from pipelines.web.shell.page import SignedInRequest, line_required, show_line


class LineNameForm(forms.Form):
    name = forms.CharField(max_length=line_settings.LONGEST_NAME)


class LineDescriptionForm(ChoiceForm):
    """Form of who answers for a line, and its tags with commas between them."""

    offered = "maintainer"
    maintainer = forms.ChoiceField(required=False)
    tags = forms.CharField(required=False, max_length=500)


class LimitForm(forms.Form):
    """Form of the limit of a line; without a number there is none."""

    tasks = forms.IntegerField(required=False, min_value=1, max_value=line_settings.MOST_AT_ONCE)
    key = forms.CharField(required=False, max_length=line_settings.LONGEST_NAME)
    over = forms.ChoiceField(choices=LimitPolicy.choices)


class ConfirmForm(forms.Form):
    """Confirmation that the button of a dialog sends; an empty request archives nothing."""

    sure = forms.BooleanField()


class TargetProjectForm(ChoiceForm):
    """Form for the target project. `to`: owner/project."""

    offered = "to"
    to = forms.ChoiceField()


@line_required("design")
@require_http_methods(["GET", "HEAD", "POST"])
def line_settings_page(request: SignedInRequest, line: Line) -> HttpResponse:
    form = LineNameForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            line_settings.rename_line(line, form.cleaned_data["name"], by=request.user)
        except Invalid as fault:
            form.add_error("name", fault.message)
        except Conflict as conflict:
            form.add_error("name", conflict.detail)
        else:
            messages.success(request, "Saved")
            return _redirect_to_settings(line)
    return _settings_page(request, line, form, 422 if request.method == "POST" else 200)


def _settings_page(request: SignedInRequest, line: Line, form: forms.Form, status: int = 200) -> HttpResponse:
    return show_line(
        request,
        "lines/settings.html",
        line,
        status=status,
        form=form if isinstance(form, LineNameForm) else LineNameForm(),
        limit=form if isinstance(form, LimitForm) else LimitForm(initial=_limit_values(line)),
        described=form if isinstance(form, LineDescriptionForm) else _description_form(line),
        members=_member_choices(line),
        policies=LimitPolicy.choices,
        to_errors=form["to"].errors if isinstance(form, TargetProjectForm) else [],
        places=_target_project_choices(request),
        running=Task.objects.filter(line=line, ended_at=None).count(),
        named=sorted({name for _kind, name in value_references(line.draft)}),
        own=StoredValue.objects.filter(line=line).order_by("name"),
    )


def _limit_values(line: Line) -> dict[str, Any]:
    most = {} if line.limit_tasks is None else {"tasks": line.limit_tasks}
    return {**most, "key": line.limit_key, "over": line.limit_over}


def _member_choices(line: Line) -> list[tuple[str, str]]:
    """Return nobody, then the members of its project by name."""
    members = User.objects.filter(memberships__project=line.project, is_active=True).order_by("username")
    return [("", "Nobody"), *((str(user.pk), str(user)) for user in members.distinct())]


def _description_form(line: Line, typed: QueryDict | None = None) -> LineDescriptionForm:
    initial = {"maintainer": line.maintainer_id or "", "tags": ", ".join(line.tags)}
    return LineDescriptionForm(_member_choices(line), typed, initial=initial)


@line_required("design")
@require_POST
def change_line_description(request: SignedInRequest, line: Line) -> HttpResponse:
    form = _description_form(line, request.POST)
    if form.is_valid():
        chosen = form.cleaned_data["maintainer"]
        maintainer = User.objects.get(pk=chosen) if chosen else None
        try:
            tags = form.cleaned_data["tags"].split(",")
            line_settings.set_maintainer_and_tags(line, maintainer=maintainer, tags=tags, by=request.user)
        except Invalid as fault:
            form.add_error(fault.path, fault.message)
        else:
            messages.success(request, "Saved")
            return _redirect_to_settings(line)
    return _settings_page(request, line, form, 422)


@line_required("design")
@require_POST
def change_limit(request: SignedInRequest, line: Line) -> HttpResponse:
    form = LimitForm(request.POST)
    if form.is_valid():
        typed = form.cleaned_data
        try:
            line_settings.set_limit_of_open_tasks(
                line, typed["tasks"], key=typed["key"], over=typed["over"], by=request.user
            )
        except Invalid as fault:
            for problem in fault.problems:
                form.add_error(problem.path.removeprefix("limit."), as_sentence(people_text(problem)))
        else:
            messages.success(request, "Saved")
            return _redirect_to_settings(line)
    return _settings_page(request, line, form, 422)


def _target_project_choices(request: SignedInRequest) -> list[tuple[str, str]]:
    """The projects in which the person may draw lines."""
    projects = access.projects_where_role_allows(request.user, "design").filter(archived_at=None)
    return [
        (str(project), f"{project.owner.name} › {project.name}")
        for project in projects.select_related("owner").order_by("owner__key", "key").distinct()
    ]


def _redirect_to_settings(line: Line) -> HttpResponse:
    return redirect("line-settings", line.project.owner.key, line.project.key, line.key)


@line_required("publish")
@require_POST
def archive_line(request: SignedInRequest, line: Line) -> HttpResponse:
    form = ConfirmForm(request.POST)
    if not form.is_valid():
        return _settings_page(request, line, form, 422)
    line_settings.set_archived(line, True, by=request.user)
    messages.success(request, f"{line.name} is archived")
    return _redirect_to_settings(line)


@line_required("publish")
@require_POST
def restore_line(request: SignedInRequest, line: Line) -> HttpResponse:
    line_settings.set_archived(line, False, by=request.user)
    messages.success(request, f"{line.name} is restored")
    return _redirect_to_settings(line)


@line_required("design")
@require_POST
def duplicate_line(request: SignedInRequest, line: Line) -> HttpResponse:
    # The choices are of this person, so nothing is copied into a project of others.
    form = TargetProjectForm(_target_project_choices(request), request.POST)
    if not form.is_valid():
        return _settings_page(request, line, form, 422)
    owner, _slash, key = form.cleaned_data["to"].partition("/")
    try:
        name = f"{line.name} (copy)" if "attempt" in request.POST else ""
        to = access.visible_project_by_keys(request.user, owner, key)
        made = line_settings.duplicate_line(line, to, by=request.user, name=name)
    except Conflict as conflict:
        form.add_error("to", conflict.detail)
        return _settings_page(request, line, form, 422)
    messages.success(request, f"{line.name} is copied")
    return HttpResponseRedirect(
        reverse("line-draw", args=[owner, key, made.key]) + _attempt_fragment_or_empty(request, made)
    )


def _attempt_fragment_or_empty(request: SignedInRequest, line: Line) -> str:
    """Return the part of the address by which the canvas of a copy offers to try what its guarantees forbid."""
    if "attempt" not in request.POST:
        return ""
    copied, _problems = live_line_or_draft_and_problems(line)
    return (
        f"#past={first_gate_guarantee_id_or_empty(copied)}&rules={station_with_covering_second_rule_or_empty(copied)}"
        if copied
        else ""
    )
