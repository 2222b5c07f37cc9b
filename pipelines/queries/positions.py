"""Positions of a task that have not ended, with what each waits for and what can be done about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from pipelines.models import GateVisit, Job, Status, Token
from pipelines.queries import versions
from pipelines.queries.environment_preparation import PreparationProgress
from pipelines.queries.failure_causes import FailureCause
from pipelines.routing.decide.effects import is_move_barred_by_holds
from pipelines.routing.document.evaluations import ANSWERS
from pipelines.routing.document.kinds import wait_for_checks
from pipelines.routing.sentences.names import station_name
from pipelines.routing.sentences.waits import (
    ProblemAndRemedy,
    blocker_words,
    question_text_blocker_texts_and_choices,
)

LONGEST = 2_000
"""Characters of a description that an address takes along."""


@dataclass
class PositionView:
    """A living token with what it waits for."""

    token: Token
    station: str
    sentence: ProblemAndRemedy | None
    job: Job | None
    visits: list[GateVisit]
    preparing: PreparationProgress | None = None
    cause: FailureCause | None = None

    @property
    def is_manual(self) -> bool:
        return self.job is not None and self.job.kind == "manual" and self.job.state == Job.State.RUNNING

    @property
    def is_retryable(self) -> bool:
        waits = self.token.status in (Status.STUCK, Status.BLOCKED, Status.HELD)
        others = {"paused_by", "paused"} & self.token.wait.keys()
        return waits and not self.is_manual and not self.can_be_released and not others

    @property
    def retry_label(self) -> str:
        """Verb of the button; a branch is named, since the others go on without it."""
        return f"Run {self.station} again" if self.token.is_branch else "Retry"

    @property
    def move_title(self) -> str:
        """Title of the dialog on its own page; elsewhere the task is named, too."""
        if self.is_retryable and self.token.is_branch:
            return f"{self.retry_label}, or move it"
        return f"{'Retry or move' if self.is_retryable else 'Move'} {self.station}"

    @property
    def is_movable_by_hand(self) -> bool:
        """It may be moved by hand, or at least run again: nothing has to be resolved first, and it waits for no
        sibling."""
        barred = is_move_barred_by_holds(self.token.wait, stays=True)
        return not barred and not self.token.waits_at_join

    @property
    def expected_end(self) -> datetime | None:
        """Return when the program at work should have ended; None where nobody expects it, or a person is at work."""
        job = self.job
        if (
            job is None
            or job.state != Job.State.RUNNING
            or not job.started_at
            or job.kind in ("manual", "wait")
        ):
            return None
        station = versions.parsed_line_by_version_id(job.pinned_id).stations_by_key.get(job.station)
        seconds = station.limits.expected if station else None
        return job.started_at + timedelta(seconds=seconds) if seconds else None

    @property
    def move_targets(self) -> list[tuple[str, str]]:
        """Return where it may be moved by hand, with names."""
        line = versions.parsed_line_by_version_id(self.token.task.pinned_id)
        waits_for_people = self.token.status == Status.AWAITING_REVIEW
        skip = (
            []
            if waits_for_people or self.token.waits_at_join
            else [("@success", "Where success leads (skip)")]
        )
        unbegun = self.job is not None and self.job.state == Job.State.QUEUED
        keys = [station.key for station in line.stations]
        # To stay is “again”, which stands above them
        keys.remove(self.token.station) if self.token.station in keys else None
        again = [] if unbegun else [("", f"{self.station} again")]
        # Whatever escalated it is resolved before it goes anywhere else
        if is_move_barred_by_holds(self.token.wait, stays=False):
            return again
        return [*again, *skip, *((key, station_name(line, key)) for key in keys)]

    @property
    def move_default(self) -> str:
        return self.move_targets[0][0] if self.move_targets else ""

    @property
    def can_rerun_checks(self) -> bool:
        """Checks of the host failed or timed out, and it waits with them."""
        job = self.job
        return self.is_retryable and job is not None and wait_for_checks.may_rerun(job.kind, job.outcome)

    @property
    def can_be_held(self) -> bool:
        """Its work has not begun."""
        queued = self.job is not None and self.job.state == Job.State.QUEUED
        return queued and self.token.status == Status.QUEUED

    @property
    def can_be_released(self) -> bool:
        """A person holds it, or it waits for other tasks."""
        wait = self.token.wait
        return (
            self.token.status == Status.HELD
            and bool({"by", "depends_on"} & set(wait))
            and "paused" not in wait
        )

    @property
    def has_own_card(self) -> bool:
        """True if an escalation or a deadlock holds the position: the page shows that in a card of its own."""
        return self.token.status == Status.HELD and bool({"escalation", "paused_by"} & set(self.token.wait))

    @property
    def lacks_handoff(self) -> bool:
        return self.token.status == Status.HELD and "handoff" in self.token.wait.get("missing", ())

    @property
    def lacks_agent(self) -> bool:
        missing = self.token.wait.get("missing", ()) if self.token.status == Status.HELD else ()
        return any(name.startswith("agent:") for name in missing)

    @property
    def can_be_answered(self) -> bool:
        """True if the position is blocked, or a machine is asked something that a person may answer as well."""
        is_evaluating = self.token.status == Status.EVALUATING and "agentic" in self.token.wait.get(
            "evaluation", {}
        )
        return is_evaluating or self.token.status == Status.BLOCKED

    @property
    def remarks(self) -> list[str]:
        """Remarks of a blocked position: the comment of the job by which it is blocked."""
        comment = self._blocking_outcome.get("comment")
        return [str(comment)] if comment else []

    @property
    def blockers(self) -> list[tuple[str, str]]:
        """Blockers of a blocked position that its job named, each with the fields that a task of its own
        would start with."""
        name, blockers = self.token.task.name, self._blocking_outcome.get("blockers") or ()
        return [
            (blocker_words(blocker), urlencode({**_task_title_and_description(blocker), "blocks": name}))
            for blocker in blockers
        ]

    @property
    def _blocking_outcome(self) -> dict[str, Any]:
        outcome = self.job.outcome if self.job else None
        blocked = self.token.status == Status.BLOCKED and "evaluation" not in self.token.wait
        return outcome if blocked and outcome else {}

    @property
    def choices(self) -> tuple[str, ...]:
        """Answers that its station offers."""
        if self.token.status != Status.BLOCKED or "evaluation" in self.token.wait:
            return ()
        blockers = self._blocking_outcome.get("blockers") or ()
        return question_text_blocker_texts_and_choices(self.token.wait, blockers)[2]

    @property
    def answer_words(self) -> tuple[str, ...]:
        """The two words of which one answers an evaluation; none where any text answers."""
        evaluation = self.token.wait.get("evaluation") or {}
        return next((words for kind, words in ANSWERS.items() if kind in evaluation), ())


def _task_title_and_description(blocker: Any) -> dict[str, str]:
    """Title and description."""
    title = str(blocker.get("title") or "") if isinstance(blocker, dict) else ""
    text = str(blocker.get("description") or "") if isinstance(blocker, dict) else ""
    return {"title": (title or blocker_words(blocker))[:300], "description": text[:LONGEST]}
