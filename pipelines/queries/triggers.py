"""Triggers with what they did last, for pages and the API."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.conf import settings
from django.db.models import QuerySet

from pipelines.models import Line, Project, Status, Trigger, TriggerDelivery
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.queries.statements import LATEST_DELIVERIES

RUNS = 20
"""Deliveries of a trigger by which its success is told."""


@dataclass(frozen=True, slots=True)
class TriggerRow:
    """A trigger and its latest deliveries, the newest first."""

    trigger: Trigger
    deliveries: list[TriggerDelivery] = field(default_factory=list)

    @property
    def last_delivery(self) -> TriggerDelivery | None:
        return self.deliveries[0] if self.deliveries else None

    @property
    def started_count(self) -> int:
        return sum(delivery.task is not None for delivery in self.deliveries)

    @property
    def completed_count(self) -> int:
        return sum(
            delivery.task is not None and delivery.task.status == Status.COMPLETED
            for delivery in self.deliveries
        )


def triggers_of_line(line: Line) -> QuerySet[Trigger]:
    """Select the triggers of a line in the order in which they were made."""
    return _select_related_rows(Trigger.objects.filter(line=line).order_by("pk"))


def triggers_of_project(project: Project) -> QuerySet[Trigger]:
    """Select the triggers of a project by line."""
    return _select_related_rows(
        Trigger.objects.filter(line__project=project).order_by("line__name", "line_id", "pk")
    )


def _select_related_rows(triggers: QuerySet[Trigger]) -> QuerySet[Trigger]:
    related = ("line__project__owner", "line__live", "changed_by", "written_by", "webhook", "source")
    # An example is long, and only its form reads it.
    return triggers.select_related(*related).prefetch_related("secrets").defer("webhook__example")


def webhook_url_or_empty(trigger: Trigger) -> str:
    """Return the address at which a trigger is called; "" where it has none."""
    webhook = getattr(trigger, "webhook", None)
    return f"{settings.ORIGIN}/api/hooks/{webhook.address}" if webhook else ""


def trigger_rows(triggers: Iterable[Trigger], number: int = RUNS) -> list[TriggerRow]:
    """Read the latest deliveries of triggers, by two statements however many there are."""
    by_id = {trigger.pk: TriggerRow(trigger) for trigger in triggers}
    ids = [pk for (pk,) in fetch(LATEST_DELIVERIES, [list(by_id), number])]
    for delivery in (
        TriggerDelivery.objects.filter(pk__in=ids).select_related("task__project").order_by("-pk")
    ):
        by_id[delivery.trigger_id].deliveries.append(delivery)
    return list(by_id.values())
