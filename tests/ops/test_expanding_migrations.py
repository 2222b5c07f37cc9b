"""An older web and worker run on the tables of the next version (docs/operating.md): a migration only adds what they
need not know. One that takes something away says so, and stands in a later version than the code that used it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

FROM = {"pipelines": 16, "reviews": 4}
"""The first migration of each app that an older process may meet; nothing ran beside those of before."""
ADDING = (
    migrations.CreateModel,
    migrations.AddIndex,
    migrations.AlterModelOptions,
    migrations.AlterModelManagers,
    migrations.SeparateDatabaseAndState,
)
HARMLESS_SQL = re.compile(
    r"\s*(CREATE OR REPLACE FUNCTION|CREATE( UNIQUE)? INDEX|CREATE TABLE)\b", re.IGNORECASE
)
REMEDY = (
    "Add it with null=True or db_default first, and take the old away in the version after the code that used it"
    ' is gone: with contract = "since …" in that migration.'
)


def refusals(app: str, migration: migrations.Migration) -> Iterator[str]:
    """Yield what an older process would not survive. What `contract` marks is meant."""
    if getattr(migration, "contract", ""):
        return
    made = {one.name for one in migration.operations if isinstance(one, migrations.CreateModel)}
    made = {name.lower() for name in made}
    again = {one.constraint.name for one in migration.operations if isinstance(one, migrations.AddConstraint)}
    for operation in migration.operations:
        is_new = getattr(operation, "model_name_lower", "") in made or isinstance(operation, ADDING)
        if not is_new and not is_harmless(app, operation, again):
            yield f"{app} {migration.name}: {operation.describe()}. {REMEDY}"


def is_harmless(app: str, operation: Operation, added_constraints: set[str]) -> bool:
    if isinstance(operation, migrations.AddField):
        # An older process writes rows without this column, also where a later migration gave it its default
        field = latest_field(app, operation)
        return field is None or field.null or field.has_db_default() or field.many_to_many
    if isinstance(operation, migrations.AlterField):
        return operation.field.null or operation.field.has_db_default()
    if isinstance(operation, migrations.RemoveConstraint):
        return operation.name in added_constraints
    if isinstance(operation, migrations.AddConstraint):
        # Of one that is written anew: what it is now is for whoever writes it to say
        return operation.constraint.name in {"one_open_trial_per_person"}
    if isinstance(operation, migrations.RunSQL):
        return bool(HARMLESS_SQL.match(str(operation.sql)))
    return False


def latest_field(app: str, operation: migrations.AddField) -> models.Field | None:  # type: ignore[type-arg]
    """The field as it is now; None where the model or the field is gone."""
    fields = {field.name: field for field in apps.get_model(app, operation.model_name)._meta.get_fields()}
    found = fields.get(operation.name)
    return found if isinstance(found, models.Field) else None


def test_migrations_only_add_what_an_older_process_need_not_know() -> None:
    loader = MigrationLoader(None)
    read = [
        (app, migration)
        for (app, name), migration in sorted(loader.disk_migrations.items())
        if app in FROM and int(name[:4]) >= FROM[app]
    ]
    assert len(read) >= 4
    assert [line for app, migration in read for line in refusals(app, migration)] == []


class Made(migrations.Migration):
    operations = [migrations.CreateModel("Thing", [("id", models.BigAutoField(primary_key=True))])]


@pytest.mark.parametrize(
    "operation",
    [
        migrations.RemoveField("task", "title"),
        migrations.RenameField("task", "title", "name"),
        migrations.DeleteModel("Task"),
        migrations.AlterField("task", "reason", models.CharField(max_length=10)),
        migrations.AddField("task", "title", models.CharField(max_length=300, default="")),
        migrations.RemoveConstraint("task", "task_number_in_project"),
        migrations.AddConstraint(
            "task", models.CheckConstraint(condition=models.Q(number__gt=0), name="new")
        ),
        migrations.RunSQL("ALTER TABLE pipelines_task DROP COLUMN title"),
        migrations.RunPython(migrations.RunPython.noop),
    ],
)
def test_what_takes_something_away_is_refused_unless_it_is_marked(operation: Operation) -> None:
    migration = Made("0999_made", "pipelines")
    migration.operations = [*Made.operations, operation]
    [said] = refusals("pipelines", migration)
    assert "contract" in said
    migration.contract = "since 0.2.0"  # type: ignore[attr-defined]
    assert not list(refusals("pipelines", migration))


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddField("task", "purged_at", models.DateTimeField(null=True)),
        migrations.AddField("thing", "name", models.CharField(max_length=10)),
        migrations.AddIndex("task", models.Index(fields=["title"], name="by_title")),
        migrations.RunSQL("CREATE OR REPLACE FUNCTION gateline_refuse() RETURNS trigger AS '' LANGUAGE sql"),
    ],
)
def test_what_only_adds_passes(operation: Operation) -> None:
    migration = Made("0999_made", "pipelines")
    migration.operations = [*Made.operations, operation]
    assert not list(refusals("pipelines", migration))
