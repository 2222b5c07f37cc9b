"""Help: its contents, its search, one page of it."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from pipelines import access
from pipelines.templatetags.shell import LAST_PROJECT
from pipelines.web.help.pages import developer_pages, help_pages, page_html, pages_by_shelf
from pipelines.web.help.palette import best_and_other_commands
from pipelines.web.help.search import search_pages
from pipelines.web.shell.page import SignedInRequest, breadcrumbs, render_in_shell, sign_in_required

DONE = 4
"""Commands above what the help says."""


@sign_in_required
@require_safe
def help_contents_page(request: SignedInRequest) -> HttpResponse:
    words = request.GET.get("q", "").strip()[:200]
    hits = search_pages(help_pages(), words)
    projects = list(access.visible_projects_with_owner(request.user))
    last = next((row for row in projects if str(row.pk) == request.COOKIES.get(LAST_PROJECT)), None)
    first, others = best_and_other_commands(request.user, projects, last, words) if words else ([], [])
    return render_in_shell(
        request,
        "help/help.html",
        trail=breadcrumbs("Help"),
        shelves=pages_by_shelf(),
        developers=developer_pages(),
        words=words,
        commands=[option for option in (*first, *others) if option.address][:DONE],
        hits=[hit for hit in hits if hit.page.is_for_users],
        more_hits=[hit for hit in hits if not hit.page.is_for_users],
    )


@sign_in_required
@require_safe
def help_page(request: SignedInRequest, page: str) -> HttpResponse:
    help_page = next((candidate for candidate in help_pages() if candidate.slug == page), None)
    if help_page is None:
        raise Http404
    return render_in_shell(
        request,
        "help/page.html",
        trail=breadcrumbs(("Help", reverse("help")), help_page.title),
        page=help_page,
        html=page_html(help_page),
        shelves=pages_by_shelf(help_page.folder),
        developers=developer_pages(help_page.folder),
    )


@sign_in_required
@require_safe
def picture_file(request: SignedInRequest, picture: str) -> HttpResponse:
    """A picture of `docs/pictures`. The name is a slug, so it cannot lead out of that folder."""
    path = Path(settings.BASE_DIR, "docs", "pictures", f"{picture}.svg")
    if not path.is_file():
        raise Http404
    return HttpResponse(path.read_bytes(), content_type="image/svg+xml")
