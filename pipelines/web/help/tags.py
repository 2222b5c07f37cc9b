"""Links into the help, for the components of pages: `{% help_place name as place %}`, `{% help_link name %}`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from django import template
from django.template import Context
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString

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
    return _help_url_or_empty(help_target(*_page_field_and_kind_of_work(context, field)))


@register.simple_tag(takes_context=True)
def help_of_page(context: Context) -> PageHelp | None:
    topic = help_target(*_page_field_and_kind_of_work(context, ""))
    slug = topic.partition("#")[0]
    title = next((page.title for page in help_pages() if page.slug == slug), "")
    return PageHelp(_help_url_or_empty(topic), title) if title else None


@register.simple_tag(takes_context=True)
def help_link(context: Context, field: str = "") -> SafeString:
    """The link to what the help says about this field of the page; "" where there is nothing."""
    return _help_link_html(*_page_field_and_kind_of_work(context, field))


@lru_cache(maxsize=4_096)
def _help_link_html(at: str, field: str, kind: str) -> SafeString:
    # Kept: a form of the editor has forty of them, at each word that is typed
    return render_to_string("help/more.html", {"href": _help_url_or_empty(help_target(at, field, kind))})


def _page_field_and_kind_of_work(context: Context, field: str) -> tuple[str, str, str]:
    """The page or form, the field of it, and the kind of work whose field it is, as `help_target` takes them."""
    at = context.get("help_at")
    if at is None:
        request = context.get("request")
        user, match = getattr(request, "user", None), getattr(request, "resolver_match", None)
        at = match.url_name if match is not None and user is not None and user.is_authenticated else ""
    return str(at or ""), str(field), str(context.get("help_kind", ""))


def _help_url_or_empty(topic: str) -> str:
    slug, mark, anchor = topic.partition("#")
    return reverse("help-page", args=[slug]) + mark + anchor if slug else ""
