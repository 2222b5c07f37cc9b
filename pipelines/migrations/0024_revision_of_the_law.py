"""Every decision is kept with the revision of the law under which it was made; those of before are of the first."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("pipelines", "0023_retries")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="decision",
            name="revision",
            field=models.PositiveSmallIntegerField(
                default=1,
                help_text="Of the law under which it was decided; invariants recompute those of the current one.",
            ),
            preserve_default=False,
        ),
    ]
