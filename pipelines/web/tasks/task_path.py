"""The path of a task on the drawing of its line: which stations, gates and edges are marked and how. Where they
are drawn is decided in static/editor/shown, which does not lay out again when the marks change."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from pipelines.models import ENDED, Event, GateVisit, Job, Status, Task, Token, Word
from pipelines.queries.environment_preparation import PreparationProgress
from pipelines.queries.failure_causes import has_failed_station_run
from pipelines.queries.pauses import paused_stations
from pipelines.queries.task_view import TaskView
from pipelines.routing.analysis.lint.transitions import ONWARD, REJECTED, drawn_edge_key_or_empty
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.templatetags.gateline import NBSP, duration
from pipelines.web.lines.drawing import STOPPED, DrawnEnding, version_policy_targets
from pipelines.web.lines.marks import NOT, TAKEN, PlaceMark, TaskPath, mark_paused

WAITS = "waits"
SENT_BACK = (Word.SEND_BACK, Word.REWORK)
TONES = {
    Status.RUNNING: "active",
    Status.EVALUATING: "active",
    Status.QUEUED: "active",
    Status.AWAITING_REVIEW: "attention",
    Status.HELD: "attention",
    Status.BLOCKED: "attention",
    Status.STUCK: "danger",
    Status.FAILED: "danger",
    Status.COMPLETED: "ok",
    Status.CANCELLED: TAKEN,
}


def task_path(
    line: ParsedLine,
    task: Task,
    tokens: Sequence[Token],
    jobs: Sequence[Job],
    visits: Sequence[GateVisit],
    now: datetime,
    endings: Iterable[DrawnEnding] = (),
    events: Iterable[Event] = (),
) -> TaskPath:
    """`visits` oldest first, with the decision that asked. `events`: of the task, for where policy and gates led it."""
    path = TaskPath()
    _mark_stations(path, line, task, jobs)
    for visit in visits:
        _mark_gate(path, visit, now)
    for token in tokens:
        _mark_token(path, token, jobs, now)
        if token.status in (Status.STUCK, Status.FAILED) and not token.forked:
            _mark_failure(path, token, jobs)
    # A rule whose gate asks has brought the task to the gate, but not yet through it.
    waiting = {str(token.wait.get("rule")) for token in tokens if token.status == Status.AWAITING_REVIEW}
    stopped = {f"{ending.station}{STOPPED}" for ending in endings}
    waiting |= {ending.rule for ending in endings if ending.rule}
    # So did one whose gate sent it back: the rule that it took then leaves the station, and not the gate.
    sent_back = {_asking_rule_id(visit) for visit in visits if visit.word in SENT_BACK}
    waiting |= {rule for rule in sent_back if not task.rules.get(rule)}
    known = {station.key for station in line.stations}
    followed_ways = {
        drawn_edge_key_or_empty(
            line, event.source, event.data.get("by", ""), event.data.get("rule") or "", event.target
        )
        for event in events
        if event.source in known
    }
    for station in line.stations:
        path.ways |= {way: TAKEN if way in followed_ways else NOT for way in station_edge_names(station)}
        for rule in station.rules:
            path.ways[rule.id] = WAITS if rule.id in waiting else TAKEN if task.rules.get(rule.id) else NOT
        # Without rules only the policy leads on.
        if not station.rules and any(
            count and way.startswith(f"{station.key}->") for way, count in task.edges.items()
        ):
            path.ways[station.key + ONWARD] = TAKEN
    path.ways |= dict.fromkeys(stopped, TAKEN)
    return path


def station_edge_names(station: Station) -> list[str]:
    """Return all edges that may leave the station, by their names in drawings."""
    ways = [
        name for rule in station.rules for name in (rule.id, *([rule.id + REJECTED] if rule.gates else []))
    ]
    return [*ways, station.key + ONWARD]


def _mark_stations(path: TaskPath, line: ParsedLine, task: Task, jobs: Iterable[Job]) -> None:
    spent: defaultdict[str, float] = defaultdict(float)
    for job in jobs:
        if job.ended_at:
            spent[job.station] += (job.ended_at - (job.started_at or job.created_at)).total_seconds()
    for station in line.stations:
        visits = task.visits.get(station.key, 0)
        expected = station.limits.expected
        words = (
            _time_spent_text(spent[station.key], visits)
            if visits
            else _expected_text(expected)
            if expected
            else ""
        )
        brief = _first_unit(spent[station.key]) if visits else ""
        path.places[station.key] = PlaceMark(TAKEN if visits else NOT, words, brief=brief)


def _time_spent_text(seconds: float, visits: int) -> str:
    if visits == 1:
        return duration(seconds)
    words = {"time": duration(seconds), "n": visits}
    return singular_or_plural("%(time)s in %(n)s run", "%(time)s in %(n)s runs", visits) % words


def _first_unit(seconds: float) -> str:
    """Return about how long that is, in one unit: where words have no room."""
    return NBSP.join(duration(seconds).split()[:2])


def _expected_text(seconds: float) -> str:
    return f"expected {duration(seconds)}"


def _mark_gate(path: TaskPath, visit: GateVisit, now: datetime) -> None:
    """A gate may stand on several rules: only the one that the task came by is marked."""
    rule = _asking_rule_id(visit)
    if visit.state == GateVisit.State.OPEN:
        path.gates[rule] = _elapsed_mark("attention", "here for %(time)s", visit.opened_at, now)
    # An open visit counts before one that was decided.
    elif visit.decided_at and path.gates.get(rule, PlaceMark()).state != "attention":
        seconds = (visit.decided_at - visit.opened_at).total_seconds()
        took = duration(seconds)
        words = f"sent back after {took}" if visit.word in SENT_BACK else took
        path.gates[rule] = PlaceMark(TAKEN, words, brief=_first_unit(seconds))


def _asking_rule_id(visit: GateVisit) -> str:
    """Return the rule whose gate was asked, "" for one that a policy asked."""
    return str(visit.asked_by.answer.get("rule") or "")


def _elapsed_mark(tone: str, words: str, since: datetime, now: datetime) -> PlaceMark:
    text = words % {"time": duration((now - since).total_seconds())}
    return PlaceMark(tone, text, since.isoformat(), words % {"time": "{time}"}, brief="{about}")


def _mark_token(path: TaskPath, token: Token, jobs: Iterable[Job], now: datetime) -> None:
    # A forked token is where its branches are; one in review is shown at its gate.
    if token.forked or token.status == Status.AWAITING_REVIEW:
        return
    by_hand = {job.token_id for job in jobs if job.kind == "manual" and job.state == Job.State.RUNNING}
    tone = "attention" if token.pk in by_hand else TONES[Status(token.status)]
    if token.status in ENDED:
        if token.end:
            path.places[token.end] = PlaceMark(tone)
    elif token.station in path.places:
        words = "waits %(time)s" if token.waits_at_join else "here for %(time)s"
        path.places[token.station] = _elapsed_mark(tone, words, token.entered_at, now)


def _mark_failure(path: TaskPath, token: Token, jobs: Iterable[Job]) -> None:
    """Mark the station where the token ended or is stuck, where runs of it failed, with how often."""
    times = sum(has_failed_station_run(job) for job in jobs if job.station == token.station)
    if times and token.station in path.places:
        words = singular_or_plural("failed", "failed %(n)s times", times) % {"n": times}
        mark = path.places[token.station]
        rest = (mark.since, f"{words} · {mark.ticking}") if mark.since else ("", "")
        words = f"{words} · {mark.words}" if mark.since else words
        path.places[token.station] = PlaceMark(TONES[Status.FAILED], words, *rest, f"{times}×")


def _mark_preparing(path: TaskPath, runs: Iterable[PreparationProgress], now: datetime) -> None:
    """Over the stations whose own work has not begun."""
    for run in runs:
        if run.since is not None and run.job.station in path.places:
            path.places[run.job.station] = _elapsed_mark("active", "preparing for %(time)s", run.since, now)


def policy_endings(view: TaskView) -> list[DrawnEnding]:
    """Return the endings of positions where no edge led to the end: no rule, and no policy after rules that
    matched nothing."""
    line, drawn = view.line, version_policy_targets(view.task.pinned_id)
    event_data = {token["id"]: event.data for event in view.events for token in event.data.get("tokens", ())}
    endings = []
    for token in view.tokens:
        data = event_data.get(token.pk, {})
        by_gate = data.get("by") == "gate"
        rule = str(data.get("rule") or "")
        if data.get("by") == "policy" and not rule and _has_edge_to_end(line, drawn, token):
            continue
        if token.end and not token.joined_id and not token.forked and (by_gate or not rule):
            endings.append(DrawnEnding(token.station, rule, token.end))
    return endings


def _has_edge_to_end(line: ParsedLine, drawn: Mapping[str, str], token: Token) -> bool:
    station = line.stations_by_key.get(token.station)
    return station is not None and bool(station.rules) and drawn.get(station.key) == token.end


def task_path_json_text(view: TaskView, endings: Iterable[DrawnEnding]) -> str:
    """Return the path for the script as the page passes it."""
    task = view.task
    path = task_path(
        view.line, task, view.tokens, view.jobs, view.gate_visits, view.now, endings, view.events
    )
    _mark_preparing(path, view.preparing.values(), view.now)
    mark_paused(path, paused_stations(view.pauses))
    return json.dumps(path.to_dict())
