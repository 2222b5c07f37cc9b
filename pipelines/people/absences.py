"""Being away, and who stands in at gates meanwhile (law §6, Absence)."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from pipelines.engine.moves.absences import stand_in_by_absent_by_project
from pipelines.errors import Invalid, first_row_or_raise_not_found
from pipelines.models import Absence, Membership, Project, User
from pipelines.ports import audit

LONGEST = timedelta(days=366)


@transaction.atomic
def set_absence(
    user: User, stand_in: User, project: Project | None, until: datetime, *, now: datetime
) -> Absence:
    """Set or replace an absence with its stand-in. `project`: None for all projects. Raises Invalid (path
    `stand_in`, `project` or `until`)."""
    if not now < until <= now + LONGEST:
        raise Invalid.at("until", "Choose a day from today on, within a year.")
    memberships = Membership.objects.filter(user=user)
    if project is not None and not memberships.filter(project=project).exists():
        raise Invalid.at("project", "You are not a member of this project.")
    projects = [project.pk] if project else list(memberships.values_list("project_id", flat=True))
    shared = Membership.objects.filter(user=stand_in, user__is_active=True, project__in=projects)
    if stand_in == user or not shared.exists():
        raise Invalid.at("stand_in", "Choose another member who can see the project.")
    absence, _made = Absence.objects.update_or_create(
        user=user,
        project=project,
        defaults={"stand_in": stand_in, "until": until},
        create_defaults={"stand_in": stand_in, "until": until, "created_at": now},
    )
    # After it is written, so that it counts among the others; what raises takes it back.
    _refuse_circle_of_stand_ins(user, stand_in, projects)
    audit.record_administrative_act(
        "absence.set",
        by=user,
        at=now,
        project=project,
        about=audit.actor_reference_or_command(user),
        name=user.username,
        stand_in=stand_in.username,
        until=until.isoformat(),
    )
    return absence


@transaction.atomic
def end_absence(user: User, absence: int, *, now: datetime) -> None:
    """Raises NotFound."""
    absence_row = first_row_or_raise_not_found(
        Absence.objects.filter(user=user, pk=absence).select_related("project")
    )
    absence_row.delete()
    audit.record_administrative_act(
        "absence.ended",
        by=user,
        at=now,
        project=absence_row.project,
        about=audit.actor_reference_or_command(user),
        name=user.username,
    )


def _refuse_circle_of_stand_ins(user: User, stand_in: User, projects: list[int]) -> None:
    for away in stand_in_by_absent_by_project(projects).values():
        people = [user.pk]
        # Ends, too, at a circle of others that this person is no part of.
        while people[-1] in away and away[people[-1]] not in people:
            people.append(away[people[-1]])
        if away.get(people[-1]) == user.pk:
            who = {"name": stand_in}
            raise Invalid.at(
                "stand_in", "{name} is away, too, and you would stand in for yourself.".format(**who)
            )
