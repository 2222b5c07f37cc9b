"""Help: its contents, its search, one page of it."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from pipelines import access
from pipelines.templatetags.shell import LAST_PROJECT
from pipelines.web.help.pages import for_developers, html_of, pages, shelves
from pipelines.web.help.palette import commands
from pipelines.web.help.search import search
from pipelines.web.shell.page import SignedIn, crumbs, show, signed_in

DONE = 4
"""Commands above what the help says."""


@signed_in
@require_safe
def contents(request: SignedIn) -> HttpResponse:
    words = request.GET.get("q", "").strip()[:200]
    hits = search(pages(), words)
    projects = list(access.visible_projects(request.user))
    last = next((row for row in projects if str(row.pk) == request.COOKIES.get(LAST_PROJECT)), None)
    first, others = commands(request.user, projects, last, words) if words else ([], [])
    return show(
        request,
        "help/help.html",
        trail=crumbs("Help"),
        shelves=shelves(),
        developers=for_developers(),
        words=words,
        commands=[option for option in (*first, *others) if option.address][:DONE],
        hits=[hit for hit in hits if hit.page.for_users],
        more_hits=[hit for hit in hits if not hit.page.for_users],
    )


@signed_in
@require_safe
def page(request: SignedIn, page: str) -> HttpResponse:
    help_page = next((candidate for candidate in pages() if candidate.slug == page), None)
    if help_page is None:
        raise Http404
    return show(
        request,
        "help/page.html",
        trail=crumbs(("Help", reverse("help")), help_page.title),
        page=help_page,
        html=html_of(help_page),
        shelves=shelves(help_page.folder),
        developers=for_developers(help_page.folder),
    )


@signed_in
@require_safe
def picture(request: SignedIn, picture: str) -> HttpResponse:
    """A picture of `docs/pictures`. The name is a slug, so it cannot lead out of that folder."""
    path = Path(settings.BASE_DIR, "docs", "pictures", f"{picture}.svg")
    if not path.is_file():
        raise Http404
    return HttpResponse(path.read_bytes(), content_type="image/svg+xml")
