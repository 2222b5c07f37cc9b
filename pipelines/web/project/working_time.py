"""Working time of a project: its time zone, days and hours, for due times of gates that count only these."""

from __future__ import annotations

from datetime import date
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.dates import WEEKDAYS
from django.views.decorators.http import require_http_methods

from pipelines.errors import Invalid
from pipelines.models import Project
from pipelines.people import working_time
from pipelines.people.working_time import WorkingHours
from pipelines.web.shell.page import SignedInRequest, project_breadcrumb, project_required, render_in_shell


class DatesField(forms.CharField):
    """Field for dates, one per line, as 2026-12-25."""

    def clean(self, value: Any) -> list[date]:
        days = []
        for line in super().clean(value).split():
            try:
                days.append(date.fromisoformat(line))
            except ValueError:
                raise forms.ValidationError(f"“{line[:40]}” is not a date.") from None
        return days


class WorkingTimeForm(forms.Form):
    time_zone = forms.ChoiceField(choices=lambda: [(zone, zone) for zone in working_time.time_zone_names()])
    work_days = forms.TypedMultipleChoiceField(
        choices=lambda: [(str(number + 1), WEEKDAYS[number]) for number in range(7)], coerce=int
    )
    work_from = forms.TimeField()
    work_until = forms.TimeField()
    days_off = DatesField(required=False, max_length=4_000)

    def working_hours(self) -> WorkingHours:
        return WorkingHours(**self.cleaned_data)


@project_required("settings")
@require_http_methods(["GET", "HEAD", "POST"])
def working_time_page(request: SignedInRequest, project: Project) -> HttpResponse:
    form = WorkingTimeForm(request.POST or None, initial=_initial_values(project))
    if request.method == "POST" and form.is_valid():
        try:
            working_time.change_working_hours(project, form.working_hours(), by=request.user)
        except Invalid as fault:
            form.add_error(fault.path, fault.message)
        else:
            messages.success(request, "Saved")
            return redirect("project-working-time", project.owner.key, project.key)
    return render_in_shell(
        request,
        "project/working_time.html",
        project=project,
        section="settings",
        trail=project_breadcrumb(project, "Working time"),
        status=422 if request.method == "POST" else 200,
        form=form,
    )


def _initial_values(project: Project) -> dict[str, Any]:
    working_hours = WorkingHours.of(project).to_dict()
    return working_hours | {
        "work_days": [str(day) for day in project.work_days],
        "days_off": "\n".join(working_hours["days_off"]),
    }
