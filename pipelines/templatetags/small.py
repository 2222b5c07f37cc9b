"""The small parts that stand in every row of a list, drawn without a template: `c-elapsed`, `c-time`, `c-kind`,
`c-status-pill` and `c-person` are these, and rows use them directly. What depends on nothing but its words is drawn
once."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from pipelines.templatetags.gateline import (
    actor_icon,
    built_file_url_or_empty,
    end_icon,
    exact,
    gate_icon,
    icon,
    relative,
    since,
    station_icon,
    status,
)

register = template.Library()

HEXAGON = (
    '<svg class="kind-hexagon" viewBox="0 0 28 24" stroke-width="1">'
    '<path d="M7.5 1.5h13L27 12l-6.5 10.5h-13L1 12z" stroke-linejoin="round" /></svg>'
)


@register.simple_tag
def at_task(address: str, name: str) -> str:
    """The address of this task, of one that was looked up for the task "-of-task-": once a page, not once a row."""
    return address.replace("-of-task-", name)


def _joined_class_names(*names: str) -> str:
    return " ".join(filter(None, names))


def _safe_attributes(attributes: object) -> SafeString:
    """Return the attributes as a component passes them on: an object that only its text marks as safe."""
    return conditional_escape(str(attributes))


@register.simple_tag
def elapsed(start: datetime, css: str = "", attrs: str = "") -> SafeString:
    """Return the time since then as an element; it ticks."""
    return format_html(
        '<time class="{}" datetime="{}" title="{}" data-elapsed {}>{}</time>',
        _joined_class_names("time", css), start.isoformat(), exact(start), _safe_attributes(attrs), since(start),
    )  # fmt: skip


@register.simple_tag
def moment(at: datetime, late: str = "", css: str = "", attrs: str = "") -> SafeString:
    """Relative and ticking; the exact time on hover."""
    return format_html(
        '<time class="{}" datetime="{}" title="{}" data-relative {}>{}</time>',
        _joined_class_names("time", "time-late" if late else "", css), at.isoformat(), exact(at),
        _safe_attributes(attrs),
        relative(at),
    )  # fmt: skip


@register.simple_tag
def kind_sign(
    shape: str = "station", kind: str = "other", tone: str = "", css: str = "", attrs: str = ""
) -> SafeString:
    """The small shape of a station, gate or end beside its name."""
    sprite = built_file_url_or_empty("static/icons.json")
    # The sprite is in the key of the cache: a rebuilt one has another address.
    return _cached_kind_html(str(shape), str(kind), str(tone), str(css), _safe_attributes(attrs), sprite)


@lru_cache(maxsize=1024)
def _cached_kind_html(
    shape: str, kind: str, tone: str, css: str, attrs: SafeString, _sprite: str
) -> SafeString:
    icons = {"gate": gate_icon, "end": end_icon}
    drawn = icon(kind if shape == "state" else icons.get(shape, station_icon)(kind), 14)
    return format_html(
        '<span class="{}" aria-hidden="true" {}>{}{}</span>',
        _joined_class_names("kind", f"kind-{shape}", f"kind-{tone}" if tone else "", css), attrs,
        mark_safe(HEXAGON if shape == "gate" else ""), drawn,
    )  # fmt: skip


@register.simple_tag
def status_pill(value: str, word: str = "", plain: str = "", css: str = "", attrs: str = "") -> SafeString:
    """`word` instead of the word of the status; `plain`: without the pill around it."""
    sprite, attributes = built_file_url_or_empty("static/icons.json"), _safe_attributes(attrs)
    return _cached_status_pill_html(str(value), str(word), bool(plain), str(css), attributes, sprite)


@lru_cache(maxsize=1024)
def _cached_status_pill_html(
    value: str, word: str, plain: bool, css: str, attrs: SafeString, _sprite: str
) -> SafeString:
    look = status(value)
    shape = ("state", f"tone-{look.tone}") if plain else ("pill", f"pill-{look.tone}")
    return format_html(
        '<span class="{}" data-status="{}" {}>{} {}</span>',
        _joined_class_names(*shape, "spin" if value == "running" else "", css), value, attrs, icon(look.icon),
        word or look.word,
    )  # fmt: skip


@register.simple_tag
def person_sign(name: str, kind: str = "person", css: str = "", attrs: str = "") -> SafeString:
    """Return a person's name beside the icon of their kind."""
    drawn = icon(actor_icon(str(kind)), 14)
    return format_html(
        '<span class="{}" {}>{} <span>{}</span></span>',
        _joined_class_names("person", css),
        _safe_attributes(attrs),
        drawn,
        name,
    )
