"""The pages of docs/, shown in the product and searchable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import nh3
from django.conf import settings
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from pipelines.web.shell.page import SignedIn, crumbs, show, signed_in

TAGS = nh3.ALLOWED_TAGS
ATTRIBUTES = {**nh3.ALLOWED_ATTRIBUTES, **{f"h{n}": {"id"} for n in range(1, 5)}, "code": {"class"}}
TITLE = re.compile(r"^#\s+(.+)$", re.MULTILINE)
PICTURE = re.compile(r"(?:\.\./)?pictures/(?P<name>[-\w]+)\.svg")
AROUND = 90
SHORTEST = 3
"""Characters of a word that is looked for, where there is a longer one."""
FOR_USERS = (
    "demo", "projects", "drawing", "kinds", "start-forms", "secrets", "rules", "gates", "testing", "watching",
    "versions", "people", "escalations", "lint", "workers", "operating", "api",
)  # fmt: skip
"""Pages for who uses or runs Gateline, in the order in which one needs them; all others are for its developers."""


@dataclass(frozen=True, slots=True)
class Page:
    """`folder`: of pages below `docs/`, such as those of the checks of lint. A README is the page of its folder."""

    slug: str
    title: str
    text: str
    folder: str = ""

    @property
    def for_users(self) -> bool:
        return (self.folder or self.slug) in FOR_USERS


@dataclass(frozen=True, slots=True)
class Hit:
    page: Page
    before: str
    found: str
    after: str


def pages() -> list[Page]:
    """Those of `docs/` and of one folder below."""
    docs = Path(settings.BASE_DIR, "docs")
    found = [*sorted(docs.glob("*.md")), *sorted(docs.glob("*/*.md"))]
    return [_read(path, path.stat().st_mtime) for path in found]


def around(page: Page | None = None) -> dict[str, list[Page]]:
    """What is listed beside a page: the main ones, and those of its own folder; `users` and `developers` apart."""
    folder = page.folder if page else ""
    found = [each for each in pages() if each.folder in ("", folder) or each.slug == each.folder]
    order = {slug: place for place, slug in enumerate(FOR_USERS)}
    found.sort(key=lambda each: order.get(each.folder or each.slug, len(order)))
    return {
        "users": [each for each in found if each.for_users],
        "developers": [each for each in found if not each.for_users],
    }


@lru_cache(maxsize=200)
def _read(path: Path, changed: float) -> Page:
    """`changed` is the file's time, so that an edited page is seen without a restart."""
    text = path.read_text("utf-8")
    title = TITLE.search(text)
    folder = path.parent.name if path.parent.name != "docs" else ""
    name = folder if path.stem == "README" else path.stem
    return Page(name.lower(), title.group(1).strip() if title else path.stem, text, folder)


@lru_cache(maxsize=200)
def html_of(page: Page) -> SafeString:
    """Markdown without raw HTML, cleaned once more; links between pages stay inside the product."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(page.text)
    for token in _inline(tokens, "link_open"):
        token.attrs["href"] = _inside(str(token.attrs.get("href", "")), page)
    for token in _inline(tokens, "image"):
        token.attrs["src"] = _picture(str(token.attrs.get("src", "")))
    for opening, inside in pairwise(tokens):
        if opening.type == "heading_open":
            opening.attrs["id"] = re.sub(r"[^a-z0-9]+", "-", inside.content.lower()).strip("-")
    html = markdown.renderer.render(tokens, markdown.options, {})
    return mark_safe(nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, link_rel="noopener noreferrer"))


def _inline(tokens: list[Token], kind: str) -> Iterator[Token]:
    for token in tokens:
        if token.type == kind:
            yield token
        yield from _inline(token.children or [], kind)


def targets(page: Page) -> set[str]:
    """The pages to which a page links."""
    links = _inline(MarkdownIt("commonmark", {"html": False}).enable("table").parse(page.text), "link_open")
    names = (str(link.attrs.get("href", "")).partition("#")[0] for link in links)
    return {_slug(name, page) for name in names if name.endswith(".md") and "//" not in name}


def _slug(name: str, page: Page) -> str:
    """Of the page to which a page links as `name`."""
    path = Path(name)
    return (path.stem if path.stem != "README" else path.parent.name or page.folder).lower()


def _inside(href: str, page: Page) -> str:
    """`watching.md#boards` as the address of that page here."""
    name, mark, anchor = href.partition("#")
    if not name.endswith(".md") or "//" in name:
        return href
    return reverse("help-page", args=[_slug(name, page)]) + mark + anchor


def _picture(src: str) -> str:
    """`pictures/rooms.svg` as the address of that picture here."""
    found = PICTURE.fullmatch(src)
    return reverse("help-picture", args=[found["name"]]) if found else src


@signed_in
@require_safe
def picture(request: SignedIn, picture: str) -> HttpResponse:
    """A picture of `docs/pictures`. The name is a slug, so it cannot lead out of that folder."""
    path = Path(settings.BASE_DIR, "docs", "pictures", f"{picture}.svg")
    if not path.is_file():
        raise Http404
    return HttpResponse(path.read_bytes(), content_type="image/svg+xml")


@signed_in
@require_safe
def contents(request: SignedIn) -> HttpResponse:
    words = request.GET.get("q", "").strip()[:200]
    hits = search(pages(), words)
    return show(
        request,
        "help/help.html",
        trail=crumbs(_("Help")),
        pages=around(),
        words=words,
        hits=[hit for hit in hits if hit.page.for_users],
        more_hits=[hit for hit in hits if not hit.page.for_users],
    )


def search(found: list[Page], text: str) -> list[Hit]:
    """Pages with all of the words, wherever they stand. Words in the title come first, then the whole phrase, then
    where the words are said most. Each with its first place."""
    words = text.lower().split()
    words = [word for word in words if len(word) >= SHORTEST] or words
    hits = [page for page in found if words and all(word in page.text.lower() for word in words)]
    hits.sort(key=lambda page: _rank(page, text.lower(), words), reverse=True)
    return [_hit(page, [text.lower(), *words]) for page in hits]


def _rank(page: Page, phrase: str, words: list[str]) -> tuple[int, bool, int]:
    title, said = page.title.lower(), page.text.lower()
    return sum(word in title for word in words), phrase in said, sum(map(said.count, words))


def _hit(page: Page, wanted: list[str]) -> Hit:
    """`wanted`: what to show of the page, the best first."""
    low = page.text.lower()
    found = next(each for each in wanted if each in low)
    place = low.index(found)
    end = place + len(found)
    return Hit(
        page, page.text[max(0, place - AROUND) : place], page.text[place:end], page.text[end : end + AROUND]
    )


@signed_in
@require_safe
def page(request: SignedIn, page: str) -> HttpResponse:
    found = next((each for each in pages() if each.slug == page), None)
    if found is None:
        raise Http404
    return show(
        request,
        "help/page.html",
        trail=crumbs((_("Help"), reverse("help")), found.title),
        page=found,
        html=html_of(found),
        pages=around(found),
    )
