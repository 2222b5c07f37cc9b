"""In a language in which every text stands in brackets, no page shows a text without them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from pipelines.lines import publishing
from pipelines.models import Line
from tests.factories import World
from tests.language.scene import DATA, LINE, OF_PAGE, Scene, make_scene
from tests.language.visible import left_over, untranslated
from tests.pages.conftest import client_of

PAGES: dict[str, Callable[[Scene], str]] = {
    "home": lambda scene: reverse("home"),
    "inbox": lambda scene: reverse("needs-me"),
    "reviews": lambda scene: reverse("inbox") + "?tab=mine",
    "review": lambda scene: reverse("gate-visit", args=[scene.visit.pk]),
    "all tasks": lambda scene: reverse("tasks-everywhere"),
    "tasks": lambda scene: reverse("tasks", args=scene.project()),
    "task at a gate": lambda scene: reverse("task", args=scene.project(scene.waiting.name)),
    "task at a manual station": lambda scene: reverse("task", args=scene.project(scene.by_hand.name)),
    "new task": lambda scene: reverse("task-new", args=scene.line()),
    "lines": lambda scene: reverse("lines", args=scene.project()),
    "new line": lambda scene: reverse("lines-new", args=scene.project()),
    "line": lambda scene: reverse("line", args=scene.line()),
    "live": lambda scene: reverse("line-live", args=scene.line()),
    "code": lambda scene: reverse("line-edit", args=scene.line()),
    "publish": lambda scene: reverse("line-publish", args=scene.line()),
    "changes before publishing": lambda scene: reverse("line-publish", args=scene.line()) + "?part=changes",
    "routing changes before publishing": (
        lambda scene: reverse("line-publish", args=scene.line()) + "?part=difference"
    ),
    "routing changes": lambda scene: reverse("line-difference", args=scene.line()),
    "impact": lambda scene: reverse("line-impact", args=scene.line()),
    "problems before publishing": lambda scene: reverse("line-publish", args=scene.line()) + "?part=findings",
    "guarantees before publishing": (
        lambda scene: reverse("line-publish", args=scene.line()) + "?part=guarantees"
    ),
    "running tasks before publishing": lambda scene: (
        reverse("line-publish", args=scene.line()) + "?part=impact"
    ),
    "versions": lambda scene: reverse("line-versions", args=scene.line()),
    "back-test": lambda scene: reverse("line-backtest", args=scene.line()),
    "scenarios": lambda scene: reverse("line-tests", args=scene.line()),
    "insights": lambda scene: reverse("line-numbers", args=scene.line()),
    "health": lambda scene: reverse("project-health", args=scene.project()),
    "members": lambda scene: reverse("project-settings", args=scene.project()),
    "agents": lambda scene: reverse("project-agents", args=scene.project()),
    "groups": lambda scene: reverse("project-groups", args=scene.project()),
    "audit log": lambda scene: reverse("project-audit", args=scene.project()),
    "tokens": lambda scene: reverse("project-tokens", args=scene.project()),
    "account": lambda scene: reverse("account"),
    "no such page": lambda scene: "/nothing/",
}


def test_what_is_outside_of_all_brackets_is_found() -> None:
    page = '<h1>⟦Send ⟦Xone⟧ back⟧ 3 Xline</h1><p title="Hello">⟦Hi⟧ there</p><code>raw</code>'
    assert untranslated(page, ["Xline"]) == ["there", "Hello"]
    assert left_over("⟦a⟧ Back", []) == ["Back"]


@pytest.mark.django_db
def test_no_page_shows_untranslated_text(world: World, request: pytest.FixtureRequest) -> None:
    """Nor one that an earlier request in another language left behind."""
    scene, left = make_scene(world), []
    client = client_of(world.admin)
    for address in PAGES.values():
        client.get(address(scene))
    request.getfixturevalue("in_brackets")
    for name, address in PAGES.items():
        answer = client.get(address(scene))
        assert answer.status_code == (404 if name == "no such page" else 200), name
        left += [
            f"{name}: {text}"
            for text in untranslated(answer.content.decode(), [*DATA, *OF_PAGE.get(name, ())])
        ]
    assert not left, "\n".join(left)


@pytest.mark.django_db
def test_what_is_wrong_with_a_document_is_told_in_the_language(world: World, in_brackets: None) -> None:
    scene = make_scene(world)
    address = reverse("line-edit", args=scene.line())
    one, two = LINE["stations"]
    rules = [{**one["rules"][0], "to": "xnowhere", "when": {"result": "xfine"}}, {"id": "x r", "more": 1}]
    faulty = {
        "gateline": 1,
        **LINE,
        "stations": [{**one, "rules": rules, "limits": {"expected": "soon"}}, two, two],
    }
    based_on = Line.objects.get(key="xlin").draft_number
    saved = {"text": json.dumps(faulty), "based_on": based_on}
    page = client_of(world.admin).post(address, saved, follow=True).content.decode()
    assert "⟦the line has no station or end" in page
    # The check by its id, the place by its keys.
    known = [
        "not-publishable rules when result limits expected stations key xnowhere xfine",
        json.dumps(faulty),
    ]
    assert untranslated(page, [*DATA, *known]) == []
    twice = {"text": "gateline: 1\n---\n", "based_on": based_on + 1}
    page = client_of(world.admin).post(address, twice).content.decode()
    assert "⟦a second document begins here; a file holds one⟧" in page


@pytest.mark.django_db
def test_what_a_draft_changes_is_told_in_the_language(world: World, in_brackets: None) -> None:
    scene = make_scene(world)
    line = Line.objects.get(key="xlin")
    one, two = LINE["stations"]
    first, second = one["rules"]
    draft = {
        "gateline": 1,
        **LINE,
        "policy": {"no_match": "stuck", "on_failure": "station:xtwo", "revisit": "limit:2"},
        "limits": {"cost_usd": 5},
        "guarantees": [{"id": "xr", "never": {"reach": "xtwo", "without": "xgat"}}],
        "stations": [
            {**one, "rules": [first, {**second, "on_exhausted": "stuck"}], "limits": {"max_timeout": 60}},
            two,
        ],
        "gates": [{**LINE["gates"][0], "approval": {"who": [{"role": "admin", "count": 2}]}}],
    }
    publishing.save_draft(line, draft, world.admin, line.draft_number)
    client = client_of(world.admin)
    for part in ("changes", "difference", "guarantees", "findings"):
        page = client.get(reverse("line-publish", args=scene.line()), {"part": part}).content.decode()
        assert "⟦" in page, part
        known = [*DATA, *OF_PAGE["problems before publishing"], "1m 60s v1 USD cost-of-a-task"]
        assert untranslated(page, known) == [], part


@pytest.mark.django_db
@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators")
def test_what_differs_in_a_back_test_is_told_in_the_language(world: World, in_brackets: None) -> None:
    scene = make_scene(world)
    line = Line.objects.get(key="xlin")
    stations = [{**LINE["stations"][1], "rules": []}]
    publishing.save_draft(line, {"gateline": 1, **LINE, "stations": stations}, world.admin, line.draft_number)
    address = reverse("api-1:line-backtest", args=scene.line())
    answer = client_of(world.admin).get(address, {"to": "draft"})
    result = json.loads(b"".join(answer).splitlines()[-1])
    assert result["cells"]
    for cell in result["cells"]:
        assert cell["words"]["message"].startswith("⟦This version has no station")
        assert left_over(cell["words"]["message"], DATA) == []


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/sign-in/", "/sign-in/nothing/"])
def test_a_page_for_nobody_shows_no_untranslated_text(address: str, in_brackets: None) -> None:
    page = Client().get(address).content.decode()
    assert "⟦" in page
    assert untranslated(page, DATA) == []
