"""Who may have asked for a task by an issue of a host: kept with the task, and unknown of those that are open now."""

import django.contrib.postgres.fields
from django.db import migrations, models

OPEN = """
    UPDATE pipelines_task task SET requesters = '{unknown}'
    WHERE task.ended_at IS NULL AND task.requester_id IS NULL
      AND EXISTS (SELECT 1 FROM pipelines_hostlink link WHERE link.task_id = task.id AND link.kind = 'issue')"""


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0161_protection")]

    operations = [
        migrations.AddField(
            model_name="task",
            name="requesters",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=40),
                blank=True,
                default=list,
                help_text="Who else may have asked for it, by an issue or a machine: person:7, or unknown for nobody known.",
                size=None,
            ),
        ),
        migrations.RunSQL(OPEN, migrations.RunSQL.noop),
    ]
