"""The words, icons and assets of every page: `{% load gateline %}`.

One table says how a status looks, one how a duration reads, one which icon stands for what
(static/icons.json; a kind of work names its own). Nothing here reads the database.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from django import template
from django.conf import settings
from django.template import Context
from django.templatetags.static import static
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from pipelines.routing.basics import wording
from pipelines.routing.basics.wording import percent_text
from pipelines.routing.document.kinds import KINDS
from pipelines.routing.sentences import failures
from pipelines.templatetags import shapes

register = template.Library()


Tone = Literal["neutral", "active", "ok", "attention", "danger"]


class UnknownIcon(ValueError):
    """There is no icon of this name in static/icons.json."""


@dataclass(frozen=True)
class StatusLook:
    """Display of a status: always a tone with an icon and a word, never colour alone."""

    tone: Tone
    icon: str
    word: str


STATUSES: Mapping[str, StatusLook] = {
    "queued": StatusLook("neutral", "status-queued", "Queued"),
    "running": StatusLook("active", "status-running", "Running"),
    "evaluating": StatusLook("active", "status-evaluating", "Evaluating"),
    "awaiting_review": StatusLook("attention", "status-awaiting_review", "Waiting for review"),
    "waiting_for_input": StatusLook("attention", "actor-person", "Waiting for input"),
    "held": StatusLook("attention", "status-held", "On hold"),
    "blocked": StatusLook("attention", "status-blocked", "Blocked"),
    "stuck": StatusLook("danger", "status-stuck", "Stuck"),
    "completed": StatusLook("ok", "status-completed", "Completed"),
    "failed": StatusLook("danger", "status-failed", "Failed"),
    "cancelled": StatusLook("neutral", "status-cancelled", "Cancelled"),
}


RESULT_WORDS: Mapping[str, str] = {
    "success": "succeeded",
    "failure": "failed",
    "blocked": "blocked",
    "cancelled": "cancelled",
}


# --- Assets of the Vite build -------------------------------------------------------------------


MANIFEST, SPRITE = "dist/manifest.json", "icons.json"
FONTS_OF_EVERY_PAGE = [
    f"node_modules/@fontsource/ibm-plex-sans/files/ibm-plex-sans-latin-{weight}-normal.woff2"
    for weight in (400, 500, 600)
]
_STATIONS = frozenset(f"station-{kind}" for kind in KINDS)


@lru_cache(maxsize=4)
def _read_json_as_of(path: Path, changed: float) -> dict[str, Any]:
    """`changed` is the file's time: a rebuild is seen without a restart."""
    return dict(json.loads(path.read_text("utf-8")))


@lru_cache(maxsize=8)
def _modified_time_or_zero(path: Path, second: int) -> float:
    """Return when the file was last written, 0 where there is none: looked up once a second, not once for
    each of 200 icons."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0


def _static_json_or_empty(name: str) -> dict[str, Any]:
    return _read_static_json_or_empty(str(settings.BASE_DIR), name, int(time.monotonic()))


@lru_cache(maxsize=16)
def _read_static_json_or_empty(base: str, name: str, second: int) -> dict[str, Any]:
    path = Path(base, "static", name)
    changed = _modified_time_or_zero(path, second)
    return _read_json_as_of(path, changed) if changed else {}


def built_file_url_or_empty(source: str) -> str:
    """The address of one built file by its source, "" where nothing is built."""
    entry = _static_json_or_empty(MANIFEST).get(source)
    return _url_in_dist_folder(entry["file"], settings.STATIC_URL) if entry else ""


@lru_cache(maxsize=256)
def _url_in_dist_folder(file: str, _root: str) -> str:
    """A name of a built file changes with what is in it; icons ask for one a hundred times a page."""
    return static(f"dist/{file}")


@register.simple_tag(takes_context=True)
def vite(context: Context, entry: str) -> SafeString:
    """Style sheets and the module of one entry: `{% vite "shell" %}`, with the page's CSP nonce."""
    manifest = _static_json_or_empty(MANIFEST)
    chunk = manifest.get(f"static/ts/{entry}.ts") or manifest.get(f"static/{entry}/main.tsx")
    if chunk is None:
        return mark_safe("")
    # It is made when it is first written out, and is false until then.
    nonce = str(getattr(context.get("request"), "csp_nonce", ""))
    sheets = [static(f"dist/{name}") for name in _style_sheets_of_chunk_imported_first(manifest, chunk)]
    links = format_html_join(
        "\n", '<link rel="stylesheet" href="{}" nonce="{}">', ((s, nonce) for s in sheets)
    )
    script = format_html(
        '<script type="module" src="{}" nonce="{}"></script>', static(f"dist/{chunk['file']}"), nonce
    )
    return mark_safe(f"{links}\n{script}")


def _style_sheets_of_chunk_imported_first(manifest: Mapping[str, Any], chunk: Mapping[str, Any]) -> list[str]:
    """The sheets of a chunk and of what it imports, each once, imported ones first."""
    imported = [
        sheet
        for name in chunk.get("imports", ())
        for sheet in _style_sheets_of_chunk_imported_first(manifest, manifest[name])
    ]
    return list(dict.fromkeys([*imported, *chunk.get("css", ())]))


@register.simple_tag
def font_preloads() -> SafeString:
    """Links by which a browser fetches the fonts of every page beside the style sheet that names them: words that
    are painted in another font first move what stands below them."""
    fonts = filter(None, map(built_file_url_or_empty, FONTS_OF_EVERY_PAGE))
    return format_html_join(
        "\n",
        '<link rel="preload" as="font" type="font/woff2" href="{}" crossorigin>',
        ((url,) for url in fonts),
    )


@register.simple_tag
def front_end_built() -> bool:
    return bool(_static_json_or_empty(MANIFEST))


@register.simple_tag
def favicon(dotted: bool = False) -> str:
    return built_file_url_or_empty("static/favicon-dot.svg" if dotted else "static/favicon.svg")


@register.simple_tag
def icon(name: str, size: int = 16, label: str = "", css: str = "") -> SafeString:
    """Return one icon of the sprite. Without a label it is decoration and hidden from screen readers."""
    return _icon_html(name, size, str(label), css, built_file_url_or_empty("static/icons.json"))


@lru_cache(maxsize=4096)
def _icon_html(name: str, size: int, label: str, css: str, sprite: str) -> SafeString:
    if name not in _names_of_known_icons():
        raise UnknownIcon(name)
    css_class = " ".join(part for part in ("icon", f"icon-{size}" if size != 16 else "", css) if part)
    attributes = (
        format_html('role="img" aria-label="{}"', label) if label else mark_safe('aria-hidden="true"')
    )
    return format_html(
        '<svg class="{}" viewBox="0 0 24 24" width="{}" height="{}" {}><use href="{}#{}"></use></svg>',
        css_class, size, size, attributes, sprite, name,
    )  # fmt: skip


# --- Statuses and kinds -------------------------------------------------------------------------


register.filter("percent", percent_text)


@register.filter
def status(value: str) -> StatusLook:
    """The look of a status; an unknown one is shown by its name, neutral."""
    return STATUSES.get(str(value)) or StatusLook("neutral", "info", str(value))


@register.filter
def words(value: object) -> str:
    """A text of the rules or of lint as people read it: with names."""
    return wording.people_text(value)


@register.filter
def station_icon(kind: str) -> str:
    return _known_icon_or_default(f"station-{kind}", "station-other")


@register.filter
def result_word(result: str) -> str:
    """Return the result of a run as a word."""
    return RESULT_WORDS.get(str(result), str(result))


@register.filter
def failure_word(kind: str) -> str:
    """Return why a run failed, where Gateline knows the type; else the type as the line named it."""
    return failures.failure_word(str(kind))


@register.filter
def gate_icon(mode: str) -> str:
    """The icon of a gate by its mode. Never a tick: that would look approved."""
    # Never a tick: that would look approved
    return _known_icon_or_default(f"gate-{mode}", "gate")


@register.filter
def end_icon(kind: str) -> str:
    return _known_icon_or_default(f"end-{kind}", "end-completed")


@register.filter
def actor_icon(kind: str) -> str:
    return _known_icon_or_default(f"actor-{kind}", "actor-system")


def _names_of_known_icons() -> Collection[str]:
    """The names in the sprite (static/build/sprite.ts)."""
    return (
        _names_in_built_sprite(built_file_url_or_empty("static/icons.json"))
        or _STATIONS | _static_json_or_empty(SPRITE).keys()
    )


@lru_cache(maxsize=4)
def _names_in_built_sprite(sprite: str) -> frozenset[str]:
    """Return the icon names by the built sprite's address, which changes with its contents; none where it is
    not built."""
    return _STATIONS.union(_static_json_or_empty(SPRITE)) if sprite else frozenset()


def _known_icon_or_default(name: str, default: str) -> str:
    return name if name in _names_of_known_icons() else default


@register.filter
def initials(name: object) -> str:
    """Two letters for a round sign: first of the first and of the last word ("Reviewer 2" is R2)."""
    words = re.findall(r"\w+", str(name))
    return "".join(word[0] for word in (words[:1] + words[1:][-1:])).upper() or "?"


@register.filter
def coded(text: str, keys: Collection[str]) -> SafeString:
    """A sentence with the keys in it shown as code."""
    if not keys:
        return format_html("{}", text)
    parts = re.split(rf"(?<!\w)({'|'.join(map(re.escape, keys))})(?!\w)", text)
    return format_html_join(
        "",
        "{}",
        # The pattern has one group, so every second part is a key.
        ((format_html("<code>{}</code>", part) if place % 2 else part,) for place, part in enumerate(parts)),
    )


# --- Time: one format everywhere ----------------------------------------------------------------

NBSP = "\N{NO-BREAK SPACE}"


@register.filter
def duration(value: timedelta | float | None) -> str:
    """Two units at most: `14 s`, `2 min 10 s`, `41 min`, `3 h 25 min`, `2 d 4 h`; seconds only below ten minutes.

    Takes a timedelta or seconds; nothing for nothing. static/ts/time.ts says the same for ticking times.
    """
    if value is None or value == "":
        return ""
    seconds = int(value.total_seconds() if isinstance(value, timedelta) else float(value))
    seconds = abs(seconds)
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, left = divmod(rest, 60)
    if days:
        return _join_nonzero_units((days, "d"), (hours, "h"))
    if hours:
        return _join_nonzero_units((hours, "h"), (minutes, "min"))
    if minutes:
        return _join_nonzero_units((minutes, "min"), (left if minutes < 10 else 0, "s"))
    return f"{left}{NBSP}s"


def _join_nonzero_units(first: tuple[int, str], second: tuple[int, str]) -> str:
    return NBSP.join(f"{number}{NBSP}{unit}" for number, unit in (first, second) if number)


@register.filter
def relative(value: datetime | None, now: datetime | None = None) -> str:
    """`now`, `12 min ago`, `in 2 h 42 min`."""
    if value is None or value == "":
        return ""
    ahead = (value - (now or timezone.now())).total_seconds()
    if abs(ahead) < 5:
        return "now"
    if ahead > 0:
        return f"in {duration(ahead)}"
    return f"{duration(ahead)} ago"


@register.filter
def since(value: datetime | None, now: datetime | None = None) -> str:
    """Return the time since then, without "ago": `2 min 10 s`."""
    if value is None or value == "":
        return ""
    return duration((now or timezone.now()) - value)


@register.filter
def clock(value: datetime) -> str:
    """The time of a day, with seconds; of another day than today its date and the time."""
    at = timezone.localtime(value)
    return date_format(at, "H:i:s" if at.date() == timezone.localdate() else "j M H:i")


@register.filter
def exact(value: datetime | None) -> str:
    """The exact time in the reader's zone, e.g. `Fri 21 Nov 2025, 14:21:40 UTC`."""
    if value is None or value == "":
        return ""
    return _exact_text(value, timezone.get_current_timezone_name())


@lru_cache(maxsize=4096)
def _exact_text(value: datetime, _zone: str) -> str:
    """Lists are read again and again while the times in them stay."""
    # `localtime` reads the zone itself; the argument tells the entries of the cache apart.
    return date_format(timezone.localtime(value), "D j M Y, H:i:s T")


# --- Graphics -----------------------------------------------------------------------------------

register.simple_tag(shapes.bar_parts)
register.simple_tag(shapes.day_bars)


@register.simple_tag
def day_rects(bars: shapes.DayBars) -> SafeString:
    """Return all bars of a line at once: fourteen of each line appear on Home."""
    today = len(bars.parts) - 1
    return format_html_join(
        "",
        '<rect class="day-bar{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
        (
            (
                " day-bar-empty" if bar.empty else " day-bar-today" if place == today else "",
                bar.x, bar.y, bar.width, bar.height, bar.number,
            )
            for place, bar in enumerate(bars.parts)
        ),
    )  # fmt: skip
