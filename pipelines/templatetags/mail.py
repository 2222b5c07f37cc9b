"""The design language in mails: styles stand in the tags, since mail programs drop sheets, and the tones of the dark
theme in one that those which know it keep. `<p {% style "lead" %}>`."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

# role: (light, dark), as in static/css/tokens.css; a test compares.
TONES = {
    "canvas": ("#f9f9fb", "#111113"),
    "surface": ("#ffffff", "#18191b"),
    "text": ("#1c2024", "#edeef0"),
    "muted": ("#60646c", "#b0b4ba"),
    "line": ("#e0e1e6", "#2e3135"),
    "accent": ("#3e63dd", "#3e63dd"),
    "accent-on": ("#ffffff", "#ffffff"),
    "accent-text": ("#3a5bc7", "#9eb1ff"),
}
SANS = "'IBM Plex Sans', 'Segoe UI', Arial, sans-serif"
MONO = "'IBM Plex Mono', Consolas, monospace"
# name: (its measures, {property: role})
STYLES: dict[str, tuple[str, dict[str, str]]] = {
    "page": (
        f"margin: 0; padding: 24px 12px; font: 14px/20px {SANS}",
        {"background-color": "canvas", "color": "text"},
    ),
    "card": (
        "max-width: 560px; width: 100%; border: 1px solid; border-radius: 8px; text-align: left",
        {"background-color": "surface", "border-color": "line", "color": "text"},
    ),
    "head": (
        "padding: 16px 24px; border-bottom: 1px solid; font-weight: 600",
        {"border-color": "line", "color": "text"},
    ),
    "mark": ("", {"color": "accent-text"}),
    "body": ("padding: 24px", {"color": "text"}),
    "foot": (
        "padding: 16px 24px; border-top: 1px solid; font-size: 12px; line-height: 16px",
        {"border-color": "line", "color": "muted"},
    ),
    "title": ("margin: 0 0 16px; font-size: 20px; line-height: 28px; font-weight: 600", {"color": "text"}),
    "heading": (
        "margin: 24px 0 4px; font-size: 14px; line-height: 20px; font-weight: 600",
        {"color": "text"},
    ),
    "number": (f"font-family: {MONO}; font-weight: 400", {"color": "muted"}),
    "lead": ("margin: 0 0 4px", {"color": "muted"}),
    "text": ("margin: 0 0 16px", {"color": "text"}),
    "plain": ("margin: 0 0 16px; white-space: pre-line", {"color": "text"}),
    "line": ("margin: 0 0 4px", {"color": "text"}),
    "quote": ("margin: 8px 0 0; white-space: pre-line", {"color": "muted"}),
    "muted": ("", {"color": "muted"}),
    "facts": ("font-size: 14px; line-height: 20px", {"color": "text"}),
    "name": ("padding: 4px 16px 4px 0; vertical-align: top", {"color": "muted"}),
    "value": ("padding: 4px 0", {"color": "text"}),
    "value-lines": ("padding: 4px 0; white-space: pre-line", {"color": "text"}),
    "act": ("margin: 24px 0 0", {}),
    "button": (
        "display: inline-block; padding: 8px 16px; text-decoration: none; border-radius: 4px; font-weight: 500",
        {"background-color": "accent", "color": "accent-on"},
    ),
    "link": ("", {"color": "accent-text"}),
}


@register.simple_tag
def style(name: str) -> SafeString:
    """The attributes of a tag that is styled so."""
    measures, tones = STYLES[name]
    declarations = [measures] if measures else []
    declarations += [f"{key}: {TONES[role][0]}" for key, role in tones.items()]
    return format_html('class="gl-{}" style="{}"', name, mark_safe("; ".join(declarations)))


@register.simple_tag
def dark_tones() -> SafeString:
    """Return the changes of the dark theme, for mail programs that follow it."""
    rules = "".join(
        f".gl-{name} {{ {_dark_declarations(tones)} }} "
        for name, (_measures, tones) in STYLES.items()
        if tones
    )
    return mark_safe(f"@media (prefers-color-scheme: dark) {{ {rules}}}")  # nosec: constants of this file


def _dark_declarations(tones: dict[str, str]) -> str:
    # The light tones stand in the style of each tag, which wins over a sheet otherwise.
    return "; ".join(f"{key}: {TONES[role][1]} !important" for key, role in tones.items())


@register.filter
def quoted(text: object) -> str:
    """Quote each further line of foreign text, for plain text, so that none passes for one of ours."""
    # So that no further line of a stranger's text passes for one of ours
    return "\n> ".join(str(text).splitlines())
