"""Escalating a task by hand, and resolving what is escalated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from uuid import UUID

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_POST

from pipelines import engine
from pipelines.models import Deadlock, Escalation, Task
from pipelines.web.shell.forms import (
    DeadlockResolutionForm,
    EscalationForm,
    EscalationResolutionForm,
    first_error,
)
from pipelines.web.shell.page import SignedInRequest, task_required
from pipelines.web.tasks.action_responses import refusal_page, run_command_and_redirect, typed_text_by_label


@task_required("operate")
@require_POST
def escalate_task(request: SignedInRequest, task: Task) -> HttpResponse:
    form, typed_texts = EscalationForm(request.POST), typed_text_by_label(request, "reason", "Reason")
    if not form.is_valid():
        return refusal_page(
            request, task, "Enter what it is about and a reason. Both are kept with the task.", typed_texts
        )
    do = partial(engine.escalate, task.pk, user=request.user, **form.cleaned_data)
    return run_command_and_redirect(request, task, do, "Escalated", typed_texts)


@task_required("view")
@require_POST
def resolve_task_escalation(request: SignedInRequest, task: Task, escalation: UUID) -> HttpResponse:
    if not Escalation.objects.filter(task=task, pk=escalation).exists():
        raise Http404
    return _resolve_with_form(
        request, task, EscalationResolutionForm(request.POST), partial(engine.resolve_escalation, escalation)
    )


@task_required("view")
@require_POST
def resolve_deadlock(request: SignedInRequest, task: Task, deadlock: UUID) -> HttpResponse:
    if not Deadlock.objects.filter(tasks=task, pk=deadlock).exists():
        raise Http404
    return _resolve_with_form(
        request, task, DeadlockResolutionForm(request.POST), partial(engine.resolve_deadlock, deadlock)
    )


def _resolve_with_form(
    request: SignedInRequest,
    task: Task,
    form: EscalationResolutionForm | DeadlockResolutionForm,
    resolve: Callable[..., Task],
) -> HttpResponse:
    """Whoever is of the role may; the engine settles it."""
    typed_texts = typed_text_by_label(request, "reason", "Reason")
    if not form.is_valid():
        return refusal_page(request, task, first_error(form), typed_texts)
    return run_command_and_redirect(
        request, task, partial(resolve, user=request.user, **form.resolution), "Resolved", typed_texts
    )
