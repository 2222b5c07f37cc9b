"""The left pane: a list of the inbox with its tabs, filters and rows, beside whatever is open."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from pipelines.models import Job, Status, Task, User
from pipelines.queries.line_filter import line_choices
from pipelines.web.shell.page import SignedInRequest
from reviews.decision.entitlements import Entitlements
from reviews.inbox.item import InboxViewer
from reviews.inbox.list_selection import (
    NEEDS_ME,
    OLDEST,
    STATES_OF,
    TABS,
    ReviewList,
    parsed_time_and_visit_or_none,
)
from reviews.inbox.lists import ListRow, capped_count_text_by_tab, next_rows_of_list

SORTS = (("", "Due first"), (OLDEST, "Oldest first"))


def list_pane_context(
    request: SignedInRequest, selection: ReviewList, selected: str = "", standings: Entitlements | None = None
) -> dict[str, Any]:
    """Return what the pane's templates need. `selected`: the key of the row that is open."""
    after = parsed_time_and_visit_or_none(request.GET.get("after", ""))
    page = next_rows_of_list(
        request.user, selection, timezone.now(), after, standings, request.GET.get("rows", "")
    )
    counts = capped_count_text_by_tab(request.user, selection)
    if selection.tab == NEEDS_ME and not selection.is_filtered:
        counts[NEEDS_ME] = page.waiting_words
    viewer = InboxViewer(request.user, of=selection.scope.projects)
    return {
        "lists": [
            (key, label, selection.address_of_tab_without_filters(key), counts.get(key, ""))
            for key, label in TABS
        ],
        "tab": selection.tab,
        "listed": selection,
        "page": page,
        "listed_kinds": [
            (kind, count, selection.address_with_values(kind=kind.key)) for kind, count in page.kinds
        ],
        "items": page.rows,
        "now": timezone.now(),
        "selected": selected,
        "sorts": SORTS,
        "line_choices": line_choices(selection.scope.projects),
        "gate_choices": selection.gates,
        "state_choices": STATES_OF[selection.tab],
        "running": count_tasks_moving_without_people(viewer) if selection.tab == NEEDS_ME else None,
    }


def list_fragment_if_asked(request: SignedInRequest, selection: ReviewList) -> HttpResponse | None:
    """The list alone, or the rows that come next, where a page asks for them."""
    name = request.GET.get("fragment", "")
    if name not in ("list", "more"):
        return None
    context = {
        **list_pane_context(request, selection, request.GET.get("selected", "")),
        "scope": selection.scope,
    }
    return render(request, f"reviews/_{'list_renewed' if name == 'list' else 'rows'}.html", context)


def next_or_first_item_url_or_empty(user: User, selection: ReviewList, row: ListRow) -> str:
    """Return the address of what comes after this row in the list of what needs the person, else of the first; "" where
    nothing is left."""
    rows = next_rows_of_list(user, selection, timezone.now()).rows
    after = (candidate for candidate in rows if candidate.order > row.order)
    following = next(after, None) or next(iter(rows), None)
    return following.url if following else ""


def count_tasks_moving_without_people(viewer: InboxViewer) -> int:
    """Tasks that move without anybody."""
    moving = (Status.QUEUED, Status.RUNNING, Status.EVALUATING)
    tasks = Task.objects.filter(line__project__in=viewer.visible_projects, status__in=moving)
    by_hand = Job.objects.filter(
        kind="manual", state=Job.State.RUNNING, task__project__in=viewer.visible_projects
    )
    # Of those that run: one that is queued shows no work that somebody does by hand.
    others = by_hand.filter(task__status__in=(Status.RUNNING, Status.EVALUATING)).values("task")
    return tasks.exclude(pk__in=others).count()
