"""Every specimen and every error page, drawn without a browser: so the net for names that nobody gives sees them."""

from __future__ import annotations

from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client

from pipelines.web.shell.design import specimen_names
from tests.fixtures.look_ups import TEMPLATES


@pytest.fixture(autouse=True)
def _in_development(settings: Any) -> None:
    settings.DEBUG = True


@pytest.mark.parametrize("query", ["", "?frame=shell", "?frame=shell&rail=on&theme=dark&letters=off"])
@pytest.mark.smoke(3)
def test_the_design_pages_are_drawn(client: Client, query: str, db: None) -> None:
    answer = client.get(f"/_design/{query}")
    assert answer.status_code == 200 and "</html>" in answer.content.decode()


@pytest.mark.smoke(100)
@pytest.mark.parametrize("name", specimen_names())
def test_each_specimen_is_drawn_alone(client: Client, name: str, db: None) -> None:
    assert client.get(f"/_design/?only={name}").status_code == 200


@pytest.mark.smoke(100)
@pytest.mark.parametrize("name", sorted(path.stem for path in (TEMPLATES / "errors").glob("[a-z0-9]*.html")))
def test_each_error_page_is_drawn(client: Client, name: str, db: None, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.design.urls"
    assert client.get(f"/errors/{name}/").status_code == 200


@pytest.mark.parametrize("name", ["400.html", "403.html", "404.html", "500.html"])
@pytest.mark.smoke(4)
def test_what_django_shows_when_all_else_fails_needs_nothing(name: str) -> None:
    assert "</html>" in render_to_string(name)
