"""Shared parts of people's acts on a task: the position that is meant, and the message where an act fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.models import Task, Token
from pipelines.web.shell.page import SignedInRequest, breadcrumbs, render_in_shell

Typed = Mapping[str, str]
"""What was typed, by the label of its field."""


def redirect_to_task(task: Task) -> HttpResponse:
    return redirect(reverse("task", args=[task.project.owner.key, task.project.key, task.name]))


def get_token_or_404(task: Task, token: int) -> Token:
    return get_object_or_404(Token.objects.filter(task=task, pk=token))


def typed_text_by_label(request: SignedInRequest, name: str, label: str) -> Typed:
    """The field `name` as it was sent, whatever was wrong with it."""
    return {label: request.POST.get(name, "").replace("\0", "")}


def run_command_and_redirect(
    request: SignedInRequest, task: Task, do: Callable[[], Any], success_message: str, typed: Typed
) -> HttpResponse:
    """Run the engine command `do` and redirect to the task. A conflict or refusal becomes a page that keeps the
    typed text."""
    try:
        do()
    except Conflict as late:
        # With what was typed: whoever wrote it should not have to write it again
        return conflict_page(request, task, late.detail, typed)
    except Invalid as fault:
        return refusal_page(request, task, str(fault), typed)
    except Forbidden as not_asked:
        raise PermissionDenied(str(not_asked)) from not_asked
    messages.success(request, success_message)
    return redirect_to_task(task)


def conflict_page(request: SignedInRequest, task: Task, detail: str, typed: Typed) -> HttpResponse:
    """409: what happened meanwhile, what was typed, and the way to the present state."""
    return _failure_page(request, task, "tasks/conflict.html", 409, detail, typed)


def refusal_page(request: SignedInRequest, task: Task, words: str, typed: Typed) -> HttpResponse:
    """422 where a dialog's field was left out: the page says which, and keeps the rest."""
    return _failure_page(request, task, "tasks/refused.html", 422, words, typed)


def _failure_page(
    request: SignedInRequest, task: Task, template: str, status: int, detail: str, typed: Typed
) -> HttpResponse:
    # The page says how the task stands now.
    task.refresh_from_db(fields=["status"])
    return render_in_shell(
        request,
        template,
        project=task.project,
        section="tasks",
        trail=breadcrumbs(task.name),
        status=status,
        task=task,
        detail=detail,
        typed={label: text for label, text in typed.items() if text},
    )
