"""Being away: until when, and who decides reviews meanwhile."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from pipelines.errors import Invalid, NotFound
from pipelines.models import Absence, Project, User
from pipelines.people import absences
from pipelines.web.shell.middleware import zone_or_utc
from pipelines.web.shell.page import SignedInRequest, breadcrumbs, render_in_shell, sign_in_required


class AbsenceForm(forms.Form):
    stand_in = forms.ModelChoiceField(User.objects.none(), empty_label=None)
    project = forms.ModelChoiceField(Project.objects.none(), required=False, empty_label="All projects")
    until = forms.DateField()

    def __init__(self, user: User, data: Any = None) -> None:
        super().__init__(data)
        self.user = user
        own_projects = Project.objects.filter(memberships__user=user, archived_at=None)
        self._field("project").queryset = own_projects.select_related("owner").order_by("owner__key", "key")
        people = User.objects.filter(is_active=True, memberships__project__memberships__user=user)
        # Once each, however many projects both are members of
        self._field("stand_in").queryset = people.exclude(pk=user.pk).distinct().order_by("username")

    def _field(self, name: str) -> forms.ModelChoiceField:
        field = self.fields[name]
        assert isinstance(field, forms.ModelChoiceField)
        return field

    def save(self, now: datetime) -> None:
        """Away until the end of that day, in the person's time zone. Raises Invalid."""
        form_data = self.cleaned_data
        try:
            after = datetime.combine(
                form_data["until"] + timedelta(days=1), time(), tzinfo=zone_or_utc(self.user.time_zone)
            )
            # Raises for a day whose instant lies beyond the calendar.
            after.timestamp()
        except (OverflowError, ValueError) as problem:
            raise Invalid.at("until", "Choose a day from today on, within a year.") from problem
        absences.set_absence(self.user, form_data["stand_in"], form_data["project"], after, now=now)


@sign_in_required
@require_http_methods(["GET", "HEAD", "POST"])
def absence_page(request: SignedInRequest) -> HttpResponse:
    form = AbsenceForm(request.user, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            form.save(timezone.now())
            messages.success(request, "Saved")
            return redirect("account-away")
        except Invalid as problem:
            form.add_error(problem.path, problem.message)
    now = timezone.now()
    current_absences = Absence.objects.filter(until__gt=now).select_related(
        "user", "stand_in", "project__owner"
    )
    return render_in_shell(
        request,
        "account/away.html",
        section="account",
        trail=breadcrumbs(("Personal settings", reverse("account")), "Away"),
        status=422 if form.is_bound else 200,
        form=form,
        absences=list(
            current_absences.filter(user=request.user).order_by("project__owner__key", "project__key")
        ),
        stands_in=list(
            current_absences.filter(stand_in=request.user).order_by("user__username", "project_id")
        ),
    )


@sign_in_required
@require_POST
def end_absence(request: SignedInRequest, absence: int) -> HttpResponse:
    """End one's own absence before its time."""
    try:
        absences.end_absence(request.user, absence, now=timezone.now())
    except NotFound as problem:
        raise Http404 from problem
    messages.success(request, "Your absence has ended.")
    return redirect("account-away")
