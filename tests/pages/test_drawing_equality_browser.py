"""The same numbers from Node and from Chromium: what the server stores is what the canvas would draw."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Page

from pipelines.lines.starters.catalogue import STARTERS
from pipelines.routing.document.line import read_line
from pipelines.web.lines.drawing import picture_of
from pipelines.work.drawing import PROGRAM, Drawer
from tests.factories import document, station

pytestmark = pytest.mark.browser
LABELS = ("", "Passed", "A finding of high severity", "Größer als 10 — 日本語", "fi ffl 👩‍💻")
STANDARD_STREAMS = """
  const createRequire = () => () => undefined
  const process = { argv: ['', '', '60000'], stdin: null, exit: () => undefined,
    stdout: { write: (answer) => window.answered(answer) } }
  const createInterface = () => (async function* () {
    for (;;) yield await new Promise((give) => { window.request = give; window.ready?.() })
  })()
"""
"""In place of those of Node."""
DRAW = """(request) => new Promise((give) => {
  window.answered = give
  const send = () => window.request(request)
  if (window.request) send()
  else window.ready = send
})"""


def drawn_lines(count: int) -> Iterator[dict[str, Any]]:
    for starter in STARTERS[:count]:
        yield starter.line.to_document()
    for seed in range(count - len(STARTERS)):
        random = Random(seed)
        keys = [f"s{number}" for number in range(random.randint(1, 12))]
        targets = [*keys, "completed", "failed", "@origin", "@blocked"]
        yield document(
            [
                station(
                    key,
                    *(
                        {
                            "id": f"{key}-{number}",
                            "label": random.choice(LABELS),
                            "when": {"result": random.choice(("success", "failure"))},
                            "to": random.choice(targets),
                            **({"gates": ["look"]} if random.random() < 0.2 else {}),
                        }
                        for number in range(random.randint(0, 4))
                    ),
                    name=random.choice(("Lint", "Security review", "Implement what was planned")),
                )
                for key in keys
            ],
            gates=[{"key": "look", "name": "A look"}],
        )


PARTS = 20


@pytest.mark.parametrize(
    ("count", "first", "step"),
    [
        (30, 0, 15),
        *(pytest.param(500, first, PARTS, marks=pytest.mark.soak) for first in range(PARTS)),
    ],
)
def test_node_and_chromium_draw_the_same(
    page: Page, drawer: Drawer, count: int, first: int, step: int
) -> None:
    """Of a few: some that are shipped, some made at random; in the soak of all, a share at a time."""
    program, replaced = re.subn(r'^import .* from "node:.*";$', "", PROGRAM.read_text(), flags=re.MULTILINE)
    assert replaced == 2
    program = STANDARD_STREAMS + program
    page.set_content("<p>Draws</p>")
    page.add_script_tag(content=program, type="module")
    for line in islice(drawn_lines(count), first, None, step):
        picture = picture_of(read_line(line)).given
        in_chromium = json.loads(page.evaluate(DRAW, json.dumps(picture)))
        assert in_chromium == drawer.drawings_wide_and_narrow(picture), line["stations"]
