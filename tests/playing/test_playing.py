"""Scripts through the real engine: who plays, what stays, how time passes, what a fault is told by."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.models import Event, Job, Membership, Task, TaskCounter, User, Vote, Worker
from pipelines.routing.document.line import DocumentError
from tests.factories import World, station
from tests.playing.play import PlayedScript, load, play

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


def played(world: World, line: dict[str, Any], script: str) -> PlayedScript:
    return play(world.line(**line), load(script)[0])


def test_one_word_stands_for_all_votes_and_nothing_stays(world: World) -> None:
    version = world.line(**GATED)
    before = (User.objects.count(), Membership.objects.count())
    told = play(version, load("""
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
    told = played(world, GATED, """
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
    told = played(world, GATED, """
        key: early
        steps: [{outcome: {result: success}}, {outcome: {result: success}}, {gates: {look: approve}}]
    """)  # fmt: skip
    assert [str(each) for each in told.failures] == [
        "step 2: build has no work to do: it is awaiting_review (look)"
    ]
    assert len(told.steps) == 2


def test_time_passes_for_the_task_alone(world: World) -> None:
    early, late = (
        played(world, GATED, f"""
        key: slow
        steps: [{{outcome: {{result: success}}}}, {{after: 3h}}, {{after: {more}}}]
    """)
        for more in ("59m", "61m")
    )  # fmt: skip
    assert (early.status, late.status) == ("awaiting_review", "failed")


def test_who_plays_is_named_and_a_barred_person_is_refused(world: World) -> None:
    told = played(world, GATED, """
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
    told = played(world, line, """
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
        load(script)
    assert [problem.path for problem in raised.value.problems] == [place]
