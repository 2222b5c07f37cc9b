"""Usage of work, as its outcomes report it: cost and tokens per task and month.

Summed when it is read: nothing that tasks share is updated by a move (house §2). A run without a price is
counted as such and never as $0.00; one that reports neither tokens nor a cost called no model, and is not
counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.queries.statements import (
    COST_OF_TASK,
    ENDED_SINCE,
    IN_PROJECT,
    IN_THIS_DAY,
    IN_THIS_MONTH,
    LINES,
    MONTH_ENDED,
    OF_OPEN_TASKS,
    OF_TASKS,
    USAGE_SUMS,
    WITHOUT_JOB,
)
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.decide.outcome_judgement import exact_amount

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Spending:
    """`cost` in dollars, of the `priced` among `runs`; None where none of them had a price."""

    cost: Decimal | None = None
    priced: int = 0
    runs: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Spending) -> Spending:
        costs = [spending.cost for spending in (self, other) if spending.cost is not None]
        return Spending(
            sum(costs, Decimal()) if costs else None,
            self.priced + other.priced,
            self.runs + other.runs,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
        )

    @property
    def tokens_text(self) -> str:
        """Tokens in and out together; "" where none were reported."""
        total = self.tokens_in + self.tokens_out
        return f"{total:,}" if total else ""

    @property
    def tokens_in_and_out_text(self) -> str:
        """`1.2k tokens in, 300 out`; "" where none were reported."""
        if not self.tokens_text:
            return ""
        words = "%(given)s tokens in, %(made)s out"
        return words % {
            "given": short_number(self.tokens_in) or "0",
            "made": short_number(self.tokens_out) or "0",
        }

    @property
    def amount_text(self) -> str:
        """Amount in dollars; “no price” for runs without a price."""
        if self.cost is None:
            return "no price" if self.runs else ""
        return dollars_text(self.cost)

    @property
    def unpriced_text(self) -> str:
        """Number of runs without a price beside those that the amount is of."""
        without = self.runs - self.priced if self.priced else 0
        if not without:
            return ""
        return singular_or_plural("%(n)s run without a price", "%(n)s runs without a price", without) % {
            "n": without
        }

    @property
    def price_text(self) -> str:
        """Amount and unpriced runs in one line."""
        return f"{self.amount_text} + {self.unpriced_text}" if self.unpriced_text else self.amount_text


NOTHING = Spending()


def dollars_text(amount: Decimal) -> str:
    """Return an amount to the cent; less than a cent is marked so."""
    if 0 <= amount < CENT:
        return "under $0.01"
    return f"${amount.quantize(CENT):,}"


def short_number(number: int | None) -> str:
    """1.2k; nothing for nothing."""
    if not number:
        return ""
    if number < 1_000:
        return str(number)
    if number < 1_000_000:
        return f"{number / 1_000:.1f}k"
    return f"{number / 1_000_000:.1f}M"


def reported_spending(outcome: Mapping[str, Any] | None) -> Spending:
    """Return the spending that one outcome reports."""
    usage = ((outcome or {}).get("facts") or {}).get("usage")
    if usage is None:
        return NOTHING
    cost = usage.get("cost_usd")
    tokens = [int(usage.get(key) or 0) for key in ("tokens_in", "tokens_out")]
    if cost is None and not any(tokens):
        return NOTHING
    return Spending(None if cost is None else exact_amount(cost), int(cost is not None), 1, *tokens)


def cost_of_task(task_id: int, excluded_job: int | None = None) -> float | int:
    """Return what the jobs of a task cost together, without the excluded job; 0 where nothing has a price."""
    others = "" if excluded_job is None else WITHOUT_JOB
    total: Decimal = fetch(
        COST_OF_TASK + others, [task_id, *([] if excluded_job is None else [excluded_job])]
    )[0][0]
    # It is frozen in the situation of a decision, which is JSON and has no place for a Decimal
    return int(total) if total == total.to_integral_value() else float(total)


def spending_by_task_id(task_ids: Iterable[int]) -> dict[int, Spending]:
    """Return the spending of each of these tasks that reported anything."""
    return _spending_sums("job.task_id", OF_TASKS, [list(task_ids)])


def spending_of_open_tasks_by_line(project_ids: Iterable[int]) -> dict[int, Spending]:
    """Return what the open tasks of each line of these projects cost so far, by the id of the line."""
    return _spending_sums("line.id", OF_OPEN_TASKS, [list(project_ids)], LINES)


def spending_by_line_since(project_id: int, since: datetime) -> dict[int, Spending]:
    """Return what runs that ended since then reported, by the id of the line."""
    return _spending_sums("line.id", ENDED_SINCE, [project_id, since], LINES)


def spending_by_month(project_id: int, zone: str) -> dict[date, Spending]:
    """Return the spending of a project, by the month in which the run ended in this time zone."""
    return _spending_sums(MONTH_ENDED, IN_PROJECT, [zone, project_id], LINES)


def spending_of_month(project_id: int, excluded_job: int | None = None) -> Spending:
    """Return the spending of a project in the current calendar month, as UTC has it, without the excluded job. A
    run in progress counts when it has reported."""
    which = IN_THIS_MONTH + ("" if excluded_job is None else WITHOUT_JOB)
    values = [project_id, *([] if excluded_job is None else [excluded_job])]
    return total_spending(_spending_sums("line.project_id", which, values, LINES))


def spending_of_day(project_id: int) -> Spending:
    """Return the spending of a project on the current day, as UTC has it."""
    return total_spending(_spending_sums("line.project_id", IN_THIS_DAY, [project_id], LINES))


def _spending_sums(
    key_column: str, condition: str, values: list[Any], joined: str = ""
) -> dict[Any, Spending]:
    return {
        key: Spending(cost, priced, runs, int(tokens_in), int(tokens_out))
        for key, cost, priced, runs, tokens_in, tokens_out in fetch(
            USAGE_SUMS % {"what": key_column, "which": condition, "joined": joined}, values
        )
    }


def total_spending(parts: Mapping[Any, Spending]) -> Spending:
    return sum(parts.values(), NOTHING)
