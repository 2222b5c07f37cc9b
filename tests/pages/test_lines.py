"""Lines: import, edit, conflict, publish, export, versions, overview."""

from __future__ import annotations

import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from pipelines.formats import native
from pipelines.lines.publishing import create_line
from pipelines.models import Line
from tests.factories import World, document, station
from tests.pages.conftest import As, at, text
from tests.pages.publish_form import as_shown

pytestmark = pytest.mark.django_db
YAML = native.dumps(document(key="app-check"))


def test_a_project_without_lines_says_how_to_get_one(world: World, signed_in: As) -> None:
    page = text(signed_in(world.designer).get(at(world, "lines")))
    assert "No lines yet" in page
    assert at(world, "lines-new") in page


@pytest.mark.parametrize(
    ("name", "key"), [("Nightly check", "nightly-check"), ("日本", "line"), ("-- " + "ö" * 80, "o" * 40)]
)
def test_a_line_begins_with_nothing_but_its_name(world: World, signed_in: As, name: str, key: str) -> None:
    client = signed_in(world.designer)
    for expected in (key, f"{key}-2"):
        answer = client.post(at(world, "lines-new"), {"empty": "1", "name": name})
        assert answer.headers["Location"] == at(world, "line-draw", expected)
    assert Line.objects.get(key=key).draft == {"gateline": 1, "key": key, "name": name, "stations": []}


def test_a_line_without_a_name_is_asked_for_one(world: World, signed_in: As) -> None:
    answer = signed_in(world.designer).post(at(world, "lines-new"), {"empty": "1", "name": " "})
    assert answer.status_code == 422
    assert "Give the line a name." in text(answer)
    assert not Line.objects.exists()


def test_a_line_is_imported_from_text(world: World, signed_in: As) -> None:
    answer = signed_in(world.designer).post(at(world, "lines-new"), {"text": YAML})
    assert answer.headers["Location"] == at(world, "line-draw", "app-check")
    assert Line.objects.get().draft_text == YAML


def test_a_line_is_imported_from_a_file(world: World, signed_in: As) -> None:
    file = SimpleUploadedFile("line.yaml", YAML.encode())
    signed_in(world.designer).post(at(world, "lines-new"), {"file": file})
    assert Line.objects.get().key == "app-check"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("key: [", "line 1"),
        ("a: 1\na: 2\nkey: x\n", "Line 2"),
        ("- just a list", "one object"),
        ("name: no key", "no document of a system that is known"),
        ("gateline: 1\nname: no key\nstations: []\n", "is missing"),
        ("key: Not A Key", "Use a–z"),
        ("key: a\0b", ""),
        ("", ""),
        ("&a [*a]", ""),
        ("key: " + "[" * 3000, ""),
    ],
)
def test_a_text_that_is_no_line_is_refused_with_its_place(
    world: World, signed_in: As, given: str, said: str
) -> None:
    answer = signed_in(world.designer).post(at(world, "lines-new"), {"text": given})
    assert answer.status_code == 422
    assert said.lower() in text(answer).lower()
    assert not Line.objects.exists()


def test_a_file_that_is_no_text_is_refused(world: World, signed_in: As) -> None:
    file = SimpleUploadedFile("line.yaml", b"\xff\xfe\x00")
    answer = signed_in(world.designer).post(at(world, "lines-new"), {"file": file})
    assert answer.status_code == 422
    assert "UTF-8" in text(answer)


def test_a_key_that_is_taken_is_refused_and_the_text_kept(world: World, signed_in: As) -> None:
    client = signed_in(world.designer)
    client.post(at(world, "lines-new"), {"text": YAML})
    again = client.post(at(world, "lines-new"), {"text": YAML + "# mine"})
    assert again.status_code == 422
    assert "# mine" in text(again)


def drawn(world: World) -> Line:
    return world.line(document(key="app-check")).line


def test_a_draft_is_saved_as_it_was_typed(world: World, signed_in: As) -> None:
    line, typed = drawn(world), YAML + "# a remark\n"
    client = signed_in(world.designer)
    client.post(at(world, "line-edit", line.key), {"text": typed.replace("\n", "\r\n"), "based_on": "1"})
    line.refresh_from_db()
    assert (line.draft_text, line.draft_number) == (typed, 2)
    assert "# a remark" in text(client.get(at(world, "line-edit", line.key)))


def test_a_draft_that_is_no_valid_line_is_saved_and_its_problems_stand_at_their_line(
    world: World, signed_in: As
) -> None:
    line = drawn(world)
    client = signed_in(world.designer)
    typed = "gateline: 1\nkey: app-check\nname: A\nstations:\n  - key: build\n    work: {kind: noop}\n    rulez: []\n"
    client.post(at(world, "line-edit", line.key), {"text": typed, "based_on": "1"})
    page = text(client.get(at(world, "line-edit", line.key)))
    assert 'data-line="7"' in page
    assert "rulez" in page


def test_a_text_that_cannot_be_read_is_not_saved_but_kept_on_the_page(world: World, signed_in: As) -> None:
    line = drawn(world)
    answer = signed_in(world.designer).post(
        at(world, "line-edit", line.key), {"text": "key: [\nhalf done", "based_on": "1"}
    )
    assert answer.status_code == 422
    assert "half done" in text(answer)
    line.refresh_from_db()
    assert line.draft_number == 1


def test_a_save_on_an_older_draft_is_a_conflict_that_keeps_what_was_typed(
    world: World, signed_in: As
) -> None:
    line = drawn(world)
    one, other = signed_in(world.designer), signed_in(world.admin)
    one.post(at(world, "line-edit", line.key), {"text": YAML + "# the first", "based_on": "1"})
    late = other.post(at(world, "line-edit", line.key), {"text": YAML + "# the second", "based_on": "1"})
    assert late.status_code == 409
    assert "# the first" in text(late)
    assert "# the second" in text(late)
    line.refresh_from_db()
    assert line.draft_text.endswith("# the first")


def test_publishing_makes_the_draft_live_with_a_name(world: World, signed_in: As) -> None:
    line = drawn(world)
    client = signed_in(world.designer)
    changed = native.dumps(document(stations=["build", "test", "ship"], key="app-check"))
    client.post(at(world, "line-edit", line.key), {"text": changed, "based_on": "1"})
    answer = client.post(
        at(world, "line-publish", line.key), {**as_shown(client, world), "name": "With tests"}
    )
    assert answer.status_code == 302
    line.refresh_from_db()
    assert (line.live.number, line.live.name) == (2, "With tests")  # type: ignore[union-attr]


def test_a_draft_that_somebody_changed_is_not_published_unseen(world: World, signed_in: As) -> None:
    line = drawn(world)
    signed_in(world.admin).post(at(world, "line-edit", line.key), {"text": YAML + "#", "based_on": "1"})
    said = {"based_on": "1", "live": "1"}
    answer = signed_in(world.designer).post(at(world, "line-publish", line.key), said)
    assert answer.status_code == 409
    line.refresh_from_db()
    assert line.live.number == 1  # type: ignore[union-attr]


def test_a_designer_without_the_permission_does_not_publish_programs(world: World, signed_in: As) -> None:
    line = drawn(world)
    client = signed_in(world.designer)
    program = document([station("build", kind="command", work={"argv": ["true"]})], key="app-check")
    client.post(at(world, "line-edit", line.key), {"text": native.dumps(program), "based_on": "1"})
    answer = client.post(at(world, "line-publish", line.key), as_shown(client, world))
    assert answer.status_code == 403
    assert "execute" in text(answer)
    line.refresh_from_db()
    assert line.live.number == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_an_export_reads_back_as_the_same_line(world: World, signed_in: As, kind: str) -> None:
    line = drawn(world)
    answer = signed_in(world.viewer).get(at(world, "line-export", line.key), {"as": kind, "version": "1"})
    assert native.loads(answer.content.decode()) == line.live.document  # type: ignore[union-attr]
    assert f"app-check-v1.{kind}" in answer.headers["Content-Disposition"]
    if kind == "json":
        json.loads(answer.content)


@pytest.mark.parametrize(
    "query", [{"as": "exe"}, {"version": "99"}, {"version": "-1"}, {"version": "9" * 50}]
)
def test_an_export_of_what_is_not_there_is_a_404(world: World, signed_in: As, query: dict[str, str]) -> None:
    line = drawn(world)
    assert signed_in(world.viewer).get(at(world, "line-export", line.key), query).status_code == 404


def test_the_overview_says_each_rule_in_words_and_draws_it(world: World, signed_in: As) -> None:
    version = world.line(
        document(
            [
                station(
                    "scan",
                    {
                        "id": "bad",
                        "label": "Something bad",
                        "when": {"output": {"path": "$.high", "op": "gt", "value": 0}},
                        "to": "failed",
                    },
                    {"id": "good", "to": "ship", "gates": ["look"], "max_retries": 2},
                ),
                "ship",
            ],
            gates=[{"key": "look", "name": "A look"}],
            key="scanning",
        )
    )
    page = text(signed_in(world.viewer).get(at(world, "line", version.line.key)))
    for words in (
        "Something bad",
        "high is greater than 0",
        "A look",
        "at most 2 times",
    ):
        assert words in page
    drawn = json.loads(
        re.search(r'data-drawing.*?<script type="application/json">(.*?)</script>', page, re.S)[1]
    )  # type: ignore[index]
    assert [each["key"] for each in drawn["document"]["stations"]] == ["scan", "ship"]
    assert drawn["conditions"]["bad"] == "high > 0"
    assert drawn["limits"]["good"]["most"] == 2


def test_a_line_that_was_never_published_shows_what_keeps_it_from_being_drawn(
    world: World, signed_in: As
) -> None:
    client = signed_in(world.designer)
    client.post(at(world, "lines-new"), {"text": "key: half\nname: Half"})
    page = client.get(at(world, "line", "half"))
    assert page.status_code == 200
    assert "cannot be drawn yet" in text(page)


def test_a_draft_that_cannot_be_drawn_says_why_without_a_key(world: World, signed_in: As) -> None:
    wrong = document(["build"], key="half", policy={"on_failure": "fail"})
    create_line(world.project, "half", "Half", wrong, world.admin)
    page = text(signed_in(world.designer).get(at(world, "line", "half")))
    assert "“No rule matches a failure” cannot be “fail”." in page
    assert "Choose one of: “The task fails”," in page
    assert "on_failure" not in page and "halt" not in page


def test_versions_name_who_and_when(world: World, signed_in: As) -> None:
    line = drawn(world)
    client = signed_in(world.viewer)
    assert str(world.admin) in text(client.get(at(world, "line-versions", line.key)))
    assert client.get(at(world, "line-version", line.key, 1)).status_code == 200
    assert client.get(at(world, "line-version", line.key, 2)).status_code == 404


BLOCKED = """\
gateline: 1
key: app-check
name: A
stations:
  - key: build
    work: {kind: noop}
    rules:
      - {id: all, to: completed}
      - {id: late, when: {result: failure}, to: failed}
"""


@pytest.mark.wide
def test_findings_stand_with_their_line_their_page_and_what_blocks(world: World, signed_in: As) -> None:
    line = drawn(world)
    client = signed_in(world.designer)
    client.post(at(world, "line-edit", line.key), {"text": BLOCKED, "based_on": "1"})
    page = text(client.get(at(world, "line-edit", line.key)))
    assert "Rule 2 of build never matches: rule 1 of build already takes everything." in page
    assert 'data-line="9"' in page
    assert 'href="/help/dead-rule/"' in page
    refused = client.post(at(world, "line-publish", line.key), as_shown(client, world))
    assert refused.status_code == 422
    line.refresh_from_db()
    assert line.live.number == 1  # type: ignore[union-attr]
    assert client.get("/help/dead-rule/").status_code == 200


@pytest.mark.wide
def test_warnings_are_shown_with_an_example_and_do_not_block(world: World, signed_in: As) -> None:
    line = drawn(world)
    client = signed_in(world.designer)
    typed = BLOCKED.replace(
        "{id: all, to: completed}", "{id: good, when: {eval: {op: equals, value: ok}}, to: completed}"
    )
    typed += "policy: {no_match: stuck}\n"
    client.post(at(world, "line-edit", line.key), {"text": typed, "based_on": "1"})
    page = text(client.get(at(world, "line-edit", line.key)))
    assert "takes some outcomes that passed: the task gets stuck." in page
    assert "problem-warning" in page
    client.post(at(world, "line-publish", line.key), as_shown(client, world))
    line.refresh_from_db()
    assert line.live is not None
    assert line.live.number == 2
