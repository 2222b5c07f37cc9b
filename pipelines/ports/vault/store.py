"""Writing secrets and variables. Who may is asked by the callers (`pipelines/access.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.views.decorators.debug import sensitive_variables

from pipelines.errors import Conflict, Invalid
from pipelines.models import Line, Owner, Project, StoredValue, User
from pipelines.models.stored_values import value_name
from pipelines.ports import audit
from pipelines.ports.vault import keys

# A shorter secret would garble every text in which its letters happen to stand.
SHORTEST_SECRET, LONGEST = 8, 32_768
SECRET, VARIABLE = StoredValue.ValueKind.SECRET, StoredValue.ValueKind.VARIABLE


@dataclass(frozen=True)
class ValuePlace:
    """Place where a value counts: all projects of an owner, a project, or one line."""

    of: Owner | Project | Line

    @property
    def column(self) -> str:
        return type(self.of).__name__.lower()

    def stored_values_here(self) -> QuerySet[StoredValue]:
        return StoredValue.objects.filter(**{self.column: self.of.pk})

    def record_act_on_value(self, act: str, name: str, by: User, now: datetime) -> None:
        """Record what was done to a value here; never the value."""
        of, about = self.of, f"{self.column}:{self.of.pk}"
        if isinstance(of, Line):
            audit.record_administrative_act(
                act, by=by, at=now, project=of.project, about=about, name=name, line=of.name
            )
        elif isinstance(of, Project):
            audit.record_administrative_act(act, by=by, at=now, project=of, about=about, name=name)
        else:
            audit.record_administrative_act(act, by=by, at=now, about=about, name=name, owner=of.name)


@sensitive_variables("value", "content")
def create_or_replace_value(
    place: ValuePlace, name: str, value: str, *, kind: str, by: User, now: datetime
) -> StoredValue:
    """Store a value under a name, in place of the one that has it there. Raises Invalid, Conflict (a variable never
    becomes a secret under the same name, nor the other way round: what was shown once is no secret)."""
    _refuse_bad_value(name, value, kind)
    content = keys.encrypt_secret(value) if kind == SECRET else value
    with transaction.atomic():
        stored, made = (
            place.stored_values_here()
            .select_for_update()
            .get_or_create(
                name=name,
                defaults={
                    place.column: place.of,
                    "kind": kind,
                    "content": content,
                    "changed_at": now,
                    "changed_by": by,
                },
            )
        )
        # A variable was shown to everybody: under the same name it is no secret any more
        if stored.kind != kind:
            raise Conflict(f"{name} is a {stored.get_kind_display()} here. Delete it first.")
        if not made:
            stored.content, stored.changed_at, stored.changed_by = content, now, by
            stored.save(update_fields=["content", "changed_at", "changed_by"])
        place.record_act_on_value(f"{kind}.{'created' if made else 'changed'}", name, by, now)
    return stored


def remove_value_if_there(place: ValuePlace, name: str, *, by: User, now: datetime) -> bool:
    """False where there is none."""
    with transaction.atomic():
        stored_value = place.stored_values_here().select_for_update().filter(name=name).first()
        if stored_value is None:
            return False
        stored_value.delete()
        place.record_act_on_value(f"{stored_value.kind}.deleted", name, by, now)
    return True


def values_any_station_can_get(project: Project) -> QuerySet[StoredValue]:
    """Every value that some station of the project can get."""
    here = Q(owner=project.owner_id) | Q(project=project.pk) | Q(line__project=project.pk)
    return (
        StoredValue.objects.filter(here)
        .select_related("changed_by", "line", "owner", "project")
        .order_by("name", "pk")
    )


def reencrypt_and_name_unreadable_secrets(now: datetime) -> tuple[int, list[str]]:
    """Encrypt every secret of the installation with the first key: how many were, and the names of those that no key
    here decrypts."""
    done, lost = 0, []
    with transaction.atomic():
        # Each row is locked as it is read: a secret that is stored meanwhile is not overwritten.
        for row, columns in _locked_rows_with_filled_secret_columns():
            changed = []
            for column in columns:
                try:
                    setattr(row, column, keys.reencrypt_with_first_key(getattr(row, column)))
                except keys.SecretUnreadable:
                    lost.append(_value_and_place_name(row))
                else:
                    changed.append(column)
            if changed:
                row.save(update_fields=changed)
            done += len(changed)
        audit.record_administrative_act("secrets.rotated", by=None, at=now, secrets=done)
    return done, lost


def _locked_rows_with_filled_secret_columns() -> Iterator[tuple[Model, list[str]]]:
    """Yield each row that holds secrets, with those of its columns that are not empty. A model of any app
    names the columns that it encrypts with our keys in `ENCRYPTED`; of the stored values only the secrets
    are encrypted."""
    stored = StoredValue.objects.filter(kind=SECRET).select_for_update(of=("self",))
    for value in (
        stored.select_related("owner", "project__owner", "line__project__owner").order_by("pk").iterator()
    ):
        yield value, ["content"]
    for model in apps.get_models():
        columns = getattr(model, "ENCRYPTED", ())
        if columns:
            for row in model._default_manager.select_for_update(of=("self",)).order_by("pk").iterator():
                yield row, [column for column in columns if getattr(row, column)]


def _value_and_place_name(row: Model) -> str:
    """“NAME of acme/app”, as people know it."""
    places = (getattr(row, attribute, None) for attribute in ("owner", "project", "line"))
    return f"{getattr(row, 'name', row)} of {next(filter(None, places), row._meta.verbose_name)}"


@sensitive_variables("value")
def _refuse_bad_value(name: str, value: str, kind: str) -> None:
    try:
        value_name(name)
    except ValidationError as fault:
        raise Invalid.at("name", str(value_name.message)) from fault
    if kind not in StoredValue.ValueKind.values:
        raise Invalid.at("kind", "is secret or variable")
    if not value or "\x00" in value or any("\ud800" <= char <= "\udfff" for char in value):
        raise Invalid.at("value", "Enter a value without NUL characters and incomplete surrogate pairs.")
    # Masking a short one would garble logs, and tell it by what is left out
    if kind == SECRET and len(value) < SHORTEST_SECRET:
        raise Invalid.at(
            "value",
            f"Use at least {SHORTEST_SECRET} characters: a shorter secret cannot be hidden reliably in logs.",
        )
    if len(value.encode()) > LONGEST:
        raise Invalid.at("value", f"A value has at most {LONGEST} bytes.")
