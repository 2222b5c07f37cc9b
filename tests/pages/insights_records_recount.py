"""Records of gates and of agents on Insights, and the cost of months, once more: rows by hand-written SQL without the
joins of the product, counted in Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from pipelines.models import Project
from pipelines.ports.sampling import sampling_key
from pipelines.routing.decide.sampling import is_chain_drawn
from reviews.insights import health, sample_size, sampling, trust
from tests.pages.insights_recount import _json, _reverted, _rows

Counts = dict[Any, tuple[Any, ...]]


class RecordsRecount:
    """What the record of a project says now, from its rows."""

    def __init__(self, project: Project, now: datetime) -> None:
        self.now = now
        self.since = now - timedelta(days=sampling.RECENT_DAYS)
        tasks = "SELECT id, line_id, follows_id FROM pipelines_task WHERE project_id = %s"
        rows = list(_rows(tasks, project.pk))
        self.line_of = {task: line for task, line, _follows in rows}
        self.follows = {task: follows for task, _line, follows in rows}
        self.reverted = _reverted(
            _rows(
                """SELECT job_id, task_id, repository_id, branch, base, coalesce(nullif(landed_tree, ''), tree),
                     commit, landed_at, visit_id FROM pipelines_delivery"""
            )
        )
        self.visits = [
            row
            for row in _rows(
                """SELECT id, task_id, gate, word, reason, round, opened_at, decided_at FROM pipelines_gatevisit
                   WHERE word <> ''"""
            )
            if row[1] in self.line_of
        ]
        self.disputed = {visit for [visit] in _rows("SELECT visit_id FROM reviews_remark")}
        self.disputed |= {
            visit for [visit] in _rows("SELECT visit_id FROM pipelines_vote WHERE reason <> ''")
        }
        versions = _rows("SELECT id, line_id, document->'stations' FROM pipelines_lineversion")
        self.agent_of = {
            (version, station["key"]): station.get("agent") or ""
            for version, line, stations in versions
            if line in set(self.line_of.values())
            for station in _json(stations)
        }
        self.jobs = [
            (task, version, station, purpose, result, created, end, _json(facts))
            for task, version, station, purpose, result, created, end, facts in _rows(
                """SELECT task_id, pinned_id, station, purpose, result, created_at, ended_at, outcome->'facts'
                   FROM pipelines_job WHERE state = 'done'"""
            )
            if task in self.line_of
        ]

    def gates(self) -> Counts:
        """{(line, gate): decisions, without a remark, in a row, pace, bad, and (rate, asked, unseen, reverted) of each
        rate}."""
        by_gate = defaultdict(list)
        for visit in self.visits:
            if visit[7] and visit[7] > self.since:
                by_gate[self.line_of[visit[1]], visit[2]].append(visit)
        counts: Counts = {}
        for (line, gate), visits in by_gate.items():
            newest = sorted(visits, key=lambda visit: (-visit[7].timestamp(), str(visit[0])))
            last = max((visit[7] for visit in visits if self._is_disputed(visit)), default=self.since)
            in_a_row = [visit for visit in newest if visit[7] > last]
            unremarked = sum(not self._is_disputed(visit) for visit in visits)
            rates = tuple(self._rates(line, gate, in_a_row[: sampling.UNREMARKED]))
            lately = sum(visit[7] > self.now - timedelta(days=30) for visit in visits)
            reverted = {visit for _task, visit in self.reverted}
            bad = sum(self._is_disputed(visit) or visit[0] in reverted for visit in visits)
            pace = max(lately, len(visits) / 3)
            counts[line, gate] = (len(visits), unremarked, len(in_a_row), pace, bad, rates)
        return counts

    def _is_disputed(self, visit: Sequence[Any]) -> bool:
        return bool(visit[3] != "approve" or visit[4] or visit[0] in self.disputed)

    def _rates(self, line: int, gate: str, visits: Sequence[Any]) -> Iterator[tuple[int, ...]]:
        reverted = {visit for _task, visit in self.reverted}
        for one_in in sample_size.RATES:
            drawn = [
                (
                    visit[0],
                    is_chain_drawn(sampling_key(), f"{line}/{gate}", str(self._root(visit[1])), one_in),
                )
                for visit in visits
            ]
            unseen = [visit for visit, is_drawn in drawn if not is_drawn]
            yield one_in, len(drawn) - len(unseen), len(unseen), len(reverted & {*unseen})

    def _root(self, task: int) -> int:
        while self.follows.get(task):
            task = self.follows[task]
        return task

    def trust(self, begun: dict[tuple[str, str], datetime]) -> Counts:
        """{(agent, station): runs, tasks, first decisions, approved, defects, reverted}. `begun`: of each agent and
        station since when it has its level there."""
        runs = defaultdict(list)
        for task, version, station, purpose, result, created, end, facts in self.jobs:
            key = self.agent_of.get((version, station), ""), station
            if purpose != "station" or result == "cancelled" or key not in begun:
                continue
            if created > self.since and end > begun[key]:
                contradicted = (facts.get("claims") or {}).get("contradicted")
                runs[key, task].append((end, bool(contradicted)))
        reverted = {task for task, _visit in self.reverted}
        visits_of = defaultdict(list)
        for visit in self.visits:
            visits_of[visit[1]].append(visit)
        counts: dict[Any, list[int]] = defaultdict(lambda: [0] * 6)
        for (key, task), ended in runs.items():
            began = min(end for end, _contradicted in ended)
            visits = [visit for visit in visits_of[task] if visit[6] >= began]
            first = [visit[3] for visit in visits if visit[5] == 1]
            faulty = any(contradicted for _end, contradicted in ended) or any(
                visit[3] != "approve" for visit in visits
            )
            one = (len(ended), 1, len(first), first.count("approve"), int(faulty), int(task in reverted))
            counts[key] = [before + more for before, more in zip(counts[key], one, strict=True)]
        return {key: tuple(numbers) for key, numbers in counts.items()}

    def months(self) -> Counts:
        """{first day of a month: cost, runs, tokens in, tokens out}, as UTC has it."""
        sums: dict[Any, list[Any]] = defaultdict(lambda: [None, 0, 0, 0])
        for *_job, end, facts in self.jobs:
            usage = facts.get("usage") or {}
            cost, *tokens = (usage.get(key) for key in ("cost_usd", "tokens_in", "tokens_out"))
            if cost is None and not any(tokens):
                continue
            month = sums[end.astimezone(UTC).date().replace(day=1)]
            month[0] = month[0] if cost is None else (month[0] or Decimal()) + Decimal(str(cost))
            month[1:] = [month[1] + 1, *(a + int(b or 0) for a, b in zip(month[2:], tokens, strict=True))]
        return {month: tuple(values) for month, values in sums.items()}


def unequal_records(project: Project, now: datetime, recount: RecordsRecount) -> tuple[list[str], int]:
    """Return each figure that is not the recounted one, and how many there are."""
    gate_counts = recount.gates()
    shown_gates: Counts = {}
    for gate in sampling.gate_records(project):
        key = gate.line.pk, gate.gate
        rates = tuple((rate.one_in, rate.asked, rate.unseen, rate.reverted) for rate in gate.rates)
        evidence = gate.evidence
        shown_gates[key] = (
            gate.decisions, gate.unremarked, gate.in_a_row, evidence.pace, evidence.bad, rates or gate_counts[key][-1],
        )  # fmt: skip
    agents = trust.trust_records(project, now)
    shown_trust: Counts = {
        (row.agent.key, row.station): (
            row.runs,
            row.tasks,
            row.first,
            row.approved,
            row.defects,
            row.reverted,
        )
        for row in agents
    }
    begun = {(row.agent.key, row.station): row.agent.created_at for row in agents}
    shown_months: Counts = {
        row.month: (row.spending.cost, row.spending.runs, row.spending.tokens_in, row.spending.tokens_out)
        for row in health.month_rows(project, now)
    }
    months = recount.months()
    tables = (
        ("gates", shown_gates, {key: gate_counts[key] for key in shown_gates} or gate_counts),
        ("trust", shown_trust, recount.trust(begun)),
        ("months", shown_months, {key: months.get(key, (None, 0, 0, 0)) for key in shown_months} or months),
    )
    faults = [
        f"{name} {key}: {shown.get(key)} is not {counts.get(key)}"
        for name, shown, counts in tables
        for key in shown.keys() | counts.keys()
        if shown.get(key) != counts.get(key)
    ]
    return faults, sum(len(row) for _name, shown, _counts in tables for row in shown.values())
