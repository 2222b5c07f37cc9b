from typing import Any

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import reviews.models.channels


def keep_what_there_is(apps: Any, schema_editor: Any) -> None:
    """Let channels that there are tell of reviews alone, as before."""
    apps.get_model("reviews", "ChannelConnection").objects.update(topics=["waiting"])


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0011_forks_of_tasks"),
        ("reviews", "0002_failed_messages"),
    ]

    operations = [
        migrations.AddField(
            model_name="channelconnection",
            name="topics",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=12),
                blank=True,
                default=reviews.models.channels.default_topics,
                help_text="Keys of `reviews/channels/topics.py`.",
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="channelmessage",
            name="about",
            field=models.CharField(
                blank=True, help_text="Of an event: what it is told once about.", max_length=120
            ),
        ),
        migrations.AddField(
            model_name="channelmessage",
            name="data",
            field=models.JSONField(default=dict, help_text="Of an event: what its sentence names."),
        ),
        migrations.AddField(
            model_name="channelmessage",
            name="task",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                help_text="Its messages make one thread.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="channel_messages",
                to="pipelines.task",
            ),
        ),
        migrations.AddField(
            model_name="channelmessage",
            name="topic",
            field=models.CharField(blank=True, help_text="Of an event: its key.", max_length=12),
        ),
        migrations.AlterField(
            model_name="channelmessage",
            name="kind",
            field=models.CharField(
                choices=[
                    ("opened", "Review opened"),
                    ("closed", "Review over"),
                    ("test", "Test"),
                    ("event", "Event"),
                ],
                max_length=6,
            ),
        ),
        migrations.AddIndex(
            model_name="channelmessage",
            index=models.Index(fields=["task", "connection"], name="message_thread"),
        ),
        migrations.AddIndex(
            model_name="channelmessage",
            index=models.Index(fields=["connection", "-id"], name="message_latest"),
        ),
        migrations.AddConstraint(
            model_name="channelmessage",
            constraint=models.UniqueConstraint(
                condition=models.Q(("about", ""), _negated=True),
                fields=("connection", "about"),
                name="one_message_per_event",
            ),
        ),
        migrations.RunPython(keep_what_there_is, migrations.RunPython.noop, elidable=False),
    ]
