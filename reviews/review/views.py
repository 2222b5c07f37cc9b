"""Pages: lists of reviews, one review with its decision, and the folder of development mail."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import (
    BigIntegerField,
    BooleanField,
    Exists,
    ExpressionWrapper,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    UUIDField,
)
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from pipelines import access, engine
from pipelines.engine.moves.absences import seats_of_user_by_project
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.models import GateVisit, Snapshot, Task, VisitCommit, Word
from pipelines.models.plumbing.compiled_queries import compiled
from pipelines.queries import versions
from pipelines.web.changes.task_changes import record_opened_file
from pipelines.web.changes.trees import unopened_count
from pipelines.web.shell.page import (
    SignedInRequest,
    breadcrumbs,
    is_fragment_request,
    render_in_shell,
    sign_in_required,
)
from pipelines.web.tasks.changed_files import redirect_back
from pipelines.web.tasks.decision_notices import STAY_WHILE
from reviews.decision import choice_paths, remarks
from reviews.decision.consequences import sentence_after_vote
from reviews.decision.entitlements import Entitlements
from reviews.decision.forms import DecisionForm
from reviews.decision.review_access import due_time_or_after_all_due, ordered_visits_user_may_decide
from reviews.inbox.kinds import BY_KEY
from reviews.inbox.list_selection import NEEDS_ME, ReviewList, review_list_from_address
from reviews.inbox.lists import next_rows_of_list
from reviews.mail import folder
from reviews.models import Remark
from reviews.review import inbox_pages
from reviews.review.attention_actions import claim_questions_and_snooze_of_visit
from reviews.review.changes import ReviewChanges
from reviews.review.detail import build_review_detail
from reviews.review.evidence import ReviewEvidence
from reviews.review.list_pane import list_fragment_if_asked, list_pane_context
from reviews.review.review_sessions import record_leave_of_open_review
from reviews.review.tabs import tabs_with_counts


@require_GET
@sign_in_required
def needs_page(request: SignedInRequest) -> HttpResponse:
    """Everything that needs this person, next to the first of it."""
    if is_fragment_request(request, "first"):
        return inbox_pages.home_panels_fragment(request)
    if "after-task" in request.GET:
        return _redirect_to_first_item_or_task(request)
    return _inbox_page_or_fragment(request, review_list_from_address(request, NEEDS_ME))


def _redirect_to_first_item_or_task(request: SignedInRequest) -> HttpResponseRedirect:
    """Go to the first of what is left after the work on a task, else to that task."""
    selection, key = review_list_from_address(request, NEEDS_ME), request.GET["after-task"]
    if key.isascii() and key.isdigit() and len(key) < 19 and not _first_item_url_or_empty(request, selection):
        visible = Task.objects.filter(project__in=selection.scope.visible_projects)
        task = visible.select_related("project__owner").filter(pk=key).first()
        if task is not None:
            return redirect("task", task.project.owner.key, task.project.key, task.name)
    return redirect(selection.address)


@require_GET
@sign_in_required
def reviews_page(request: SignedInRequest) -> HttpResponse:
    """A list of reviews next to the first one; on a phone the list alone."""
    selection = review_list_from_address(request)
    if selection.tab == NEEDS_ME and not request.GET.get("fragment"):
        return redirect(selection.address)
    return _inbox_page_or_fragment(request, selection)


def _inbox_page_or_fragment(request: SignedInRequest, selection: ReviewList) -> HttpResponse:
    partial_response = list_fragment_if_asked(request, selection)
    if partial_response is not None:
        return partial_response
    standings = Entitlements(request.user)
    listed = list_pane_context(request, selection, standings=standings)
    for row in listed["items"][:1]:
        listed["selected"] = row.key
        if row.kind == "gate":
            visit = _get_visible_visit(request, uuid.UUID(row.key))
            return _review_page(
                request,
                visit,
                DecisionForm(),
                opened=False,
                selection=selection,
                listed=listed,
                standings=standings,
            )
        kind, _dash, key = row.key.partition("-")
        page = inbox_pages.item_beside_its_list_or_none(
            request, selection, BY_KEY[kind], key, opened=False, listed=listed
        )
        if page is not None:
            return page
    listed["selected"] = ""
    trail = breadcrumbs("Inbox")
    live = selection.scope.hint_topic
    return render_in_shell(
        request,
        "reviews/inbox.html",
        scope=selection.scope,
        section="needs",
        trail=trail,
        live_project=live,
        **listed,
    )


@require_GET
@sign_in_required
def gate_visit(request: SignedInRequest, visit: uuid.UUID) -> HttpResponse:
    stored_visit = _get_visible_visit(request, visit)
    if request.GET.get("fragment") == "bar":
        review_detail = build_review_detail(stored_visit, request.user)
        if request.GET.get("seen") == review_detail.bar_version:
            return HttpResponse(status=204)  # nothing is swapped under a reader's hands
        context = {"dossier": review_detail, "visit": stored_visit}
        return render(request, "reviews/_news.html", context)
    if request.GET.get("fragment") == "attention":
        may = Entitlements(request.user).entitlement_to_visit(stored_visit).may
        context = {
            "attention": claim_questions_and_snooze_of_visit(stored_visit, request.user, may=may),
            "visit": stored_visit,
        }
        return render(
            request,
            "reviews/gate_visit/attention.html",
            {**context, "listed": review_list_from_address(request)},
        )
    word = request.GET.get("word")
    return _review_page(
        request, stored_visit, DecisionForm(initial={"word": word} if word in Word.values else {})
    )


@require_POST
@sign_in_required
def cast_vote(request: SignedInRequest, visit: uuid.UUID) -> HttpResponse:
    """Cast one vote. A refusal preserves what was typed and says who was first."""
    stored_visit = _get_visible_visit(request, visit)
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return _review_page(request, stored_visit, form, status=400)
    opens = form.cleaned_data["word"] == Word.APPROVE and vars(stored_visit)["has_files"]
    count = unopened_count(stored_visit, request.user) if opens else 0
    if count and not form.cleaned_data["unopened"]:
        form.add_error("unopened", "Tick this, or open the files.")
        return _review_page(request, stored_visit, form, status=400)
    # Before the vote, which may close the visit
    record_leave_of_open_review(stored_visit, request.POST.get("sitting", ""))
    try:
        fields = {key: value for key, value in form.cleaned_data.items() if key != "unopened"}
        if vars(stored_visit)["remarked"]:
            fields["reason"] = remarks.reason_with_remarks(stored_visit, request.user, fields["reason"])
        gate = versions.parsed_line_by_version_id(stored_visit.asked_by.pinned_id).gate(stored_visit.gate)
        result = engine.vote(
            stored_visit,
            user=request.user,
            via="page",
            fields=form.gate_values_if_approving(gate),
            unopened=count,
            **fields,
        )
    except Invalid as problem:
        form.add_problems(problem)
        return _review_page(request, stored_visit, form, status=400)
    except Forbidden as problem:
        form.add_error(None, str(problem))
        return _review_page(request, stored_visit, form, status=403)
    except Conflict as problem:
        # Read anew: somebody else was faster
        return _review_page(request, _get_visible_visit(request, visit), form, status=409, conflict=problem)
    # The next page is another review, or the task, which outdates it as soon as it moves on
    done = sentence_after_vote(stored_visit, fields["word"], result)
    messages.success(request, done, extra_tags=STAY_WHILE[result.status])
    return _redirect_to_next_review_or_task(request, stored_visit)


@require_POST
@sign_in_required
def save_remark_draft(request: SignedInRequest, visit: uuid.UUID) -> HttpResponse:
    """Keep a draft on a line, to be sent with the decision."""
    stored_visit = _get_visible_visit(request, visit)
    may = build_review_detail(stored_visit, request.user).may_decide
    changes = ReviewChanges(stored_visit, request.user, may)
    if not may:
        raise PermissionDenied("Only people who can decide here can comment on lines.")
    comparison = changes.changes_panel(request.GET).comparison
    line = request.POST.get("line", "")
    # Its length before its number: int() raises for a text of more than 4,300 digits
    number = int(line) if line.isascii() and line.isdigit() and len(line) < 8 else 0
    try:
        remarks.save_draft_on_line_under_review(
            stored_visit,
            request.user,
            comparison,
            request.POST.get("path", ""),
            request.POST.get("side", ""),
            number,
            request.POST.get("text", ""),
        )
    except (Invalid, Conflict) as problem:
        messages.error(request, str(problem))
    return redirect_back(request)


@require_POST
@sign_in_required
def discard_or_resolve_remark(request: SignedInRequest, visit: uuid.UUID, remark: int) -> HttpResponse:
    """Take a draft back, or say whether a remark of an earlier round is resolved."""
    stored_visit = _get_visible_visit(request, visit)
    action = request.POST.get("action", "")
    try:
        if action == "discard":
            remarks.delete_unsent_draft_if_there(stored_visit, request.user, remark)
        else:
            remarks.record_own_resolution_in_this_round(stored_visit, request.user, remark, action)
    except NotFound as problem:
        raise Http404(str(problem)) from problem
    except Forbidden as problem:
        raise PermissionDenied(str(problem)) from problem
    except Conflict as problem:
        messages.error(request, str(problem))
    return redirect_back(request)


def _redirect_to_next_review_or_task(request: SignedInRequest, visit: GateVisit) -> HttpResponseRedirect:
    """Go to the review after this one in the list of what asks this person, else to the first of what is left, else to
    the task, which moves."""
    selection = review_list_from_address(request, NEEDS_ME)
    at = (
        visit.opened_at
        if selection.sort
        else due_time_or_after_all_due(visit.running_due_at, visit.opened_at)
    )
    within, places = (
        replace(selection.to_filter, reader=request.user.pk),
        seats_of_user_by_project(request.user),
    )
    left = ordered_visits_user_may_decide(
        request.user, within, 1, (at, visit.pk), places
    ) or ordered_visits_user_may_decide(request.user, within, 1, None, places)
    for _at, following in left:
        return redirect(reverse("gate-visit", args=[following]) + selection.suffix)
    if url := _first_item_url_or_empty(request, selection):
        return redirect(url)
    project = visit.task.project
    return redirect("task", project.owner.key, project.key, visit.task.name)


def _first_item_url_or_empty(request: SignedInRequest, selection: ReviewList) -> str:
    """Return the address of the first of what needs this person, "" where nothing does."""
    rows = next_rows_of_list(request.user, selection, timezone.now()).rows
    return rows[0].url if rows else ""


def _review_page(
    request: SignedInRequest,
    visit: GateVisit,
    form: DecisionForm,
    status: int = 200,
    conflict: Conflict | None = None,
    opened: bool = True,
    selection: ReviewList | None = None,
    listed: dict[str, Any] | None = None,
    standings: Entitlements | None = None,
) -> HttpResponse:
    """`listed`: the list beside it, where it was read to find its first row."""
    selection = selection or review_list_from_address(request)
    standings = standings or Entitlements(request.user)
    review_detail = build_review_detail(visit, request.user, standings)
    changes = ReviewChanges(visit, request.user, review_detail.may_decide)
    evidence = ReviewEvidence(review_detail, changes, request.GET)
    offered = tabs_with_counts(request.GET, visit, changes, evidence)
    trail = breadcrumbs(
        ("Inbox", reverse("needs-me")), (review_detail.line.name, _line_url(visit)), visit.task.name
    )
    tab = next(candidate.key for candidate in offered if candidate.current)
    panel = changes.changes_panel(request.GET) if changes.has_files else None
    if panel and tab == "changes" and request.method == "GET":
        record_opened_file(panel, request.user, visit.task)
    context = {
        "review_tabs": offered,
        "review_tab": tab,
        "changes": panel,
        "unopened": changes.count_files_not_opened(panel.opened) if panel and review_detail.may_decide else 0,
        "changed_total": len(changes.start_files) if panel else 0,
        "too_large": evidence.comparison.excess_amount if panel else {},
        "remarks": changes.remarks,
        "unchanged": changes.unchanged_words,
        "evidence": evidence,
        "dossier": review_detail,
        "paths": choice_paths.draw_choices_with_consequence_or_none(visit, review_detail.options),
        "attention": claim_questions_and_snooze_of_visit(visit, request.user, may=review_detail.may_decide),
        "visit": visit,
        "saved_mail": folder.may_open_folder(request) and folder.was_anybody_mailed_about_visit(visit.pk),
        "task": visit.task,
        "form": form,
        "gate_fields": form.typed_or_initial_gate_fields(review_detail.gate)
        if review_detail.may_decide
        else [],
        "conflict": conflict,
        "opened": opened,
        "live_project": "*" if selection.scope.has_several_projects else str(visit.task.project),
        **(listed or list_pane_context(request, selection, str(visit.pk), standings)),
    }
    response = render_in_shell(
        request,
        "reviews/gate_visit.html",
        scope=selection.scope,
        section="needs",
        trail=trail,
        status=status,
        **context,
    )
    # After the page was drawn, which shows what is new since the last look
    changes.record_that_reader_viewed_tree()
    return response


def _line_url(visit: GateVisit) -> str:
    project = visit.task.project
    return reverse("line", args=[project.owner.key, project.key, visit.task.line.key])


def _get_visible_visit(request: SignedInRequest, visit: uuid.UUID) -> GateVisit:
    """A gate visit of a project that this person may see; any other does not exist for them."""
    stored_visit = _visible_visit_query.first(visit=visit, user=request.user.pk)
    if stored_visit is None:
        raise Http404
    return stored_visit


@compiled(visit=UUIDField(), user=BigIntegerField())
def _visible_visit_query(visit: Any, user: Any) -> QuerySet[GateVisit]:
    """The visit, of a project that the person may see. `remarked`: whether they have drafts of remarks on it;
    `has_files`: whether its task may have any; `base_branch`: that its task started from."""
    with_all = GateVisit.objects.select_related(
        "task__project__owner",
        "task__line",
        "task__requester",
        "job",
        "token",
        "asked_by__pinned",
        "decided_by",
    )
    unread = (
        "task__line__draft",
        "task__line__draft_text",
        "task__line__draft_hands",
        "asked_by__pinned__document",
    )
    drafts = Remark.objects.filter(visit=OuterRef("pk"), user=user)
    left = Snapshot.objects.filter(task=OuterRef("task"))
    committed = VisitCommit.objects.filter(task=OuterRef("task"))
    visits = with_all.defer(*unread).filter(
        pk=visit, task__project__in=access.project_id_query_where_role_allows(user, "view")
    )
    return visits.annotate(
        remarked=Exists(drafts),
        base_branch=Subquery(committed.order_by("-job").values("base_branch")[:1]),
        has_files=ExpressionWrapper(
            Exists(left) | Exists(committed) | Q(task__retry_of__isnull=False), BooleanField()
        ),
    )


@require_GET
@sign_in_required
def mail_folder_page(request: SignedInRequest) -> HttpResponse:
    if not folder.may_open_folder(request):
        raise Http404
    return render_in_shell(
        request,
        "reviews/mail_folder.html",
        trail=breadcrumbs("Development mail"),
        mails=folder.latest_letters(),
    )


@require_GET
@sign_in_required
def mail_message(request: SignedInRequest, name: str) -> HttpResponse:
    if not folder.may_open_folder(request):
        raise Http404
    message = folder.read_letter_or_none(name)
    if message is None:
        raise Http404
    if request.GET.get("part") == "source":
        return HttpResponse(message.source, content_type="text/plain; charset=utf-8")
    trail = breadcrumbs(("Development mail", reverse("mail-dev")), message.subject)
    return render_in_shell(request, "reviews/mail_message.html", trail=trail, mail=message)
