"""The working time of a project: what due times count that say `business` (law §6)."""

from __future__ import annotations

import zoneinfo
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, time
from typing import Any

from django.db import transaction
from django.utils import timezone

from pipelines import access
from pipelines.errors import Invalid
from pipelines.models import Project, User
from pipelines.ports import audit

MOST_DAYS_OFF = 200
WEEK = range(1, 8)


@dataclass(frozen=True)
class WorkingHours:
    """`work_days`: 1 is Monday, 7 is Sunday. A `work_until` of 00:00 is the end of the day. The names are the fields of
    the project."""

    time_zone: str
    work_days: Sequence[int]
    work_from: time
    work_until: time
    days_off: Sequence[date] = ()

    @classmethod
    def of(cls, project: Project) -> WorkingHours:
        return cls(
            project.time_zone, project.work_days, project.work_from, project.work_until, project.days_off
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the working hours as the record of changes and the API have them."""
        return asdict(self) | {
            "work_from": f"{self.work_from:%H:%M}",
            "work_until": f"{self.work_until:%H:%M}",
            "work_days": list(self.work_days),
            "days_off": [day.isoformat() for day in self.days_off],
        }


def time_zone_names() -> list[str]:
    known = zoneinfo.available_timezones()
    # Names without a slash are old ones, such as EST and GB.
    return sorted({name for name in known if "/" in name or name == "UTC"} - {"localtime"})


def change_working_hours(project: Project, hours: WorkingHours, *, by: User) -> None:
    """Times that were set before stay. Raises Forbidden, Invalid (path: the field)."""
    access.require_permission(by, "settings", project)
    _check_hours(hours)
    new_hours = WorkingHours(
        hours.time_zone,
        sorted(set(hours.work_days)),
        hours.work_from.replace(second=0, microsecond=0),
        hours.work_until.replace(second=0, microsecond=0),
        sorted(set(hours.days_off)),
    )
    with transaction.atomic():
        # Not its key, which every new task of the project refers to: none has to wait for this
        stored = Project.objects.select_for_update(of=("self",), no_key=True).get(pk=project.pk)
        before = WorkingHours.of(stored).to_dict()
        if before != new_hours.to_dict():
            for name in WorkingHours.__annotations__:
                setattr(stored, name, getattr(new_hours, name))
                setattr(project, name, getattr(new_hours, name))
            stored.save(update_fields=list(WorkingHours.__annotations__))
            audit.record_administrative_act(
                "project.working_time",
                by=by,
                at=timezone.now(),
                project=stored,
                about=f"project:{stored.pk}",
                name=stored.name,
                before=before,
                after=new_hours.to_dict(),
            )


def _check_hours(hours: WorkingHours) -> None:
    if hours.time_zone not in time_zone_names():
        raise Invalid.at("time_zone", "There is no such time zone.")
    if not hours.work_days or any(day not in WEEK for day in hours.work_days):
        raise Invalid.at("work_days", "Choose at least one working day.")
    if hours.work_until != time(0) and hours.work_until <= hours.work_from:
        raise Invalid.at("work_until", "The working day has to end after it begins.")
    if len(set(hours.days_off)) > MOST_DAYS_OFF:
        raise Invalid.at("days_off", f"At most {MOST_DAYS_OFF} days off.")
