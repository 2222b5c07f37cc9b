"""Every figure of Insights once more: rows by hand-written SQL without the joins of the product, counted in Python."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from reviews.insights.band import band_of_period
from reviews.insights.figures import Insights
from reviews.insights.selection import Period
from reviews.insights.sheets import Sheet
from reviews.insights.task_list import task_list

Row = list[Any]
MONTH = timedelta(days=30)


@dataclass
class Recount:
    """Figures of the lines of a project in a period: {table: {row: values}}; rows of charts are their buckets."""

    lines: dict[int, str]
    period: Period
    by_project: bool = True
    now: datetime = field(default_factory=timezone.now)

    def __post_init__(self) -> None:
        self.start, self.end = self.period.dates.first_moment_and_first_after
        ids = list(self.lines)
        tasks = _rows(
            """SELECT id, line_id, pinned_id, status, created_at, ended_at FROM pipelines_task
               WHERE line_id = ANY(%s)""", ids,
        )  # fmt: skip
        self.line_of = {task: line for task, line, *_ in tasks}
        delivering = {
            version
            for [version] in _rows("SELECT version_id FROM pipelines_versionstation WHERE kind = 'deliver'")
        }
        deliveries = _rows(
            """SELECT job_id, task_id, repository_id, branch, base, coalesce(nullif(landed_tree, ''), tree), commit,
                 landed_at, visit_id FROM pipelines_delivery"""
        )
        last_commit = {
            task: (job, bool(before))
            for task, job, before in _rows(
                "SELECT task_id, job_id, before <> '{}' FROM pipelines_visitcommit ORDER BY job_id"
            )
        }
        landed = defaultdict(list)
        for job, task, *_, landed_at, _visit in deliveries:
            if landed_at:
                landed[task].append(job)

        def unmerged(task: int, version: int) -> bool:
            job, changed = last_commit.get(task, (0, False))
            return version in delivering and changed and not any(one >= job for one in landed[task])

        self.reverted = _reverted(deliveries)
        self.landed_at: dict[int, datetime] = {}
        for row in deliveries:
            if row[7]:
                self.landed_at[row[1]] = max(row[7], self.landed_at.get(row[1], row[7]))
        self.ended = [
            (task, line, self._bucket(end), status, status == "completed" and not unmerged(task, version),
             (end - begun).total_seconds())
            for task, line, version, status, begun, end in tasks
            if end and self._counts(end)
        ]  # fmt: skip
        self.accepted_tasks = {task for task, _, _, _, accepted, _ in self.ended if accepted}
        self._read_visits()
        self._read_runs()

    def _read_visits(self) -> None:
        sittings: dict[Any, float] = defaultdict(float)
        for visit, seconds in _rows("SELECT visit_id, seconds FROM reviews_sitting"):
            sittings[visit] += seconds
        rows = list(
            _rows(
                "SELECT id, task_id, gate, word, round, opened_at, decided_at, job_id FROM pipelines_gatevisit"
            )
        )
        self.visits = [
            (visit, task, self.line_of[task], gate, word, number, self._bucket(end),
             (end - opened).total_seconds(), sittings.get(visit))
            for visit, task, gate, word, number, opened, end, _job in rows
            if end and task in self.line_of and self._counts(end)
        ]  # fmt: skip
        before = self.period.previous_period.dates.first_moment_and_first_after[0]
        self.first_decisions = [
            (self.line_of[task], gate, job, word, self._counts(end))
            for _visit, task, gate, word, number, _opened, end, job in rows
            if end and task in self.line_of and word and number == 1 and before <= end < self.end
        ]

    def _read_runs(self) -> None:
        models = {
            (version, station["key"]): (station.get("work") or {}).get("model")
            for version, stations in _rows("SELECT id, document->'stations' FROM pipelines_lineversion")
            for station in _json(stations)
        }
        self.runs = []
        self.jobs = []
        self.work_of: dict[int, tuple[str, str]] = {}
        for pk, task, version, station, kind, purpose, state, agent, outcome, created, begun, end in _rows(
            """SELECT id, task_id, pinned_id, station, kind, purpose, state, agent,
                 jsonb_build_object('facts', outcome->'facts', 'usage', outcome->'usage'),
                 created_at, started_at, ended_at FROM pipelines_job"""
        ):
            if task not in self.line_of:
                continue
            line, told = self.line_of[task], _json(outcome)
            program = (((told.get("facts") or {}).get("agent") or {}).get("name")) or agent or kind
            self.work_of[pk] = station, program
            if self._counts(created):
                self.jobs.append((line, station, kind, purpose, state, created, begun, end))
            usage = (told.get("facts") or {}).get("usage")
            if not usage or not end or not self._counts(end):
                continue
            cost, tokens = usage.get("cost_usd"), [usage.get(key) or 0 for key in ("tokens_in", "tokens_out")]
            if cost is None and not sum(tokens):
                continue
            model = (told.get("usage") or {}).get("model") or models.get((version, station)) or ""
            self.runs.append((task, line, self._bucket(end), program, model, cost, *tokens))

    def _counts(self, at: datetime) -> bool:
        return bool(self.start <= at < self.end)

    def _bucket(self, at: datetime) -> int:
        return (_day(at) - self.period.since).days // self.period.width

    # Tables

    def tables(self) -> dict[str, dict[Any, Row]]:
        tables = {
            "throughput": self._charted(self.throughput),
            "lead-time": self._charted(self.lead_time),
            "approval": self.first_pass(),
            "cost": self._charted(self.cost),
            "gates": self.gates(),
            "agents": self.agents(),
            "time": self.time(),
        }
        return tables | ({"by-line": self.by_line()} if self.by_project else {})

    def _charted(self, figures: Callable[[Any], Row]) -> dict[Any, Row]:
        return {place: figures(lambda bucket, place=place, **_: bucket == place)
                for place in range(len(self.period.buckets))} | {"All": figures(lambda **_: True)}  # fmt: skip

    def _tasks(self, chosen: Any) -> list[Any]:
        return [row for row in self.ended if chosen(line=row[1], bucket=row[2])]

    def _seen(self, chosen: Any) -> list[Any]:
        return [row for row in self.visits if chosen(line=row[2], bucket=row[6], gate=row[3])]

    def _spent(self, chosen: Any) -> list[Any]:
        return [row for row in self.runs if chosen(line=row[1], bucket=row[2])]

    def throughput(self, chosen: Any) -> Row:
        rows = self._tasks(chosen)
        accepted = [row[0] for row in rows if row[4]]
        return [
            len(accepted),
            sum(row[3] == "failed" for row in rows),
            sum(row[3] == "cancelled" for row in rows),
            len({task for task, _ in self.reverted}.intersection(accepted)),
        ]

    def lead_time(self, chosen: Any) -> Row:
        seconds = [row[5] for row in self._tasks(chosen) if row[4]]
        return [percentile(seconds, 0.5), percentile(seconds, 0.9), len(seconds)]

    def first_pass(self) -> dict[Any, Row]:
        """{(line, gate, work): first decisions, share that approved, share before}; work "All" of several."""
        words: dict[Any, dict[Any, tuple[list[str], list[str]]]] = defaultdict(
            lambda: defaultdict(lambda: ([], []))
        )
        for line, gate, job, word, is_now in self.first_decisions:
            words[line, gate][self.work_of[job]][not is_now].append(word)
        table = {}
        for (line, gate), parts in words.items():
            current = {work: both for work, both in parts.items() if both[0]}
            if len(current) > 1:
                current["All"] = tuple(
                    [word for both in parts.values() for word in both[side]] for side in (0, 1)
                )  # type: ignore[assignment]
            for work, (now, before) in current.items():
                table[self.lines[line] if self.by_project else "", gate, work] = [
                    len(now), share(now.count("approve"), len(now)), share(before.count("approve"), len(before)),
                ]  # fmt: skip
        return table

    def sent_back_and_minutes(self, chosen: Any) -> Row:
        rows = self._seen(chosen)
        return [sum(row[4] in ("send_back", "rework") for row in rows), self._minutes(rows)]

    def band(self) -> dict[str, Row]:
        """{list behind a figure: the figure, how many tasks are on its list}."""
        accepted, young, seconds = self.accepted_tasks, set(), [row[5] for row in self.ended if row[4]]
        landed = {task: at for task, at in self.landed_at.items() if task in accepted}
        young = {task for task, at in landed.items() if at > self.now - MONTH}
        reverted = {task for task, _visit in self.reverted} & accepted
        minutes = sum(row[8] or 0 for row in self.visits) / 60 or None
        looked = {row[1] for row in self.visits if row[8]}
        cost = _sum_of_prices(row[5] for row in self.runs)
        return {
            "accepted": [len(accepted), len(accepted)],
            "cost": [per(cost, len(accepted)), len({row[0] for row in self.runs})],
            "minutes": [per(minutes, len(accepted)), len(looked)],
            "reverted": [share(len(reverted - young), len(landed) - len(young)), len(reverted)],
            "slowest": [percentile(seconds, 0.5), len(accepted)],
            "young": [len(young), len(young)],
        }

    def cost(self, chosen: Any) -> Row:
        rows = self._spent(chosen)
        return [_sum_of_prices(row[5] for row in rows), len(rows), sum(row[5] is None for row in rows),
                sum(row[6] for row in rows), sum(row[7] for row in rows)]  # fmt: skip

    def _minutes(self, rows: Sequence[Any]) -> float | None:
        return sum(row[8] or 0 for row in rows) / 60 or None

    def by_line(self) -> dict[Any, Row]:
        def figures(chosen: Any) -> Row:
            accepted, _failed, _cancelled, reverted = self.throughput(chosen)
            sent_back, minutes = self.sent_back_and_minutes(chosen)
            return [accepted, self.lead_time(chosen)[0], sent_back, per(minutes, accepted),
                    per(self.cost(chosen)[0], accepted), reverted]  # fmt: skip

        active = {row[1] for row in (*self.ended, *self.runs)} | {row[2] for row in self.visits}
        return {self.lines[pk]: figures(lambda line, pk=pk, **_: line == pk) for pk in active} | {
            "All lines": figures(lambda **_: True)
        }

    def gates(self) -> dict[Any, Row]:
        def figures(chosen: Any, accepted: int) -> Row:
            rows = self._seen(chosen)
            decided, approved = [row for row in rows if row[4]], [row for row in rows if row[4] == "approve"]
            timed = [row[8] for row in approved if row[8] is not None]
            waited, minutes = [row[7] for row in rows], self._minutes(rows)
            sent_back, _minutes = self.sent_back_and_minutes(chosen)
            reverted = {visit for _, visit in self.reverted}
            return [len(decided), sent_back, percentile(waited, 0.5), percentile(waited, 0.9), minutes,
                    per(minutes, accepted), share(sum(one <= 5 for one in timed), len(timed)),
                    sum(row[0] in reverted for row in approved)]  # fmt: skip

        def accepted_of(line: int | None) -> int:
            return sum(row[4] for row in self.ended if line in (None, row[1]))

        parts = {(row[2], row[3]) for row in self.visits}
        return {
            (self.lines[pk] if self.by_project else "", key): figures(
                lambda line, gate, pk=pk, key=key, **_: (line, gate) == (pk, key), accepted_of(pk)
            )
            for pk, key in parts
        } | {"All gates": figures(lambda **_: True, accepted_of(None))}

    def agents(self) -> dict[Any, Row]:
        looked: dict[int, float] = defaultdict(float)
        for row in self.visits:
            looked[row[1]] += row[8] or 0
        table = {}
        for agent, model in {(row[3], row[4]) for row in self.runs}:
            rows = [row for row in self.runs if (row[3], row[4]) == (agent, model)]
            tasks = {row[0] for row in rows}
            accepted, cost = len(tasks & self.accepted_tasks), _sum_of_prices(row[5] for row in rows)
            seconds = sum(looked[task] for task in tasks)
            table[agent, model or "Not reported"] = [
                accepted, per(cost, accepted), per(seconds / 60 or None, accepted), cost, len(rows),
                sum(row[5] is None for row in rows), sum(row[6] for row in rows), sum(row[7] for row in rows),
            ]  # fmt: skip
        return table

    def time(self) -> dict[Any, Row]:
        """Of stations: medians and p90 of what waited and worked, by line and key."""
        waits, works = defaultdict(list), defaultdict(list)
        for line, station, kind, purpose, state, created, begun, end in self.jobs:
            if purpose != "station":
                continue
            if kind != "manual" and begun:
                waits[line, station].append((begun - created).total_seconds())
            if state == "done":
                works[line, station].append((end - (begun or created)).total_seconds())
        return {
            (self.lines[pk] if self.by_project else "", key): [
                percentile(waits[pk, key], 0.5), percentile(waits[pk, key], 0.9),
                percentile(works[pk, key], 0.5), percentile(works[pk, key], 0.9),
            ]
            for pk, key in {*waits, *works}
        }  # fmt: skip


def _reverted(deliveries: Iterable[Sequence[Any]]) -> set[tuple[int, Any]]:
    """{(task, visit)} after which the branch came back, within 30 days, to what it had before."""
    rows = [row for row in deliveries if row[7]]
    by_commit, by_tree = defaultdict(list), defaultdict(list)
    for row in rows:
        by_commit[row[2], row[3], row[6]].append(row)
        by_tree[row[2], row[3], row[5]].append(row)
    found = set()
    for row in rows:
        _job, task, repository, branch, base, tree, _commit, at, visit = row
        for before in by_commit[repository, branch, base] if base else ():
            later = by_tree[repository, branch, before[5]]
            if before[5] != tree and any(at < one[7] < at + MONTH for one in later):
                found.add((task, visit))
    return found


def percentile(numbers: Sequence[float], part: float) -> float | None:
    """As PostgreSQL's percentile_cont."""
    if not numbers:
        return None
    ordered, place = sorted(numbers), part * (len(numbers) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def per(amount: float | None, changes: int) -> float | None:
    return amount / changes if amount is not None and changes else None


def _sum_of_prices(costs: Iterable[Any]) -> float | None:
    prices = [float(cost) for cost in costs if cost is not None]
    return sum(prices) if prices else None


def _day(at: datetime) -> date:
    return timezone.localdate(at)


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value or {}


def unequal(shown: Insights, recount: Recount) -> list[str]:
    """Return each figure of the page that is not the recounted one; none is left out."""
    faults = []
    for key, table in recount.tables().items():
        sheet = shown.sheet_by_key_or_none(key)
        assert sheet is not None
        rows = dict(_named_rows(key, sheet, shown))
        if key != "time" and rows.keys() != table.keys():
            faults.append(f"{key}: {rows.keys() ^ table.keys()}")
        for name, values in rows.items():
            expected = table.get(name)
            if expected is None or not all(map(_equal, values, expected)) or len(values) != len(expected):
                faults.append(f"{key} {name}: {values} is not {expected}")
    return faults + _unequal_band(shown, recount)


def _unequal_band(shown: Insights, recount: Recount) -> list[str]:
    """Compare each figure of the band, and how many tasks stand on the list that it leads to."""
    figures = {tile.tasks: tile.now for tile in band_of_period(shown).tiles}
    done = shown.changes.total
    figures["young"] = done.delivered - done.old
    faults = []
    for key, (figure, count) in recount.band().items():
        tasks = task_list(shown.project, shown.selection, key, 1)
        if not _equal(figures[key], figure) or tasks.count != count:
            faults.append(f"band {key}: {figures[key]}, {tasks.count} is not {figure}, {count}")
    return faults


def _named_rows(key: str, sheet: Sheet, shown: Insights) -> Iterator[tuple[Any, Row]]:
    gates = {
        gate["name"]: gate["key"] for line in shown.lines.values() for gate in line.live.document["gates"]
    }
    stations = {
        (line.name if not shown.line else "", station["name"]): station["key"]
        for line in shown.lines.values()
        for station in line.live.document["stations"]
    }
    works = {
        (line.name if not shown.line else "", shown._work_name(pk, station, agent)): (station, agent)
        for (pk, _gate, station, agent) in shown.first_pass.by_part
        if station is not None
        for line in [shown.lines[pk]]
    }
    for place, row in enumerate(sheet.rows):
        values = list(row.values)
        if key == "time":
            if row.icon != "gate":
                yield (row.note, stations[row.note, row.label]), values
        elif key == "approval":
            work = "All" if values[0] == "All" else works[row.note, values[0]]
            yield (row.note, gates[row.label], work), values[1:]
        elif key == "gates":
            yield (row.note, gates[row.label]), values
        elif key == "agents":
            yield (row.label, values[0]), values[1:]
        else:
            yield row.label if key == "by-line" else place, values
    if sheet.total:
        yield sheet.total.label, list(sheet.total.values)


def _equal(value: Any, expected: Any) -> bool:
    if value is None or expected is None:
        return value is expected
    return bool(abs(float(value) - float(expected)) <= 1e-6 * max(1.0, abs(float(expected))))


def _rows(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())
