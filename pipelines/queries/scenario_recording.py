"""Recording of a task as a scenario: its recorded outcomes, votes at gates and answers, walked once more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipelines.models import Decision, Event, GateVisit, Job, Purpose, Task
from pipelines.queries import versions
from pipelines.routing.decide.steps.preconditions import NO_ESCALATION
from pipelines.routing.document.escalations import ROUTED, WORDS_TO_RESOLVE
from pipelines.routing.document.evaluations import UNANSWERED
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.document.preconditions import GATE_PASSED
from pipelines.routing.sentences.decisions import decision_sentence
from pipelines.routing.simulate.run import expectation_of_same_walk, run_scenario_until_refused
from pipelines.routing.simulate.scenario import MAX_STEPS, ScenarioScript, ScenarioStep
from pipelines.routing.simulate.state import SimulatedTask, StepRecord, StepRefused, start_task
from pipelines.routing.simulate.walk_steps import take_step

ANSWER_KEYS = ("decision", "to", "end", "status", "gates", "error")
"""Of two decisions, what makes them the same way."""


@dataclass(frozen=True, slots=True)
class Recording:
    """`rest`: why the scenario ends before the task does, "" where it tells it all."""

    scenario: ScenarioScript
    rest: str


@dataclass(frozen=True, slots=True)
class _RecordedStep:
    """`stop`: what no step of a scenario says."""

    step: ScenarioStep | None
    station: str = ""
    decision: Decision | None = None
    stop: str = ""


def scenario_recorded_from_task(task: Task, key: str) -> Recording:
    """Record the task as a scenario, under the version on which it started, with the result of that walk as its
    expectation."""
    line = versions.parsed_line_by_version_id(_first_version_id(task))
    script = ScenarioScript(
        key,
        f"{task.name} {task.title}"[:200],
        inputs=_inputs_without_secrets(line, task),
        task=_checked_task_fields(line, task),
    )
    steps, rest = _steps_and_first_difference(line, script, task)
    script = replace(script, steps=steps)
    return Recording(
        replace(script, expect=expectation_of_same_walk(run_scenario_until_refused(line, script))), rest
    )


def _first_version_id(task: Task) -> int:
    submitted = task.events.get(kind="task.submitted")
    return int(submitted.data.get("pinned", task.pinned_id))


def _inputs_without_secrets(line: ParsedLine, task: Task) -> dict[str, Any]:
    """Return the inputs without secrets, which a file of tests is no place for."""
    known = {line_input.key for line_input in line.inputs if line_input.type != "secret"}
    return {key: value for key, value in task.inputs.items() if key in known}


def _checked_task_fields(line: ParsedLine, task: Task) -> dict[str, Any]:
    """The fields of the task that its gates' checks read."""
    read = {
        check.field.removeprefix("task.").partition(".")[0]
        for gate in line.gates
        if gate.checks is not None
        for check in gate.checks.checks()
        if check.field.startswith("task.")
    }
    # As the first decision read them: a due time or labels may be others by now
    first = task.decisions.order_by("at").first() if read else None
    task_facts: Mapping[str, Any] = first.situation["facts"].get("task", {}) if first else {}
    return {name: value for name, value in task_facts.items() if name in read and value is not None}


def _steps_and_first_difference(
    line: ParsedLine, script: ScenarioScript, task: Task
) -> tuple[tuple[ScenarioStep, ...], str]:
    walk, steps = start_task(line, script), list[ScenarioStep]()
    for happened in _recorded_steps(task):
        if walk.is_over or _is_done_by_previous_step(walk, happened):
            continue
        if happened.step is None:
            return tuple(steps), happened.stop
        if len(steps) == MAX_STEPS:
            return tuple(steps), f"A scenario has at most {MAX_STEPS} steps."
        step = _step_with_station(walk, happened)
        try:
            record = take_step(line, walk, step)
        except StepRefused as why:
            return tuple(steps), f"The next step cannot be simulated: {why}."
        # From where walk and task differ, what follows would be invented
        other = _difference_text(line, happened, record)
        if other:
            return tuple(steps), other
        walk = record.walk
        steps.append(step)
    return tuple(steps), ""


def _step_with_station(walk: SimulatedTask, happened: _RecordedStep) -> ScenarioStep:
    """Return the step; while branches run side by side it names its station."""
    assert happened.step is not None
    several = sum(not position.is_over for position in walk.positions) > 1
    return replace(happened.step, at=happened.station or None) if several else happened.step


def _is_done_by_previous_step(walk: SimulatedTask, happened: _RecordedStep) -> bool:
    """Return whether the previous step already did this one: what an escalation had held continues by itself."""
    if happened.step is None or happened.step.kind != "reconsider":
        return False
    return not any(
        position.lacks_preconditions and position.station == happened.station for position in walk.positions
    )


def _difference_text(line: ParsedLine, happened: _RecordedStep, record: StepRecord) -> str:
    """Return in what the task differs from the walk, "" if in nothing: a scenario knows neither time nor holds
    by people."""
    if happened.decision is None or record.decision is None:
        return ""
    then, now = happened.decision.answer, record.decision.to_dict()
    if all((then.get(name) or None) == (now.get(name) or None) for name in ANSWER_KEYS):
        return ""
    sentence = decision_sentence(line, happened.decision.station, then)
    return f"The task then took a path that a scenario cannot show: {sentence}"


def _recorded_steps(task: Task) -> Iterator[_RecordedStep]:
    """Everything that moved the task, in order."""
    decisions = {decision.cause: decision for decision in task.decisions.all()}
    jobs = {job.pk: job for job in Job.objects.filter(token__task=task)}
    visits = {str(visit.pk): visit for visit in task.gate_visits.select_related("job")}
    for event in task.events.order_by("seq"):
        happened = _recorded_step_or_none(event, jobs, visits)
        if happened is not None:
            # What was decided again by the facts of now is told by every event of that decision.
            decision = (
                decisions.pop(_event_cause(event), None) if event.trigger.startswith("facts:") else None
            )
            if event.trigger.startswith("facts:") and decision is None:
                continue
            yield _step_with_missing_requirements(
                replace(happened, decision=decision or decisions.get(_event_cause(event)))
            )


def _event_cause(event: Event) -> str:
    if event.kind == "gate.decided":
        return f"gate:{event.data['visit']}"
    if event.kind == "escalation.resolved":
        return f"escalation:{event.data['escalation']}"
    return event.trigger


def _step_with_missing_requirements(happened: _RecordedStep) -> _RecordedStep:
    """Return what happened, with what was missing then, as far as a walk does not see it for itself."""
    if (
        happened.step is None
        or happened.step.kind not in ("outcome", "reconsider")
        or happened.decision is None
    ):
        return happened
    names = happened.decision.answer.get("missing") or ()
    # These two follow in a walk from its own steps
    missing = tuple(name for name in names if name not in (NO_ESCALATION, GATE_PASSED))
    return replace(happened, step=replace(happened.step, missing=missing))


STOPS = {
    ("token.moved", "push"): "Somebody then pushed to its branch.",
    ("token.moved", "move"): "A person then moved it to another station.",
    ("token.ended", "cancel"): "The task was then cancelled by hand.",
}
"""After which no scenario goes on, by kind and trigger."""


def _recorded_step_or_none(
    event: Event, jobs: Mapping[int, Job], visits: Mapping[str, GateVisit]
) -> _RecordedStep | None:
    match event.kind, event.trigger:
        case "job.reported", _trigger:
            job = jobs[event.data["job"]["id"]]
            # What a question came to is told by its own event, `evaluation.answered`
            if job.purpose != Purpose.STATION:
                return None
            return _RecordedStep(ScenarioStep("outcome", outcome=job.outcome or {}), job.station)
        case "gate.decided", _trigger:
            visit = visits[event.data["visit"]]
            return _RecordedStep(
                ScenarioStep("gates", gates={visit.gate: visit.decision_fields}), visit.job.station
            )
        case "evaluation.answered", _trigger if event.data["answer"]["answer"] != UNANSWERED:
            return _RecordedStep(ScenarioStep("answers", answers=(event.data["answer"],)), event.source)
        case "token.moved", "answer":
            text = jobs[event.data["job"]["id"]].feedback
            return _RecordedStep(ScenarioStep("answer", answer=text), event.source)
        case "token.moved", "retry" | "checks_rerun" | "skip":
            return _RecordedStep(ScenarioStep("retry"), event.source)
        case "escalation.opened", _trigger if event.token_id is None and event.actor.startswith("person:"):
            escalation = {"trigger": event.data["escalated"], "reason": event.data["reason"]}
            return _RecordedStep(ScenarioStep("escalate", details=escalation))
        case "escalation.resolved", _trigger if event.data["how"] in WORDS_TO_RESOLVE:
            return _RecordedStep(
                ScenarioStep("resolve", event.source or None, details=_resolution_fields(event)), event.source
            )
        case kind, trigger if kind == "handoff.added" or trigger.startswith("facts:"):
            return _RecordedStep(ScenarioStep("reconsider"), event.source)
        case "task.migrated", _trigger:
            return _RecordedStep(None, stop="The task was then migrated to another version.")
        case stopped if stopped in STOPS:
            return _RecordedStep(None, stop=STOPS[stopped])
    return None


def _resolution_fields(event: Event) -> dict[str, str]:
    route = {"route": event.data["route"]} if event.data["how"] in ROUTED else {}
    return {
        "word": event.data["how"],
        **route,
        "reason": event.data["reason"],
        "trigger": event.data["escalated"],
    }
