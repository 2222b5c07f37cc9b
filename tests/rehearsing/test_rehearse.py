"""`manage.py rehearse`: one task through the real engine, by a script."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from pipelines.errors import Refused
from pipelines.formats.scenarios import load_scripts
from pipelines.lines.dry_run import Rehearsed, rehearse
from pipelines.management.commands.rehearse import scripts_of
from pipelines.models import Event, Job, Membership, Task, TaskCounter, User, Vote, Worker
from pipelines.routing.document.line import DocumentError
from tests.factories import World, station

pytestmark = pytest.mark.django_db

QUESTION = {"agentic": {"question": "Good enough?"}, "answer": "yes"}
GATED: dict[str, Any] = {
    "key": "gated",
    "stations": [station("build", {"id": "on", "to": "ship", "gates": ["look"]}), "ship"],
    "gates": [{
        "key": "look", "name": "Look", "due": {"after": "4h", "then": "reject"},
        "approval": {"who": [{"role": "reviewer", "count": 2}, {"group": "security", "count": 1}]},
    }],
}  # fmt: skip


def play(world: World, line: dict[str, Any], script: str) -> Rehearsed:
    return rehearse(world.line(**line), load_scripts(script)[0])


def test_one_word_stands_for_all_votes_and_nothing_stays(world: World) -> None:
    version = world.line(**GATED)
    before = (User.objects.count(), Membership.objects.count())
    told = rehearse(version, load_scripts("""
        key: good
        steps: [{outcome: {result: success}}, {gates: {look: approve}}, {outcome: {result: success}}]
        expect: {path: [build, ship], rules: [on], end: completed, status: completed}
    """)[0])  # fmt: skip
    assert told.met, told.failures
    assert told.steps[2].who.count(",") == 2, "three people voted"
    kinds = (Task, Event, Job, Vote, TaskCounter)
    assert [kind.__name__ for kind in kinds if kind.objects.exists()] == []
    assert list(Worker.objects.all()) == [world.worker]
    assert (User.objects.count(), Membership.objects.count()) == before


def test_what_went_otherwise_is_named_with_its_step(world: World) -> None:
    told = play(world, GATED, """
        key: wrong
        steps: [{outcome: {result: success}}, {gates: {look: approve}}]
        expect: {path: [build, build], status: completed}
    """)  # fmt: skip
    assert not told.met
    assert [str(each) for each in told.failures] == [
        "step 2: station 2: expected build, got ship",
        "step 2: status: expected completed, got queued",
    ]


def test_a_step_that_cannot_happen_ends_it_and_says_why(world: World) -> None:
    told = play(world, GATED, """
        key: early
        steps: [{outcome: {result: success}}, {outcome: {result: success}}, {gates: {look: approve}}]
    """)  # fmt: skip
    assert [str(each) for each in told.failures] == [
        "step 2: build has no work to do: it is awaiting_review (look)"
    ]
    assert len(told.steps) == 2


def test_time_passes_for_the_task_alone(world: World) -> None:
    early, late = (
        play(world, GATED, f"""
        key: slow
        steps: [{{outcome: {{result: success}}}}, {{after: 3h}}, {{after: {more}}}]
    """)
        for more in ("59m", "61m")
    )  # fmt: skip
    assert (early.status, late.status) == ("awaiting_review", "failed")


def test_who_plays_is_named_and_a_barred_person_is_refused(world: World) -> None:
    told = play(world, GATED, """
        key: cast
        people: {ana: {role: admin, groups: [security]}}
        task: {requester: ana}
        steps: [{by: builder, outcome: {result: success}}, {by: ana, gates: {look: approve}}]
    """)  # fmt: skip
    assert told.steps[1].who == "builder"
    assert "You requested this task" in str(told.failures[0])


def test_evaluations_questions_and_retries_are_played(world: World) -> None:
    rules: list[dict[str, Any]] = [
        {"id": "good", "when": QUESTION, "to": "ship"},
        {"id": "again", "to": "write"},
    ]
    line = {
        "key": "asks",
        "flags": {"agentic_conditions": True},
        "stations": [station("write", *rules), "ship"],
    }
    told = play(world, line, """
        key: asks
        steps:
          - outcome: {result: success}
            answers: [{agentic: {question: Good enough?}, answer: "no"}]
          - outcome: {result: success, signals: [{verdict: hold, meta: {question: Which?}}]}
          - {by: ana, answer: This one.}
          - outcome: {result: success}
          - answers: [{agentic: {question: Good enough?}, answer: "yes"}]
        expect: {path: [write, write, write, ship], rules: [again, good]}
    """)  # fmt: skip
    assert told.met, told.failures


# The command


def files(tmp_path: Path, world: World, script: str) -> tuple[str, str]:
    version = world.line(**GATED)
    path = tmp_path / "script.yaml"
    path.write_text(script, encoding="utf-8")
    assert world.admin  # who may see the line
    return f"{version.line.project}/{version.line.key}", str(path)


GOOD = "{key: good, steps: [{outcome: {result: success}}], expect: {status: awaiting_review}}"


def command(*args: str, **options: Any) -> str:
    out = StringIO()
    call_command("rehearse", *args, stdout=out, **options)
    return out.getvalue()


def test_the_command_prints_the_path(world: World, tmp_path: Path) -> None:
    said = command(*files(tmp_path, world, GOOD), user=world.admin.username)
    assert "build" in said
    assert "as expected: awaiting_review" in said
    (one,) = json.loads(command(*files(tmp_path, world, GOOD), user=world.admin.username, json=True))
    assert (one["met"], one["path"]) == (True, ["build"])


def test_its_exit_code_says_whether_the_script_was_met(world: World, tmp_path: Path) -> None:
    for script, code in (
        (GOOD.replace("awaiting_review", "completed"), 1),
        ("{key: x, stepps: []}", 2),
        ("[]", 2),
    ):
        with pytest.raises(CommandError) as raised:
            command(*files(tmp_path, world, script), user=world.admin.username)
        assert raised.value.returncode == code
    line, script = files(tmp_path, world, GOOD)
    for named, known in (
        ((f"{line}-2", script), "gated"),
        ((line, str(tmp_path / "none.yaml")), "none.yaml"),
    ):
        with pytest.raises(CommandError, match=known) as raised:
            command(*named, user=world.admin.username)
        assert raised.value.returncode == 2


def test_a_script_of_the_demo_is_known_by_its_name(tmp_path: Path) -> None:
    assert [each.scenario.key for each in scripts_of("aeef-delivery", "rework-limit")] == ["rework-limit"]
    with pytest.raises(Refused, match=r"it has good-way, .*, escalated"):
        scripts_of("aeef-delivery", "good")
    own = tmp_path / "good-way"
    own.write_text(GOOD, encoding="utf-8")
    assert [each.scenario.key for each in scripts_of("aeef-delivery", str(own))] == ["good"]


@pytest.mark.parametrize(
    ("script", "place"),
    [
        ("{key: x, steps: [{after: soon}]}", "steps[0].after"),
        ("{key: x, steps: [{by: a, outcom: {}}]}", "steps[0].outcom"),
        ("{key: x, steps: [{after: 1h, at: a}]}", "steps[0].at"),
        ("{key: x, people: {a: {rang: x}}}", "people.a.rang"),
        ("[{key: x}, {key: x}]", "[1].key"),
        ("{key: x, steps: [{reconsider: 1}]}", "steps[0].reconsider"),
    ],
)
def test_a_fault_in_a_script_names_its_place(script: str, place: str) -> None:
    with pytest.raises(DocumentError) as raised:
        load_scripts(script)
    assert [problem.path for problem in raised.value.problems] == [place]
