"""What a station is expected to leave, and what was really found there (law §13)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.models import Artifact
from pipelines.work.worker.attempt_io import outcome_with_claims
from pipelines.work.workspaces import Picture
from tests.factories import World
from tests.work.driving import Bench, command, done, drive, outcome_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]


def expecting(world: World, program: str, **more: Any) -> dict[str, Any]:
    """A station of which something is expected, and one where it goes when that is not there."""
    off = {"id": "off", "when": {"result": "failure"}, "to": "mend"}
    return {**command("a", program, off), **more}


def test_a_program_that_changed_nothing_has_done_nothing_whatever_it_says(world: World, bench: Bench) -> None:
    mend = command("mend", "open('made.txt', 'w').write('x')", expects="change")
    line = world.line(stations=[expecting(world, "print('I made made.txt')", expects="change"), mend])
    task = world.start(line)
    drive(bench, task)
    assert (done(task, "a").result, done(task, "mend").result) == ("failure", "success")
    assert world.status(task) == "completed"
    source = outcome_of(task, "a")["facts"]["commands"]["source"]
    assert source["before"] == source["tree"]


def test_declared_files_are_kept_and_a_missing_one_fails_the_station(world: World, bench: Bench) -> None:
    files = [{"path": "out/t.xml", "kind": "junit"}, {"path": "notes.md", "required": False}]
    makes = "import os; os.mkdir('out'); open('out/t.xml', 'w').write('<testsuite/>')"
    line = world.line(
        stations=[expecting(world, "pass", artifacts=files), command("mend", makes, artifacts=files)]
    )
    task = world.start(line)
    drive(bench, task)
    assert done(task, "a").result == "failure"
    assert [(each["name"], "error" in each) for each in outcome_of(task, "a")["artifacts"]] == [
        ("out/t.xml", True)
    ]
    assert done(task, "mend").result == "success"
    assert list(Artifact.objects.filter(job=done(task, "mend")).values_list("name", flat=True)) == [
        "out/t.xml"
    ]


def test_what_declared_reports_count_is_a_fact_and_an_unreadable_one_is_missing(
    world: World, bench: Bench
) -> None:
    files = [{"path": "t.xml", "kind": "junit"}, {"path": "f.sarif", "kind": "sarif", "required": False}]
    writes = "open('t.xml', 'w').write({!r})"
    report = '<testsuite tests="9"><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite>'
    broken = command("broken", writes.format("<testsuite>"), artifacts=files)
    off = {"id": "off", "when": {"result": "failure"}, "to": "good"}
    good = command("good", writes.format(report), artifacts=files)
    task = world.start(world.line(stations=[{**broken, "rules": [off]}, good]))
    drive(bench, task)
    assert "tests" not in outcome_of(task, "broken").get("facts", {})
    assert "Not readable as junit" in outcome_of(task, "broken")["artifacts"][0]["error"]
    assert done(task, "broken").result == "failure"
    counted = outcome_of(task, "good")["facts"]["tests"]
    assert {key: counted[key] for key in ("passed", "failed", "suites")} == {
        "passed": 1,
        "failed": 1,
        "suites": 1,
    }
    assert counted["source"]["station"] == "good"


def test_a_report_of_an_earlier_visit_counts_nothing(world: World, bench: Bench) -> None:
    files = [{"path": "t.xml", "kind": "junit"}]
    writes = """open('t.xml', 'w').write('<testsuite><testcase name="a"/></testsuite>')"""
    check = command("check", "pass", artifacts=files)
    off = {"id": "off", "when": {"result": "failure"}, "to": "again"}
    line = world.line(
        stations=[
            command("write", writes),
            {**check, "rules": [off]},
            command("again", writes, artifacts=files),
        ]
    )
    task = world.start(line)
    drive(bench, task)
    stale = outcome_of(task, "check")
    assert "tests" not in stale.get("facts", {}) and done(task, "check").result == "failure"
    assert stale["artifacts"][0]["error"] == "It lay there before this visit, which did not write it."
    assert outcome_of(task, "again")["facts"]["tests"]["passed"] == 1
    assert Artifact.objects.get().job == done(task, "again")


def test_what_an_agent_claims_is_held_against_the_files_of_its_visit() -> None:
    entry = {"path": "app.py", "mode": 0o644, "digest": "0" * 64, "size": 1}
    said = {"summary": "I made made.txt. I updated app.py. It looks nice.", "facts": {"commands": {"run": 1}}}
    found = outcome_with_claims(said, None, Picture((entry,), {}))["facts"]["claims"]
    assert [each["kind"] for each in found["made"]] == ["files", "files"]
    assert found["contradicted"] == [{"kind": "files", "text": "I made made.txt.", "why": "not_there"}]
    nothing = outcome_with_claims({"summary": "Done."}, None, Picture((), {}))
    assert nothing["facts"]["claims"] == {"contradicted": []}, "who claimed nothing contradicts nothing"
