from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0001_schema")]

    operations = [
        migrations.AddField(
            "deadlock",
            "escalation",
            models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="deadlock",
                to="pipelines.escalation",
            ),
        ),
    ]
