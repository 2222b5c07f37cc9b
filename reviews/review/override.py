"""The page on which an administrator approves a gate instead of the people it asks (law §6, Override)."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from pipelines import engine
from pipelines.engine.commands.override import administrator_for_override
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.models import GateVisit, Word
from pipelines.queries import versions
from pipelines.routing.document.line import Gate, Problem
from pipelines.web.shell.page import SignedInRequest, breadcrumbs, render_in_shell, sign_in_required
from pipelines.web.tasks.start import StartField, input_values_of_form, start_fields
from reviews.decision.forms import FIELDS
from reviews.decision.gates import gate_with_approval_policy_of_visit


class OverrideForm(forms.Form):
    """Bound to what was on the page, as a vote is."""

    comment = forms.CharField(required=False, max_length=20_000, strip=False)
    confirm = forms.CharField(required=False, max_length=200)
    token_version = forms.IntegerField(min_value=0, max_value=2**31 - 1)
    evidence_digest = forms.CharField(max_length=64)


@require_http_methods(["GET", "HEAD", "POST"])
@sign_in_required
def override_page(request: SignedInRequest, visit: uuid.UUID) -> HttpResponse:
    gate_visit = get_object_or_404(
        GateVisit.objects.select_related(
            "task__project__owner", "task__line", "job", "asked_by", "decided_by"
        ).filter(pk=visit)
    )
    try:
        administrator_for_override(gate_visit, request.user)
    except NotFound as problem:
        raise Http404 from problem
    except Forbidden as problem:
        raise PermissionDenied(str(problem)) from problem
    gate = gate_with_approval_policy_of_visit(
        gate_visit, versions.parsed_line_by_version_id(gate_visit.asked_by.pinned_id)
    )
    if request.method != "POST":
        return _override_page_response(request, gate_visit, gate, OverrideForm(), [])
    form = OverrideForm(request.POST)
    if not form.is_valid():
        return _override_page_response(request, gate_visit, gate, form, [], 400)
    try:
        filled = input_values_of_form(gate.fields, request.POST, FIELDS)
        engine.override_gate_as_administrator(
            gate_visit.pk, user=request.user, fields=filled, **form.cleaned_data
        )
    except Invalid as problem:
        own = [fault for fault in problem.problems if fault.path.startswith(f"{FIELDS}.")]
        for fault in problem.problems:
            if fault not in own:
                form.add_error(
                    fault.path if fault.path in form.fields else None, f"{fault.message} {fault.hint}"
                )
        return _override_page_response(request, gate_visit, gate, form, own, 400)
    except Conflict as problem:
        messages.error(request, str(problem))
        return redirect("gate-visit", gate_visit.pk)
    messages.success(request, "Overridden. It is shown in the history of the task.")
    return redirect("gate-visit", gate_visit.pk)


def _override_page_response(
    request: SignedInRequest,
    visit: GateVisit,
    gate: Gate,
    form: OverrideForm,
    problems: list[Problem],
    status: int = 200,
) -> HttpResponse:
    typed = request.POST if request.method == "POST" else None
    fields: list[StartField] = start_fields(gate.fields, typed, problems, FIELDS)
    back = reverse("gate-visit", args=[visit.pk])
    trail = breadcrumbs(("Inbox", reverse("needs-me")), (visit.task.name, back), "Override")
    context: dict[str, Any] = {
        "visit": visit,
        "task": visit.task,
        "gate": gate,
        "form": form,
        "fields": fields,
        "open": visit.state == GateVisit.State.OPEN,
        "asked": gate.approval.who,
        "votes": visit.votes.filter(word=Word.APPROVE).count(),
        "needed": gate.approval.min_votes,
        "back": back,
    }
    return render_in_shell(
        request, "reviews/override.html", project=visit.task.project, section="needs", trail=trail,
        status=status, **context,
    )  # fmt: skip
