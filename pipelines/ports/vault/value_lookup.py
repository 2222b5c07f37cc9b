"""Finding the values that a station names: the nearest counts, its line's before the project's before the owner's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db.models import Q, QuerySet
from django.views.decorators.debug import sensitive_variables

from pipelines.models import StoredValue, Task
from pipelines.ports.vault import keys
from pipelines.routing.document.kinds import secret_names
from pipelines.routing.document.line import Station
from pipelines.routing.document.work.references import resolve_secret_name

log = structlog.get_logger(__name__)
# A value's last use is written at most this often: many jobs use the same one at once.
SECRET = StoredValue.ValueKind.SECRET
USE_NOTED = timedelta(minutes=1)
PLACES = ("line", "project", "owner")
"""Where a value is stored, the nearest to a station first."""


@dataclass(frozen=True)
class ValueScope:
    """The scope whose values a station can get: those of its line, its project and its owner. `line` is None
    for what every line of the project can get."""

    owner: int
    project: int
    line: int | None = None

    @classmethod
    def scope_of_task(cls, task: Task) -> ValueScope:
        return cls(task.project.owner_id, task.project_id, task.line_id)

    def values_in_scope_nearest_first(self) -> QuerySet[StoredValue]:
        """The nearest first."""
        here = Q(owner=self.owner) | Q(project=self.project)
        if self.line is not None:
            here |= Q(line=self.line)
        # Each value has one of the three, and PostgreSQL sorts nulls last.
        return StoredValue.objects.filter(here).order_by("line", "project", "owner")

    def nearest_value_by_name(self, kind: str, names: Collection[str]) -> dict[str, StoredValue]:
        """{name: the value that counts here}; names that nothing here has are left out, also where the nearest is of
        the other kind."""
        if not names:
            return {}
        by_name: dict[str, StoredValue] = {}
        for stored in self.values_in_scope_nearest_first().filter(name__in=names):
            # The nearest comes first: line, project, owner
            by_name.setdefault(stored.name, stored)
        return {name: stored for name, stored in by_name.items() if stored.kind == kind}

    def sorted_names_of_kind(self, kind: str) -> list[str]:
        """Return all names of this kind that a station could use."""
        return sorted(
            self.nearest_value_by_name(
                kind, set(self.values_in_scope_nearest_first().values_list("name", flat=True))
            )
        )

    def needs_met_by_stored_secrets(self, station: Station) -> frozenset[str]:
        """Return the needs of a station that a worker need not have, because these secrets come with the job."""
        # They come with the job, so that a worker need not have them
        return frozenset(
            f"secret:{name}" for name in self.nearest_value_by_name(SECRET, secret_names_for([station], {}))
        )


def needs_met_by_stored_secrets_of_each(
    stations: Collection[tuple[ValueScope, Station]],
) -> list[frozenset[str]]:
    """Return what `ValueScope.needs_met_by_stored_secrets` says of each of these, by one statement."""
    names = {name for _reach, station in stations for name in secret_names_for([station], {})}
    if not names:
        return [frozenset() for _station in stations]
    reaches = {reach for reach, _station in stations}
    here = Q(owner__in={reach.owner for reach in reaches}) | Q(
        project__in={reach.project for reach in reaches}
    )
    here |= Q(line__in={reach.line for reach in reaches if reach.line is not None})
    nearest: dict[tuple[str, int | None, str], str] = {}
    for row in StoredValue.objects.filter(here, name__in=names).only(
        "name", "kind", "owner", "project", "line"
    ):
        place, pk = next((place, pk) for place in PLACES if (pk := getattr(row, f"{place}_id")) is not None)
        nearest[place, pk, row.name] = row.kind
    return [
        frozenset(
            f"secret:{name}"
            for name in secret_names_for([station], {})
            if next(
                (kind for place in PLACES if (kind := nearest.get((place, getattr(reach, place), name)))),
                None,
            )
            == SECRET
        )
        for reach, station in stations
    ]


def secret_names_for(stations: Iterable[Station], inputs: Mapping[str, Any]) -> list[str]:
    """The names of the secrets that these stations ask for, of a task with these inputs."""
    return unique_names_behind_references(
        (name for station in stations for name in secret_names(station.work)), inputs
    )


def unique_names_behind_references(references: Iterable[str], inputs: Mapping[str, Any]) -> list[str]:
    """Return the names that these references stand for in a task with these inputs."""
    names = (resolve_secret_name(name, inputs) for name in references)
    return [name for name in dict.fromkeys(names) if name]


@sensitive_variables("plaintexts")
def readable_secret_by_name(stored: dict[str, StoredValue]) -> dict[str, str]:
    """{name: secret}, without those that no key decrypts: a station that needs one says so."""
    plaintexts: dict[str, str] = {}
    for name, stored_value in stored.items():
        try:
            plaintexts[name] = keys.decrypt_secret(stored_value.content)
        except keys.SecretUnreadable:
            # Stations that do not need it go on; one that does says that it is missing
            log.error("secret_unreadable", secret=name, id=stored_value.pk)
    return plaintexts


def record_use_if_not_lately_recorded(stored: Collection[StoredValue], now: datetime) -> None:
    # Asked again by the statement: of many jobs at once one writes.
    stale = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_NOTED)
    due = [
        stored_value.pk
        for stored_value in stored
        if stored_value.last_used_at is None or stored_value.last_used_at < now - USE_NOTED
    ]
    if due:
        StoredValue.objects.filter(stale, pk__in=due).update(last_used_at=now)
