"""What the tables, the icons and the templates say of each other."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from django.http import Http404
from django.template import Context, Template
from django.template.loader import get_template, render_to_string
from django.test import RequestFactory
from django_cotton.compiler_regex import CottonCompiler

from pipelines.models import DISPLAYED
from pipelines.routing.document.kinds import TABLE
from pipelines.templatetags import gateline, shapes
from pipelines.web.shell.design import design_page
from tests.design.colours import ROOT

TEMPLATES = ROOT / "templates"
DRAWINGS = ROOT / "node_modules/lucide-static/icons"
ICONS = {
    **json.loads((ROOT / "static/icons.json").read_text("utf-8")),
    **{f"station-{kind.key}": kind.icon for kind in TABLE},
}
SOURCES = {str(path.relative_to(TEMPLATES)): path.read_text("utf-8") for path in TEMPLATES.rglob("*.html")}
COMPONENTS = {name for name in SOURCES if name.startswith("cotton/")}


def component(tag: str) -> str:
    """The file of a tag: `form-dialog` is cotton/form_dialog.html."""
    return f"cotton/{tag.replace('.', '/').replace('-', '_')}.html"


def draw(source: str, **context: object) -> str:
    return Template(CottonCompiler().process(source)).render(Context(context))


def used(source: str) -> set[str]:
    tags = set(re.findall(r"<c-([a-z][\w.-]*)", source)) - {"vars", "slot"}
    return {component(tag) for tag in tags}


@pytest.mark.smoke(1000)  # each by itself is quick
@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_template_compiles_and_names_only_components_and_icons_that_exist(name: str) -> None:
    source = SOURCES[name]
    get_template(name)
    assert used(source) <= COMPONENTS
    icons = re.findall(r"""\{%\s*icon "([\w-]+)\"""", source) + re.findall(
        r"""<c-[^>]*\sicon(?:_end)?="([\w-]+)\"""", source
    )
    assert set(icons) <= set(ICONS)


def test_every_component_is_on_the_design_page() -> None:
    drawn = ("base.html", "cotton/", "design/")
    shown = set().union(*(used(text) for name, text in SOURCES.items() if name.startswith(drawn)))
    assert shown >= COMPONENTS


@pytest.mark.skipif(not DRAWINGS.is_dir(), reason="the front end is not installed: run npm ci")
def test_every_icon_has_a_drawing() -> None:
    assert [icon for icon in ICONS.values() if not (DRAWINGS / f"{icon}.svg").exists()] == []


def test_every_status_has_a_tone_an_icon_and_a_word() -> None:
    assert set(gateline.STATUSES) == {value for value, _word in DISPLAYED}
    for look in gateline.STATUSES.values():
        assert look.tone in get_args(gateline.Tone)
        assert look.icon in ICONS
        assert look.word


def test_the_tones_are_those_of_the_design_language() -> None:
    tones: dict[str, set[str]] = {}
    for status, look in gateline.STATUSES.items():
        tones.setdefault(look.tone, set()).add(status)
    assert tones == {
        "neutral": {"queued", "cancelled"},
        "active": {"running", "evaluating"},
        "attention": {"awaiting_review", "waiting_for_input", "held", "blocked"},
        "danger": {"stuck", "failed"},
        "ok": {"completed"},
    }


def test_every_kind_of_work_has_an_icon_and_no_gate_shows_a_tick() -> None:
    for kind in TABLE:
        assert gateline.station_icon(kind.key) == f"station-{kind.key}"
    assert gateline.station_icon("something-new") == "station-other"
    assert not [name for name, icon in ICONS.items() if name.startswith("gate") and icon.endswith("check")]


@pytest.mark.skipif(not gateline.front_end_built(), reason="the front end is not built: make run")
def test_the_sprite_draws_every_kind_of_work() -> None:
    sprite = (
        ROOT / "static" / gateline.built_file_url_or_empty("static/icons.json").split("static/", 1)[1]
    ).read_text("utf-8")
    assert [kind.key for kind in TABLE if f'id="station-{kind.key}"' not in sprite] == []


def test_an_unknown_icon_is_refused() -> None:
    with pytest.raises(gateline.UnknownIcon):
        gateline.icon("no-such-icon")


def test_the_design_page_is_for_development_only(settings: pytest.FixtureRequest) -> None:
    settings.DEBUG = False  # type: ignore[attr-defined]
    with pytest.raises(Http404):
        design_page(RequestFactory().get("/_design/"))


@pytest.mark.parametrize("code", ["400", "403", "404", "409", "429", "500", "503", "offline", "expired"])
def test_an_error_page_needs_neither_request_nor_database(code: str) -> None:
    assert "<h1>" in render_to_string(f"errors/{code}.html")


def test_text_of_a_program_is_never_markup() -> None:
    hostile = "<img src=x onerror=alert(1)>"
    lines = [{"number": 1, "time": "", "text": hostile, "tone": ""}]
    shown = draw('<c-log :lines="lines" label="Log" />', lines=lines)
    assert "<img" not in shown
    assert "&lt;img" in shown


@pytest.mark.parametrize(
    ("value", "maximum", "widths"),
    [
        (40, 100, ["40.0"]),
        (100, 100, ["100.0"]),
        (200, 100, ["49.0", "50.0"]),
        (0, 100, ["0.0"]),
        (5, 0, []),
        (None, None, []),
    ],
)
def test_a_late_bar_splits_at_the_expected_time(value: float, maximum: float, widths: list[str]) -> None:
    assert [part.width for part in shapes.bar_parts(value, maximum)] == widths


@pytest.mark.parametrize(
    ("name", "sign"), [("Reviewer 2", "R2"), ("app", "A"), ("Ada King Lovelace", "AL"), ("", "?")]
)
def test_a_person_has_two_letters(name: str, sign: str) -> None:
    assert gateline.initials(name) == sign


def test_a_time_is_relative_and_exact_on_hover() -> None:
    at = datetime.now(UTC) - timedelta(minutes=12, seconds=30)
    shown = draw('<c-time :at="at" />', at=at)
    assert f'datetime="{at.isoformat(timespec="seconds").replace("+00:00", "")}' in shown
    assert "12\N{NO-BREAK SPACE}min ago" in shown
    assert at.strftime("%Y, %H:%M:%S") in shown


@pytest.mark.parametrize(
    "drawn",
    [
        '<c-time :at="at" title="It" />',
        '<c-elapsed :since="at" title="It" />',
        '<c-person name="Ann" title="It" />',
        '<c-kind title="It" />',
        '<c-status-pill status="queued" title="It" />',
    ],
)
def test_a_small_part_hands_on_what_else_it_is_given(drawn: str) -> None:
    assert ' title="It"' in draw(drawn, at=datetime.now(UTC))


def test_an_icon_is_silent_unless_it_has_a_label() -> None:
    template = Template('{% load gateline %}{% icon "gate" %}|{% icon "gate" label="Gate" %}')
    silent, spoken = template.render(Context()).split("|")
    assert 'aria-hidden="true"' in silent
    assert 'role="img" aria-label="Gate"' in spoken


@pytest.mark.skipif(not gateline.front_end_built(), reason="the front end is not built: run npm run build")
def test_a_page_can_override_a_component_and_a_component_the_base() -> None:
    built = json.loads((ROOT / "static/dist/manifest.json").read_text("utf-8"))["static/ts/shell.ts"]["css"]
    sheet = "".join((ROOT / "static/dist" / name).read_text("utf-8") for name in built)
    layers = re.findall(r"@layer ([\w, ]+)[{;]", sheet)
    order = list(dict.fromkeys(name.strip() for each in layers for name in each.split(",")))
    assert order == ["reset", "tokens", "base", "components", "pages"]
