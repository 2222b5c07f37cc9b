"""Secrets and variables over HTTP. A secret goes in and never comes out."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from django.utils import timezone
from pydantic import BaseModel

from pipelines import access
from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import CHANGES, PROJECT, Operations, action_required
from pipelines.api.schemas import StrictBody
from pipelines.errors import Forbidden, NotFound, first_row_or_raise_not_found
from pipelines.models import Line, Owner, Project, StoredValue
from pipelines.ports.vault import store
from pipelines.ports.vault.credentials import repository_by_credential_value
from pipelines.queries.value_uses import uses_by_value

router = Operations("secrets and variables", CHANGES)
Where = Literal["owner", "project", "line"]


class StoredValueIn(StrictBody):
    """`place`: for whom it counts; of a line, `line` is its key."""

    value: str
    kind: Literal["secret", "variable"] = "secret"
    place: Where = "project"
    line: str = ""


class StoredValueOut(BaseModel):
    """`value` is null for a secret. `used_in`: keys of the lines of this project that name it. `credential_of`: the
    repository whose credential it is; no station gets such a secret."""

    name: str
    kind: str
    place: Where
    line: str | None
    value: str | None
    changed_at: datetime
    changed_by: str | None
    last_used_at: datetime | None
    used_in: list[str]
    credential_of: str | None


@router.get(PROJECT + "/secrets", response=list[StoredValueOut], summary="Secrets and variables")
@action_required("design")
def index(request: Request, project: Project) -> list[StoredValueOut]:
    """List the stored values of the project, of its lines and of its owner, by name."""
    values = list(store.values_any_station_can_get(project))
    lines, credentials = uses_by_value(project, values), repository_by_credential_value(project, values)
    return [
        _stored_value_out(value, [use.line.key for use in lines[value.pk]], credentials.get(value.pk))
        for value in values
    ]


@router.put(
    PROJECT + "/secrets/{name}",
    response=StoredValueOut,
    summary="Store a secret or a variable",
)
@action_required("secrets")
def put(request: Request, project: Project, name: str, payload: StoredValueIn) -> StoredValueOut:
    """Store a value, in place of the one that has this name there."""
    place = _value_place(request, project, payload.place, payload.line)
    by = require_person(request.auth)
    stored = store.create_or_replace_value(
        place, name, payload.value, kind=payload.kind, by=by, now=timezone.now()
    )
    return _stored_value_out(stored, [], repository_by_credential_value(project, [stored]).get(stored.pk))


@router.delete(PROJECT + "/secrets/{name}", response={204: None}, summary="Delete a secret or a variable")
@action_required("secrets")
def delete(request: Request, project: Project, name: str, place: Where = "project", line: str = "") -> None:
    if not store.remove_value_if_there(
        _value_place(request, project, place, line), name, by=require_person(request.auth), now=timezone.now()
    ):
        raise NotFound


def _value_place(request: Request, project: Project, where: Where, line: str) -> store.ValuePlace:
    if where == "line":
        line_row = first_row_or_raise_not_found(
            project.lines.filter(key=line), "This project has no such line."
        )
        return store.ValuePlace(line_row)
    if where == "owner" and not access.can_in_every_project_of_owner(request.auth, "secrets", project.owner):
        raise Forbidden(
            "To change a value for all projects of an owner you need the role Admin in each of them."
        )
    return store.ValuePlace(project.owner if where == "owner" else project)


def _stored_value_out(stored: StoredValue, used_in: list[str], credential_of: str | None) -> StoredValueOut:
    of: Owner | Project | Line | None = stored.line or stored.project or stored.owner
    where: Where = "line" if stored.line_id else "project" if stored.project_id else "owner"
    return StoredValueOut(
        name=stored.name,
        kind=stored.kind,
        place=where,
        line=of.key if isinstance(of, Line) else None,
        value=None if stored.kind == StoredValue.ValueKind.SECRET else stored.content,
        changed_at=stored.changed_at,
        changed_by=str(stored.changed_by) if stored.changed_by else None,
        last_used_at=stored.last_used_at,
        used_in=used_in,
        credential_of=credential_of,
    )
