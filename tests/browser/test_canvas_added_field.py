"""A control that is new on the server: the page writes what is typed into it, and saves it with the same request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest
from django.test import Client
from playwright.sync_api import Page, Route, expect

from pipelines.lines.publishing import create_line
from pipelines.web.editor.forms.fields import Reading, TextField
from pipelines.web.editor.forms.form import FormSetting, Fragment, Section
from pipelines.web.editor.forms.station import StationForm
from pipelines.web.editor.forms.table import FORMS
from tests.browser.canvas import draft, saved
from tests.browser.conftest import Enter
from tests.browser.formed import DOCUMENT, configure
from tests.factories import World
from tests.pages.conftest import client_of


@dataclass(frozen=True, kw_only=True)
class Weights(TextField):
    """Numbers with slashes between them; one alone is no list."""

    reading: ClassVar[Reading] = Reading(
        form="parts", between="/", values=True, single=True, words={"even": 1}
    )


class StationFormWithWeights(StationForm):
    def sections(self, fragment: Fragment, setting: FormSetting) -> Sequence[Section]:
        first, *others = super().sections(fragment, setting)
        weights = Weights(at=("extra", "weights"), label="Weights")
        return [replace(first, fields=[*first.fields, weights]), *others]


@pytest.fixture
def canvas(enter_canvas: Enter, world: World, monkeypatch: pytest.MonkeyPatch) -> Page:
    """With a form of stations that only the server knows: it answers from here."""
    line = create_line(world.project, "formed", "Formed", DOCUMENT, world.admin)
    monkeypatch.setitem(FORMS, "station", StationFormWithWeights())
    page = enter_canvas(line)
    client = client_of(world.admin)
    page.route("**/draft/forms/station", lambda route: answer(route, client))
    return page


def answer(route: Route, client: Client) -> None:
    path, sent = urlsplit(route.request.url).path, route.request.post_data
    response = client.post(path, sent, "application/json")
    route.fulfill(status=response.status_code, body=response.content, content_type="application/json")


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.parametrize(
    ("typed", "written"),
    [(" 1/ 2.50/x ", [1, 2.5, "x"]), ("3", 3), ("even", 1), ("1/12345678901234567", None)],
)
def test_what_is_typed_into_it_is_saved_by_the_request_that_asks_its_form(
    canvas: Page, world: World, typed: str, written: Any
) -> None:
    saves: list[str] = []
    canvas.on("request", lambda request: saves.append(request.method) if "/draft" in request.url else None)
    configure(canvas, "build").get_by_label("Weights", exact=True).fill(typed)
    canvas.keyboard.press("Enter")
    expect(canvas.locator(".ed-whose")).to_contain_text("Draft 2")
    saved(canvas)
    line = world.project.lines.get(key="formed")
    assert draft(line)["stations"][0]["extra"] == {
        "theirs": 1,
        "weights": [1, 12345678901234567] if written is None else written,
    }
    assert set(saves) == {"POST"}
