"""Every word that people have leads to the right page first; every field, finding and empty state to a heading."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpResponse
from django.urls import reverse

from pipelines.lines.publishing import create_line
from pipelines.models import Membership, Role
from pipelines.routing.analysis.lint.run import CHECKS
from pipelines.routing.document.inputs import TYPES
from pipelines.routing.document.kinds import KINDS
from pipelines.web.editor.forms.form import FormSetting, flat_fields
from pipelines.web.editor.forms.form_request import Outline
from pipelines.web.editor.forms.table import FORMS
from pipelines.web.help.help_targets import PLACES, help_target
from pipelines.web.help.pages import help_pages, page_parts
from pipelines.web.help.search import search_pages
from pipelines.web.help.vocabulary import WORDS
from tests.access.place import ROUTES, Place
from tests.access.test_matrix import PAGES
from tests.factories import World, document, make_project
from tests.pages.conftest import As, client_of, door
from tests.pages.editor_documents import EVERYTHING
from tests.routing.test_work_kinds import WHOLE

ANSWERS = """
invite                              people#invite-people
invitation                          people#invite-people
add a colleague                     people#invite-people
new member                          people#invite-people
password                            people#sign-in
forgot my password                  people#sign-in
second factor                       people#sign-in
2fa                                 people#sign-in
passkey                             people#sign-in
sso                                 people#sign-in-with-a-provider
okta                                people#sign-in-with-a-provider
role                                people#roles
notification                        notifications
daily digest                        notifications#the-digest
do not disturb                      notifications#quiet-hours
mute                                notifications#choose
permissions                         people#roles
who may                             gates#who-may-do-what-in-a-project
what can an admin do?               people#roles
remove a member                     people#leave-or-be-removed
audit                               people#audit-log
approve                             gates#who-is-asked
how do I approve                    gates#who-is-asked
reviewer                            gates#who-is-asked
reject                              gates#the-words
send back                           gates#the-words
deadline                            gates#when-it-is-due
stuck                               getting-started#when-a-task-does-not-move
why does nothing happen             getting-started#when-a-task-does-not-move
getting started                     getting-started
glossary                            getting-started#words
create a project                    projects#create-a-project
archive                             projects#rename-archive-restore-transfer
rename                              projects#rename-archive-restore-transfer
duplicate a line                    projects#lines
secret                              secrets
api key                             api#tokens
credentials                         secrets
environment variables               secrets
file                                start-forms#files
upload                              start-forms#files
attachments                         start-forms#files
form                                start-forms
workflow                            drawing
keyboard shortcuts                  drawing#by-keyboard
import                              drawing#importing
condition                           rules
parallel                            rules#forks-and-joins
retry limit                         rules#budgets
prompt                              kinds#chat
webhook                             triggers#start-tasks-from-another-program
simulate                            testing
warning                             lint
publish                             versions#publish
undo a version                      versions#history
inbox                               watching#inbox
download the log                    watching#the-page-of-a-task
statistics                          watching#insights
escalate                            escalations
backup                              operating#back-up
smtp                                operating#settings
runner                              runners
token                               api#tokens
"""


def headings() -> set[str]:
    """`page` and `page#heading` of all that the help has."""
    return {
        page.slug + ("#" + part.anchor if part.anchor else "")
        for page in help_pages()
        for part in page_parts(page)
    }


@pytest.mark.parametrize("asked", ANSWERS.strip().splitlines())
def test_a_word_leads_to_the_right_page_first(asked: str) -> None:
    words, wanted = asked.rsplit(maxsplit=1)
    hits = search_pages(help_pages(), words)
    assert hits, words
    found = hits[0].page.slug + ("#" + hits[0].part.anchor if hits[0].part.anchor else "")
    assert found == wanted
    assert hits[0].page.is_for_users


def test_every_place_and_every_word_is_a_heading_for_users() -> None:
    there, users = headings(), {page.slug for page in help_pages() if page.is_for_users}
    for target in {*PLACES.values(), *WORDS}:
        assert target in there
        assert target.partition("#")[0] in users


def test_every_place_is_a_page_a_form_a_kind_or_a_type() -> None:
    known = {*ROUTES, *(f"form-{what}" for what in FORMS), "kind", "input"}
    assert {each.partition(" ")[0] for each in PLACES} <= known


def test_every_finding_has_a_page() -> None:
    there = headings()
    assert [each.ID for each in CHECKS if each.ID not in there] == []


def test_every_kind_of_work_and_every_type_of_input_has_a_place() -> None:
    there = headings()
    assert [kind for kind in KINDS if help_target("form-station", "work.prompt", kind) not in there] == []
    assert [each for each in TYPES if help_target(f"input {each}", f"inputs.{each}") not in there] == []


def _fields(what: str, fragment: Any, setting: FormSetting) -> Iterator[str]:
    for section in FORMS[what].sections(fragment, setting):
        yield from (field.name for field in flat_fields(section.fields, fragment))


@pytest.mark.django_db
def test_every_field_of_the_inspector_has_a_place(world: World) -> None:
    fragments: list[tuple[str, Any]] = [
        *(("station", {"key": "a", "work": work}) for work in WHOLE),
        *(("station", station) for station in EVERYTHING["stations"]),
        *(("gate", gate) for gate in EVERYTHING["gates"]),
        *(("end", end) for end in EVERYTHING["ends"]),
        ("line", EVERYTHING),
        ("inputs", EVERYTHING),
    ]
    there, names = headings(), set()
    for what, fragment in fragments:
        kind = fragment.get("work", {}).get("kind", "")
        for name in _fields(what, fragment, FormSetting(world.project, Outline(), "")):
            names.add(name)
            assert help_target(f"form-{what}", name, kind) in there
    assert len(names) > 60
    assert help_target("form-gate", "approval.who[0].role") == "gates#who-is-asked"
    assert help_target("form-station", "limits.max_timeout") == "workers#limits-of-resources"


MORE = re.compile(r'(?:class="field-more"|data-learn-more)\s+href="/help/([-\w]+)/(#[-\w]+)?"')
FIELD = re.compile(r'class="(?:field|empty)[ "]')
NAMED_ABOVE = '<legend class="visually-hidden">'
"""A group of boxes that has the heading of its page for a name."""


def _wrong(page: str, there: set[str]) -> list[str]:
    """Fields and empty states without a link, and links that lead nowhere."""
    links = ["".join(found) for found in MORE.findall(page)]
    wanted = len(FIELD.findall(page)) - page.count(NAMED_ABOVE)
    found = [f"{wanted} fields and empty states, {len(links)} links"] if len(links) < wanted else []
    return [*found, *(link for link in links if link not in there)]


@pytest.mark.wide
@pytest.mark.django_db
def test_every_page_every_field_and_every_empty_state_has_its_place_in_the_help(world: World) -> None:
    there, client, found = headings(), client_of(world.admin), {}
    rich = Place(world)
    for row in PAGES:
        method, name = row.split()
        if method == "GET" and PAGES[row]["admin"] == "y":
            answer = client.get(rich.address(name))
            found |= _judged(name, answer, there)
    nothing = make_project("nothing")
    Membership.objects.create(project=nothing, user=world.admin, roles=[Role.ADMIN])
    for name in ("home", "lines", "tasks", "tasks-everywhere", "inbox", "project-secrets", "project-audit"):
        address = reverse(name, args=[nothing.owner.key, nothing.key] if "<" in ROUTES[name] else [])
        found |= _judged(f"{name}, empty", client.get(address), there)
    assert found == {}


def _judged(name: str, answer: HttpResponse, there: set[str]) -> dict[str, list[str]]:
    if answer.status_code != 200 or not answer.headers["Content-Type"].startswith("text/html"):
        return {}
    page = answer.content.decode()
    whole = ["no place of its own"] if "data-shell" in page and "data-help-page" not in page else []
    wrong = [*whole, *_wrong(page, there)]
    return {name: wrong} if wrong else {}


@pytest.mark.django_db
def test_a_form_of_the_editor_links_each_of_its_fields(world: World, signed_in: As) -> None:
    create_line(world.project, "drawn", "Drawn", document(key="drawn"), world.designer)
    client, there = signed_in(world.designer), headings()
    station = {"key": "ask", "work": {"kind": "chat", "prompt": "p"}, "limits": {"max_timeout": "1h"}}
    for what, fragment in (("station", station), ("inputs", {"inputs": [{"key": "f", "type": "file"}]})):
        body = {"fragment": fragment, "own": "", "names": {"stations": [{"key": "ask"}]}}
        said = client.post(door(world, f"/draft/forms/{what}"), json.dumps(body), "application/json").json()
        assert _wrong(said["html"], there) == []
        wanted = {"station": "/help/kinds/#chat", "inputs": "/help/start-forms/#files"}[what]
        assert f'href="{wanted}"' in said["html"]


@pytest.mark.django_db
def test_a_form_of_a_station_without_work_links_only_headings(world: World, signed_in: As) -> None:
    create_line(world.project, "drawn", "Drawn", document(key="drawn"), world.designer)
    body = {"fragment": {"key": "ask"}, "own": "", "names": {"stations": [{"key": "ask"}]}}
    answer = signed_in(world.designer).post(
        door(world, "/draft/forms/station"), json.dumps(body), "application/json"
    )
    assert "/help/" in answer.json()["html"] and _wrong(answer.json()["html"], headings()) == []
