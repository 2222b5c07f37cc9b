"""Figures of health over their limit: the development manager is told, once for each breach (AEEF E28)."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from pipelines.engine.moves.roles import roles_of_project
from pipelines.models import HealthBreach, Project, Task
from pipelines.ports import observers
from pipelines.queries.health import MONTH, WEEK, health_figures, line_and_gate_names_by_figure
from pipelines.routing.analysis.health import Figure, figure_name, format_figure
from pipelines.routing.document.budgets import MANAGER


def notify_of_new_health_breaches(now: datetime) -> int:
    """Look at every project with tasks of the last weeks. Returns 0: one look is enough until the next time."""
    recent = Task.objects.filter(created_at__gt=now - WEEK - MONTH).values("project")
    breached = HealthBreach.objects.values("project")
    # Also those with an open breach, so that it ends where no task is recent any more.
    projects = Project.objects.filter(pk__in=recent.union(breached), archived_at=None)
    for project in projects.select_related("owner").order_by("pk"):
        _notify_of_project(project, now)
    return 0


@transaction.atomic
def _notify_of_project(project: Project, now: datetime) -> None:
    over = {(figure.key, figure.of): figure for figure in health_figures(project, now) if figure.is_alert}
    # Two workers look at the same time: whoever makes the row tells.
    known = set(HealthBreach.objects.filter(project=project).values_list("figure", "of"))
    begun = [
        figure
        for (key, of), figure in over.items()
        if (key, of) not in known
        and HealthBreach.objects.get_or_create(project=project, figure=key, of=of, defaults={"since": now})[1]
    ]
    # Back below its limit, so that the next breach is told anew.
    for key, of in known - set(over):
        HealthBreach.objects.filter(project=project, figure=key, of=of).delete()
    if not begun:
        return
    gates = line_and_gate_names_by_figure(project)
    people = sorted(roles_of_project(project.pk).members_with_role_by_id(MANAGER))
    observers.emit_consequences(
        *(_health_breach(figure, gates, project, person, now) for figure in begun for person in people)
    )


def _health_breach(
    figure: Figure, gates: dict[str, tuple[str, str]], project: Project, person: int, now: datetime
) -> observers.HealthBreached:
    line, gate = gates.get(figure.of) or figure.of.split(" › ", 1) if figure.of else ("", "")
    value, limit = (format_figure(figure.key, number) for number in (figure.value or 0, figure.threshold))
    name = figure_name(figure.key, line, gate)
    return observers.HealthBreached(
        f"{figure.key}:{figure.of}", name, value, limit, figure.todo, project.pk, person, now
    )
