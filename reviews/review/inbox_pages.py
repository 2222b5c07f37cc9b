"""The page “Inbox”: everything for which this person must act, each with its own verb and form in place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from pipelines.engine.commands.tool_permissions import NOT_WAITING
from pipelines.errors import Conflict, Invalid, Refused
from pipelines.models import GateVisit, Job, Task, Token, ToolPermission
from pipelines.routing.document.line import Problem
from pipelines.web.shell.forms import first_error, posted_metadata
from pipelines.web.shell.page import (
    REFUSALS,
    SignedInRequest,
    breadcrumbs,
    is_fragment_request,
    page_scope,
    render_in_shell,
    sign_in_required,
)
from pipelines.web.tasks.start import StartField, start_fields
from reviews.inbox.item import InboxKind, InboxViewer
from reviews.inbox.item_queries import reported_station_or_empty
from reviews.inbox.kinds import (
    BY_KEY,
    OfferedItem,
    capped_count_text_of_needs,
    item_with_its_offered_verbs,
    offered_items_due_first,
)
from reviews.inbox.list_selection import NEEDS_ME, ReviewList, review_list_from_address
from reviews.inbox.lists import row_of_item_that_is_no_gate
from reviews.inbox.panels import panels_of_home
from reviews.review.list_pane import (
    count_tasks_moving_without_people,
    list_pane_context,
    next_or_first_item_url_or_empty,
)
from reviews.review.task_work import TaskWork

WORKED = (Token, Job, ToolPermission)
"""What belongs to whoever operates; the others ask whom they name."""
TYPED = ("text", "reason", "answer", "document")
CHOSEN = ("word", "route", "output")
GONE = "This no longer needs you."


@dataclass(frozen=True)
class InboxRow:
    """A need as the page draws it. `fault`: why it was refused just now; `opened`: the verb whose form stays open, with
    what was `typed`."""

    found: OfferedItem
    fault: str = ""
    opened: str = ""
    typed: dict[str, str] = field(default_factory=lambda: dict.fromkeys((*TYPED, *CHOSEN), ""))
    problems: tuple[Problem, ...] = ()

    @property
    def seen(self) -> str:
        """A version that changes when something else is asked."""
        return f"{self.found.need.version}-{self.found.need.status}"

    @property
    def metadata(self) -> list[StartField]:
        """The fields for what its task misses, each with what is wrong with it."""
        need = self.found.need
        return start_fields(
            need.about["metadata"], self.typed if self.opened else None, self.problems, "metadata", need.id
        )


@require_safe
@sign_in_required
def home_panels_fragment(request: SignedInRequest) -> HttpResponse:
    """The panels of Home that are about people."""
    scope = page_scope(request, "needs-me")
    viewer, now = InboxViewer(request.user, of=scope.projects), timezone.now()
    offered_items = offered_items_due_first(viewer)
    panels = panels_of_home(request.user, viewer, offered_items, now)
    context = {"panels": panels, "now": now, "total": len(offered_items)}
    return render(
        request,
        "reviews/inbox/first.html",
        {**context, "scope": scope, "running": count_tasks_moving_without_people(viewer)},
    )


def item_beside_its_list_or_none(
    request: SignedInRequest,
    selection: ReviewList,
    kind: InboxKind,
    key: str,
    *,
    opened: bool = True,
    listed: dict[str, Any] | None = None,
) -> HttpResponse | None:
    """Show one item beside its list, with what it is about; None if it does not need this person. `listed`:
    the list, where it was read."""
    viewer = InboxViewer(request.user, of=selection.scope.visible_projects)
    need = next((candidate for candidate in kind.query(viewer) if candidate.key == key), None)
    if need is None:
        return None
    return _item_beside_list_response(
        request,
        selection,
        InboxRow(item_with_its_offered_verbs(kind, need, viewer)),
        opened=opened,
        listed=listed,
    )


def _item_beside_list_response(
    request: SignedInRequest,
    selection: ReviewList,
    row: InboxRow,
    *,
    opened: bool = True,
    status: int = 200,
    listed: dict[str, Any] | None = None,
) -> HttpResponse:
    need = row.found.need
    context: dict[str, Any] = {
        "row": row,
        "need": need,
        "work": TaskWork(need.task, request.GET, need.about.get("station", "")),
        "opened": opened,
        "query": selection.query,
        "scope": selection.scope,
    }
    return render_in_shell(
        request,
        "reviews/inbox/item.html",
        section="needs",
        trail=breadcrumbs(("Inbox", selection.address), need.task.name),
        status=status,
        live_project=selection.scope.hint_topic,
        **context,
        **(listed or list_pane_context(request, selection, need.id)),
    )


@require_safe
@sign_in_required
def inbox_count(request: SignedInRequest) -> HttpResponse:
    """The number beside “Inbox”."""
    viewer = InboxViewer(request.user, of=page_scope(request, "needs-me").projects)
    return HttpResponse(capped_count_text_of_needs(viewer))


@require_http_methods(["GET", "HEAD", "POST"])
@sign_in_required
def item_page(request: SignedInRequest, kind: str, key: str) -> HttpResponse:
    """Show one item; a POST runs one of its verbs."""
    if request.method == "POST":
        return _run_verb_on_item(request, kind, key)
    of_kind = BY_KEY.get(kind)
    if of_kind is None:
        raise Http404
    if of_kind.model is GateVisit:
        return redirect("gate-visit", visit=_uuid_or_404(key))
    selection = review_list_from_address(request, NEEDS_ME)
    if is_fragment_request(request, "work"):
        subject = _visible_subject_of_item(
            InboxViewer(request.user, of=selection.scope.visible_projects), of_kind, key
        )
        work = TaskWork(subject.task, request.GET, reported_station_or_empty(subject))
        return render(request, "reviews/inbox/work.html", {"work": work})
    if is_fragment_request(request, "item"):
        return _item_drawn_anew_if_changed(request, selection, of_kind, key)
    return item_beside_its_list_or_none(request, selection, of_kind, key) or _gone_item_response(
        request, InboxViewer(request.user), of_kind, key
    )


def _item_drawn_anew_if_changed(
    request: SignedInRequest, selection: ReviewList, kind: InboxKind, key: str
) -> HttpResponse:
    """The item as it is now, where it changed since the page was drawn: another person may have been faster."""
    viewer = InboxViewer(request.user)
    need = next((candidate for candidate in kind.query(viewer) if candidate.key == key), None)
    if need is None:
        subject = _visible_subject_of_item(viewer, kind, key)
        words = _answer_to_call_or_empty(subject) or GONE
        context = {"task": subject.task, "id": f"{kind.key}-{key}", "words": words}
        return render(request, "reviews/inbox/gone.html", {**context, "typed": "", "renewed": True})
    row = InboxRow(item_with_its_offered_verbs(kind, need, viewer))
    if row.seen == request.GET.get("seen"):
        return HttpResponse(status=204)  # nothing is swapped under a reader's hands
    context = {"row": row, "query": selection.query, "scope": selection.scope}
    return render(request, "reviews/inbox/row.html", context)


def _uuid_or_404(key: str) -> UUID:
    try:
        return UUID(key)
    except ValueError as error:
        raise Http404 from error


def _run_verb_on_item(request: SignedInRequest, kind: str, key: str) -> HttpResponse:
    """Run one verb on one item. A refusal preserves what was typed, and says who was first."""
    viewer, of_kind = InboxViewer(request.user), BY_KEY.get(kind)
    if of_kind is None:
        raise Http404
    need = next((candidate for candidate in of_kind.query(viewer) if candidate.key == key), None)
    if need is None:
        return _gone_item_response(request, viewer, of_kind, key)
    offered = item_with_its_offered_verbs(of_kind, need, viewer)
    verb = offered.offered_act_or_none(request.POST.get("verb", ""))
    if verb is None:
        return _item_response_with_refusal(request, InboxRow(offered, "Choose what to do."), 422)
    typed = {name: request.POST.get(name, "").replace("\0", "") for name in (*TYPED, *CHOSEN)}
    typed |= posted_metadata(request.POST)
    form = verb.form(request.POST)
    if not form.is_valid():
        return _item_response_with_refusal(
            request, InboxRow(offered, first_error(form), verb.key, typed), 422
        )
    try:
        done = verb.act(need, request.user, form.cleaned_data)
    except Refused as problem:
        again = next((candidate for candidate in of_kind.query(viewer) if candidate.key == key), None)
        if again is None:
            return _gone_item_response(request, viewer, of_kind, key)
        status = 409 if isinstance(problem, Conflict) else 422
        faults = problem.problems if isinstance(problem, Invalid) else ()
        row = InboxRow(
            item_with_its_offered_verbs(of_kind, again, viewer), str(problem), verb.key, typed, faults
        )
        return _item_response_with_refusal(request, row, status)
    return _redirect_to_next_item_or_task(request, offered, done)


def _redirect_to_next_item_or_task(
    request: SignedInRequest, offered: OfferedItem, words: str
) -> HttpResponse:
    """Go to what comes next in the inbox, else to the task, which moves."""
    messages.success(request, f"{words}: {offered.need.task.name}")
    selection = review_list_from_address(request, NEEDS_ME)
    url = (
        next_or_first_item_url_or_empty(
            request.user, selection, row_of_item_that_is_no_gate(offered, selection)
        )
        or offered.need.task_url
    )
    return HttpResponse(headers={"HX-Redirect": url}) if _is_htmx(request) else redirect(url)


def _item_response_with_refusal(request: SignedInRequest, row: InboxRow, status: int) -> HttpResponse:
    if not _is_htmx(request):
        return _item_beside_list_response(
            request, review_list_from_address(request, NEEDS_ME), row, status=status
        )
    context = {"row": row, "query": request.GET.urlencode(), "scope": page_scope(request, "needs-me")}
    response = render(request, "reviews/inbox/row.html", context, status=status)
    # The row in place of the old one, wherever the form would have put its answer
    response["HX-Retarget"] = f"#need-{row.found.need.id}"
    return response


def _visible_subject_of_item(viewer: InboxViewer, kind: InboxKind, key: str) -> Any:
    """Return what an item of this kind is about: of a project that the person sees, and, where it is work,
    works in."""
    subject: Any
    subjects = kind.model._default_manager.select_related("task__project__owner")
    try:
        subject = subjects.filter(
            # A number or a UUID, as the model has it; it raises for a text that is neither
            pk=kind.model._meta.pk.to_python(key),
            task__project__in=viewer.visible_projects,
        ).first()
    except ValidationError:
        subject = None
    if subject is None:
        raise Http404
    if kind.model in WORKED and subject.task.project not in viewer.operable_projects:
        raise PermissionDenied(REFUSALS["operate"])
    return subject


def _gone_item_response(
    request: SignedInRequest, viewer: InboxViewer, kind: InboxKind, key: str
) -> HttpResponse:
    """There is no such item for this person: never was, may not act on it, or somebody was faster."""
    subject = _visible_subject_of_item(viewer, kind, key)
    task: Task = subject.task
    words = _answer_to_call_or_empty(subject) or f"Somebody was faster: {GONE[:1].lower()}{GONE[1:]}"
    words_of = [request.POST.get(name, "") for name in TYPED] + [*posted_metadata(request.POST).values()]
    typed = " ".join(filter(None, (text.strip() for text in words_of)))
    if not _is_htmx(request):
        messages.warning(request, f"{task.name}: {words} {typed}".strip())
        return redirect(_inbox_url_with_query(request))
    context = {"task": task, "id": f"{kind.key}-{key}", "words": words, "typed": typed}
    response = render(request, "reviews/inbox/gone.html", context, status=409)
    response["HX-Retarget"] = f"#need-{kind.key}-{key}"
    return response


def _answer_to_call_or_empty(subject: Any) -> str:
    """Return how a call of an agent was answered, and by whom; "" of any other subject."""
    if not isinstance(subject, ToolPermission):
        return ""
    if subject.answered_by:
        reason = f": {subject.reason}" if subject.reason else "."
        return f"{subject.get_state_display()} by {subject.answered_by}{reason}"
    denied = subject.state == ToolPermission.State.DENIED
    return "Denied, because nobody answered in time." if denied else NOT_WAITING


def _is_htmx(request: SignedInRequest) -> bool:
    return request.headers.get("HX-Request") == "true"


def _inbox_url_with_query(request: SignedInRequest) -> str:
    query = request.GET.urlencode()
    return reverse("needs-me") + (f"?{query}" if query else "")
