"""Questions of an agent about its own task, with what its folder holds at this moment: as its outcome would be put
together at the end, and kept nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pipelines.routing.basics.facts import facts_with_source
from pipelines.work.git.attempt import Prepared
from pipelines.work.git.live_change import change_so_far
from pipelines.work.git.refusals import GitRefused
from pipelines.work.results.text import Masker, masked_value
from pipelines.work.spec.agent_call import AnswerRefused, PermissionAnswer, PermissionRequest
from pipelines.work.spec.handler_io import Outcome, Spec
from pipelines.work.transport.protocol import (
    JobTransport,
    LeaseLost,
    QuestionRefused,
    ServerAway,
    Started,
    StartingWorkspace,
)
from pipelines.work.worker import attempt_io, live_files
from pipelines.work.workspaces import Picture, WorkspaceTooLarge, manifest_digest

OVER: Final = "This attempt is over: another one has the task, or it was cancelled. Stop working."
AWAY: Final = "The server does not answer now. Go on working, and try again in a minute."
OPEN: Final = "still_open"
SO_FAR: Final = "the files and the cost, which are counted as they are now"
NOT_COUNTED: Final = "the files, of which there are too many to be counted while you work"
NOT_MEASURED: Final = "the files, which could not be read just now"


@dataclass(frozen=True)
class TaskQuestions:
    """A `TaskPort`. `masker`: hides the secrets of the job, and these. `before`: the files before the work, of a line
    without a repository; `prepared`: of one with; `but`: paths that are no part of the work."""

    transport: JobTransport
    started: Started
    spec: Spec
    masker: Callable[[Sequence[str]], Masker]
    before: StartingWorkspace | None = None
    prepared: Prepared | None = None
    but: tuple[str, ...] = ()

    def spec_with_port(self) -> Spec:
        """Return the spec, with the port where it calls an agent; one that is tried by itself has no task."""
        call = self.spec.agent
        if call is None or self.started.orders.job_id <= 0:
            return self.spec
        return replace(self.spec, agent=replace(call, port=self))

    async def answer(self, question: str, outcome: Mapping[str, Any] | None) -> dict[str, Any]:
        """:raises AnswerRefused"""
        open_facts: list[str] = []
        masker = self.masker(self.spec.secrets_now())
        if outcome is not None:
            # In a thread: the files are read and hashed
            outcome, open_facts = await asyncio.to_thread(
                self._measured_outcome_and_contradictions, dict(outcome)
            )
            outcome = masked_value(outcome, masker)
        try:
            answer = await self.transport.answer_agent(self.started, question, outcome)
        except LeaseLost as error:
            raise AnswerRefused(OVER) from error
        except ServerAway as error:
            raise AnswerRefused(AWAY) from error
        except QuestionRefused as error:
            raise AnswerRefused(str(error)) from error
        if OPEN in answer:
            answer = {**answer, OPEN: [*answer[OPEN], *open_facts]}
        masked: dict[str, Any] = masked_value(answer, masker)
        return masked

    async def ask_permission(self, request: PermissionRequest) -> PermissionAnswer:
        """:raises AnswerRefused"""
        arguments = masked_value(dict(request.arguments), self.masker(self.spec.secrets_now()))
        try:
            return await self.transport.ask_permission(self.started, replace(request, arguments=arguments))
        except ServerAway:
            return PermissionAnswer("open")
        except LeaseLost as error:
            raise AnswerRefused(OVER) from error
        except QuestionRefused as error:
            raise AnswerRefused(str(error)) from error

    def _measured_outcome_and_contradictions(self, outcome: Outcome) -> tuple[Outcome, list[str]]:
        """Add what the folder holds: files that are handed over, the change, and what contradicts its claims."""
        spec = self.spec
        entries = [*(outcome.get("artifacts") or ()), *attempt_io.declared_artifacts(spec, outcome)]
        artifacts, _sources = attempt_io.read_named_artifacts_and_sources(spec.attempt, entries)
        if artifacts:
            outcome = {**outcome, "artifacts": [artifact.to_dict() for artifact in artifacts]}
        try:
            with live_files.pinned_folder(spec.attempt.workspace) as (descriptor, workspace):
                return self._outcome_with_facts_of_files(outcome, descriptor, workspace), [SO_FAR]
        except (live_files.TooMuchToMeasure, WorkspaceTooLarge):
            return outcome, [NOT_COUNTED]
        except (OSError, GitRefused):
            return outcome, [NOT_MEASURED]

    def _outcome_with_facts_of_files(self, outcome: Outcome, descriptor: int, workspace: Path) -> Outcome:
        prepared = self.prepared
        # A line without a repository compares with the files before the work
        tracked = prepared.files if prepared else {}
        # Reports are handed over, and no part of the change
        reports = [path for path in attempt_io.report_paths(self.spec) if prepared and path not in tracked]
        paths = (*self.but, *reports)
        manifest = live_files.files_so_far(descriptor, workspace, paths, digests=prepared is None)
        if prepared is None:
            now = manifest_digest(manifest)
            trees = {"before": self.before.digest if self.before else attempt_io.NOTHING_THERE, "tree": now}
        else:
            change = change_so_far(prepared, workspace, manifest)
            outcome = {**outcome, "facts": {**outcome.get("facts", {}), "git": change}}
            trees = {"before": prepared.tree, "tree": change["tree"]}
        outcome = attempt_io.outcome_with_claims(outcome, self.before, Picture(manifest, {}))
        return {**outcome, "facts": facts_with_source(outcome["facts"], trees)}
