"""Publishing by four eyes: who asked for it and what became of that, and who wrote the draft of each line."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

WRITERS = """
    UPDATE pipelines_line line SET draft_writers = ARRAY(
      SELECT DISTINCT person::bigint
      FROM jsonb_each(line.draft_hands) place, jsonb_object_keys(place.value) person WHERE person ~ '^[0-9]+$'
      UNION SELECT line.draft_by_id WHERE line.draft_by_id IS NOT NULL)
    WHERE line.draft_hands <> '{}'"""


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("pipelines", "0172_left_at"),
    ]

    operations = [
        migrations.AddField(
            model_name="line",
            name="draft_writers",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BigIntegerField(),
                blank=True,
                default=list,
                help_text="Ids of who saved the draft since the line was published.",
                size=None,
            ),
        ),
        migrations.RunSQL(WRITERS, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name="repositoryprotection",
            name="rules",
            field=models.JSONField(
                help_text="Approvals, groups and gates that are asked for, and whether two people publish."
            ),
        ),
        migrations.CreateModel(
            name="PublishRequest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "draft",
                    models.PositiveIntegerField(
                        help_text="The number of the draft; another one makes it void."
                    ),
                ),
                (
                    "digest",
                    models.CharField(help_text="Of the draft: other content makes it void.", max_length=64),
                ),
                ("name", models.CharField(blank=True, max_length=200)),
                ("requested_at", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Waits for another designer"),
                            ("published", "Published"),
                            ("sent_back", "Sent back"),
                            ("replaced", "Asked for anew"),
                        ],
                        default="open",
                        max_length=9,
                    ),
                ),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("reason", models.TextField(blank=True)),
                (
                    "requested_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "decided_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "line",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="publish_requests",
                        to="pipelines.line",
                    ),
                ),
                (
                    "version",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="pipelines.lineversion",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "open")),
                        fields=("line",),
                        name="one_open_publish_request_of_a_line",
                    )
                ],
            },
        ),
    ]
