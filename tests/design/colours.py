"""Reads the roles of tokens.css as colours, and measures contrast by WCAG 2.2."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOKENS = ROOT / "static/css/tokens.css"
SCALES = ROOT / "node_modules/@radix-ui/colors"
THEMES = ("light", "dark")


@cache
def declarations() -> dict[str, str]:
    """Every custom property of tokens.css (the first one: densities only change sizes)."""
    found: dict[str, str] = {}
    for name, value in re.findall(r"^\s*--([\w-]+):\s*([^;]+);", TOKENS.read_text("utf-8"), re.MULTILINE):
        found.setdefault(name, value.strip())
    return found


@cache
def scale(name: str, theme: str) -> dict[str, str]:
    css = (SCALES / f"{name}{'-dark' if theme == 'dark' else ''}.css").read_text("utf-8")
    return dict(re.findall(rf"--({name}-\d+): (#[0-9a-f]{{6}});", css))


def colour(role: str, theme: str) -> str:
    """The colour of a role in a theme as #rrggbb."""
    value = declarations()[role]
    if both := re.fullmatch(r"light-dark\(([^,]+),\s*([^)]+\)?)\)", value):
        value = both[1 if theme == "light" else 2].strip()
    if other := re.fullmatch(r"var\(--([\w-]+)\)", value):
        name = other[1]
        return (
            scale(name.rsplit("-", 1)[0], theme)[name] if name not in declarations() else colour(name, theme)
        )
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", value):
        raise ValueError(f"--{role} in {theme} is no plain colour: {value}")
    return value


def luminance(value: str) -> float:
    parts = (int(value[index : index + 2], 16) / 255 for index in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(front: str, back: str) -> float:
    light, dark = sorted((luminance(front), luminance(back)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
