"""Results of an evaluation: what a station made of past tasks, beside what it made then and what was accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.models import Job, LineEvaluation, Purpose, StationTrial
from pipelines.queries.observed_facts import fact_groups, tests_words
from pipelines.queries.usage import NOTHING, Spending, reported_spending
from pipelines.routing.basics.outcome import derived_outcome, read_outcome

OPEN = (StationTrial.State.QUEUED, StationTrial.State.RUNNING)


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Figures of a station's run and its check. `result`: "" before it ended or where it did not; `tests`: counts of
    the check, else of the station, None where neither counted any; `seconds`: of the station alone."""

    result: str = ""
    check_result: str = ""
    tests: Mapping[str, Any] | None = None
    spending: Spending = NOTHING
    seconds: float | None = None

    @property
    def tests_text(self) -> str:
        return "" if self.tests is None else tests_words(self.tests)

    @property
    def passed(self) -> bool:
        """Return whether the station succeeded and its check, where one ran, found nothing."""
        # Nobody has to choose a check: without one the station counts alone
        return self.result == "success" and self.check_result in ("", "success")


@dataclass(frozen=True, slots=True)
class EvaluatedTask:
    """Task of an evaluation. `source`: the run of then, None where its task was purged; `runs`: how often the
    station ran then until its work was accepted."""

    trial: StationTrial
    source: Job | None
    before: RunFigures
    after: RunFigures
    runs: int

    @property
    def is_open(self) -> bool:
        return self.trial.state in OPEN

    @property
    def is_same(self) -> bool | None:
        """Return whether the files are those that were accepted; None where that is not known."""
        files = self.trial.comparison.get("files")
        return None if files is None else files == 0


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """An evaluation with its tasks, in the order in which they run. Sums are over the tasks that were compared: those
    whose run has ended with an outcome."""

    evaluation: LineEvaluation
    tasks: Sequence[EvaluatedTask]

    @property
    def is_open(self) -> bool:
        return any(task.is_open for task in self.tasks)

    @property
    def state(self) -> str:
        """running, stopped or finished."""
        if self.is_open:
            return "running"
        return "stopped" if self.evaluation.stopped_at else "finished"

    @property
    def compared_tasks(self) -> list[EvaluatedTask]:
        return [task for task in self.tasks if task.source is not None and task.after.result]

    @property
    def same_count(self) -> int:
        return sum(task.is_same is True for task in self.compared_tasks)

    @property
    def sums_before(self) -> FigureSums:
        return sum_of_run_figures(task.before for task in self.compared_tasks)

    @property
    def sums_after(self) -> FigureSums:
        return sum_of_run_figures(task.after for task in self.compared_tasks)


@dataclass(frozen=True, slots=True)
class FigureSums:
    passed: int
    tests: Mapping[str, int]
    spending: Spending
    seconds: float

    @property
    def tests_text(self) -> str:
        return tests_words(self.tests) if self.tests else ""


def sum_of_run_figures(figures: Iterable[RunFigures]) -> FigureSums:
    rows, tests = list(figures), Counter[str]()
    for row in rows:
        tests.update({key: int(n) for key, n in (row.tests or {}).items() if isinstance(n, int)})
    return FigureSums(
        sum(row.passed for row in rows),
        tests,
        sum((row.spending for row in rows), NOTHING),
        sum(row.seconds or 0.0 for row in rows),
    )


def evaluation_result(evaluation: LineEvaluation) -> EvaluationResult:
    """Read the tasks of an evaluation by four statements, however many there are."""
    # Each of these may have hundreds of kilobytes, and the table shows none
    rows = evaluation.trials.defer("document", "log", "difference", "inputs", "context").order_by("pk")
    trials = list(rows)
    jobs = Job.objects.select_related("task__project").filter(
        pk__in=[trial.source for trial in trials], task__line=evaluation.line_id
    )
    sources = {job.pk: job for job in jobs}
    checks = first_check_by_recorded_run(evaluation.check_station, list(sources.values()))
    runs = _done_runs_by_task(evaluation.station, [job.task_id for job in sources.values()])
    return EvaluationResult(
        evaluation,
        [_evaluated_task(trial, sources.get(trial.source or 0), checks, runs) for trial in trials],
    )


def first_check_by_recorded_run(station: str, sources: Sequence[Job]) -> dict[int, Job]:
    """{recorded run: the first run of the check after it, in the same task}"""
    by_task = {job.task_id: job.pk for job in sources}
    rows = Job.objects.filter(
        task__in=list(by_task), station=station, purpose=Purpose.STATION, state=Job.State.DONE
    ).select_related("task__project__owner", "task__line")
    checks: dict[int, Job] = {}
    for job in rows.order_by("pk"):
        # A check that ran before saw other files
        if job.pk > by_task[job.task_id]:
            checks.setdefault(by_task[job.task_id], job)
    return checks


def _done_runs_by_task(station: str, accepted_task_ids: list[int]) -> Mapping[int, int]:
    rows = Job.objects.filter(
        task__in=accepted_task_ids, station=station, purpose=Purpose.STATION, state=Job.State.DONE
    )
    return Counter(rows.values_list("task_id", flat=True))


def _evaluated_task(
    trial: StationTrial, source: Job | None, checks: Mapping[int, Job], runs: Mapping[int, int]
) -> EvaluatedTask:
    after = RunFigures()
    if trial.outcome is not None:
        after = run_figures(trial.outcome, trial.check_outcome, trial.comparison.get("seconds"))
    if source is None:
        return EvaluatedTask(trial, None, RunFigures(), after, 0)
    check = checks.get(source.pk)
    seconds = (
        (source.ended_at - source.started_at).total_seconds()
        if source.ended_at and source.started_at
        else None
    )
    before = run_figures(source.outcome or {}, check.outcome if check else None, seconds)
    return EvaluatedTask(trial, source, before, after, runs[source.task_id])


def run_figures(
    outcome: Mapping[str, Any], check_outcome: Mapping[str, Any] | None, seconds: float | None
) -> RunFigures:
    """Return the figures of a run and of what checked it."""
    # The check runs them all, the station perhaps a few
    tests = fact_groups(check_outcome).get("tests") or fact_groups(outcome).get("tests")
    return RunFigures(
        _derived_result(outcome),
        "" if check_outcome is None else _derived_result(check_outcome),
        tests,
        reported_spending(outcome) + reported_spending(check_outcome),
        seconds,
    )


def _derived_result(outcome: Mapping[str, Any]) -> str:
    return derived_outcome(read_outcome(dict(outcome))).result
