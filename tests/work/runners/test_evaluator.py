"""A runner that its project designates as evaluator answers questions of rules by its own command (law §3, ALP A26)."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection

from pipelines.models import Job, Purpose, Task, Worker
from tests.factories import World, make_project
from tests.fixtures.site import Site
from tests.waiting import until
from tests.work.driving import PYTHON, command
from tests.work.runners.far import FarAway
from tests.work.runners.running import runner

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]

QUESTION = {"agentic": {"question": "Is it good?"}}
PROGRAM = (
    "import json, os, sys; said = json.load(sys.stdin);"
    " print(said['question'], said['outcome']['output']['n'], os.path.exists('left'), said['station'])"
    "; print('no')"
)
DESIGNATED = {"evaluator": (PYTHON, "-c", PROGRAM), "elsewhere": True}
WRITES = "open('left', 'w').write('x'); print('{\"n\": 4}')"


def asks(world: World) -> Task:
    """A task whose first station has a rule that is asked about."""
    rules = [
        {"id": "good", "when": {**QUESTION, "answer": "yes"}, "to": "ship"},
        {"id": "bad", "when": {**QUESTION, "answer": "no"}, "to": "completed"},
    ]
    build = command("build", WRITES, *rules)
    return world.start(world.line(stations=[build, "ship"], flags={"agentic_conditions": True}))


def question_of(task: Task) -> Job:
    return Job.objects.get(task=task, purpose=Purpose.EVALUATION)


def test_A26_a_designated_runner_answers_with_what_the_station_left(world: World, tmp_path: Path) -> None:
    _token, secret = world.runner("evaluator")
    task = asks(world)
    FarAway(tmp_path / "far", secret, DESIGNATED).work()
    job = question_of(task)
    assert (job.kind, job.worker.name if job.worker else "") == ("worker", "far")
    assert (job.outcome or {})["eval"] == "no"
    assert (job.outcome or {})["feedback"] == "Is it good? 4 True build"
    assert world.status(task) == "completed"


@pytest.mark.parametrize(
    ("labels", "config"),
    [((), DESIGNATED), (("evaluator",), {"elsewhere": True})],
    ids=["without the label", "without a command"],
)
def test_A26_a_runner_that_is_none_leaves_it_to_a_person(
    world: World, tmp_path: Path, labels: tuple[str, ...], config: dict[str, object]
) -> None:
    _token, secret = world.runner(*labels)
    task = asks(world)
    FarAway(tmp_path / "far", secret, config).work()
    token = world.token(task)
    assert (token.status, token.wait["evaluation"]) == ("blocked", QUESTION)
    assert Worker.objects.get(name="far").answers == []


def test_A26_a_runner_is_no_evaluator_by_its_word_alone(world: World, tmp_path: Path) -> None:
    """It names the model of its machine, which no runner answers by."""
    _token, secret = world.runner("evaluator")
    lie = {"answers": ["model", "hook"]}
    far = FarAway(
        tmp_path / "far", secret, DESIGNATED, lambda path, said: {**said, **lie} if not path else said
    )
    far.work()
    assert Worker.objects.get(name="far").answers == []


def test_A26_the_evaluator_of_another_project_is_never_asked(world: World, tmp_path: Path) -> None:
    elsewhere = make_project("elsewhere", "other")
    _token, secret = world.runner("evaluator", project=elsewhere)
    far = FarAway(tmp_path / "far", secret, DESIGNATED)
    far.work()
    assert Worker.objects.get(name="far").answers == ["worker"]
    task = asks(world)
    world.report(task)
    assert world.token(task).wait["evaluation"] == QUESTION, "nobody else is there"
    world.able("worker")
    other = asks(world)
    world.report(other)
    assert world.status(other) == "evaluating"
    far.work()
    job = question_of(other)
    assert far.call(f"/jobs/{job.pk}/claim").json() == {"started": None}
    assert (job.state, job.worker_id) == ("queued", None)


@pytest.mark.wide
def test_A26_a_runner_process_takes_its_command_from_the_environment(
    site: Site, world: World, tmp_path: Path
) -> None:
    _token, secret = world.runner("evaluator")
    env = {"GATELINE_EVALUATOR_COMMAND": f'{PYTHON} -c "{PROGRAM}"'}
    with runner(site.url, secret, tmp_path / "far", env=env) as far:
        until(lambda: Worker.objects.filter(answers=["worker"]).exists(), lambda: far.log.read_text()[-3000:])
        task = asks(world)
        until(lambda: world.status(task) == "completed", lambda: far.log.read_text()[-3000:])
    assert (question_of(task).outcome or {})["feedback"] == "Is it good? 4 True build"
    connection.close()
