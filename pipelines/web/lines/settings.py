"""A line as a whole: its name, its archive, a copy of it in another project."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from pipelines import access
from pipelines.errors import Conflict, Invalid
from pipelines.lines import settings as line_settings
from pipelines.models import Line, StoredValue, Task
from pipelines.queries.named_values import references
from pipelines.web.lines.guarantees import guarded, reordered
from pipelines.web.lines.lines import drawn
from pipelines.web.shell.forms import OfferingForm
from pipelines.web.shell.page import SignedIn, on_line, show_line


class LineNameForm(forms.Form):
    name = forms.CharField(max_length=line_settings.LONGEST_NAME)


class SureForm(forms.Form):
    """Confirmation that the button of a dialog sends; an empty request archives nothing."""

    sure = forms.BooleanField()


class TargetProjectForm(OfferingForm):
    """Form for the target project. `to`: owner/project."""

    offered = "to"
    to = forms.ChoiceField()


@on_line("design")
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: SignedIn, line: Line) -> HttpResponse:
    form = LineNameForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            line_settings.rename(line, form.cleaned_data["name"], by=request.user)
        except Invalid as fault:
            form.add_error("name", fault.message)
        except Conflict as conflict:
            form.add_error("name", conflict.detail)
        else:
            messages.success(request, "Saved")
            return _back(line)
    return _page(request, line, form, 422 if request.method == "POST" else 200)


def _page(request: SignedIn, line: Line, form: forms.Form, status: int = 200) -> HttpResponse:
    return show_line(
        request,
        "lines/settings.html",
        line,
        status=status,
        form=form if isinstance(form, LineNameForm) else LineNameForm(),
        to_errors=form["to"].errors if isinstance(form, TargetProjectForm) else [],
        places=_places(request),
        running=Task.objects.filter(line=line, ended_at=None).count(),
        named=sorted({name for _kind, name in references(line.draft)}),
        own=StoredValue.objects.filter(line=line).order_by("name"),
    )


def _places(request: SignedIn) -> list[tuple[str, str]]:
    """The projects in which the person may draw lines."""
    projects = access.projects_where(request.user, "design").filter(archived_at=None)
    return [
        (str(project), f"{project.owner.name} › {project.name}")
        for project in projects.select_related("owner").order_by("owner__key", "key").distinct()
    ]


def _back(line: Line) -> HttpResponse:
    return redirect("line-settings", line.project.owner.key, line.project.key, line.key)


@on_line("publish")
@require_POST
def archive(request: SignedIn, line: Line) -> HttpResponse:
    form = SureForm(request.POST)
    if not form.is_valid():
        return _page(request, line, form, 422)
    line_settings.archive(line, True, by=request.user)
    messages.success(request, f"{line.name} is archived")
    return _back(line)


@on_line("publish")
@require_POST
def restore(request: SignedIn, line: Line) -> HttpResponse:
    line_settings.archive(line, False, by=request.user)
    messages.success(request, f"{line.name} is restored")
    return _back(line)


@on_line("design")
@require_POST
def duplicate(request: SignedIn, line: Line) -> HttpResponse:
    # The choices are of this person, so nothing is copied into a project of others.
    form = TargetProjectForm(_places(request), request.POST)
    if not form.is_valid():
        return _page(request, line, form, 422)
    owner, _slash, key = form.cleaned_data["to"].partition("/")
    try:
        name = f"{line.name} (copy)" if "attempt" in request.POST else ""
        to = access.get_project(request.user, owner, key)
        made = line_settings.duplicate(line, to, by=request.user, name=name)
    except Conflict as conflict:
        form.add_error("to", conflict.detail)
        return _page(request, line, form, 422)
    messages.success(request, f"{line.name} is copied")
    return HttpResponseRedirect(reverse("line-draw", args=[owner, key, made.key]) + _attempt(request, made))


def _attempt(request: SignedIn, line: Line) -> str:
    """Return the part of the address by which the canvas of a copy offers to try what its guarantees forbid."""
    if "attempt" not in request.POST:
        return ""
    copied, _problems = drawn(line)
    return f"#past={guarded(copied)}&rules={reordered(copied)}" if copied else ""
