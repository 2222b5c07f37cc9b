"""The pages of docs/ as the product shows them: who they are for, their parts, and their text as HTML."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import nh3
from django.conf import settings
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

TAGS = nh3.ALLOWED_TAGS
ATTRIBUTES = {**nh3.ALLOWED_ATTRIBUTES, **{f"h{n}": {"id"} for n in range(1, 5)}, "code": {"class"}}
TITLE = re.compile(r"^#\s+(.+)$", re.MULTILINE)
PICTURE = re.compile(r"(?:\.\./)?pictures/(?P<name>[-\w]+)\.svg")
SHELVES: Mapping[str, tuple[str, ...]] = {
    "Start here": ("getting-started", "demo"),
    "People, projects, secrets": ("people", "projects", "secrets", "repositories"),
    "Draw a line": (
        "drawing",
        "kinds",
        "agents",
        "rules",
        "gates",
        "start-forms",
        "testing",
        "lint",
        "versions",
        "dialects",
    ),
    "Run tasks and decide": (
        "watching",
        "triggers",
        "changes",
        "notifications",
        "escalations",
        "command-line",
        "mcp",
    ),
    "Run Gateline for others": (
        "operating",
        "deploy",
        "workers",
        "runners",
        "metrics",
        "security",
        "api",
        "events",
    ),
}
"""The pages for who uses or runs Gateline, in the order in which one needs them; all others are for its developers."""
FOR_USERS = tuple(slug for slugs in SHELVES.values() for slug in slugs)


@dataclass(frozen=True, slots=True)
class HelpPage:
    """`folder`: of pages below `docs/`, such as those of the checks of lint. A README is the page of its folder."""

    slug: str
    title: str
    text: str
    folder: str = ""

    @property
    def is_for_users(self) -> bool:
        return (self.folder or self.slug) in FOR_USERS


@dataclass(frozen=True, slots=True)
class HelpPart:
    """Section of a help page: the plain text below one heading. The first has no anchor: it is the top of its
    page."""

    anchor: str
    title: str
    text: str


LOOKED_FOR = 30
"""Seconds. Two hundred files are asked for their time."""


def help_pages() -> list[HelpPage]:
    """Return the pages of `docs/`, of one folder below, and SECURITY.md and the figures of `proof/` beside
    it."""
    # The moment is a key of the cache, which so expires after LOOKED_FOR seconds.
    return list(_read_pages(Path(settings.BASE_DIR, "docs"), int(time.monotonic()) // LOOKED_FOR))


@lru_cache(maxsize=1)
def _read_pages(docs: Path, _moment: int) -> tuple[HelpPage, ...]:
    """Looked for twice a minute, not by each page that names its help."""
    paths = [
        *sorted(docs.glob("*.md")),
        docs.parent / "SECURITY.md",
        docs.parent / "proof/proof.md",
        *sorted(docs.glob("*/*.md")),
    ]
    return tuple(_read_page(path, docs, path.stat().st_mtime) for path in paths)


def pages_by_shelf(folder: str = "") -> dict[str, list[HelpPage]]:
    """The pages for users by subject: the main ones, and those of this folder after its own."""
    user_pages = [page for page in help_pages() if page.is_for_users and _is_listed(page, folder)]
    return {
        name: [page for slug in slugs for page in user_pages if (page.folder or page.slug) == slug]
        for name, slugs in SHELVES.items()
    }


def developer_pages(folder: str = "") -> list[HelpPage]:
    return [page for page in help_pages() if not page.is_for_users and _is_listed(page, folder)]


def _is_listed(page: HelpPage, folder: str) -> bool:
    return page.folder in ("", folder) or page.slug == page.folder


@lru_cache(maxsize=200)
def _read_page(path: Path, docs: Path, changed: float) -> HelpPage:
    """`changed` is the file's time, so that an edited page is seen without a restart."""
    text = path.read_text("utf-8")
    title = TITLE.search(text)
    folder = path.parent.name if path.parent.parent == docs else ""
    name = folder if path.stem == "README" else path.stem
    return HelpPage(name.lower(), title.group(1).strip() if title else path.stem, text, folder)


def _markdown_tokens(page: HelpPage) -> list[Token]:
    return _markdown_parser().parse(page.text)


def _markdown_parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _heading_anchor(heading: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


@lru_cache(maxsize=200)
def page_parts(page: HelpPage) -> tuple[HelpPart, ...]:
    sections = [("", page.title, list[str]())]
    for before, token in pairwise([Token("", "", 0), *_markdown_tokens(page)]):
        if before.type == "heading_open" and before.tag != "h1":
            sections.append((_heading_anchor(token.content), _plain_text(token), []))
        elif token.type == "inline" and before.type != "heading_open":
            sections[-1][2].append(_plain_text(token))
        elif token.type == "fence":
            sections[-1][2].append(token.content)
    return tuple(HelpPart(anchor, title, " ".join(text)) for anchor, title, text in sections)


def _plain_text(inline: Token) -> str:
    return "".join(token.content or " " * (token.type == "softbreak") for token in inline.children or [])


@lru_cache(maxsize=200)
def page_html(page: HelpPage) -> SafeString:
    """Markdown without raw HTML, cleaned once more; links between pages stay inside the product."""
    markdown, tokens = _markdown_parser(), _markdown_tokens(page)
    for token in _tokens_of_kind(tokens, "link_open"):
        if address := _page_url(str(token.attrs.get("href", "")), page):
            token.attrs["href"] = address
        else:
            del token.attrs["href"]
    for token in _tokens_of_kind(tokens, "image"):
        token.attrs["src"] = _picture_url(str(token.attrs.get("src", "")))
    for opening, inside in pairwise(tokens):
        if opening.type == "heading_open":
            opening.attrs["id"] = _heading_anchor(inside.content)
    html = markdown.renderer.render(tokens, markdown.options, {})
    # Safe: of TAGS and ATTRIBUTES nothing can run a script.
    return mark_safe(nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, link_rel="noopener noreferrer"))


def _tokens_of_kind(tokens: list[Token], kind: str) -> Iterator[Token]:
    for token in tokens:
        if token.type == kind:
            yield token
        yield from _tokens_of_kind(token.children or [], kind)


def link_targets(page: HelpPage) -> set[tuple[str, str]]:
    """The pages, each with the anchor or "", to which a page links."""
    links = (str(link.attrs.get("href", "")) for link in _tokens_of_kind(_markdown_tokens(page), "link_open"))
    split = (link.partition("#") for link in links)
    return {
        (_linked_slug(name, page) if name else page.slug, anchor)
        for name, _mark, anchor in split
        if "//" not in name and (name.endswith(".md") or not name)
    }


def _linked_slug(name: str, page: HelpPage) -> str:
    """Return the slug of the page to which a page links as `name`."""
    path = Path(name)
    # `lint/README.md` is the page `lint`; `README.md` inside a folder is the page of that folder.
    return (path.stem if path.stem != "README" else path.parent.name or page.folder).lower()


def _page_url(href: str, page: HelpPage) -> str:
    """`watching.md#boards` as the address of that page here; empty for a file of the checkout that is no page."""
    name, mark, anchor = href.partition("#")
    if not name or "//" in name:
        return href
    if not name.endswith(".md"):
        return ""
    return reverse("help-page", args=[_linked_slug(name, page)]) + mark + anchor


def _picture_url(src: str) -> str:
    """`pictures/rooms.svg` as the address of that picture here."""
    match = PICTURE.fullmatch(src)
    return reverse("help-picture", args=[match["name"]]) if match else src
