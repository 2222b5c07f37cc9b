from django.db import migrations, models

# How many jobs reported what they cost: without it a plan takes that for all of them, and reads every job.
STATISTICS = "CREATE STATISTICS job_usage ON (outcome #> '{facts,usage}') FROM pipelines_job"


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0153_station_trials")]

    operations = [
        migrations.AddIndex(
            model_name="decision",
            index=models.Index(
                fields=["pinned", "at"],
                include=("id", "station", "job_id", "task"),
                name="decision_of_version",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("state", "done")),
                fields=["pinned", "created_at"],
                include=("id", "station", "kind", "purpose", "started_at", "ended_at"),
                name="job_of_version",
            ),
        ),
        migrations.RemoveIndex(model_name="job", name="job_of_time"),
        migrations.AddIndex(
            model_name="vote",
            index=models.Index(
                condition=models.Q(("reason", ""), _negated=True), fields=["visit"], name="vote_with_reason"
            ),
        ),
        migrations.RunSQL(STATISTICS, "DROP STATISTICS job_usage"),
        # Last: nobody reads a review while this index is gone.
        migrations.RemoveIndex(model_name="gatevisit", name="gate_visit_over_at"),
        migrations.AddIndex(
            model_name="gatevisit",
            index=models.Index(
                condition=models.Q(("decided_at__isnull", False)),
                fields=["decided_at"],
                include=("job", "opened_at"),
                name="gate_visit_over_at",
            ),
        ),
    ]
