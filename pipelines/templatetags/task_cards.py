"""The cards of a board, eighty on a page: what every card has is drawn without a template, as one text each. A card
that the page shows already as it is drawn now is not sent again: a mark says where it stands."""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Collection
from typing import Any

from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from pipelines.routing.basics.plural import singular_or_plural
from pipelines.templatetags.gateline import duration, icon
from pipelines.templatetags.small import at_task, elapsed, moment, person_sign, status_pill
from pipelines.templatetags.task_choice import task_checkbox_html

register = template.Library()

NOTHING = mark_safe("")
MORE = "tasks/board/card_more.html"
CARD = """
  <article class="card task-card{css}" data-card="{key}" data-task="{name}" data-version="{seq}"{by_hand}>
    <div class="task-card-name"><span class="row row-4">{choose}{name}</span>{again}</div>
    <a class="task-card-title" id="card-{token}" href="{address}">{title}</a>
    {place}    <div class="row between row-nowrap">
      <span class="row row-4">{status} {paused} {late}</span>
      <span class="strong numbers">{since} {expected}</span>
    </div>
    {more}{foot}{branches}
  </article>"""
MARK = '<article data-card="{}" data-drawn="{}" data-same></article>'
DIGEST_BYTES = 6
# The browser counts on by itself.
TICKING = re.compile(r"(<time [^>]*>)[^<]*")
PLACE = '<p class="muted small truncate">{}</p>'
FOOT = '<div class="task-card-foot{}">{}</div>'
SIGN = '<span class="row row-4">{} {}</span>'
ATTENTION = frozenset(("blocked", "held", "waiting_for_input"))


@register.simple_tag(takes_context=True)
def task_cards(context: Context, column: Any) -> SafeString:
    """Return the cards of a column; `card_pages` has, by project, the address of a task as `at_task` needs it, and what
    the reader may do there."""
    digests = context.get("shown_cards") or ()
    return mark_safe(
        "".join(
            _card_or_mark_if_page_has_it(_card_html(context, card), card.key, digests)
            for card in column.cards
        )
    )


def _card_or_mark_if_page_has_it(html: str, key: str, page_digests: Collection[str]) -> str:
    """Return the card with the digest of what it shows, or, where the page has that one, a mark in its place
    (static/ts/keyed.ts)."""
    digest_bytes = hashlib.blake2b(TICKING.sub(r"\1", html).encode(), digest_size=DIGEST_BYTES).digest()
    digest = urlsafe_b64encode(digest_bytes).decode()
    if digest in page_digests:
        return format_html(MARK, key, digest)
    return html.replace(" data-card=", f' data-drawn="{digest}" data-card=', 1)


def _card_html(context: Context, card: Any) -> SafeString:
    task_at, may = context["card_pages"][card.task.project_id]
    address = at_task(task_at, card.task.name)
    css = " card-danger" if card.status == "stuck" else " card-attention" if card.status in ATTENTION else ""
    runs = bool(card.expected and card.is_running)
    return format_html(
        CARD,
        css=css,
        key=card.key,
        name=card.task.name,
        seq=card.task.seq,
        again=_repeat_html_or_empty(card),
        choose=task_checkbox_html(card.task, card.token.pk) if may["operate"] else NOTHING,
        by_hand=_drag_attributes_html(card, address)
        if may["operate"] and card.is_movable_by_hand
        else NOTHING,
        token=card.token.pk,
        address=address,
        title=card.task.title,
        place=format_html(PLACE, card.place) if card.place else NOTHING,
        status=_status_html(card),
        late=format_html('<span class="state tone-attention">{} {}</span>', icon("late", 14), "late")
        if card.late
        else NOTHING,
        paused=format_html('<span class="state tone-attention">{} {}</span>', icon("pause", 14), "paused")
        if card.paused
        else NOTHING,
        since=elapsed(card.since),
        expected=format_html('<span class="muted">/ {}</span>', duration(card.expected)) if runs else NOTHING,
        more=_rare_details_html_or_empty(context, card, address, may),
        foot=_approvals_and_pause_html(card) if card.gate else _actor_and_retries_html(card),
        branches=_branches_html(card.branches) if card.branches else NOTHING,
    )


def _drag_attributes_html(card: Any, address: str) -> SafeString:
    """Return what a card needs to be dragged, or moved with M (static/ts/moving.ts)."""
    return format_html(' data-move="{}tokens/{}/move/" draggable="true"', address, card.token.pk)


def _repeat_html_or_empty(card: Any) -> SafeString:
    parts = [f"run {card.run}"] if card.run > 1 else []
    parts += [f"attempt {card.attempt}"] if card.attempt > 1 else []
    return format_html(SIGN, icon("retry", 12), " ".join(parts)) if parts else NOTHING


def _status_html(card: Any) -> SafeString:
    if card.status == "awaiting_review":
        return status_pill("awaiting_review", "In review", "yes")
    loud = card.sentence or card.is_manual
    return status_pill(card.status) if loud else status_pill(card.status, "", "yes")


def _rare_details_html_or_empty(context: Context, card: Any, address: str, may: Any) -> Any:
    """Return the parts that few cards have: a bar, a cost, what they wait for and what can be done about it,
    the end of a log."""
    bar = card.expected and (card.is_running or card.gate)
    if not (
        bar
        or card.spending.runs
        or (card.sentence and not card.gate)
        or card.line
        or card.is_manual
        or card.visit
    ):
        return NOTHING
    drawn = context.template.engine.get_template(MORE)  # type: ignore[union-attr]
    with context.push(card=card, task_url=address, project=card.task.project, may=may):
        return drawn.render(context)


def _approvals_and_pause_html(card: Any) -> SafeString:
    have = {"n": card.votes, "m": card.needed}
    words = "{n} of {m} approvals".format(**have) if card.needed > 1 else "needs 1 approval"
    approvals = format_html(FOOT, "", format_html(SIGN, icon("actor-person", 12), words))
    if left := card.visit.due_after_pause:
        words = f"{duration(left.total_seconds())} left after the pause"
        return format_html(
            "{}{}", approvals, format_html(FOOT, "", format_html(SIGN, icon("pause", 12), words))
        )
    if not card.due:
        return approvals
    if card.is_gate_overdue:
        due_text = format_html("{} {} {}", icon("late", 12), "overdue by", elapsed(card.due))
    else:
        due_text = format_html("{} {} {}", icon("clock", 12), "due", moment(card.due))
    css = " tone-attention" if card.is_gate_overdue else ""
    return format_html(
        "{}{}", approvals, format_html(FOOT, css, format_html('<span class="row row-4">{}</span>', due_text))
    )


def _actor_and_retries_html(card: Any) -> SafeString:
    name = card.actor or ("somebody" if card.actor_kind == "person" else "")
    actor = person_sign(name, card.actor_kind) if name else NOTHING
    left: Any = NOTHING
    if card.left is not None:
        words = singular_or_plural("%(n)s retry left", "%(n)s retries left", card.left) % {"n": card.left}
        left = format_html("<span>{}</span>", words)
    return format_html(FOOT, "", format_html("{} {}", actor, left))


def _branches_html(branches: tuple[int, int]) -> SafeString:
    words = f"{branches[0]} of {branches[1]} branches"
    return format_html(FOOT, "", format_html(SIGN, icon("fork", 12), words))
