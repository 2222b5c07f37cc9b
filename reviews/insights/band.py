"""Band above Insights: what the period came to and what it cost, against the period before. Each figure leads to the
tasks that it counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pipelines.routing.basics.plural import singular_or_plural
from reviews.insights.changes import Changes, change_figures
from reviews.insights.costs import Costs, cost_figures
from reviews.insights.figures import Insights
from reviews.insights.gates import Decisions, decision_figures
from reviews.insights.sheets import Unit, value_text_or_dash

SPARK_WIDTH, SPARK_HEIGHT = 72, 20


@dataclass(frozen=True, slots=True)
class Tile:
    """Figure against the period before. `better`: whether more of it is better; `points`: of its line; `note`: what it
    was made of; `tasks`: the list that it leads to; `text`: how it is said, where its value alone does not say it."""

    label: str
    counts: str
    unit: Unit
    now: float | None
    before: float | None
    better: bool
    tasks: str
    points: Sequence[float | None] = ()
    note: str = ""
    text: str = ""

    @property
    def value(self) -> str:
        return self.text or value_text_or_dash(self.now, self.unit)

    @property
    def value_before_text(self) -> str:
        return value_text_or_dash(self.before, self.unit)

    @property
    def change(self) -> str:
        """`+18%`, or `-4 points` of a share; "" where one of both is not known."""
        if self.now is None or self.before is None:
            return ""
        if self.unit == "share":
            points = round(100 * (self.now - self.before))
            return f"{points:+d} point{'' if abs(points) == 1 else 's'}"
        return f"{self.now / self.before - 1:+.0%}" if self.before else ""

    @property
    def tone(self) -> Literal["ok", "attention", "neutral"]:
        if self.now is None or self.before is None or self.now == self.before:
            return "neutral"
        return "ok" if (self.now > self.before) == self.better else "attention"

    @property
    def sparkline_points(self) -> str:
        """Points of a polyline."""
        known = [(place, point) for place, point in enumerate(self.points) if point is not None]
        if len(known) < 2:
            return ""
        highest = max(point for _place, point in known) or 1
        step = SPARK_WIDTH / max(len(self.points) - 1, 1)
        return " ".join(
            f"{place * step:.1f},{SPARK_HEIGHT - SPARK_HEIGHT * point / highest:.1f}"
            for place, point in known
        )


@dataclass(frozen=True, slots=True)
class Band:
    """Sums of the period in words, and its tiles."""

    cost: str
    unpriced: str
    minutes: str
    accepted: str
    reverted: str
    tiles: Sequence[Tile]


def band_of_period(insights: Insights) -> Band:
    done, reviews, spent = insights.changes.total, insights.decisions.total, insights.costs.total
    return Band(
        spent.spending.amount_text,
        spent.spending.unpriced_text,
        value_text_or_dash(reviews.minutes, "minutes") if reviews.minutes else "",
        singular_or_plural("%(n)s accepted change", "%(n)s accepted changes", done.accepted)
        % {"n": done.accepted},
        _reverted_sentence(done),
        _tiles(insights),
    )


def _reverted_sentence(done: Changes) -> str:
    """Return what became of the changes; "" where nothing was delivered, of which nothing can be known."""
    if not done.delivered:
        return ""
    count = "None was" if not done.reverted else "1 was" if done.reverted == 1 else f"{done.reverted} were"
    young = done.delivered - done.old
    if not young:
        return f"{count} reverted within 30 days."
    are = "is" if young == 1 else "are"
    return f"{count} reverted so far; {young} {are} not 30 days old yet."


def _tiles(insights: Insights) -> list[Tile]:
    before = insights.selection.before
    were, decided, paid = (
        change_figures(before).total, decision_figures(before).total, cost_figures(before).total,
    )  # fmt: skip
    now, reviews, cost = insights.changes.total, insights.decisions.total, insights.costs.total
    buckets = [
        (
            insights.changes.by_bucket.get(place, Changes()),
            insights.decisions.by_bucket.get(place, Decisions()),
            insights.costs.by_bucket.get(place, Costs()),
        )
        for place in range(len(insights.period.buckets))
    ]
    return [
        Tile(
            "Accepted changes", "Tasks that completed, their change, if any, delivered.", "count",
            now.accepted, were.accepted, True, "accepted", [done.accepted for done, _, _ in buckets],
        ),
        Tile(
            "Agent cost per accepted change", "What all runs reported, failed ones too.", "usd",
            now.amount_per_accepted_change_or_none(cost.amount),
            were.amount_per_accepted_change_or_none(paid.amount), False, "cost",
            [done.amount_per_accepted_change_or_none(run.amount) for done, _, run in buckets],
            f"{cost.spending.price_text} in all" if cost.runs else "",
        ),
        Tile(
            "Human minutes per accepted change", "Time in open reviews, idle time left out; of nobody in particular.",
            "minutes", now.amount_per_accepted_change_or_none(reviews.minutes),
            were.amount_per_accepted_change_or_none(decided.minutes), False, "minutes",
            [done.amount_per_accepted_change_or_none(votes.minutes) for done, votes, _ in buckets],
            f"{value_text_or_dash(reviews.minutes, 'minutes')} in all" if reviews.minutes else "",
        ),
        _reverted_tile(now, were),
        Tile(
            "Median lead time", "From request to end of accepted changes.", "seconds",
            now.median_seconds, were.median_seconds, False, "slowest",
            [done.median_seconds for done, _, _ in buckets],
            f"p90 {value_text_or_dash(now.p90_seconds, 'seconds')}" if now.p90_seconds is not None else "",
        ),
    ]  # fmt: skip


def _reverted_tile(now: Changes, were: Changes) -> Tile:
    """Return the count of all, and the share among those that are old enough to know."""
    share, text = now.reverted_share, ""
    if now.delivered:
        text = f"{now.reverted} so far"
    if share is not None:
        text = f"{now.reverted} · {value_text_or_dash(share, 'share')}"
    return Tile(
        "Reverted within 30 days",
        "Branch back at the files of before. The share is of changes 30 days old. Other ways to undo are not known.",
        "share", share, were.reverted_share, False, "reverted",
        note=_age_note(now), text=text,
    )  # fmt: skip


def _age_note(now: Changes) -> str:
    if not now.delivered:
        return "No change landed on a branch, so no revert can be known." if now.accepted else ""
    young = now.delivered - now.old
    if not young:
        return f"{now.old_reverted} of {now.old}"
    if not now.old:
        return f"0 of {now.delivered} old enough to know"
    return f"{now.old_reverted} of {now.old}; {young} not 30 days old yet"
