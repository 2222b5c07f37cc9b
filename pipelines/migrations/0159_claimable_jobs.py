"""What waits for a worker, in the order in which it is claimed: the priority of its task in each open job, and an index
of them by station."""

from django.db import migrations, models

RANKS = """
    UPDATE pipelines_job job SET rank = CASE task.priority WHEN 'high' THEN 0 ELSE 2 END
    FROM pipelines_task task
    WHERE task.id = job.task_id AND job.state <> 'done' AND task.priority <> 'medium'"""


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0158_revision_of_a_version")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="rank",
            field=models.PositiveSmallIntegerField(
                db_default=1, default=1, help_text="0 high, 1 medium, 2 low."
            ),
        ),
        migrations.RunSQL(RANKS, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("state", "queued")),
                fields=["pinned", "station", "purpose", "kind", "rank", "created_at", "id"],
                name="job_queued",
            ),
        ),
    ]
