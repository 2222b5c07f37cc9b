"""The page of back-tests under a line's versions, and the lines of JSON that it shows as they come."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from pipelines.errors import Invalid
from pipelines.lines.backtest import BacktestTarget, backtest_target
from pipelines.models import Decision, Line, Task
from pipelines.routing.document.line import DocumentError, Problem
from pipelines.web.lines.findings import readable_problems
from pipelines.web.shell.page import SignedInRequest, line_required, show_line

FIELDS = ("since", "last", "tasks", "versions")


@line_required("view")
@require_safe
def backtest_page(request: SignedInRequest, line: Line) -> HttpResponse:
    """`?to=draft`, `live` or a number. The page starts by itself where the address names it."""
    to = request.GET.get("to") or "draft"
    target, problems = _backtest_target_and_problems(line, to)
    context: dict[str, Any] = {
        "line": line,
        "to": to,
        "targets": _target_choices(line),
        "given": {name: request.GET.get(name, "") for name in FIELDS},
        "problems": readable_problems(problems, line.draft),
        "starts": bool(request.GET.get("to")) and target is not None,
        "recorded": has_decisions(line),
        "verdicts": verdict_looks(),
        # The script puts the name of each task in place of this one.
        "task_url": reverse("task", args=[line.project.owner.key, line.project.key, "WI-0-0"]),
    }
    return show_line(
        request,
        "versions/backtest.html",
        line,
        **context,
    )


def _backtest_target_and_problems(line: Line, to: str) -> tuple[BacktestTarget | None, list[Problem]]:
    try:
        return backtest_target(line, to), []
    except (DocumentError, Invalid) as fault:
        return None, list(fault.problems)


def _target_choices(line: Line) -> list[tuple[str, str]]:
    """Return what can be tried: the draft, then the versions, newest first."""
    numbers = line.versions.order_by("-number").values_list("pk", "number", "name")[:200]
    live = "live"
    version_choices = [
        (str(n), f"v{n}" + (f" · {name}" if name else "") + (f" · {live}" if pk == line.live_id else ""))
        for pk, n, name in numbers
    ]
    return [("draft", f"The draft ({line.draft_number})"), *version_choices]


def has_decisions(line: Line) -> bool:
    """Return whether anything was ever decided about a task of this line."""
    decided = Decision.objects.filter(task=OuterRef("pk"))
    return Task.objects.filter(line=line).filter(Exists(decided)).exists()


def verdict_looks() -> list[dict[str, str]]:
    """Return the verdicts in the order in which the page lists them, with their looks."""
    return [
        {"key": "same", "tone": "neutral", "icon": "end-completed", "word": "Same"},
        {"key": "different", "tone": "active", "icon": "station-route", "word": "Different"},
        {
            "key": "gate_newly_required",
            "tone": "attention",
            "icon": "gate",
            "word": "New approval required",
        },
        {
            "key": "gate_newly_skipped",
            "tone": "danger",
            "icon": "gate-skip",
            "word": "Approval no longer required",
        },
        {"key": "undecidable", "tone": "neutral", "icon": "help", "word": "Undecidable"},
    ]
