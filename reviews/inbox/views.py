"""The page “Inbox”: everything for which this person must act, each with its own verb and form in place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from pipelines.errors import Conflict, Invalid, Refused
from pipelines.models import Job, Status, Task, Token, displayed
from pipelines.queries.line_filter import labelled, named, value_of
from pipelines.routing.document.line import Problem
from pipelines.web.shell.dates import dates_of
from pipelines.web.shell.forms import first_fault, posted
from pipelines.web.shell.page import REFUSALS, SignedIn, at_address, crumbs, fragment, show, signed_in
from pipelines.web.shell.scope import Scope, scope_of
from pipelines.web.tasks.start import StartField, fields_of
from reviews.inbox.item import Act, InboxKind, Mine
from reviews.inbox.kinds import BY_KEY, KINDS, OfferedItem, count, narrowed, needs, offer
from reviews.inbox.lists import ASKED, TABS
from reviews.inbox.panels import panels_of

WORKED = (Token, Job)
"""What belongs to whoever operates; the others ask whom they name."""
TYPED = ("text", "reason", "answer", "document")
CHOSEN = ("word", "route", "output")


@dataclass(frozen=True)
class InboxRow:
    """A need as the page draws it. `fault`: why it was refused just now; `opened`: the verb whose form stays open, with
    what was `typed`."""

    found: OfferedItem
    fault: str = ""
    opened: str = ""
    typed: dict[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def metadata(self) -> list[StartField]:
        """The fields for what its task misses, each with what is wrong with it."""
        need = self.found.need
        return fields_of(need.about["metadata"], self.typed or None, self.problems, "metadata", need.id)


@require_safe
@signed_in
def page(request: SignedIn) -> HttpResponse:
    return _page(request)


def _page(request: SignedIn, status: int = 200, refused: InboxRow | None = None) -> HttpResponse:
    scope = scope_of(request, "needs-me")
    mine = Mine(request.user, of=scope.projects)
    kind = request.GET.get("kind", "")
    kind = kind if kind in BY_KEY else ""
    found = needs(mine)
    lines = _lines(found, scope)
    line, dates = named(request.GET.get("line", ""), lines, scope.projects), dates_of(request)
    kept = {"project": scope.key, "line": line, **dates.query}
    kept = {key: value for key, value in kept.items() if value}
    query = urlencode({"kind": kind, **kept} if kind else kept)
    fitting = [each for each in found if each.need.since in dates and line in ("", _line(each, scope))]
    context: dict[str, Any] = {
        "rows": [_as_row(each, refused) for each in narrowed(fitting, kind, "")],
        "tabs": _tabs(fitting, kind, kept),
        "total": len(fitting),
        "everything": len(found),
        "lines": lines,
        "line": line,
        "dates": dates,
        "query_without_kind": urlencode(kept),
        "kind": BY_KEY.get(kind),
        "scope": scope,
        "query": query,
        "lists": TABS,
        "tab": ASKED,
        "running": _running(mine),
    }
    if fragment(request, "first"):
        return _first(request, mine, found, context)
    if fragment(request, "list"):
        return at_address(render(request, "reviews/inbox/list.html", context), request, query)
    return show(
        request,
        "reviews/inbox/page.html",
        section="needs",
        trail=crumbs(_("Inbox")),
        status=status,
        live_project=scope.live,
        **context,
    )


def _first(request: SignedIn, mine: Mine, found: list[OfferedItem], context: dict[str, Any]) -> HttpResponse:
    """The panels of Home that are about people."""
    now = timezone.now()
    panels = panels_of(request.user, mine, found, now)
    words = {"panels": panels, "now": now, "may_start": bool(mine.operated)}
    return render(request, "reviews/inbox/first.html", {**context, **words})


def _lines(found: list[OfferedItem], scope: Scope) -> list[tuple[str, str]]:
    """Of what needs somebody, to choose from."""
    tasks = {each.need.task.line_id: each.need.task for each in found}
    lines = [(task.project, task.line) for task in tasks.values()]
    return labelled(sorted(lines, key=lambda each: (each[1].name, each[1].pk)), several=scope.several)


def _line(found: OfferedItem, scope: Scope) -> str:
    return value_of(found.need.task.project, found.need.task.line, several=scope.several)


def _as_row(found: OfferedItem, refused: InboxRow | None) -> InboxRow:
    same = refused is not None and refused.found.need.id == found.need.id
    return refused if refused is not None and same else InboxRow(found)


def _tabs(found: list[OfferedItem], kind: str, kept: dict[str, str]) -> list[dict[str, Any]]:
    """A filter for each kind of which there is something, and the one that is chosen; the others stay."""
    counted = [(each, sum(one.need.kind == each.key for one in found)) for each in KINDS]
    return [
        {
            "label": each.label,
            "count": number,
            "current": each.key == kind,
            "query": urlencode({"kind": each.key, **kept}),
        }
        for each, number in counted
        if number or each.key == kind
    ]


def _running(mine: Mine) -> int:
    """Tasks that move without anybody."""
    moving = (Status.QUEUED, Status.RUNNING, Status.EVALUATING)
    tasks = displayed(Task.objects.filter(project__in=mine.seen, status__in=moving))
    return tasks.filter(display_status__in=moving).count()


@require_safe
@signed_in
def number(request: SignedIn) -> HttpResponse:
    """The number beside “Inbox”."""
    mine = Mine(request.user, of=scope_of(request, "needs-me").projects)
    return HttpResponse(count(mine))


@require_POST
@signed_in
def act(request: SignedIn, kind: str, key: str) -> HttpResponse:
    """One verb on one item. What is refused keeps what was typed, and says who was first."""
    mine, of_kind = Mine(request.user), BY_KEY.get(kind)
    if of_kind is None:
        raise Http404
    need = next((each for each in of_kind.query(mine) if each.key == key), None)
    if need is None:
        return _too_late(request, mine, of_kind, key)
    found = offer(of_kind, need, mine)
    verb = found.act(request.POST.get("verb", ""))
    if verb is None:
        return _refused(request, InboxRow(found, _("Choose what to do.")), 422)
    typed = {name: request.POST.get(name, "").replace("\0", "") for name in (*TYPED, *CHOSEN)}
    typed |= posted(request.POST)
    form = verb.form(request.POST)
    if not form.is_valid():
        return _refused(request, InboxRow(found, first_fault(form), verb.key, typed), 422)
    try:
        done = verb.act(need, request.user, form.cleaned_data)
    except Refused as problem:
        again = next((each for each in of_kind.query(mine) if each.key == key), None)
        if again is None:
            return _too_late(request, mine, of_kind, key)
        status = 409 if isinstance(problem, Conflict) else 422
        faults = problem.problems if isinstance(problem, Invalid) else ()
        row = InboxRow(offer(of_kind, again, mine), str(problem), verb.key, typed, faults)
        return _refused(request, row, status)
    return _done(request, found, verb, done)


def _done(request: SignedIn, found: OfferedItem, verb: Act, words: str) -> HttpResponse:
    if not _in_place(request):
        messages.success(request, f"{words}: {found.need.task.name}")
        return redirect(_back(request))
    response = render(request, "reviews/inbox/done.html", {"need": found.need, "words": words})
    response["HX-Trigger"] = "gl:inbox"
    return response


def _refused(request: SignedIn, row: InboxRow, status: int) -> HttpResponse:
    if not _in_place(request):
        return _page(request, status, row)
    context = {"row": row, "query": request.GET.urlencode(), "scope": scope_of(request, "needs-me")}
    response = render(request, "reviews/inbox/row.html", context, status=status)
    response["HX-Retarget"] = f"#need-{row.found.need.id}"
    return response


def _too_late(request: SignedIn, mine: Mine, kind: InboxKind, key: str) -> HttpResponse:
    """There is no such item for this person: never was, may not act on it, or somebody was faster."""
    subject: Any
    subjects = kind.model._default_manager.select_related("task__project__owner")
    try:
        subject = subjects.filter(pk=kind.model._meta.pk.to_python(key), task__project__in=mine.seen).first()
    except ValidationError:
        subject = None
    if subject is None:
        raise Http404
    task: Task = subject.task
    if kind.model in WORKED and task.project not in mine.operated:
        raise PermissionDenied(REFUSALS["operate"])
    words = _("Somebody was faster: this no longer needs you.")
    words_of = [request.POST.get(name, "") for name in TYPED] + [*posted(request.POST).values()]
    typed = " ".join(filter(None, (text.strip() for text in words_of)))
    if not _in_place(request):
        messages.warning(request, f"{task.name}: {words} {typed}".strip())
        return redirect(_back(request))
    context = {"task": task, "id": f"{kind.key}-{key}", "words": words, "typed": typed}
    response = render(request, "reviews/inbox/gone.html", context, status=409)
    response["HX-Retarget"] = f"#need-{kind.key}-{key}"
    return response


def _in_place(request: SignedIn) -> bool:
    return request.headers.get("HX-Request") == "true"


def _back(request: SignedIn) -> str:
    query = request.GET.urlencode()
    return reverse("needs-me") + (f"?{query}" if query else "")
