"""Play a script, and say where it did not go as expected."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from pipelines import engine
from pipelines.errors import Refused
from pipelines.formats import native
from pipelines.formats import scenarios as texts
from pipelines.lines import publishing
from pipelines.models import (
    Decision,
    Event,
    Job,
    LineVersion,
    Membership,
    Owner,
    Project,
    Purpose,
    Role,
    Status,
    Task,
    User,
)
from pipelines.queries import versions
from pipelines.routing.document.inputs import Input
from pipelines.routing.simulate import candidates
from pipelines.routing.simulate.expectations import ExpectationFailure, failed_expectations
from pipelines.routing.simulate.state import SimulatedPosition, SimulatedTask, StepRecord
from tests.playing.cast import Cast
from tests.playing.script import Script, read_scripts
from tests.playing.stage import NotPlayable, Stage
from tests.playing.steps import do


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """One step as it went. `number` counts from 1; 0 is the start. `entered`: stations, in order; `rules`: taken."""

    number: int
    kind: str
    who: str
    entered: tuple[str, ...]
    rules: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class PlayedScript:
    """What became of a script. It met its expectation if nothing failed. `unplayable`: why nobody can play it, which
    says nothing about the line."""

    script: Script
    steps: tuple[PlayedStep, ...] = ()
    status: str = ""
    failures: tuple[ExpectationFailure, ...] = ()
    unplayable: str = ""

    @property
    def met(self) -> bool:
        return not self.failures and not self.unplayable

    @property
    def path(self) -> list[str]:
        return [station for step in self.steps for station in step.entered]

    @property
    def rules(self) -> list[str]:
        return [rule for step in self.steps for rule in step.rules]


def load(text: str | bytes) -> tuple[Script, ...]:
    """One script, or a list. Raises DocumentError with line and column of the first fault."""
    return texts.parse_scenarios_with(text, read_scripts)


@contextmanager
def published(text: str) -> Iterator[LineVersion]:
    """A line document, published by somebody who may publish programs in a project that does not stay."""
    with transaction.atomic():
        try:
            owner = Owner.objects.create(key="script", name="Script")
            project = Project.objects.create(owner=owner, key="script", name="Script")
            user = User.objects.create(username="script-publisher")
            Membership.objects.create(project=project, user=user, roles=[Role.ADMIN], execute=True)
            document = native.loads(text)
            line = publishing.create_line(project, document["key"], document["name"], text, user)
            yield publishing.publish_draft(line, user=user, based_on=line.draft_number)
        finally:
            transaction.set_rollback(True)


def play(version: LineVersion, script: Script) -> PlayedScript:
    """Play one task of this version through the engine, in one transaction that is rolled back: no task, vote, mail or
    person of it stays, and no worker sees its jobs. Raises Refused where the script gives what no task is started
    with."""
    with transaction.atomic():
        try:
            return _play(version, script)
        except NotPlayable as why:
            return PlayedScript(script, unplayable=str(why))
        finally:
            transaction.set_rollback(True)


def _play(version: LineVersion, script: Script) -> PlayedScript:
    now = timezone.now()
    cast = Cast(version.line.project, script.people, now)
    cast.hire(versions.parsed_version(version), script.agents)
    cast.upload(candidates.FILE)
    task = _submitted(version, script, cast)
    stage = Stage(task, cast, task.created_at)
    stage.see_dues()
    record = _Record(task, script.scenario.expect.status)
    record.add(0, "start", str(task.requested_by), "")
    refused: tuple[ExpectationFailure, ...] = ()
    for number, step in enumerate(script.played, 1):
        at = step.at or next((token.station for token in stage.standing), "")
        try:
            with transaction.atomic():
                who = do(stage, step)
        except NotPlayable:
            raise
        except Refused as why:
            refused = (ExpectationFailure(number, str(why)),)
            break
        record.add(number, step.kind, who, at)
    task.refresh_from_db()
    failures = refused or failed_expectations(script.scenario.expect, record.told, record.walk())
    return PlayedScript(script, tuple(record.played), task.status, failures)


def _submitted(version: LineVersion, script: Script, cast: Cast) -> Task:
    """`task` of the script: its title and description, its priority and labels, and by whom it was asked for."""
    said = dict(script.scenario.task)
    requester = cast.person(str(said.pop("requester", "") or "some-requester"), Role.OPERATOR)
    known = {key: said[key] for key in ("description", "priority", "labels", "due_at") if key in said}
    title = str(said.get("title") or script.scenario.name)
    return engine.submit(
        version,
        actor=engine.Actor.person(requester),
        title=title,
        inputs={
            **_made_up(versions.parsed_version(version).inputs, script.scenario.inputs),
            **script.scenario.inputs,
        },
        **known,
    )


def _made_up(inputs: Iterable[Input], said: Mapping[str, Any]) -> dict[str, Any]:
    """Values for what has to be given: a scenario says only the inputs that its path depends on."""
    missing = [each for each in inputs if each.required and (not each.has_default or each.type == "secret")]
    secret = next((each for each in missing if each.type == "secret" and each.key not in said), None)
    if secret is not None:
        raise NotPlayable(
            f"the input {secret.label or secret.key} is a secret that has to be given: say in the scenario "
            "which stored one it is."
        )
    values = {each.key: candidates.sample_input_value(each) for each in missing}
    bound = next((each for each in missing if values[each.key] is None and each.key not in said), None)
    if bound is not None:
        raise NotPlayable(
            f"the input {bound.label or bound.key} has to match a pattern: say in the scenario what it is."
        )
    return values


class _Record:
    """Reads from the record of the task what each step did."""

    def __init__(self, task: Task, expected: str | None) -> None:
        self._task, self._expected = task, expected
        self._job, self._seq = 0, 0
        self.told: list[StepRecord] = []
        self.played: list[PlayedStep] = []

    def add(self, number: int, kind: str, who: str, at: str) -> None:
        jobs = list(Job.objects.filter(task=self._task, pk__gt=self._job).order_by("pk"))
        entered = tuple(job.station for job in jobs if job.purpose == Purpose.STATION)
        events = list(Event.objects.filter(task=self._task, seq__gt=self._seq).order_by("seq"))
        rules = tuple(rule for event in events for rule in _taken(event))
        self._job = jobs[-1].pk if jobs else self._job
        self._seq = events[-1].seq if events else self._seq
        self._task.refresh_from_db()
        why = ", ".join(filter(None, (_why(events), _waits(events, entered), _told(jobs))))
        self.told.append(StepRecord(self.walk(), at, None, entered, rules, number=number))
        self.played.append(PlayedStep(number, kind, who, entered, rules, why))

    def walk(self) -> SimulatedTask:
        """Where the task stands now, as an expectation reads it. Between two steps nothing is worked on: what runs for
        the engine, which hands a worker its next job at once, is queued as in a simulation."""
        status = str(self._task.status)
        if status == Status.RUNNING and self._expected != Status.RUNNING:
            status = str(Status.QUEUED)
        return SimulatedTask((SimulatedPosition("", status, end=self._task.end),), self._task.visits)


def _taken(event: Event) -> list[str]:
    return [
        rule for rule, times in (event.data.get("count") or {}).get("rules", {}).items() for _ in range(times)
    ]


def _why(events: Sequence[Event]) -> str:
    """The last decision of the step: what it was, and by what; else what else has happened."""
    last = next((event.decision_id for event in reversed(events) if event.decision_id), None)
    decision = Decision.objects.filter(pk=last).first() if last else None
    if decision is None:
        return ", ".join(event.kind for event in events if not event.kind.startswith(("job.", "token.")))
    answer = decision.answer
    parts = [str(answer.get("decision") or "")]
    parts += [f"rule {answer['rule']}"] if answer.get("rule") else []
    parts += [f"by {answer['by']}"] if answer.get("by") and not answer.get("rule") else []
    parts += [str(answer[key]) for key in ("error", "trigger") if answer.get(key)]
    parts += [", ".join(answer[key]) for key in ("gates", "missing") if answer.get(key)]
    return " ".join(filter(None, parts))


def _waits(events: Sequence[Event], entered: Sequence[str]) -> str:
    """At which join the branch waits now for the others."""
    joins = [each.target for each in events if each.kind == "token.moved" and each.target not in entered]
    return f"waits at {joins[0]}" if joins else ""


def _told(jobs: Sequence[Job]) -> str:
    """What the next run hears of the one before, in short."""
    told = next((job.feedback for job in jobs if job.purpose == Purpose.STATION and job.feedback), "")
    return f"told: {textwrap.shorten(told, 80, placeholder=' …')}" if told else ""
