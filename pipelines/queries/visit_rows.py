"""Timeline of one task: a row for each run of a station and each visit of a gate, with its bars, what it cost and who
decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise

from pipelines.models import GateVisit, Job, Purpose, Word
from pipelines.queries.actors import station_actor_kind_and_name
from pipelines.queries.task_view import TaskView
from pipelines.queries.time_bars import (
    INSTANT,
    TimeBar,
    bars_by_token_id,
    job_bars,
    position_bars,
    visit_bar,
    was_stopped,
)
from pipelines.queries.usage import NOTHING, Spending, reported_spending
from pipelines.routing.sentences.names import gate_name, station_name
from pipelines.routing.sentences.waits import waiting_question_or_empty

MOST = 60
"""Rows that are displayed, the latest ones."""
LONGEST = 120
"""Characters of what a failed run said."""
SENT_BACK = (Word.SEND_BACK, Word.REWORK)
MARKS = {
    Word.APPROVE: "approved",
    Word.REJECT: "rejected",
    Word.ABORT: "rejected",
    **dict.fromkeys(SENT_BACK, "returned"),
}
"""Marks of votes and decisions on the bar of a gate."""


@dataclass(frozen=True, slots=True)
class DecisionMark:
    """Vote or decision on the bar of its gate. `tone`: one of MARKS; `label`: who, and what they said."""

    at: datetime
    tone: str
    label: str


@dataclass(slots=True)
class VisitRow:
    """`shape`: station or gate; `look` names its icon. `repeat`: which run or round it is, from the second on.
    `remarks`: what people said there, also the answer that it ran with, or how it failed. `visit_id` and `marks`: of a
    gate."""

    shape: str
    key: str
    name: str
    look: str
    token_id: int
    bars: list[TimeBar]
    repeat: str = ""
    actor: str = ""
    actor_kind: str = ""
    is_branch: bool = False
    spending: Spending = NOTHING
    remarks: Sequence[str] = ()
    tone: str = ""
    visit_id: object = None
    marks: Sequence[DecisionMark] = ()

    @property
    def since(self) -> datetime:
        return self.bars[0].since

    @property
    def until(self) -> datetime | None:
        return self.bars[-1].until

    @property
    def seconds(self) -> float | None:
        """Seconds from its begin to its end; None while it goes on."""
        return (self.until - self.since).total_seconds() if self.until else None


@dataclass(frozen=True, slots=True)
class RoundBand:
    """Stretch from one sending back to the next. `until`: None of the last one, while the task is open. `ending`: “Sent
    back by Ann”, "" of the last."""

    ending: str
    since: datetime
    until: datetime | None
    spending: Spending

    @property
    def seconds(self) -> float | None:
        return (self.until - self.since).total_seconds() if self.until else None


@dataclass(slots=True)
class TaskTimelineView:
    """Rows, oldest first. `earlier`: how many are not displayed. `rounds`: none where nothing was sent back."""

    begin: datetime
    rows: list[VisitRow] = field(default_factory=list)
    earlier: int = 0
    rounds: Sequence[RoundBand] = ()


def task_timeline_view(view: TaskView) -> TaskTimelineView:
    answers = _answers_by_job(view)
    rows = [
        *(_job_row(view, job, answers.get(job.pk, "")) for job in view.jobs),
        *_rows_of_evaluations_by_people(view),
        *_visit_rows(view),
    ]
    _add_waits(view, rows)
    # A gate opens in the very instant in which its station ends, and stands below it
    rows.sort(key=lambda row: (row.since, row.shape == "gate"))
    latest = rows[-MOST:]
    earlier = len(rows) - len(latest)
    # Where rows are left out, their time is, too: else half of the drawing would be empty
    begin = latest[0].since if earlier else view.task.created_at
    return TaskTimelineView(begin, latest, earlier, _round_bands(view))


def _answers_by_job(view: TaskView) -> dict[int, str]:
    """Return what people answered, in the words of the history, by the id of the run that began with it."""
    labels = {item.seq: item.label for item in view.history if item.names_actor}
    return {event.data["job"]["id"]: labels[event.seq] for event in view.events if event.seq in labels}


def _job_row(view: TaskView, job: Job, answer: str = "") -> VisitRow:
    station = view.line.stations_by_key.get(job.station)
    name = station_name(view.line, job.station)
    if job.purpose != Purpose.STATION and (
        question := waiting_question_or_empty({"evaluation": job.question})
    ):
        name = f"{name} · {question}"
    kind, actor = station_actor_kind_and_name(station)
    row = VisitRow(
        "station", job.station, name, station.kind if station else "other", job.token_id, job_bars(job, name)
    )
    repeats = [f"run {job.visit}"] if job.visit > 1 else []
    row.repeat = " · ".join([*repeats, *([f"attempt {job.attempt}"] if job.attempt > 1 else [])])
    row.actor, row.actor_kind = (actor, kind) if job.purpose == Purpose.STATION else (job.kind, "system")
    row.spending = reported_spending(job.outcome)
    if answer:
        row.remarks = [answer[:LONGEST]]
    # Blocked is no failure: then the rules or a person say what follows
    if job.result == "failure":
        row.tone, row.remarks = "danger", [*row.remarks, (job.summary or "failed")[:LONGEST]]
    elif was_stopped(job):
        row.remarks = [*row.remarks, "stopped"]
    return row


def _rows_of_evaluations_by_people(view: TaskView) -> Iterable[VisitRow]:
    """Yield a row for each evaluation that waited for a person: of what a machine is asked there is a job."""
    texts = {item.seq: item.text for item in view.history}
    ended = {token.pk: token.ended_at for token in view.tokens}
    for place, event in enumerate(view.events, start=1):
        wait = event.data.get("wait") if event.kind == "token.waits" else None
        question = waiting_question_or_empty({"evaluation": wait.get("evaluation")}) if wait else ""
        if not question or event.token_id is None:
            continue
        following = (later for later in view.events[place:] if later.token_id == event.token_id)
        # Its answer, or a move by hand, or another wait
        end = next(
            (later for later in following if later.kind == "evaluation.answered" or "tokens" in later.data),
            None,
        )
        until = end.at if end else ended.get(event.token_id)
        name = f"{station_name(view.line, event.source)} · {question}"
        bar = TimeBar("waiting" if until else "blocked", event.at, until, name)
        row = VisitRow("station", event.source, name, "manual", event.token_id, [bar], actor_kind="person")
        if end and end.kind == "evaluation.answered" and texts.get(end.seq):
            row.remarks = [texts[end.seq][:LONGEST]]
        yield row


def _visit_rows(view: TaskView) -> Iterable[VisitRow]:
    decisions = _decisions_by_visit(view)
    for visit in view.gate_visits:
        gate = view.line.gates_by_key.get(visit.gate)
        name = gate_name(view.line, visit.gate)
        row = VisitRow(
            "gate",
            visit.gate,
            name,
            gate.mode if gate else "manual",
            visit.token_id,
            [visit_bar(visit, name)],
        )
        row.repeat = f"round {visit.round}" if visit.round > 1 else ""
        # Of a visit whose events were purged the row itself says who decided
        marks = decisions.get(str(visit.pk)) or _decision_marks_of_visit(visit)
        row.remarks, row.visit_id = [mark.label for mark in marks], visit.pk
        row.marks = [mark for mark in marks if mark.tone]
        row.tone = "" if visit.decided_at else "attention"
        yield row


def _decisions_by_visit(view: TaskView) -> dict[str, list[DecisionMark]]:
    """Return what people said, by the id of the visit, in the words of the history; "" is the tone of what closed."""
    texts = {item.seq: item.text for item in view.history}
    marks: dict[str, list[DecisionMark]] = {}
    for event in view.events:
        if event.kind in ("gate.voted", "gate.overridden", "gate.decided", "gate.closed") and texts.get(
            event.seq
        ):
            tone = "" if event.kind == "gate.closed" else MARKS.get(event.data.get("word", ""), "")
            mark = DecisionMark(event.at, tone, texts[event.seq])
            marks.setdefault(str(event.data.get("visit", "")), []).append(mark)
    return marks


def _decision_marks_of_visit(visit: GateVisit) -> list[DecisionMark]:
    if not visit.word or not visit.decider or visit.decided_at is None:
        return []
    label = f"{visit.get_word_display()}: {visit.decider}"
    return [DecisionMark(visit.decided_at, MARKS.get(Word(visit.word), ""), label)]


def _add_waits(view: TaskView, rows: Sequence[VisitRow]) -> None:
    """Give each row the wait that came after it, at its station."""
    parents = {token.parent_id for token in view.tokens}
    recorded = bars_by_token_id((row.token_id, bar) for row in rows for bar in row.bars)
    ends = {(row.token_id, row.until): row for row in rows if row.until}
    stuck = [(event.token_id, event.at) for event in view.events if event.kind == "token.stuck"]
    for token in view.tokens:
        own = recorded.get(token.pk, [])
        for bar in position_bars(token, own, token.pk not in parents):
            if bar not in own and (row := ends.get((token.pk, bar.since))):
                row.bars.append(_wait_in_its_tone(bar, [at for pk, at in stuck if pk == token.pk]))
        for row in rows:
            row.is_branch |= row.token_id == token.pk and token.parent_id is not None


def _wait_in_its_tone(bar: TimeBar, stuck: Iterable[datetime]) -> TimeBar:
    """Return the wait after a run. `stuck`: when its position became stuck, as it may on an outcome that succeeded;
    after one that failed it may have waited for a person, too."""
    if any(abs(at - bar.since) < INSTANT for at in stuck):
        return replace(bar, tone="stuck")
    return replace(bar, tone="waiting") if bar.tone == "stuck" and bar.until else bar


def _round_bands(view: TaskView) -> list[RoundBand]:
    # A round ends when somebody sends back, not when the station begins anew
    turns = {
        visit.decided_at: visit.decision_text
        for visit in view.gate_visits
        if visit.word in SENT_BACK and visit.decided_at
    }
    if not turns:
        return []
    # Several gates may send back in one decision, which begins one round
    bounds = [view.task.created_at, *sorted(turns), view.task.ended_at]
    return [
        RoundBand(
            turns.get(until, "") if until else "", since, until, _spending_between(view.jobs, since, until)
        )
        for since, until in pairwise(bounds)
        if since is not None
    ]


def _spending_between(jobs: Iterable[Job], since: datetime, until: datetime | None) -> Spending:
    begun = (job for job in jobs if job.created_at >= since and (until is None or job.created_at < until))
    return sum((reported_spending(job.outcome) for job in begun), NOTHING)
