"""Links into the help, for the components of pages: `{% help_place name as place %}`, `{% help_link name %}`."""

from __future__ import annotations

from dataclasses import dataclass

from django import template
from django.template import Context
from django.urls import reverse

from pipelines.web.help.help_targets import help_target
from pipelines.web.help.pages import help_pages

register = template.Library()


@dataclass(frozen=True, slots=True)
class PageHelp:
    href: str
    title: str


@register.simple_tag(takes_context=True)
def help_place(context: Context, field: str = "") -> str:
    """The address of what the help says about the page, or about this field of it; "" where there is nothing, and for
    who may not read the help yet. `help_at` and `help_kind` in the context stand for the page."""
    return _help_url(_current_target(context, field))


@register.simple_tag(takes_context=True)
def help_of_page(context: Context) -> PageHelp | None:
    topic = _current_target(context, "")
    slug = topic.partition("#")[0]
    title = next((page.title for page in help_pages() if page.slug == slug), "")
    return PageHelp(_help_url(topic), title) if title else None


@register.inclusion_tag("help/more.html", takes_context=True)
def help_link(context: Context, field: str = "") -> dict[str, str]:
    return {"href": help_place(context, field)}


def _current_target(context: Context, field: str) -> str:
    at = context.get("help_at")
    if at is None:
        request = context.get("request")
        user, match = getattr(request, "user", None), getattr(request, "resolver_match", None)
        at = match.url_name if match is not None and user is not None and user.is_authenticated else ""
    return help_target(str(at or ""), field, str(context.get("help_kind", "")))


def _help_url(topic: str) -> str:
    slug, mark, anchor = topic.partition("#")
    return reverse("help-page", args=[slug]) + mark + anchor if slug else ""
