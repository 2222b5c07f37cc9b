"""View of a whole task: its positions, jobs, decisions, gates, artifacts and events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cached_property
from operator import attrgetter
from typing import Any

from pipelines.models import (
    ENDED,
    Artifact,
    Decision,
    Due,
    Event,
    GateVisit,
    Handoff,
    Job,
    Pause,
    Purpose,
    Repository,
    Status,
    Task,
    Token,
    Upload,
    Vote,
    Word,
)
from pipelines.queries import task_rows, usage, versions
from pipelines.queries import why as whys
from pipelines.queries.environment_preparation import PreparationProgress, preparation_progress_by_job
from pipelines.queries.environments import task_repository_or_none
from pipelines.queries.failure_causes import FailureCause, cause_of_last_run_or_none, failure_cause_by_run_id
from pipelines.queries.history import TimelineItem, timeline_items_newest_first
from pipelines.queries.join_waits import join_wait_sentence_by_token
from pipelines.queries.positions import PositionView
from pipelines.queries.unanswered_questions import unanswered_sentence_by_token
from pipelines.queries.unclaimable_jobs import unclaimed_sentence_by_token_id
from pipelines.queries.usage import Spending
from pipelines.routing.decide.approval import approval_policy_with_extra_votes
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.names import gate_name, station_name, target_name
from pipelines.routing.sentences.waits import ProblemAndRemedy, wait_sentence_or_none

AGENT = "agent"
SHOWN_INPUT = 80
EVENTS = 100
"""So many stand on a page."""
HISTORY = 100
HANDOFFS = 20
LINKED = 50


class TaskView:
    """Reads lazily: a fragment asks only for its part. `now` is what durations end at."""

    def __init__(self, task: Task, now: datetime) -> None:
        self.task, self.now = task, now

    def read_rows(self) -> None:
        """Read everything that the page shows by one statement."""
        vars(self).update(task_rows.read_task_rows(self.task, HANDOFFS, LINKED))

    @cached_property
    def handoffs(self) -> list[Handoff]:
        """The latest first."""
        return list(self.task.handoffs.order_by("-at")[:HANDOFFS])

    @cached_property
    def pauses(self) -> list[Pause]:
        """Pauses in force over it or over a station of its line, oldest first."""
        if self.task.status in ENDED:
            return []
        pauses = Pause.of_task(self.task).filter(ended_at=None)
        return list(pauses.select_related("by").order_by("since"))

    @cached_property
    def line(self) -> ParsedLine:
        return versions.parsed_line_by_version_id(self.task.pinned_id)

    @cached_property
    def jobs(self) -> list[Job]:
        """Oldest first."""
        # By its tokens: an index of all jobs by task would cost each move.
        return list(Job.objects.filter(token__task=self.task).select_related("worker").order_by("pk"))

    @cached_property
    def preparing(self) -> dict[int, PreparationProgress]:
        """Preparations by the id of the run."""
        return preparation_progress_by_job(self.line, self.jobs, self.now)

    @cached_property
    def spending(self) -> Spending:
        """Spending of all runs of the task together."""
        return usage.total_spending(self.spending_by_station)

    @cached_property
    def spending_by_station(self) -> dict[str, Spending]:
        """Spending by the names of the stations, of those that reported anything."""
        spending: dict[str, Spending] = {}
        for job in self.jobs:
            spent = usage.reported_spending(job.outcome)
            if spent.runs:
                name = station_name(self.line, job.station)
                spending[name] = spending.get(name, usage.NOTHING) + spent
        return spending

    @property
    def spending_words(self) -> str:
        return "; ".join(
            f"{name}: {spending.price_text}" for name, spending in self.spending_by_station.items()
        )

    @property
    def cost_limit(self) -> str:
        """The limit of the task, in dollars; "" where there is none."""
        most = self.line.limits.cost_usd
        return "" if most is None else usage.dollars_text(usage.exact_amount(most))

    @cached_property
    def tokens(self) -> list[Token]:
        return list(self.task.tokens.order_by("pk"))

    @cached_property
    def events(self) -> list[Event]:
        return list(Event.objects.filter(task=self.task).order_by("seq"))

    def events_newest(self, before: int = 0) -> list[Event]:
        """The newest first, and one more than a page shows; `before`: only those with a lower number."""
        rows = Event.objects.filter(task=self.task).order_by("-seq")
        return list((rows.filter(seq__lt=before) if before else rows)[: EVENTS + 1])

    @cached_property
    def history(self) -> list[TimelineItem]:
        """The newest first."""
        return timeline_items_newest_first(self.task, self.events, self.now)

    @property
    def recent_history(self) -> list[TimelineItem]:
        return self.history[:HISTORY]

    @property
    def history_more(self) -> int:
        """Number of older entries of the history."""
        return max(0, len(self.history) - HISTORY)

    @cached_property
    def artifacts(self) -> list[Artifact]:
        return list(
            Artifact.objects.filter(task=self.task).select_related("blob", "job").order_by("job_id", "name")
        )

    @cached_property
    def gate_visits(self) -> list[GateVisit]:
        """Gate visits, oldest first, each with the decision that asked it and whoever decided it."""
        visits = GateVisit.objects.filter(task=self.task).select_related("asked_by", "decided_by")
        # Large, and read by the page of the one review alone
        visits = visits.defer("evidence", "asked_by__situation", "asked_by__trace")
        return list(visits.order_by("opened_at", "position"))

    @property
    def open_visits(self) -> list[GateVisit]:
        still_open = [visit for visit in self.gate_visits if visit.state == GateVisit.State.OPEN]
        for visit in still_open:
            # The one that is loaded: else each visit would ask for its own
            visit.task = self.task
        return sorted(still_open, key=attrgetter("position"))

    @cached_property
    def decision_ids(self) -> list[str]:
        """Oldest first."""
        rows = Decision.objects.filter(task=self.task).order_by("at", "pk")
        return [str(pk) for pk in rows.values_list("pk", flat=True)]

    @cached_property
    def _approvals(self) -> Counter[Any]:
        """Approvals by the open visit."""
        votes = Vote.objects.filter(visit__in=self.open_visits, word=Word.APPROVE)
        return Counter(votes.values_list("visit_id", flat=True))

    def _last_job_of_queued_tokens(self, last: dict[int, Job]) -> dict[int, Job]:
        queued = {token.pk for token in self.tokens if token.status == Status.QUEUED}
        return {token: job for token, job in last.items() if token in queued}

    @cached_property
    def positions(self) -> list[PositionView]:
        last = {job.token_id: job for job in self.jobs if job.purpose == Purpose.STATION}
        open_visits = self.open_visits
        joined = join_wait_sentence_by_token(self.tokens)
        resting = timed_wait_sentence_by_token_id(last) | unclaimed_sentence_by_token_id(
            self.task, self._last_job_of_queued_tokens(last)
        )
        resting |= unanswered_sentence_by_token(self.task.project, self.tokens)
        stopped = (Status.STUCK, Status.BLOCKED)
        failed = failure_cause_by_run_id(
            (last[token.pk] for token in self.tokens if token.status in stopped and token.pk in last),
            self.jobs,
        )
        return [
            PositionView(
                token,
                station_name(self.line, token.station),
                # The special reasons first: what its status alone says is true as well, and less
                joined.get(token.pk)
                or resting.get(token.pk)
                or wait_sentence_or_none(
                    token, self.line, last[token.pk].summary if token.pk in last else ""
                ),
                last.get(token.pk),
                [visit for visit in open_visits if visit.token_id == token.pk],
                self.preparing.get(last[token.pk].pk) if token.pk in last else None,
                failed.get(last[token.pk].pk) if token.pk in last else None,
            )
            for token in self.tokens
            if token.status not in ENDED and not token.forked
        ]

    @cached_property
    def failure_cause(self) -> FailureCause | None:
        """Cause of a failed task, where the run that was done last failed."""
        return cause_of_last_run_or_none(self.jobs) if self.task.status == Status.FAILED else None

    @cached_property
    def environment_repository(self) -> Repository | None:
        """Repository whose environment a failure might lack."""
        return task_repository_or_none(self.task, self.line)

    @cached_property
    def open_gates_text(self) -> str:
        """`Human review, needs 1 approval` of every open gate."""
        return ", ".join(self._gate_votes_text(visit) for visit in self.open_visits)

    def _gate_votes_text(self, visit: GateVisit) -> str:
        gate = self.line.gates_by_key.get(visit.gate)
        words = {
            "gate": gate_name(self.line, visit.gate),
            "n": self._approvals[visit.pk],
            "m": approval_policy_with_extra_votes(gate.approval, visit.producers).min_votes if gate else 1,
        }
        if words["m"] == 1:
            return "{gate}, needs 1 approval".format(**words)
        return "{gate}, {n} of {m} approvals".format(**words)

    @property
    def shortened_inputs(self) -> list[tuple[str, str]]:
        return filled_inputs_with_labels(self.line, self.task)

    @property
    def uploaded_files(self) -> list[tuple[str, str, str, bool]]:
        """The files that were uploaded for its inputs: key, label, name, and whether they are still kept."""
        uploads = [
            (line_input, value)
            for line_input in self.line.inputs
            if line_input.type == "file" and isinstance(value := self.task.inputs.get(line_input.key), dict)
        ]
        if not uploads:
            return []
        digests = [value.get("digest") for _input, value in uploads]
        rows = Upload.objects.filter(project=self.task.project_id, blob__in=digests)
        stored_digests = set(rows.values_list("blob_id", flat=True))
        return [
            (
                line_input.key,
                line_input.label or line_input.key,
                str(value.get("name") or line_input.key),
                value.get("digest") in stored_digests,
            )
            for line_input, value in uploads
        ]

    @property
    def end_name(self) -> str:
        return target_name(self.line, self.task.end) if self.task.end else ""

    @property
    def tabs(self) -> list[tuple[str, str, int | None]]:
        outputs = sum(job.outcome is not None for job in self.jobs)
        by_agents = any(job.kind == AGENT for job in self.jobs)
        return [
            *([("steps", "Steps", None)] if by_agents else []),
            ("log", "Log", None),
            ("changes", "Changes", None),
            ("outputs", "Outputs", outputs),
            ("artifacts", "Artifacts", len(self.artifacts)),
            ("events", "Events", self.task.seq),
        ]

    def explain_decision_or_last(self, decision_id: str = "") -> whys.DecisionExplanation | None:
        """Return the explanation of the decision `decision_id`, otherwise of the last one; None if nothing has
        been decided yet."""
        ids = self.decision_ids
        if not ids:
            return None
        # An address may name one that is not of this task
        place = ids.index(decision_id) if decision_id in ids else len(ids) - 1
        decision = Decision.objects.select_related("pinned").defer("pinned__document").get(pk=ids[place])
        explanation = whys.explain_decision(decision, self.gate_visits)
        explanation.position, explanation.total = place + 1, len(ids)
        explanation.before = ids[place - 1] if place else ""
        explanation.after = ids[place + 1] if place + 1 < len(ids) else ""
        event = next((event for event in self.events if str(event.decision_id) == ids[place]), None)
        explanation.event = f"EVT-{event.pk}" if event else ""
        return explanation

    @property
    def elapsed_seconds(self) -> float:
        return ((self.task.ended_at or self.now) - self.task.created_at).total_seconds()

    @property
    def expected_seconds(self) -> float | None:
        """The sum over the stations that say what is expected of them; None if none does."""
        durations = [
            float(station.limits.expected) for station in self.line.stations if station.limits.expected
        ]
        return sum(durations) if durations else None

    @property
    def expected_end(self) -> datetime:
        return self.task.created_at + timedelta(seconds=self.expected_seconds or 0)

    @property
    def takes_longer(self) -> bool:
        """Return whether what was expected is over."""
        return self.now > self.expected_end


def filled_inputs_with_labels(line: ParsedLine, task: Task) -> list[tuple[str, str]]:
    """Inputs that were filled in, but for files, shortened for the facts."""
    labels = {line_input.key: line_input.label or line_input.key for line_input in line.inputs}
    # Files have a list of their own, which says whether they are still stored
    files = {line_input.key for line_input in line.inputs if line_input.type == "file"}
    inputs = versions.inputs_with_secrets_hidden(task.pinned_id, task.inputs).items()
    filled = [(labels.get(key, key), _short_text(value)) for key, value in inputs if key not in files]
    return [(label, value) for label, value in filled if value]


def _short_text(value: Any) -> str:
    text = value.get("name", "") if isinstance(value, dict) else str(value)
    return text if len(text) <= SHOWN_INPUT else text[: SHOWN_INPUT - 1] + "…"


# Positions that wait for a time (`work.kind: wait`): until when, as a sentence.


def timed_wait_sentence_by_token_id(last: Mapping[int, Job]) -> dict[int, ProblemAndRemedy]:
    """{token id: sentence}. `last`: the last job of each token."""
    waits = {job.pk: token for token, job in last.items() if job.kind == "wait" and job.state == "running"}
    if not waits:
        return {}
    sentences = {}
    for due in Due.objects.filter(job_id__in=waits, kind="wait"):
        text = f"Waiting until {due.due_at:%Y-%m-%d %H:%M:%S} UTC."
        sentences[waits[due.job_id or 0]] = ProblemAndRemedy(text, "Continues automatically.")
    return sentences
