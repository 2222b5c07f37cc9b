from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0178_deadlock_escalation")]

    operations = [
        migrations.AlterField(
            "escalation",
            "role",
            models.CharField(help_text="Who answers, as the line calls them.", max_length=150),
        ),
    ]
