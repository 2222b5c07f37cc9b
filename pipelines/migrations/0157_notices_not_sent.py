"""Notices say when they were queued, and may be dropped. Those that are queued already keep their old time, so that the
first sweep shows them as not sent."""

from django.db import migrations, models
from django.db.models import F


def fill(apps, editor):
    apps.get_model("pipelines", "HostNotice").objects.update(queued_at=F("created_at"))


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0156_task_text_index")]

    operations = [
        migrations.AlterField(
            model_name="hostnotice",
            name="state",
            field=models.CharField(
                choices=[
                    ("queued", "Queued"),
                    ("sent", "Sent"),
                    ("failed", "Failed"),
                    ("dropped", "Dropped"),
                ],
                default="queued",
                max_length=7,
            ),
        ),
        migrations.AddField(
            model_name="hostnotice",
            name="queued_at",
            field=models.DateTimeField(null=True, help_text="When it was put into the queue last."),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
        migrations.AlterField(
            model_name="hostnotice",
            name="queued_at",
            field=models.DateTimeField(help_text="When it was put into the queue last."),
        ),
        migrations.AddIndex(
            model_name="hostnotice",
            index=models.Index(condition=models.Q(("state", "queued")), fields=["id"], name="notice_queued"),
        ),
    ]
