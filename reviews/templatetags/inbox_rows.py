"""The rows of the inbox, many of which may stand beside a review: drawn without a template, as one text each."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django import template
from django.template import Context
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from pipelines.templatetags.gateline import exact, icon, since
from pipelines.templatetags.small import elapsed, kind_sign, moment
from reviews.inbox.lists import ListRow

register = template.Library()

NOTHING = mark_safe("")
LINE = """
  {heading}<div class="inbox-line" {paged}>{choose}
    <a class="inbox-row" id="inbox-row-{key}" href="{url}" {current} data-item>
      {sign} <span class="muted small truncate">{line}</span>
      <span class="small inbox-due">{due}</span>
      <span class="strong truncate">{title}</span>
      <span class="{verb_css} small">{verb}</span>
      <span class="inbox-wide muted small truncate"><span class="mono">{number}</span>{about}</span>
      {more}
    </a>
  </div>"""
CHOOSE = """<input
        class="inbox-choose" type="checkbox" name="visit" value="{}" form="bulk" data-choose aria-label="{}">"""
SIZE = """<span class="inbox-wide inbox-marks small"><span class="row row-4">{} {}
  <span class="diff-stat"><span class="tone-ok">+{}</span><span class="tone-danger">−{}</span></span></span>
  {}</span>"""
LEFT = """<span class="row row-4 row-nowrap{}" title="{}">{} <span
  data-elapsed data-at="{}" data-words="{}">{}</span></span>"""
URGENT = {"overdue": " tone-danger strong", "next": " tone-attention strong"}


@register.simple_tag
def time_left(at: datetime, urgency: str = "") -> SafeString:
    """The time until something is due, ticking; only what is overdue is red, only the next is amber."""
    overdue = urgency == "overdue"
    words = "Overdue %(time)s" if overdue else "%(time)s left"
    return format_html(
        LEFT, URGENT.get(urgency, ""), exact(at), icon("late" if overdue else "clock", 14),
        timezone.localtime(at).isoformat(), words % {"time": "{time}"}, words % {"time": since(at)},
    )  # fmt: skip


@register.simple_tag(takes_context=True)
def inbox_rows(context: Context) -> SafeString:
    """Render the `items` that the list has; `selected` is the key of the one that is open."""
    rows: Iterable[ListRow] = context["items"]
    by_many = context.get("tab") == "needs-me"
    selected, now = str(context.get("selected", "")), context["now"]
    return mark_safe("".join(_row_html(row, now, by_many and row.kind == "gate", selected) for row in rows))


def _row_html(row: ListRow, now: datetime, choose: bool, selected: str) -> SafeString:
    return format_html(
        LINE,
        heading=format_html('<h2 class="inbox-heading small">{}</h2>', row.heading)
        if row.heading
        else NOTHING,
        paged=mark_safe("data-paged") if row.kind == "gate" else NOTHING,
        choose=format_html(CHOOSE, row.key, row.choose_words) if choose else NOTHING,
        key=row.key,
        url=row.url,
        current=mark_safe('aria-current="true"') if row.key == selected else NOTHING,
        sign=_sign_html(row),
        line=f"{row.line} › {row.place}" if row.place else row.line,
        due=_due_html(row, now),
        title=row.title,
        verb_css=row.tone if row.is_over else "inbox-verb",
        verb=row.verb,
        number=row.number,
        about=_about_html(row),
        more=format_html("{}{}{}", _note_html(row), _size_html(row), _marks_html(row)),
    )


def _sign_html(row: ListRow) -> SafeString:
    if not row.is_over:
        return kind_sign(row.shape, row.icon, row.tone)
    css = f"kind kind-ok {row.tone}" if row.state == "approve" else f"kind {row.tone}"
    return format_html('<span class="{}">{}</span>', css, icon(row.icon, 20))


def _due_html(row: ListRow, now: datetime) -> SafeString:
    if row.due_at:
        return time_left(row.due_at, "overdue" if row.due_at < now else "")
    return moment(row.since) if row.is_over else format_html('<span class="muted">{}</span>', "No due time")


def _about_html(row: ListRow) -> SafeString:
    project = f" · {row.project}" if row.project else ""
    waits = (
        NOTHING if row.is_over or row.kind == "late" else format_html(" · {} {}", "waits", elapsed(row.since))
    )
    return format_html("{} · {}{}", project, row.requester, waits)


def _note_html(row: ListRow) -> SafeString:
    of_round = (row.kind == "gate" and row.note) or row.votes or row.round > 1
    parts = [row.round_words, row.votes, row.note] if of_round else [row.note]
    text = " · ".join(filter(None, parts))
    return format_html('<span class="inbox-wide muted small truncate">{}</span>', text) if text else NOTHING


def _size_html(row: ListRow) -> SafeString:
    """Return how much there is to read, and how many of the files affect the checks."""
    size = row.size
    if size is None:
        return NOTHING
    files = f"{size.files} file{'' if size.files == 1 else 's'}"
    risk = (
        format_html(
            '<span class="tag-attention" title="{}">{} affect{} checks</span>',
            "Files of tests, build or CI, or that the line names",
            size.sensitive,
            "s" if size.sensitive == 1 else "",
        )
        if size.sensitive
        else ""
    )
    return format_html(SIZE, icon("changed-files", 14), files, size.added, size.removed, risk)


def _marks_html(row: ListRow) -> SafeString:
    if not (row.claimed or row.waits_for or row.stand_in):
        return NOTHING
    marks = (
        ("actor-person", "Claimed by %(who)s", row.claimed),
        ("comment", "Asked, waiting for %(who)s", row.waits_for),
        ("actor-people", "As stand-in for %(who)s", row.stand_in),
    )
    drawn = [
        format_html('<span class="row row-4">{} {}</span>', icon(name, 14), words % {"who": who})
        for name, words, who in marks
        if who
    ]
    return format_html('<span class="inbox-wide inbox-marks small">{}</span>', mark_safe(" ".join(drawn)))
