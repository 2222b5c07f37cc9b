"""A past task that is given to a station once more: the files that it began with, the check of what was made, and how
that compares with what was accepted. Kept beside the run alone, on the machine of its worker."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from pipelines.models import Job, LineEvaluation, StationTrial, VisitCommit
from pipelines.queries.evaluations import first_check_by_recorded_run
from pipelines.queries.usage import reported_spending
from pipelines.routing.basics.facts import OF_RUN
from pipelines.routing.basics.outcome import derived_outcome, read_outcome
from pipelines.routing.decide.outcome_judgement import exact_amount
from pipelines.routing.document.line import Station
from pipelines.work.results.files import open_plain_file
from pipelines.work.spec.repository import GitLeft, GitState
from pipelines.work.transport.local.evaluated_changes import (
    accepted_change_or_none,
    change_compared_with_accepted,
)
from pipelines.work.transport.local.repositories import branch_state_for_job
from pipelines.work.transport.protocol import AttemptResults

PACK = "evaluated:"
"""Before the digest of objects that are with this run alone."""


class EvaluatedRun:
    """Run of an evaluation. `state`: of the branch, before the station and then after it; `checks`:
    whether the station has ended, with `outcome`, and its check follows."""

    def __init__(self, trial: StationTrial) -> None:
        assert trial.source is not None
        self.trial_id, self.source_id = trial.pk, trial.source
        self.outcome: dict[str, Any] = {}
        self.checks = False
        self.state = branch_state_before_recorded_run(trial.source)
        self._began = time.monotonic()
        self._packs = tempfile.TemporaryDirectory(prefix="gateline-evaluated-")

    def fetch(self, stored: str, path: Path) -> None:
        shutil.copyfile(Path(self._packs.name) / stored.removeprefix(PACK), path)

    def close(self) -> None:
        self._packs.cleanup()

    def store(self, attempt_results: AttemptResults) -> None:
        """Compare what the station made, and keep its commit for the check. What the check leaves is of no interest."""
        if self.checks or attempt_results.git is None or attempt_results.workspace is None:
            return
        self.state = self._state_with_commit(attempt_results, attempt_results.git)
        task_id = Job.objects.values_list("task_id", flat=True).get(pk=self.source_id)
        accepted = accepted_change_or_none(task_id)
        if accepted is None:
            return
        compared = change_compared_with_accepted(attempt_results, accepted)
        StationTrial.objects.filter(pk=self.trial_id).update(
            comparison={
                "tree": attempt_results.git.tree,
                "files": compared.files,
                "added": compared.added,
                "removed": compared.removed,
            },
            difference=compared.difference,
        )

    def _state_with_commit(self, attempt_results: AttemptResults, git: GitLeft) -> GitState:
        packs = self.state.packs
        if git.pack:
            with (
                # Below this root the station could write, links too
                open_plain_file(attempt_results.root, attempt_results.files[git.pack][0]) as source,
                (Path(self._packs.name) / git.pack).open("wb") as target,
            ):
                shutil.copyfileobj(source, target)
            packs = (*packs, f"{PACK}{git.pack}")
        return GitState(git.branch, git.base_branch, git.base, git.head, git.tree, packs)

    def finish_station_and_return_check_run_or_none(self, outcome: dict[str, Any]) -> Job | None:
        """Keep the outcome of the station; return the recorded run of the check, where it is to be run."""
        self.outcome = outcome
        trial = StationTrial.objects.select_related("evaluation").get(pk=self.trial_id)
        seconds = round(time.monotonic() - self._began, 1)
        trial.comparison = {**trial.comparison, "seconds": seconds}
        trial.save(update_fields=["comparison"])
        evaluation = trial.evaluation
        if evaluation is None or not evaluation.check_station:
            return None
        if derived_outcome(read_outcome(outcome)).result != "success":
            return None
        source = Job.objects.get(pk=self.source_id)
        check = first_check_by_recorded_run(evaluation.check_station, [source]).get(source.pk)
        self.checks = check is not None
        return check


def branch_state_before_recorded_run(source_id: int) -> GitState:
    """Return the branch as the recorded run found it. Where nothing was committed yet, that is the base of then, and
    not where its branch stands now."""
    state = branch_state_for_job(source_id)
    if state.head:
        # With what came to the base since then it would be another task
        return replace(state, moved=False)
    commit = VisitCommit.objects.get(job=source_id)
    return GitState(commit.branch, commit.base_branch, commit.base, commit.base)


def cost_left_of_evaluation(evaluation: LineEvaluation) -> Decimal:
    """Return what its runs may still cost together, by what the ended ones reported."""
    outcomes = evaluation.trials.filter(outcome__isnull=False).values_list("outcome", "check_outcome")
    costs = (reported_spending(outcome).cost for pair in outcomes for outcome in pair)
    spent = sum((cost for cost in costs if cost is not None), Decimal())
    return max(evaluation.cost_limit - spent, Decimal())


def cost_of_evaluated_run(evaluation: LineEvaluation, station: Station) -> dict[str, Any]:
    """Return what one run may cost: by the limit of its station, and by what is left of the budget."""
    limits = [cost_left_of_evaluation(evaluation)]
    if station.limits.cost_usd is not None:
        limits.append(exact_amount(station.limits.cost_usd))
    return {"cost_usd": float(min(limits)), "cost_limit": OF_RUN}
