"""Tasks that wait for one that failed or was cancelled say so from now on: each is told by a due time."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

TELL = """
    INSERT INTO pipelines_due (task_id, kind, key, set_at, due_at)
    SELECT DISTINCT waits.task_id, 'dependency', 'lost', clock_timestamp(), clock_timestamp()
    FROM pipelines_dependency waits
      JOIN pipelines_task task ON task.id = waits.task_id
      JOIN pipelines_task other ON other.id = waits.on_id
    WHERE task.ended_at IS NULL AND other.status IN ('failed', 'cancelled')
    ON CONFLICT DO NOTHING"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("pipelines", "0025_anonymous_requests")]

    operations: ClassVar = [migrations.RunSQL(TELL, migrations.RunSQL.noop)]
