"""The tools of repositories that a worker has, told beside its coding agents."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0175_opened_files")]

    operations = [
        migrations.AddField(
            "worker",
            "programs",
            models.JSONField(
                blank=True,
                help_text="Tools of repositories on the path of stations; null: it did not say.",
                null=True,
            ),
        ),
    ]
