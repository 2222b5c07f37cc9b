"""Escalating a task by hand, and resolving what is escalated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from uuid import UUID

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_POST

from pipelines import engine
from pipelines.models import Deadlock, Escalation, Task
from pipelines.web.shell.forms import Escalated, Resolved, Unlocked, first_fault
from pipelines.web.shell.page import SignedIn, on_task
from pipelines.web.tasks.acting import act, refused, typed


@on_task("operate")
@require_POST
def escalate(request: SignedIn, task: Task) -> HttpResponse:
    form, typed_texts = Escalated(request.POST), typed(request, "reason", "Reason")
    if not form.is_valid():
        return refused(
            request, task, "Enter what it is about and a reason. Both are kept with the task.", typed_texts
        )
    do = partial(engine.escalate, task.pk, user=request.user, **form.cleaned_data)
    return act(request, task, do, "Escalated", typed_texts)


@on_task("view")
@require_POST
def resolve(request: SignedIn, task: Task, escalation: UUID) -> HttpResponse:
    if not Escalation.objects.filter(task=task, pk=escalation).exists():
        raise Http404
    return _answer(request, task, Resolved(request.POST), partial(engine.resolve, escalation))


@on_task("view")
@require_POST
def unlock(request: SignedIn, task: Task, deadlock: UUID) -> HttpResponse:
    if not Deadlock.objects.filter(tasks=task, pk=deadlock).exists():
        raise Http404
    return _answer(request, task, Unlocked(request.POST), partial(engine.resolve_deadlock, deadlock))


def _answer(
    request: SignedIn, task: Task, form: Resolved | Unlocked, resolve: Callable[..., Task]
) -> HttpResponse:
    """Whoever is of the role may; the engine settles it."""
    typed_texts = typed(request, "reason", "Reason")
    if not form.is_valid():
        return refused(request, task, first_fault(form), typed_texts)
    return act(request, task, partial(resolve, user=request.user, **form.said), "Resolved", typed_texts)
