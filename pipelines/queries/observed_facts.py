"""Facts in words (law §13): what Gateline observed of a task so far, by whom, and what is left of its limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from pipelines.models import Job, Purpose, Token
from pipelines.queries.usage import Spending, dollars_text
from pipelines.routing.basics.facts import OUTPUT, REPORT
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.decide.outcome_judgement import exact_amount
from pipelines.routing.document.kinds.agent import KIND as AGENT
from pipelines.routing.document.kinds.command import KIND as COMMAND
from pipelines.routing.document.kinds.deliver import KIND as DELIVER
from pipelines.routing.document.line import ParsedLine, Rule, Station
from pipelines.routing.sentences.names import rule_name, station_name

PATHS = 3
LONGEST_CLAIM: Final = 300
OMITTED_GROUPS: Final = (("git", DELIVER.key), ("commands", COMMAND.key))
"""Groups of kinds that say nothing new: what a delivery sees of git is no change of its own, since what was approved is
in the branch then; and that a command ran is known."""
# As pipelines.work.results.text_counts writes it
_PRINTED: Final = re.compile(r"\d+ (?:test|package)s? passed(?:, \d+ skipped)?")


def fact_groups(outcome: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    """Return the facts of an outcome by group. Anything else, as an old report may hold, is left out."""
    facts = (outcome or {}).get("facts")
    groups = facts.items() if isinstance(facts, dict) else ()
    return {group: members for group, members in groups if isinstance(members, dict)}


def _count_or_zero(members: Mapping[str, Any], key: str) -> int:
    count = members.get(key)
    return int(count) if isinstance(count, int | float) else 0


def tests_words(counts: Mapping[str, Any]) -> str:
    """Return the test counts in words: `3 tests passed, 1 failed, 2 skipped`, or that none ran."""
    passed, failed = (
        _count_or_zero(counts, "passed"),
        _count_or_zero(counts, "failed") + _count_or_zero(counts, "errors"),
    )
    skipped = _count_or_zero(counts, "skipped")
    parts = ["No tests ran"]
    if passed or failed:
        parts = [singular_or_plural("%(n)s test passed", "%(n)s tests passed", passed) % {"n": passed}]
        parts.append(singular_or_plural("%(n)s failed", "%(n)s failed", failed) % {"n": failed})
    if skipped:
        parts.append(singular_or_plural("%(n)s skipped", "%(n)s skipped", skipped) % {"n": skipped})
    return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class FactRow:
    """`icon` of the sprite; `by`: who observed it or reports it; `more`: in small below it. `has_findings`: that a page
    shows each of what it counts."""

    icon: str
    words: str
    by: str
    tone: str = ""
    more: Sequence[str] = ()
    has_findings: bool = False


def latest_fact_rows(line: ParsedLine, jobs: Iterable[Job]) -> list[FactRow]:
    """The latest of each group, over all stations of a task."""
    latest: dict[str, tuple[Job, Mapping[str, Any]]] = {}
    last: dict[str, Job] = {}
    for job in jobs:
        if job.purpose == Purpose.STATION:
            last[job.station] = job
            for group, members in fact_groups(job.outcome).items():
                if (group, job.kind) not in OMITTED_GROUPS:
                    latest[group] = (job, members)
    rows = []
    for group, say in ROW_BUILDERS.items():
        if group in latest:
            job, members = latest[group]
            # Its program says which commands it ran: nobody here has seen them run
            reported = group == "commands" and job.kind == AGENT.key
            words = "reported by %(station)s" if reported else "after %(station)s"
            rows += say(members, words % {"station": station_name(line, job.station)})
    rows += [
        FactRow("check", words, f"printed by {station_name(line, job.station)}")
        for job in last.values()
        if (words := printed_tests_words(job))
    ]
    return [*rows, *(row for job in last.values() for row in _unread_output_rows(line, job))]


def printed_tests_words(job: Job) -> str:
    """Return how many tests passed by what a command printed; "" where it printed nothing of it, or left a report that
    counts them."""
    is_uncounted = (
        job.kind == COMMAND.key and job.result == "success" and "tests" not in fact_groups(job.outcome)
    )
    return job.summary if is_uncounted and _PRINTED.fullmatch(job.summary) else ""


def _unread_output_rows(line: ParsedLine, job: Job) -> list[FactRow]:
    """Return the facts that the last run of a station left and that are not in its output, and the error that
    its agent reported."""
    groups = fact_groups(job.outcome)
    by = f"after {station_name(line, job.station)}"
    output, error = groups.get(OUTPUT, {}), groups.get("agent", {}).get("error")
    reasons = [
        ("Output could not be read", output.get("unreadable")),
        ("The model refused", output.get("refused")),
        ("The agent told of an error", error),
    ]
    rows = [
        FactRow("warning", words, by, "attention", [escape_hidden(str(why))]) for words, why in reasons if why
    ]
    flags = [("The answer is empty", "empty"), ("All it wrote as output is a signal", "signal")]
    return [*rows, *(FactRow("warning", words, by, "attention") for words, key in flags if output.get(key))]


def _git_rows(members: Mapping[str, Any], by: str) -> list[FactRow]:
    files = _count_or_zero(members, "files_changed")
    words = singular_or_plural("%(n)s file changed", "%(n)s files changed", files) % {"n": files}
    if files:
        words += f" +{_count_or_zero(members, 'insertions')} −{_count_or_zero(members, 'deletions')}"
    raw_paths = members.get("paths")
    paths = [escape_hidden(str(path)) for path in raw_paths] if isinstance(raw_paths, list) else []
    more = paths[:PATHS]
    if len(paths) > PATHS:
        rest = len(paths) - PATHS
        more.append(f"and {rest} more")
    return [FactRow("changed-files", words, by, more=more)]


def _command_rows(members: Mapping[str, Any], by: str) -> list[FactRow]:
    run, failed, denied = (_count_or_zero(members, key) for key in ("run", "failed", "denied"))
    words = singular_or_plural("%(n)s command", "%(n)s commands", run) % {"n": run}
    if failed:
        words += ", " + singular_or_plural("%(n)s failed", "%(n)s failed", failed) % {"n": failed}
    rows = [FactRow("run", words, by)] if run else []
    if denied:
        denied_words = singular_or_plural("%(n)s denied", "%(n)s denied", denied) % {"n": denied}
        rows.append(FactRow("danger", denied_words, by, "danger"))
    return rows


def _test_rows(members: Mapping[str, Any], by: str) -> list[FactRow]:
    if _count_or_zero(members, "failed") + _count_or_zero(members, "errors"):
        icon, tone = "x", "danger"
    else:
        # Where no test ran none has failed, which is no success either
        icon, tone = ("check", "ok") if _count_or_zero(members, "passed") else ("warning", "attention")
    return [FactRow(icon, tests_words(members), by, tone)]


def findings_words(counts: Mapping[str, Any]) -> str:
    """`3 findings, 1 high`; "" of none."""
    total, high = (
        _count_or_zero(counts, "total"),
        _count_or_zero(counts, "critical") + _count_or_zero(counts, "high"),
    )
    if not total:
        return ""
    words = singular_or_plural("%(n)s finding", "%(n)s findings", total) % {"n": total}
    return f"{words}, {high} high" if high else words


def _finding_rows(members: Mapping[str, Any], by: str) -> list[FactRow]:
    high = _count_or_zero(members, "critical") + _count_or_zero(members, "high")
    words = findings_words(members)
    return [FactRow("search", words or "0 findings", by, "danger" if high else "", has_findings=bool(words))]


def _coverage_rows(members: Mapping[str, Any], by: str) -> list[FactRow]:
    lines = members.get("lines")
    if not isinstance(lines, int | float):
        return []
    return [FactRow("check", f"{lines:.0f} % of the lines covered", by)]


def _claim_rows(members: Mapping[str, Any], by: str) -> list[FactRow]:
    contradicted = members.get("contradicted")
    n = len(contradicted) if isinstance(contradicted, list) else 0
    words = singular_or_plural("%(n)s claim contradicted", "%(n)s claims contradicted", n) % {"n": n}
    rows = [FactRow("danger", words, by, "danger")] if n else []
    return [*rows, *_report_rows(members.get("made"), by)]


def _report_rows(made: Any, by: str) -> list[FactRow]:
    """Return what an agent reported by its tool, named as the claim that it is."""
    claims = made if isinstance(made, list) else []
    reports = [claim for claim in claims if isinstance(claim, dict) and claim.get("kind") == REPORT]
    statement = reports[-1].get("said") if reports else None
    if not isinstance(statement, dict):
        return []
    outcome, summary = (
        escape_hidden(str(statement.get(key) or ""))[:LONGEST_CLAIM] for key in ("outcome", "summary")
    )
    return [FactRow("bot", f"The agent claims: {outcome}", by, more=[summary] if summary else [])]


def _preparation_rows(members: Mapping[str, Any], by: str) -> list[FactRow]:
    seconds = members.get("seconds")
    if not isinstance(seconds, int | float):
        return []
    took = {"seconds": f"{seconds:.0f}" if seconds >= 1 else f"{seconds:.1f}"}
    cached = members.get("cached") is True
    words = "Prepared from the cache (%(seconds)s s)" if cached else "Prepared (%(seconds)s s)"
    return [FactRow("check", words % took, by)]


ROW_BUILDERS = {
    "prepare": _preparation_rows,
    "git": _git_rows,
    "commands": _command_rows,
    "tests": _test_rows,
    "findings": _finding_rows,
    "coverage": _coverage_rows,
    "claims": _claim_rows,
}
"""In this order; cost stands among the limits."""


@dataclass(frozen=True, slots=True)
class LimitRow:
    """`left` in words, `percent` of it that is used."""

    name: str
    left: str
    percent: int
    since: datetime | None = None


def limit_rows(
    line: ParsedLine, token: Token, job: Job | None, spent: Spending, month: Spending | None, now: datetime
) -> list[LimitRow]:
    """Return what is left at the station at which a token stands: of the cost of the task and of the month,
    of the time of the run, of the runs of the station and of the retries of its rules."""
    task, station = token.task, line.stations_by_key.get(token.station)
    rows = []
    if line.limits.cost_usd is not None and spent.runs:
        rows.append(_cost_limit_row("Cost of the task", spent, exact_amount(line.limits.cost_usd)))
    if month is not None and task.project.month_cost_usd is not None:
        rows.append(_cost_limit_row("Cost of the month", month, task.project.month_cost_usd))
    if station is None:
        return rows
    running = job is not None and job.state == Job.State.RUNNING and job.started_at is not None
    if running and job is not None and job.started_at is not None and station.limits.max_timeout:
        used, most = (now - job.started_at).total_seconds(), float(station.limits.max_timeout)
        rows.append(
            LimitRow(
                "Time of the run", _minutes_left_text(max(0.0, most - used), most), _used_percent(used, most)
            )
        )
    if station.limits.max_visits is not None:
        rows.append(_count_limit_row("Runs", task.visits.get(station.key, 0), station.limits.max_visits))
    return [*rows, *(_retries_row(line, rule, task.rules) for rule in _rules_with_retries(station))]


def _cost_limit_row(name: str, spent: Spending, most: Decimal) -> LimitRow:
    cost = spent.cost or Decimal()
    words = {"left": dollars_text(max(most - cost, Decimal())), "most": dollars_text(most)}
    return LimitRow(name, "{left} left of {most}".format(**words), _used_percent(cost, most))


def _count_limit_row(name: str, used: int, most: int) -> LimitRow:
    words = f"{max(0, most - used)} left of {most}"
    return LimitRow(name, words, _used_percent(used, most))


def _rules_with_retries(station: Station) -> Iterable[Rule]:
    return (rule for rule in station.rules if rule.max_retries is not None)


def _retries_row(line: ParsedLine, rule: Rule, match_counts: Mapping[str, int]) -> LimitRow:
    assert rule.max_retries is not None
    name = f"Retries: {rule_name(line, rule.id)}"
    return _count_limit_row(name, match_counts.get(rule.id, 0), rule.max_retries)


def _minutes_left_text(left: float, most: float) -> str:
    # Some seconds are still some time, and not none
    words = {"left": max(1, round(left / 60)) if left else 0, "most": max(1, round(most / 60))}
    return "{left} min left of {most} min".format(**words)


def _used_percent(used: Any, most: Any) -> int:
    # A limit of 0 is used up.
    return min(100, int(100 * used / most)) if most else 100
