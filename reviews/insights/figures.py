"""Figures of Insights as tables. Each is read once, by the module of its group, and shown from there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from pipelines.models import Line, Project
from pipelines.queries import station_times
from pipelines.queries.station_times import StationTimes
from pipelines.queries.versions import parsed_line_by_version_id
from pipelines.routing.document.kinds import KINDS
from reviews.insights import changes, costs, first_pass, gates
from reviews.insights.changes import Changes
from reviews.insights.costs import Costs
from reviews.insights.first_pass import FirstDecisions
from reviews.insights.gates import Decisions
from reviews.insights.selection import Groups, InsightsSelection, Period
from reviews.insights.sheets import Sheet, SheetColumn, SheetRow

ACCEPTED = "Accepted changes: completed tasks whose change, if any, was delivered"
MAX_PLACES = 12
"""Stations and gates of a project, where most time goes."""


class Insights:
    """Figures of a project, or of one of its lines."""

    def __init__(
        self, project: Project, lines: Sequence[Line], period: Period, line: Line | None, now: datetime
    ) -> None:
        self.project, self.lines, self.period, self.line = (
            project,
            {one.pk: one for one in lines},
            period,
            line,
        )
        self.selection = InsightsSelection([*self.lines], period, now)
        self.changes: Groups[Changes] = changes.change_figures(self.selection)
        self.decisions: Groups[Decisions] = gates.decision_figures(self.selection)
        self.costs: Groups[Costs] = costs.cost_figures(self.selection)
        self.first_pass: Groups[FirstDecisions] = first_pass.first_decisions(self.selection)

    @property
    def name(self) -> str:
        return self.line.name if self.line else self.project.name or self.project.key

    @property
    def has_no_figures(self) -> bool:
        return not (self.changes.total.ended_count or self.decisions.total.decided or self.costs.total.runs)

    # Charts over time

    def charts(self) -> list[Sheet]:
        return [self.throughput_sheet(), self.lead_time_sheet(), self.cost_sheet()]

    def throughput_sheet(self) -> Sheet:
        """Tasks that ended, bucket by bucket, and what was published."""
        columns = (
            SheetColumn("Accepted", series="bar active"),
            SheetColumn("Failed", series="bar danger"),
            SheetColumn("Cancelled", wide=True),
            SheetColumn("Later reverted", wide=True),
        )
        counts = f"Tasks that ended. {ACCEPTED}; reverted within 30 days to the files the branch had before."

        def values(done: Changes) -> list[float | None]:
            return [done.accepted, done.failed, done.cancelled, done.reverted]

        total = self.changes.total
        return self._sheet_over_time("throughput", "Throughput", counts, columns,
                               [values(self.changes.by_bucket.get(n, Changes())) for n in self._places],
                               values(total))  # fmt: skip

    def lead_time_sheet(self) -> Sheet:
        columns = (
            SheetColumn("Median", "seconds", "line active"),
            SheetColumn("p90", "seconds", "line neutral"),
            SheetColumn("Accepted", wide=True),
        )
        counts = "From request to end of accepted changes: half took no longer than the median, nine of ten than p90."

        def values(done: Changes) -> list[float | None]:
            return [done.median_seconds, done.p90_seconds, done.accepted]

        return self._sheet_over_time("lead-time", "Lead time", counts, columns,
                               [values(self.changes.by_bucket.get(n, Changes())) for n in self._places],
                               values(self.changes.total))  # fmt: skip

    def cost_sheet(self) -> Sheet:
        columns = (
            SheetColumn("Cost", "usd", "bar active"),
            SheetColumn("Runs", wide=True),
            SheetColumn("Runs without a price", wide=True),
            SheetColumn("Tokens in", wide=True),
            SheetColumn("Tokens out", wide=True),
        )
        counts = "What runs that ended reported, whatever became of their task. A run without a price is not $0.00."

        def values(run: Costs) -> list[float | None]:
            return [run.amount, run.runs, run.runs - run.priced, int(run.tokens_in), int(run.tokens_out)]

        return self._sheet_over_time("cost", "Cost", counts, columns,
                               [values(self.costs.by_bucket.get(n, Costs())) for n in self._places],
                               values(self.costs.total))  # fmt: skip

    @property
    def _places(self) -> range:
        return range(len(self.period.buckets))

    def _sheet_over_time(
        self,
        key: str,
        title: str,
        counts: str,
        columns: Sequence[SheetColumn],
        values: Sequence[Sequence[float | None]],
        total: Sequence[float | None],
    ) -> Sheet:
        rows = [
            SheetRow(
                date_format(first, "j M" if self.period.days <= 366 else "j M Y"),
                values[place],
                note=", ".join(self._published.get(place, ())),
            )
            for place, first in enumerate(self.period.buckets)
        ]
        first = {1: "Day", 7: "Week of"}.get(self.period.width, "Four weeks from")
        return Sheet(key, title, counts, first, columns, rows, SheetRow("All", total))

    @property
    def _published(self) -> Mapping[int, Sequence[str]]:
        """Publishes by bucket: `v7`, on the page of a project with the line."""
        # Once: each chart over time has these marks, and they take a statement
        if not hasattr(self, "_marks"):
            self._marks = defaultdict(list)
            for at, line, number in changes.published_versions(self.selection):
                place = (timezone.localdate(at) - self.period.since).days // self.period.width
                self._marks[place].append(f"v{number}" if self.line else f"{line} v{number}")
        return self._marks

    # Tables

    def tables(self) -> list[Sheet]:
        return [*([] if self.line else [self.sheet_by_line()]), self.sheet_by_agent(), self.sheet_by_gate()]

    def first_pass_sheet(self) -> Sheet:
        """A row for each gate where several stations or agents came, then one for each of them."""
        columns = (
            SheetColumn("Work of", "text"),
            SheetColumn("First decisions", wide=True),
            SheetColumn("Approved", "share"),
            SheetColumn("Before", "share", wide=True),
        )
        by_gate: defaultdict[tuple[int, str], list[tuple[str, FirstDecisions]]] = defaultdict(list)
        totals: dict[tuple[int, str], FirstDecisions] = {}
        for (pk, gate, station, agent), first in self.first_pass.by_part.items():
            if station is None:
                totals[pk, gate] = first
            else:
                by_gate[pk, gate].append((self._work_name(pk, station, agent), first))
        rows = []
        for (pk, gate), total in sorted(totals.items(), key=lambda item: -item[1].count):
            parts = sorted(by_gate[pk, gate], key=lambda part: (-part[1].count, part[0]))
            several = [("All", total)] if len(parts) > 1 else []
            name, line = (
                _live_gate_name_or_key(self.lines[pk], gate),
                "" if self.line else self.lines[pk].name,
            )
            rows += [
                SheetRow(
                    name,
                    [work, first.count, first.share, first.share_before],
                    line,
                    bars=(0, 100 * (first.share or 0)),
                )
                for work, first in (*several, *parts)
            ]
        counts = (
            "Of the first decisions at a gate, those that approved; before: of the period before. There is no average "
            "over gates: a strict one and a lenient one have none in common."
        )
        return Sheet("approval", "First-pass approval by gate", counts, "Gate", columns, rows)

    def _work_name(self, line_id: int, station: str, agent: str) -> str:
        """`Build the change · Codex`, or the station alone where no agent worked."""
        line = self.lines[line_id]
        stations = (
            {row.key: row for row in parsed_line_by_version_id(line.live_id).stations} if line.live_id else {}
        )
        name = stations[station].name if station in stations else station
        return name if agent in KINDS else f"{name} · {agent}"

    def sheet_by_line(self) -> Sheet:
        columns = (
            SheetColumn("Accepted"),
            SheetColumn("Lead time", "seconds"),
            SheetColumn("Rework rounds", wide=True),
            SheetColumn("Human minutes", "minutes"),
            SheetColumn("Cost", "usd"),
            SheetColumn("Later reverted", wide=True),
        )

        def row_cells(changes: Changes, decisions: Decisions, costs: Costs) -> list[float | None]:
            return [
                changes.accepted, changes.median_seconds, decisions.sent_back,
                changes.amount_per_accepted_change_or_none(decisions.minutes),
                changes.amount_per_accepted_change_or_none(costs.amount), changes.reverted,
            ]  # fmt: skip

        parts = (self.changes.by_line, self.decisions.by_line, self.costs.by_line)
        known = sorted(
            # A line of which the period has nothing would be a row of dashes
            (pk for pk in self.lines if any(pk in part for part in parts)),
            key=lambda pk: (-self.changes.by_line.get(pk, Changes()).accepted, self.lines[pk].name),
        )
        rows = [
            SheetRow(
                self.lines[pk].name,
                row_cells(
                    self.changes.by_line.get(pk, Changes()),
                    self.decisions.by_line.get(pk, Decisions()),
                    self.costs.by_line.get(pk, Costs()),
                ),
                href=self._address(self.lines[pk]),
            )
            for pk in known
        ]
        total = row_cells(self.changes.total, self.decisions.total, self.costs.total)
        counts = "Lead time is the median; human minutes and cost are per accepted change."
        return Sheet("by-line", "By line", counts, "Line", columns, rows, SheetRow("All lines", total))

    def time_sheet(self) -> Sheet:
        """Medians of stations and gates; of a project where most of it goes, of a line in its order."""
        columns = (
            SheetColumn("Waiting", "seconds"),
            SheetColumn("Waiting, p90", "seconds", wide=True),
            SheetColumn("Working", "seconds"),
            SheetColumn("Working, p90", "seconds", wide=True),
        )
        rows = [(one.key, one.line, self._row_of_station_times(one)) for one in self._stations()]
        for (pk, key), votes in self.decisions.by_part.items():
            if pk in self.lines and votes.waits:
                looked = 60 * votes.minutes / votes.decided if votes.minutes and votes.decided else None
                note = "" if self.line else self.lines[pk].name
                row = SheetRow(
                    _live_gate_name_or_key(self.lines[pk], key),
                    [*votes.waits, looked, None],
                    note,
                    icon="gate",
                )
                rows.append((key, self.lines[pk].key, row))
        sizes = [(row.values[0] or 0, row.values[2] or 0) for _key, _line, row in rows]
        longest = max((float(waits) + float(works) for waits, works in sizes), default=0) or 1
        bars = [
            SheetRow(
                row.label,
                row.values,
                row.note,
                row.href,
                row.icon,
                (100 * float(waits) / longest, 100 * float(works) / longest),
            )
            for (_key, _line, row), (waits, works) in zip(rows, sizes, strict=True)
        ]
        if not self.line:
            bars = sorted(bars, key=lambda row: -sum(row.bars or ()))[:MAX_PLACES]
        counts = (
            "Medians. Waiting: until a runner began, at a gate until it was decided. "
            "Working: until the outcome, at a gate the human minutes of a decision."
        )
        legend = [("Waiting", "bar attention"), ("Working", "bar active")]
        return Sheet("time", "Where time goes", counts, "Station or gate", columns, bars, bar_legend=legend)

    def _stations(self) -> list[StationTimes]:
        start, end = self.period.dates.first_moment_and_first_after
        assert start is not None
        return station_times.project_station_times(self.project, start, end, self.line)

    def _row_of_station_times(self, one: StationTimes) -> SheetRow:
        spreads = (one.waiting, one.working)
        values = [
            number
            for spread in spreads
            for number in ((spread.median, spread.p90) if spread else (None, None))
        ]
        return SheetRow(one.name, values, "" if self.line else one.line_name, icon="station-other")

    def sheet_by_gate(self) -> Sheet:
        columns = (
            SheetColumn("Decided"),
            SheetColumn("Rework rounds"),
            SheetColumn("Waiting", "seconds"),
            SheetColumn("Waiting, p90", "seconds", wide=True),
            SheetColumn("Human minutes", "minutes", wide=True),
            SheetColumn("Per accepted change", "minutes", wide=True),
            SheetColumn("Within 5 seconds", "share", wide=True),
            SheetColumn("Later reverted", wide=True),
        )

        def values(votes: Decisions, done: Changes) -> list[float | None]:
            return [
                votes.decided, votes.sent_back, *(votes.waits or (None, None)), votes.minutes,
                done.amount_per_accepted_change_or_none(votes.minutes), votes.hurried_share, votes.reverted,
            ]  # fmt: skip

        rows = [
            SheetRow(
                _live_gate_name_or_key(self.lines[pk], key),
                values(votes, self.changes.by_line.get(pk, Changes())),
                "" if self.line else self.lines[pk].name,
            )
            for (pk, key), votes in sorted(self.decisions.by_part.items(), key=lambda part: -part[1].decided)
        ]
        counts = (
            "Decisions of the period. Waiting: median from opening to the end. Human minutes: time in open reviews, "
            "of nobody in particular. Within 5 seconds: of approvals on the page. Reverted within 30 days."
        )
        total = SheetRow("All gates", values(self.decisions.total, self.changes.total))
        return Sheet("gates", "Gates", counts, "Gate", columns, rows, total)

    def sheet_by_agent(self) -> Sheet:
        columns = (
            SheetColumn("Model", "text"),
            SheetColumn("Accepted changes"),
            SheetColumn("Cost per change", "usd"),
            SheetColumn("Human minutes per change", "minutes"),
            SheetColumn("Cost", "usd", wide=True),
            SheetColumn("Runs", wide=True),
            SheetColumn("Runs without a price", wide=True),
            SheetColumn("Tokens in", wide=True),
            SheetColumn("Tokens out", wide=True),
        )
        rows = [
            SheetRow(
                agent,
                [
                    model or "Not reported",
                    run.accepted,
                    run.amount / run.accepted if run.amount is not None and run.accepted else None,
                    run.seconds / 60 / run.accepted if run.seconds and run.accepted else None,
                    run.amount, run.runs, run.runs - run.priced, int(run.tokens_in), int(run.tokens_out),
                ],
            )
            for (_line, agent, model), run in self.costs.by_part.items()
        ]  # fmt: skip
        counts = (
            "Runs that reported a cost or tokens. Accepted changes are those in which it ran; human minutes are those "
            "at gates of tasks in which it ran. Work of two agents on one change counts for both."
        )
        return Sheet("agents", "By agent and model", counts, "Agent", columns, rows)

    def sheet_by_key_or_none(self, key: str) -> Sheet | None:
        """Return the table of a CSV file."""
        return next(
            (
                sheet
                for sheet in (*self.charts(), self.first_pass_sheet(), self.time_sheet(), *self.tables())
                if sheet.key == key
            ),
            None,
        )

    def _address(self, line: Line) -> str:
        return reverse("line-insights", args=[self.project.owner.key, self.project.key, line.key])


def _live_gate_name_or_key(line: Line, key: str) -> str:
    """Its name in what is live; the key of one that only older versions have."""
    gate = parsed_line_by_version_id(line.live_id).gates_by_key.get(key) if line.live_id else None
    return gate.name if gate else key
