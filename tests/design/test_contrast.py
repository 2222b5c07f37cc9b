"""Contrast is held over the tokens, in both themes: text 4.5, graphics and focus 3."""

from __future__ import annotations

import pytest

from tests.design.colours import SCALES, THEMES, colour, contrast

pytestmark = pytest.mark.skipif(not SCALES.is_dir(), reason="the front end is not installed: run npm ci")

TONES = ("neutral", "active", "ok", "attention", "danger")
GROUNDS = ("canvas", "surface", "raised")
ROWS = ("hover", "selected")

TEXT = [
    *(("text", ground) for ground in (*GROUNDS, *ROWS, "sunken", "pressed", "accent-soft", "shape-fill")),
    *(("text", f"{tone}-bg") for tone in TONES),
    *(("text", f"{change}-{part}") for change in ("added", "removed") for part in ("bg", "word")),
    *(("muted", ground) for ground in (*GROUNDS, *ROWS, "sunken", "shape-fill", "added-bg", "removed-bg")),
    *(("muted", f"{tone}-bg") for tone in ("active", "ok", "attention", "danger")),
    *(("accent-text", ground) for ground in (*GROUNDS, *ROWS, "accent-soft")),
    *(("accent-on", fill) for fill in ("accent", "accent-hover", "danger-fill")),
    *((f"{tone}-text", ground) for tone in TONES for ground in (f"{tone}-bg", *GROUNDS, *ROWS)),
    *(
        (f"code-{kind}", ground)
        for kind in ("comment", "keyword", "name", "number", "string")
        for ground in ("surface", "active-bg", "added-bg", "added-word", "removed-bg", "removed-word")
    ),
    ("ok-text", "added-bg"),
    ("danger-text", "removed-bg"),
]
GRAPHICS = [
    *(
        (line, ground)
        for line in ("control-line", "edge", "edge-taken", "shape-line", "bar", "accent")
        for ground in ("canvas", "surface")
    ),
    *(("focus", ground) for ground in (*GROUNDS, *ROWS)),
    *((f"{tone}-graphic", ground) for tone in TONES for ground in ("canvas", "surface", f"{tone}-bg")),
    ("shape-line", "shape-fill"),
    ("bar", "bar-track"),
    *((f"{tone}-graphic", "bar-track") for tone in ("active", "ok", "attention", "danger")),
]


@pytest.mark.smoke(1000)  # each by itself is quick
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("front", "back"), TEXT)
def test_text_can_be_read(front: str, back: str, theme: str) -> None:
    assert contrast(colour(front, theme), colour(back, theme)) >= 4.5


@pytest.mark.smoke(1000)  # each by itself is quick
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("front", "back"), GRAPHICS)
def test_graphics_can_be_told_apart(front: str, back: str, theme: str) -> None:
    assert contrast(colour(front, theme), colour(back, theme)) >= 3


def test_the_chosen_row_is_quieter_in_dark_than_the_soft_accent() -> None:
    canvas = colour("surface", "dark")
    assert contrast(colour("selected", "dark"), canvas) < contrast(colour("accent-soft", "dark"), canvas)


def test_contrast_is_measured_as_the_standard_does() -> None:
    assert round(contrast("#777777", "#ffffff"), 2) == 4.48
    assert contrast("#000000", "#ffffff") == 21
