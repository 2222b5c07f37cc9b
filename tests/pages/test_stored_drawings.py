"""Drawings that are stored: drawn by Node from what a page is given, checked, inert, and in the HTML of pages."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from config.setup import front_end
from pipelines.formats.drawings import NotTheDrawing, checked_svg
from pipelines.lines import drawings, publishing
from pipelines.lines.shipped_drawings import shipped_drawing_or_none
from pipelines.lines.starters.catalogue import STARTERS
from pipelines.models import Drawing, GateVisit
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.routing.document.line import read_line
from pipelines.web.lines.drawing import picture_of
from pipelines.work.drawing import Drawer, NotDrawn
from proof.bench.editor import line_of
from tests.factories import World, document, make_project, station
from tests.pages.conftest import As, at
from tests.pages.foreign_documents import ALP
from tests.waiting import until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("not_requested")]
HOSTILE = (
    "</text></svg><script>alert(1)</script>",
    '"><image href="//evil.example/x.svg" onload="alert(1)"/>',
    "<style>@import url(//evil.example)</style>",
    "]]><!ENTITY x SYSTEM 'file:///etc/passwd'>&x;",
    "<foreignObject><iframe src=javascript:alert(1)></iframe></foreignObject>",
    "a\u202eb\x1bc\u0085d\ufffe&amp;",
    "-->{{ constructor.constructor('alert(1)')() }}${alert(1)}",
    "😀" * 60,
)


def draw_all() -> None:
    for pk in Drawing.objects.filter(wide="").values_list("pk", flat=True):
        drawings.draw_if_pending(pk)


def hostile() -> dict[str, Any]:
    """A line in which every word of somebody is a hostile one."""
    keys = [f"s{number}" for number in range(len(HOSTILE))]
    return document(
        key="hostile",
        name=HOSTILE[0],
        stations=[
            station(
                key,
                {
                    "id": f"r-{key}",
                    "label": words,
                    "when": {"result": "success"},
                    "to": to,
                    "gates": ["look"],
                },
                {"id": f"again-{key}", "label": words, "to": key},
                name=words,
            )
            for key, to, words in zip(keys, [*keys[1:], "completed"], HOSTILE, strict=True)
        ],
        gates=[{"key": "look", "name": HOSTILE[1]}],
    )


def picture(of: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(picture_of(read_line(of)).given))  # type: ignore[no-any-return]


def simple() -> dict[str, Any]:
    rules = ({"id": "good", "label": "Good", "when": {"result": "success"}, "to": "ship", "gates": ["look"]},)
    return document(
        stations=[station("build", *rules, name="Build"), station("ship", name="Ship")],
        gates=[{"key": "look", "name": "A look"}],
    )


def test_each_shipped_line_is_drawn_with_all_that_it_has() -> None:
    """As set-up had Node draw it; `tests/ops/test_shipped_drawings.py` compares that with what it draws now."""
    front_end.ensure_drawings()
    for starter in STARTERS:
        given = picture_of(starter.line).given
        drawn = shipped_drawing_or_none(drawings.picture_digest(given))
        assert drawn, starter.key
        for frame in drawings.FRAMES:
            svg = checked_svg(drawn[frame]["svg"], given)
            assert all(f">{line_station.name}<" in svg for line_station in starter.line.stations)
            spots = {spot["key"] for spot in drawn[frame]["geometry"]["placed"]["parts"]}
            assert {line_station.key for line_station in starter.line.stations} <= spots


def test_no_prefix_that_a_library_registers_gets_into_a_drawing(drawer: Drawer) -> None:
    importlib.import_module("qrcode.image.svg")  # that of a second factor at sign-in
    given = picture(hostile())
    for frame in drawer.drawings_wide_and_narrow(given).values():
        svg = checked_svg(frame["svg"], given)
        assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
        assert "svg:" not in svg


def test_a_line_of_hostile_words_is_drawn_inert(drawer: Drawer) -> None:
    given = picture(hostile())
    for frame in drawer.drawings_wide_and_narrow(given).values():
        svg = checked_svg(frame["svg"], given)
        assert svg.count("<svg") == 1
        assert not any(f"<{name}" in svg for name in ("script", "image", "style", "foreignObject", "iframe"))
        assert "\u202e" not in svg
        assert "\x1b" not in svg


ATTACKS = {
    "a script": ("</svg>", "<script>alert(1)</script></svg>"),
    "a script of another space": ("</svg>", '<s xmlns="http://www.w3.org/1999/xhtml"/></svg>'),
    "an image": ("</svg>", '<image href="//evil.example/x"/></svg>'),
    "a link": ("</svg>", '<a href="javascript:alert(1)"><text>Ship</text></a></svg>'),
    "what is used elsewhere": ("</svg>", '<use href="//evil.example/x#y"/></svg>'),
    "a style": ("</svg>", "<style>* { fill: url(//evil.example) }</style></svg>"),
    "a handler": ("<svg ", '<svg onload="alert(1)" '),
    "a style of an element": ("<svg ", '<svg style="background: url(//evil.example)" '),
    "a colour from elsewhere": ('fill="none"', 'fill="url(//evil.example)"'),
    "an animation": ("</svg>", '<set attributeName="href" to="//evil.example"/></svg>'),
    "an entity": ("<svg ", '<!DOCTYPE svg [<!ENTITY x "Build">]><svg '),
    "an element in a title": ("<title>Build</title>", "<title>Build<g/></title>"),
    "loose text": ("</svg>", "alert(1)</svg>"),
    "no end": ("</svg>", ""),
    "another name": ("<title>Build</title>", "<title>Ship</title>"),
    "another label": ("<title>Good</title>", "<title>Bad</title>"),
    "no gate": ('data-gate="look"', 'data-end="look"'),
    "another gate": ("<title>A look</title>", "<title>None</title>"),
    "another name on a card": (">Ship</text>", ">Shop</text>"),
    "no name on a card": (">Ship</text>", ">Manual</text>"),
    "another number": (">1</text>", ">2</text>"),
    "another name over a gate": (">A look</text>", ">No look</text>"),
    "a name cut to nothing": (">A look</text>", ">…</text>"),
    "words of nobody": ("</svg>", '<text x="0" y="0" font-size="12">Approved</text></svg>'),
    "no edge": ('data-edge="good"', 'data-edge="other"'),
    "a station twice": (
        "</svg>",
        '<g data-station="ship"><title>Ship</title></g></svg>',
    ),
    "a station that is none": ("</svg>", '<g data-station="x"><title>x</title></g></svg>'),
    "a rule twice": ("</svg>", '<g data-rule="good"><title>Good</title></g></svg>'),
    "an edge twice": ("</svg>", '<g data-edge="good"><title>Good</title></g></svg>'),
    "a gate twice": ("</svg>", '<g data-gate="look"><title>A look</title></g></svg>'),
}


def test_what_is_no_drawing_of_this_line_is_refused(drawer: Drawer) -> None:
    given = picture(simple())
    svg = drawer.drawings_wide_and_narrow(given)["wide"]["svg"]
    assert checked_svg(svg, given)
    for old, new in ATTACKS.values():
        changed = svg.replace(old, new, 1)
        assert changed != svg
        with pytest.raises(NotTheDrawing, match=r"\w"):
            checked_svg(changed, given)
    with pytest.raises(NotTheDrawing):
        checked_svg(svg, picture(hostile()))


def test_the_process_ends_when_it_rests_and_is_started_again() -> None:
    drawer = Drawer(rest=0.05)
    given = picture(simple())
    first = drawer.drawings_wide_and_narrow(given)
    process = drawer._process
    assert process is not None
    # Reaped, too: a zombie would still be there
    until(lambda: not Path(f"/proc/{process.pid}").exists())
    assert drawer.drawings_wide_and_narrow(given) == first
    drawer.stop()
    assert drawer._process is None


def test_what_cannot_be_drawn_is_said_and_the_next_one_is_drawn(drawer: Drawer) -> None:
    with pytest.raises(NotDrawn):
        drawer.drawings_wide_and_narrow({"kinds": [], "document": {}})
    assert drawer.drawings_wide_and_narrow(picture(simple()))


def test_a_drawing_that_takes_too_long_is_given_up(drawer: Drawer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.work.drawing.SECONDS", 0.0)
    with pytest.raises(NotDrawn, match="too large"):
        drawer.drawings_wide_and_narrow(picture(hostile()))


def test_publishing_has_the_line_drawn(world: World, signed_in: As) -> None:
    version = world.line(simple())
    tickets = "SELECT task_name FROM procrastinate_jobs WHERE queue_name = 'drawings' ORDER BY id"
    assert fetch(tickets) == [("pipelines.draw_draft",), ("pipelines.draw_version",)]
    client = signed_in(world.operator)
    # Nobody has drawn it yet: the page asks for it, once.
    assert "data-line-still" not in client.get(at(world, "line", version.line.key)).content.decode()
    client.get(at(world, "line", version.line.key))
    assert fetch(tickets)[2:] == [("pipelines.draw",)]
    draw_all()
    row = Drawing.objects.get()
    assert (row.project_id, row.picture) == (world.project.pk, {})
    page = client.get(at(world, "line", version.line.key)).content.decode()
    assert page.count("<svg xmlns") == 2
    assert '<g data-station="build"><title>Build</title>' in page


def test_nine_places_hold_the_drawing_in_their_html(world: World, signed_in: As) -> None:
    version = world.line(simple())
    line = version.line
    task = world.start(version)
    world.report(task)
    visit = GateVisit.objects.get()
    client = signed_in(world.admin)
    pages = {
        "overview": at(world, "line", line.key),
        "task": at(world, "task", task.name),
        "live graph": at(world, "line-live", line.key) + "?view=graph",
        "publish": at(world, "line-publish", line.key),
        "versions": at(world, "line-versions", line.key),
        "one version": at(world, "line-version", line.key, version.number),
        "templates": at(world, "lines-new"),
        "review": reverse("gate-visit", args=[visit.pk]),
        "Home": reverse("home"),
    }

    def drawings_in_pages() -> dict[str, int]:
        answers = {name: client.get(address) for name, address in pages.items()}
        answers["import"] = client.post(at(world, "lines-new"), {"text": json.dumps(ALP)})
        assert {answer.status_code for answer in answers.values()} == {200}
        return {name: answer.content.decode().count("<svg xmlns") for name, answer in answers.items()}

    # As wide as a page and for a phone.
    frames = len(drawings.FRAMES)
    # The templates are drawn at set-up (tests/ops/test_shipped_drawings.py).
    front_end.ensure_drawings()
    drawn_before = {"templates": frames * len(STARTERS)}
    assert drawings_in_pages() == dict.fromkeys([*pages, "import"], 0) | drawn_before
    draw_all()
    expected = dict.fromkeys([*pages, "import"], frames) | drawn_before
    assert drawings_in_pages() == expected


def test_a_comparison_shows_what_is_new_and_what_is_gone(world: World, signed_in: As) -> None:
    line = world.line(simple()).line
    changed = simple()
    changed["stations"][0]["rules"][0]["id"] = "better"
    publishing.save_draft(line, changed, world.admin, line.draft_number)
    client = signed_in(world.admin)
    address = at(world, "line-publish", line.key)
    client.get(address)
    draw_all()
    svg = client.get(address).content.decode()
    tones = {
        mark: svg[svg.index(f'data-edge="{mark}"') :].split("stroke=", 1)[1][:30]
        for mark in ("better", "good")
    }
    assert "--ok-graphic" in tones["better"]
    assert "--danger-graphic" in tones["good"]


def test_a_line_that_looks_the_same_in_another_project_is_drawn_there(world: World) -> None:
    given = picture(simple())
    other = make_project("other")
    assert drawings.stored_drawing_or_request(world.project.pk, given) is None
    draw_all()
    assert drawings.stored_drawing_or_request(world.project.pk, given) is not None
    assert drawings.stored_drawing_or_request(other.pk, given) is None


def test_no_length_of_a_line_takes_too_long(drawer: Drawer) -> None:
    """Within the limit of the server, of which it is 10 s; one of 20 stations took 20 s of the processor."""
    for stations in (20, 60, 300):
        drawn = drawer.drawings_wide_and_narrow(
            picture_of(read_line({**line_of(stations), "key": "long"})).given
        )
        keys = {part["key"] for part in drawn["narrow"]["geometry"]["placed"]["parts"]}
        assert keys >= {f"s{number}" for number in range(stations)}
