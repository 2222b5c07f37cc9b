"""The texts of the product as `makemessages` finds them, found by Python alone; and a language made of them in which
each stands in brackets, so that what was left untranslated stands out."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.mofile import write_mo
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[2]
# A language of nobody: Django brings no texts of its own in it.
LANGUAGE = "en-xa"
LOCALE = "en_XA"
OPEN, CLOSE = "⟦", "⟧"

KEYWORDS = DEFAULT_KEYWORDS | {
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "npgettext_lazy": ((1, "c"), 2, 3),
}
PYTHON = ("config", "pipelines", "reviews")
TEMPLATES = ("templates",)
SCRIPTS = ("static/ts", "static/editor")

Text = str | tuple[str, ...]


def python_and_templates(root: Path = ROOT) -> Iterator[tuple[Text, str | None]]:
    """Every text of the domain `django`, with its context."""
    for path in _files(root, PYTHON, "*.py"):
        yield from _texts("python", path.read_bytes())
    for pattern in ("*.html", "*.txt"):
        for path in _files(root, TEMPLATES, pattern):
            source = templatize(path.read_text("utf-8"), origin=str(path))
            # What was markup is blanked out, with its indentation: no Python until that is gone.
            yield from _texts("python", "\n".join(map(str.lstrip, source.splitlines())).encode())


def scripts(root: Path = ROOT) -> Iterator[tuple[Text, str | None]]:
    """Every text of the domain `djangojs`, with its context."""
    for pattern in ("*.ts", "*.tsx"):
        for path in _files(root, SCRIPTS, pattern):
            if not path.name.endswith((".d.ts", ".test.ts")):
                yield from _texts("javascript", path.read_bytes())


def write_pseudo_language(folder: Path) -> None:
    """Both catalogues of the bracketed language, for `LOCALE_PATHS`."""
    place = folder / LOCALE / "LC_MESSAGES"
    place.mkdir(parents=True, exist_ok=True)
    for domain, texts in (("django", python_and_templates()), ("djangojs", scripts())):
        catalogue = Catalog(locale="en", domain=domain)
        for text, context in texts:
            catalogue.add(text, bracketed(text), context=context)
        with (place / f"{domain}.mo").open("wb") as file:
            write_mo(file, catalogue)


def bracketed(text: Text) -> Text:
    if isinstance(text, tuple):
        return tuple(f"{OPEN}{each}{CLOSE}" for each in text)
    return f"{OPEN}{text}{CLOSE}"


def _files(root: Path, folders: tuple[str, ...], pattern: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((root / folder).rglob(pattern))


def _texts(kind: str, source: bytes) -> Iterator[tuple[Text, str | None]]:
    for _line, text, _comments, context in extract(kind, io.BytesIO(source), KEYWORDS):
        yield text, context
