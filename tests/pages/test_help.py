"""Help, palette and home."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from pipelines.models import Membership, TaskCounter
from pipelines.web.help.pages import FOR_USERS, HelpPage, help_pages, link_targets, page_html, page_parts
from pipelines.web.help.search import search_pages
from pipelines.web.home.home import MANY
from tests.factories import World, document, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db


@pytest.mark.wide
def test_every_page_of_the_documentation_is_shown(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    assert {"drawing", "watching"} <= {page.slug for page in help_pages()}
    for page in help_pages():
        answer = client.get(reverse("help-page", args=[page.slug]))
        assert answer.status_code == 200
        assert page.title in text(answer)


@pytest.mark.wide
def test_the_help_is_searched(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    found = text(client.get(reverse("help"), {"q": "resync"}))
    assert "<mark>" in found
    assert "No results for" in text(client.get(reverse("help"), {"q": "zzzz no such word"}))


def test_the_help_finds_pages_by_their_words_wherever_they_stand() -> None:
    def page(slug: str, text: str, folder: str = "") -> HelpPage:
        return HelpPage(slug, text.splitlines()[0], text, folder)

    there = [
        page("holds", "Gates\nA vote. Whoever asked cannot approve."),
        page("ways", "Rules\nNobody has to vote."),
        page("sketch", "Approve\nHere one can vote, and approve."),
    ]
    hits = search_pages(there, "approve vote")
    assert [hit.page.slug for hit in hits] == ["sketch", "holds"], "those with both, the title first"
    assert hits[1].found == "approve" and hits[1].before.endswith("cannot ")
    assert search_pages(there, "zebra vote") == [] and search_pages(there, " ") == []


def test_pages_for_users_come_first_and_those_for_developers_apart(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    listed = client.get(reverse("help")).context
    assert [page.slug for shelf in listed["shelves"].values() for page in shelf] == list(FOR_USERS)
    assert {"architecture", "law", "dependencies"} <= {page.slug for page in listed["developers"]}
    found = text(client.get(reverse("help"), {"q": "reviewers approve"}))
    users, _apart, developers = found.partition("Found in the developer pages")
    assert reverse("help-page", args=["gates"]) in users.partition("Found")[2]
    marked = text(client.get(reverse("help-page", args=["architecture"]))).partition("<article")[2]
    assert "For developers of Gateline" in marked
    assert reverse("help-page", args=["gates"]) not in developers.partition("Start here")[0]


def test_markup_in_a_page_is_text(tmp_path: Path) -> None:
    page = HelpPage(
        "x", "X", "# X\n\n<script>alert(1)</script>\n\n[a](javascript:alert(1)) [b](watching.md#top)"
    )
    html = page_html(page)
    assert "<script" not in html
    assert "javascript:" not in html.replace("[a](javascript:alert(1))", "")
    assert reverse("help-page", args=["watching"]) + "#top" in html


def test_a_file_of_the_checkout_is_named_without_a_link() -> None:
    page = HelpPage(
        "x", "X", "# X\n\n[`docs/alerts.yaml`](alerts.yaml) [code](../a/b.py) [c](https://a.test/b.py)"
    )
    html = page_html(page)
    assert re.findall(r'href="([^"]*)"', html) == ["https://a.test/b.py"]
    assert "docs/alerts.yaml" in html


def test_links_between_pages_lead_to_headings_that_are_there() -> None:
    there = {page.slug: {part.anchor for part in page_parts(page)} for page in help_pages()}
    for page in help_pages():
        for slug, anchor in link_targets(page):
            assert anchor in there.get(slug, ()), f"docs/{page.slug}.md links to {slug}.md#{anchor}"


def test_the_palette_finds_lines_tasks_and_pages_that_one_may_see(world: World, signed_in: As) -> None:
    version = world.line(document(key="scanner"))
    task = world.start(version, title="Find the needle")
    client = signed_in(world.viewer)
    assert "Scanner" in text(client.get(reverse("palette"), {"q": "scan"}))
    assert task.name in text(client.get(reverse("palette"), {"q": "needle"}))
    assert task.name in text(client.get(reverse("palette"), {"q": task.name}))
    assert reverse("account") in text(client.get(reverse("palette"), {"q": "personal"}))
    foreign = text(signed_in(world.stranger).get(reverse("palette"), {"q": "needle"}))
    assert task.name not in foreign


@pytest.mark.wide
def test_home_shows_what_waits_and_the_steps_tick_themselves(world: World, signed_in: As) -> None:
    client = signed_in(world.admin)
    begun = text(client.get(reverse("home")))
    assert at(world, "project-setup") in begun and ">Start<" not in begun, "there is nothing to run yet"
    gated = station("a", {"id": "r", "to": "completed", "gates": ["g"]})
    version = world.line(document([gated], gates=[{"key": "g"}]))
    page = text(client.get(reverse("home")))
    assert 'id="first-task"' in page and 'id="needs-you"' not in page and "first-step-done" not in page
    assert f'action="{at(world, "task-new", version.line.key)}"' in page
    where = {"key": "repository", "type": "repository", "required": True}
    workspace = {"git": {"repository": "input.repository"}}
    in_repository = world.line(document(key="fix", workspace=workspace, inputs=[where]))
    page = text(client.get(reverse("home")))
    assert f'action="{at(world, "task-new", in_repository.line.key)}"' in page, "it ends in a merged commit"
    task = world.start(version, title="Look at this")
    assert "first-task" in text(client.get(reverse("home"))) and "home-counts" in text(
        client.get(reverse("home"))
    )
    world.report(task)
    world.vote(task)
    page = text(client.get(reverse("home")))
    assert 'id="first-task"' not in page and "First steps" in page, (
        "somebody went this way: the rest is folded"
    )
    assert '<details class="card details"> <summary' in page and page.count("first-step-done") == 1
    world.line(document())
    assert text(client.get(reverse("home"))).count("first-step-done") == 2
    TaskCounter.objects.update(last=MANY)
    assert "First steps" not in text(client.get(reverse("home"))), "nobody has to be shown how any more"
    TaskCounter.objects.update(last=MANY - 1)
    assert "First steps" in text(client.get(reverse("home")))
    client.post(reverse("first-steps-dismiss"))
    assert "First steps" not in text(client.get(reverse("home")))


@pytest.mark.wide
def test_home_has_the_panel_of_what_needs_somebody(world: World, signed_in: As) -> None:
    gated = station("a", {"id": "r", "to": "completed", "gates": ["g"]})
    task = world.start(world.line(document([gated], gates=[{"key": "g"}])), title="Look at this")
    world.report(task)
    review, first = reverse("gate-visit", args=[world.visit(task).pk]), {"fragment": "first"}
    assert f"{reverse('needs-me')}?fragment=first" in text(signed_in(world.reviewer).get(reverse("home")))
    assert review in text(signed_in(world.reviewer).get(reverse("needs-me"), first))
    for other in (world.viewer, world.stranger):
        assert "Nothing needs you." in text(signed_in(other).get(reverse("needs-me"), first))


@pytest.mark.wide
def test_home_counts_what_runs_whoever_started_it_and_leads_there(world: World, signed_in: As) -> None:
    version = world.line(document())
    going, ended = world.start(version, title="Going on"), world.start(version, title="Over")
    world.report(ended, {"result": "failure"})
    world.started(going)
    client = signed_in(world.viewer)
    shown = client.get(reverse("home"))
    assert shown.context["home"].running_count == 1
    (address,) = set(re.findall(r'href="([^"]*status=running[^"]*)"', shown.content.decode()))
    listed = text(client.get(html.unescape(address)))
    assert going.title in listed and ended.title not in listed
    assert signed_in(world.stranger).get(reverse("home")).context["home"].running_count == 0


def test_manual_work_is_offered_by_what_is_to_be_done(world: World, signed_in: As) -> None:
    world.start(world.line(stations=[station("sort", kind="manual")], key="sorting"), title="Sort it")
    panel = text(signed_in(world.operator).get(reverse("needs-me"), {"fragment": "first"}))
    assert "Complete" in panel and "Do the work" not in panel


def test_somebody_without_a_project_is_told_what_to_do(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    Membership.objects.filter(user=world.viewer).delete()
    assert "You are not in a project yet" in text(client.get(reverse("home")))


@pytest.mark.wide
def test_an_open_question_of_another_project_is_not_on_my_home(world: World, signed_in: As) -> None:
    task = world.start(world.line(document()), title="Secret plan")
    world.report(task, {"result": "blocked"})
    assert "Secret plan" not in text(signed_in(world.stranger).get(reverse("home")))
    assert at(world, "task", task.name) in text(signed_in(world.operator).get(reverse("home")))


def test_a_picture_of_a_page_is_shown_and_nothing_else_of_the_folder(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    page = HelpPage("x", "X", "# X\n\n![One move](pictures/move.svg)")
    address = reverse("help-picture", args=["move"])
    assert f'src="{address}"' in page_html(page)
    answer = client.get(address)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "image/svg+xml"
    assert client.get(address.replace("move", "..%2Fgates")).status_code == 404
    assert client.get(reverse("help-picture", args=["nothing"])).status_code == 404


def test_programs_read_what_the_server_is_without_signing_in(client: Client, settings: Any) -> None:
    settings.ORIGIN = "https://gateline.example.com"
    answer = client.get("/llms.txt")
    text = answer.content.decode()
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert text.startswith("# Gateline\n\n> ")
    links = re.findall(r"\]\((https://gateline\.example\.com(/[^)]*))\)", text)
    assert {"/help/getting-started/", "/help/agents/", "/api/v1/openapi.json"} <= {
        path for _url, path in links
    }
    # Each leads somewhere: to the page, or to the sign-in before it
    assert {
        path: client.get(path).status_code for _url, path in links if client.get(path).status_code >= 400
    } == {}
    assert f"{settings.ORIGIN}/api/mcp" in text
