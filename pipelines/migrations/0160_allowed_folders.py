"""Folders of the server that owners may use as repositories. What a project has connected is recorded for its owner,
but for what lies below the state or the workspaces, and what projects of several owners have connected: which of them
may have it, an administrator says."""

import os
from datetime import UTC, datetime

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from pipelines.ports.server_folders import FolderRefused, ServerFolders
from pipelines.queries.allowed_folders import protected


def keep_connected(apps, editor):
    rows = apps.get_model("pipelines", "Repository").objects.filter(address__startswith="/")
    folders = ServerFolders(protected=protected())
    owners = {}
    for owner, address in rows.values_list("project__owner", "address"):
        try:
            path = folders.allowable(address).path
        except FolderRefused:
            continue
        owners.setdefault(path, set()).add(owner)
    for path, of in owners.items():
        if len(of) == 1:
            record(apps, of.pop(), path, "connected")
    prepared = os.path.realpath(settings.DATA_DIR / "repositories" / "basket.git")
    demo = rows.filter(project__owner__key="demo", address=prepared).first()
    if demo is not None and os.path.isdir(prepared):
        record(apps, demo.project.owner_id, prepared, "prepared")


def record(apps, owner, path, origin):
    place = os.stat(path)
    apps.get_model("pipelines", "AllowedFolder").objects.get_or_create(
        owner_id=owner,
        path=path,
        defaults={
            "device": place.st_dev,
            "inode": place.st_ino,
            "origin": origin,
            "allowed_at": datetime.now(UTC),
        },
    )


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("pipelines", "0159_claimable_jobs"),
    ]

    operations = [
        migrations.CreateModel(
            name="AllowedFolder",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("path", models.CharField(max_length=4096)),
                ("device", models.DecimalField(decimal_places=0, max_digits=20)),
                ("inode", models.DecimalField(decimal_places=0, max_digits=20)),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("administrator", "Allowed by an administrator"),
                            ("prepared", "Prepared by Gateline"),
                            ("connected", "Connected before permissions were kept"),
                        ],
                        default="administrator",
                        max_length=16,
                    ),
                ),
                ("allowed_at", models.DateTimeField()),
                (
                    "allowed_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="allowed_folders",
                        to="pipelines.owner",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("owner", "path"), name="folder_allowed_once"),
                    models.CheckConstraint(
                        condition=models.Q(("origin__in", ["administrator", "prepared", "connected"])),
                        name="folder_origin_known",
                    ),
                ],
            },
        ),
        migrations.RunPython(keep_connected, migrations.RunPython.noop),
    ]
