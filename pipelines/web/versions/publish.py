"""Publishing a line: the page that shows what would become live, and the confirmation, which is bound to what
the page showed. Slow parts of the page load separately (`publish_parts`), each with an error of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pipelines import access
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.formats import authorship
from pipelines.lines import line_migration, publish_review, publishing, publishing_requests
from pipelines.lines.line_migration import StaleImpact
from pipelines.lines.version_comparison import DRAFT, LIVE
from pipelines.models import Line, LineEvent, Migration
from pipelines.routing.basics import wording
from pipelines.routing.basics.problems import Problem
from pipelines.web.lines.change_groups import author_name_by_person, change_legend, stored_svg_of_comparison
from pipelines.web.shell import errors
from pipelines.web.shell.forms import PublishForm
from pipelines.web.shell.page import SignedInRequest, costly_view, line_required, show_line
from pipelines.web.versions import backtest, impact, publish_parts
from pipelines.web.versions.impact import chosen_mapping
from pipelines.web.versions.publish_parts import render_part

NEWEST = "200"
"""Tasks on which a draft is tried at once; the page of back-tests tries all."""


@dataclass(frozen=True)
class PublishRefusal:
    """Refusal to publish: why, and every message about it. `stale`: the page's content is no longer true."""

    status: int
    title: str
    sentences: tuple[str, ...]
    problems: tuple[Problem, ...] = field(default=())
    stale: bool = False


@line_required("publish")
@costly_view
@require_http_methods(["GET", "HEAD", "POST"])
def publish_page(request: SignedInRequest, line: Line) -> HttpResponse:
    """GET: the page, or with `?part=` one of its parts. POST: 302 published · 400 no form of this page · 403 may not ·
    409 something changed since it was shown · 422 errors, or something was not ticked."""
    if request.method != "POST":
        part_name = request.GET.get("part")
        return (
            render_part(request, line, part_name) if part_name else _publish_page(request, line, request.GET)
        )
    form = PublishForm(request.POST)
    if not form.is_valid():
        return errors.bad_request(request)
    try:
        done = publish_review.publish_or_request_as_confirmed(
            line, _publish_confirmation(request.POST, form), request.user
        )
    except (Conflict, Forbidden, Invalid, publishing.PublishRefused) as fault:
        return _publish_page(request, line, request.POST, _publish_refusal(line, form, fault))
    if done.version is None:
        messages.success(request, "You asked for publishing. Another designer is told.")
        return redirect("line-publish", line.project.owner.key, line.project.key, line.key)
    if not form.cleaned_data["migrate"]:
        messages.success(request, f"Version {done.version.number} is live.")
        return redirect("line", line.project.owner.key, line.project.key, line.key)
    return redirect("line-published", line.project.owner.key, line.project.key, line.key, done.version.number)


@line_required("publish")
@require_POST
def send_back(request: SignedInRequest, line: Line) -> HttpResponse:
    """Refuse what somebody asks to publish (`reason`, `draft` in the form), or take it back as who asked."""
    number = request.POST.get("draft", "")
    # Any number of nine digits fits the column, which has 32 bits
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        return errors.bad_request(request)
    reason = request.POST.get("reason", "")
    try:
        publishing_requests.send_back_or_withdraw_request(
            line, user=request.user, reason=reason, based_on=int(number)
        )
    except (Conflict, Invalid) as fault:
        messages.error(request, fault.detail if isinstance(fault, Conflict) else fault.problems[0].hint)
    else:
        messages.success(request, "Sent back. Whoever asked is told.")
    return redirect("line-publish", line.project.owner.key, line.project.key, line.key)


@line_required("view")
@require_safe
def published_version(request: SignedInRequest, line: Line, number: int) -> HttpResponse:
    """Show what became of the running tasks when this version was published with a migration."""
    version = access.version_of_permitted_line(line, number)
    made = Migration.objects.filter(line=line, to=version).order_by("at").first()
    failed = (
        line.record.filter(version=version, kind=LineEvent.RecordKind.NOT_MIGRATED).order_by("-at").first()
    )
    again = {"to": str(number), **{f"map:{k}": v for k, v in _event_data(failed).get("mapping", {}).items()}}
    return show_line(
        request,
        "versions/published.html",
        line,
        version=version,
        migration=made,
        results=_result_rows(made) if made else [],
        done=sum(n for key, n in line_migration.task_count_by_result(made).items() if key != "planned")
        if made
        else 0,
        total=made.entries.count() if made else 0,
        failed=_event_data(failed) if not made else {},
        impact_url=f"{_line_url('line-impact', line)}?{urlencode(again)}",
    )


def _event_data(event: LineEvent | None) -> dict[str, Any]:
    return event.data if event else {}


def _result_rows(made: Migration) -> list[dict[str, Any]]:
    from_result = dict(made.entries.model.Result.choices)
    tones = {"migrated": "ok", "planned": "neutral", "already": "neutral"}
    return [
        {"n": n, "word": from_result[key], "tone": tones.get(key, "attention")}
        for key, n in sorted(line_migration.task_count_by_result(made).items())
    ]


def _publish_confirmation(form_data: QueryDict, form: PublishForm) -> publish_review.Confirmation:
    fields = form.cleaned_data
    return publish_review.Confirmation(
        draft=fields["based_on"],
        live=fields["live"],
        findings=fields["findings"],
        name=fields["name"],
        warnings=frozenset(form_data.getlist("warnings")),
        seen=frozenset(form_data.getlist("seen")),
        migrate=fields["migrate"],
        plan=fields["plan"],
        mapping=chosen_mapping(form_data) if fields["migrate"] else {},
        reason=fields["reason"],
    )


def _publish_refusal(line: Line, form: PublishForm, fault: Exception) -> PublishRefusal:
    match fault:
        case publishing.DraftConflict():
            title = "The draft was changed after this page was loaded"
            return PublishRefusal(
                409, title, (fault.detail, *_later_changes(line, form.cleaned_data["based_on"])), stale=True
            )
        case publishing.NothingToPublish():
            return PublishRefusal(409, "There is nothing to publish", (fault.detail,))
        case publishing.LiveConflict() | publish_review.StaleFindings() | StaleImpact():
            titles: dict[type, str] = {
                publishing.LiveConflict: "Another version is live now",
                publish_review.StaleFindings: "The problems of this draft changed",
                StaleImpact: "The running tasks changed",
            }
            return PublishRefusal(409, titles[type(fault)], (fault.detail,), stale=True)
        case publishing.PublishRefused():
            message = "Errors keep this draft from being published; they are listed below."
            return PublishRefusal(422, "Not published", (message,))
        case Invalid():
            return PublishRefusal(
                422, "Not published yet", _missing_confirmation_sentences(line, fault), fault.problems
            )
        case Forbidden():
            return PublishRefusal(403, "Not published", (fault.detail,))
    detail = fault.detail if isinstance(fault, Conflict) else str(fault)
    return PublishRefusal(409, "Not published", (detail,), stale=True)


def _later_changes(line: Line, number: int) -> list[str]:
    """Return the changes saved after the draft with this number: where, and by whom."""
    stored = Line.objects.get(pk=line.pk)
    authors = authorship.last_authors_since(number, stored.draft_hands)
    names = author_name_by_person(authors.values())
    sentence = "%(person)s changed %(place)s."
    line_label = "the whole line"
    return [
        sentence % {"person": names.get(hand.person, "Somebody"), "place": path or line_label}
        for path, hand in authors.items()
    ][:20]


def _missing_confirmation_sentences(line: Line, fault: Invalid) -> tuple[str, ...]:
    words = {
        "warnings": "Warning not acknowledged: %(message)s",
        "seen": "Acknowledge the changes made by others first.",
        "reason": "Enter a reason for the migration. It is kept with the migration.",
        "name": "The name %(message)s.",
    }
    wordings = {"warnings": wording.as_sentence}
    return tuple(
        words[problem.path] % {"message": wordings.get(problem.path, wording.people_text)(problem.message)}
        if problem.path in words
        else impact.problem_text(line, problem)
        for problem in fault.problems
    )


def _publish_page(
    request: SignedInRequest, line: Line, form_data: QueryDict, refused: PublishRefusal | None = None
) -> HttpResponse:
    """Render the publish page. `form_data`: what was typed and ticked, which is kept after a refusal."""
    # After a refusal the line in hand may be older than what is stored.
    stored = access.line_of_permitted_project(line.project, line.key) if refused else line
    # The parts come by requests of their own, and show ticked what was.
    parameters = {
        "warnings": ",".join(form_data.getlist("warnings")),
        "seen": ",".join(form_data.getlist("seen")),
        **{key: form_data.get(key, "") for key in form_data if key.startswith("map:")},
    }
    return show_line(
        request,
        "versions/publish.html",
        line,
        status=refused.status if refused else 200,
        line=stored,
        refused=refused,
        reason_error=next((p.hint for p in refused.problems if p.path == "reason"), "") if refused else "",
        name=form_data.get("name", ""),
        reason=form_data.get("reason", ""),
        migrate=form_data.get("running") == "migrate",
        kept=urlencode({key: value for key, value in parameters.items() if value}),
        may_execute=access.is_permitted(request.user, "execute", line.project),
        legend=change_legend(),
        still=stored_svg_of_comparison(stored, LIVE if stored.live else DRAFT, DRAFT),
        # The back-test of this page, on what ran last.
        recorded=backtest.has_decisions(stored),
        verdicts=backtest.verdict_looks(),
        newest=NEWEST,
        task_url=reverse("task", args=[line.project.owner.key, line.project.key, "WI-0-0"]),
        rail=True,
        **publish_parts.request_context(stored, request.user),
    )


def _line_url(name: str, line: Line) -> str:
    return reverse(name, args=[line.project.owner.key, line.project.key, line.key])
