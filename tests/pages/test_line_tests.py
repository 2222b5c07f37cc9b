"""The tests of a line on its page: none yet, generated, run, failing, deleted, exported."""

from __future__ import annotations

import pytest
from django.utils import timezone

from pipelines.formats import scenarios as texts
from pipelines.lines import publishing, scenarios
from pipelines.models import Line, Scenario
from tests.factories import World, document, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db

AGAIN = {"id": "again", "label": "Try again", "when": {"result": "failure"}, "to": "build", "max_retries": 1}
ON = {"id": "on", "label": "Built", "when": {"result": "success"}, "to": "ship", "gates": ["look"]}
DEAD = {"id": "dead", "when": {"result": "failure"}, "to": "ship"}
GATES = [{"key": "look", "name": "A look"}]
LINE = document(stations=[station("build", AGAIN, ON), station("ship")], gates=GATES)
DRAFT = document(stations=[station("build", AGAIN, ON, DEAD), station("ship")], gates=GATES)


@pytest.fixture
def line(world: World) -> Line:
    return world.line(LINE).line


def test_without_tests_the_page_offers_to_make_them(world: World, line: Line, signed_in: As) -> None:
    page = text(signed_in(world.designer).get(at(world, "line-tests", line.key)))
    assert "No scenarios yet" in page
    assert "Generate one per live rule" in page
    assert "Generate one per live rule" not in text(
        signed_in(world.viewer).get(at(world, "line-tests", line.key))
    )


def test_running_no_tests_does_not_say_that_all_hold(world: World, line: Line, signed_in: As) -> None:
    client = signed_in(world.viewer)
    for against in ("live", "draft"):
        page = text(client.post(at(world, "line-tests-run", line.key), {"against": against}, follow=True))
        assert "There are no scenarios to run. Record one, or generate one for each rule." in page
        assert "All scenarios passed" not in page


def test_generating_runs_them_and_says_which_rules_have_none(world: World, line: Line, signed_in: As) -> None:
    publishing.save_draft(line, DRAFT, world.admin, line.draft_number)
    client = signed_in(world.designer)
    page = text(client.post(at(world, "line-tests-generate", line.key), {"against": "draft"}))
    assert "2 scenarios generated" in page
    assert "earlier rules take everything that it would: again" in page
    assert set(line.scenarios.values_list("key", flat=True)) == {"takes-again", "takes-on"}
    assert page.count("Passed") == 2
    assert "2 of 3 rules taken, 66.7%" in page


def test_generating_again_replaces_only_what_was_generated(world: World, line: Line, signed_in: As) -> None:
    scenarios.store_scenario(line, {"key": "takes-on", "name": "Mine"}, world.designer, timezone.now())
    client = signed_in(world.designer)
    for _ in range(2):
        client.post(at(world, "line-tests-generate", line.key), {"against": "live"})
    kept = dict(line.scenarios.values_list("key", "source"))
    assert kept == {"takes-on": "written", "takes-again": "generated", "takes-on-2": "generated"}


def test_a_failing_test_says_step_expected_and_got(world: World, line: Line, signed_in: As) -> None:
    wrong = {
        "key": "wrong",
        "steps": [{"outcome": {"result": "failure"}}],
        "expect": {"path": ["build", "ship"]},
    }
    scenarios.store_scenario(line, wrong, world.designer, timezone.now())
    client = signed_in(world.viewer)
    answer = client.post(at(world, "line-tests-run", line.key), {"against": "live"}, follow=True)
    page = text(answer)
    assert "1 of 1 scenario failed" in page
    assert "step 1: station 2: expected ship, got build" in page
    assert "Tested, never taken" not in page
    assert "Not taken" in page and "Never matches" not in page  # the rule could be taken, no scenario does
    assert "A look" in page  # no test opens that gate


def test_a_run_of_an_older_draft_is_shown_as_such(world: World, line: Line, signed_in: As) -> None:
    scenarios.store_scenario(line, {"key": "one"}, world.designer, timezone.now())
    client = signed_in(world.designer)
    client.post(at(world, "line-tests-run", line.key), {"against": "draft"})
    address = at(world, "line-tests", line.key) + "?against=draft"
    assert "· of 1" not in text(client.get(address))
    line.refresh_from_db()
    publishing.save_draft(line, {**LINE, "name": "Other"}, world.admin, line.draft_number)
    assert "· of 1" in text(client.get(address))


def test_a_draft_that_cannot_be_read_is_said_and_nothing_is_run(
    world: World, line: Line, signed_in: As
) -> None:
    scenarios.store_scenario(line, {"key": "one"}, world.designer, timezone.now())
    publishing.save_draft(line, {"gateline": 1, "key": "line"}, world.admin, line.draft_number)
    answer = signed_in(world.designer).post(at(world, "line-tests-run", line.key), {"against": "draft"})
    assert answer.status_code == 422
    assert "The draft cannot be read as a line" in text(answer)
    assert Scenario.objects.get().runs == {}


def test_a_test_is_deleted_and_an_unknown_one_is_not_there(world: World, line: Line, signed_in: As) -> None:
    scenarios.store_scenario(line, {"key": "one"}, world.designer, timezone.now())
    client = signed_in(world.designer)
    assert client.post(at(world, "line-tests-delete", line.key), {"key": "two"}).status_code == 404
    assert client.post(at(world, "line-tests-delete", line.key), {"key": "one"}).status_code == 302
    assert not line.scenarios.exists()


def test_the_export_is_the_file_that_the_command_reads(world: World, line: Line, signed_in: As) -> None:
    client = signed_in(world.designer)
    client.post(at(world, "line-tests-generate", line.key), {"against": "live"})
    answer = client.get(at(world, "line-tests-export", line.key))
    assert [each.key for each in texts.loads(answer.content)] == ["takes-again", "takes-on"]


def test_names_are_text_and_never_markup(world: World, line: Line, signed_in: As) -> None:
    scenarios.store_scenario(
        line, {"key": "one", "name": "<script>alert(1)</script>"}, world.designer, timezone.now()
    )
    page = text(signed_in(world.viewer).get(at(world, "line-tests", line.key)))
    assert "<script>alert(1)" not in page
