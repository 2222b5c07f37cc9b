"""Quotas of a project: tasks and money a day and a month, and what of them is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from pipelines.models import Project
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.queries.statements import TASKS_STARTED
from pipelines.queries.usage import spending_of_day, spending_of_month


@dataclass(frozen=True, slots=True)
class Quota:
    """Quota of a project. `key`: the column of its limit. `measure`: what is used of it. `following`: when there is
    room again."""

    key: str
    label: str
    period: str
    following: str
    is_money: bool
    measure: Callable[[int], Decimal]


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """Use of a quota. `limit`: None where it has none."""

    quota: Quota
    used: Decimal
    limit: Decimal | None

    @property
    def is_used_up(self) -> bool:
        """Money is used up by what was spent: a limit of 0 lets work start that costs nothing."""
        if self.limit is None or self.used < self.limit:
            return False
        return self.used > 0 or not self.quota.is_money

    @property
    def used_text(self) -> str:
        return _amount_text(self.used, self.quota)

    @property
    def limit_text(self) -> str:
        return "" if self.limit is None else _amount_text(self.limit, self.quota)

    @property
    def sentence(self) -> str:
        """Say what is used of what, without a full stop."""
        noun = "" if self.quota.is_money else " tasks"
        verb = "cost" if self.quota.is_money else "started"
        return f"{self.used_text} of {self.limit_text}{noun} {verb} {self.quota.period}"


def _counter_of_started_tasks(unit: str) -> Callable[[int], Decimal]:
    return lambda project_id: Decimal(fetch(TASKS_STARTED, [project_id, unit])[0][0])


QUOTAS: Final = (
    Quota("day_tasks", "Tasks a day", "today", "tomorrow", False, _counter_of_started_tasks("day")),
    Quota("month_tasks", "Tasks a month", "this month", "next month", False, _counter_of_started_tasks("month")),
    Quota(
        "day_cost_usd", "Cost a day", "today", "tomorrow", True,
        lambda project_id: spending_of_day(project_id).cost or Decimal(),
    ),
    Quota(
        "month_cost_usd", "Cost a month", "this month", "next month", True,
        lambda project_id: spending_of_month(project_id).cost or Decimal(),
    ),
)  # fmt: skip


def quota_uses(project: Project, *, with_unlimited: bool = False) -> list[QuotaUse]:
    """Return what is used of each quota of a project that has a limit, or of all. No query where none has."""
    limits = [(quota, getattr(project, quota.key)) for quota in QUOTAS]
    return [
        QuotaUse(quota, quota.measure(project.pk), None if limit is None else Decimal(limit))
        for quota, limit in limits
        if limit is not None or with_unlimited
    ]


def _amount_text(amount: Decimal, quota: Quota) -> str:
    return f"${amount:,.2f}" if quota.is_money else f"{amount:,}"
