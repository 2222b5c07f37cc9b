import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0152_visits_over_by_time"),
    ]

    operations = [
        migrations.CreateModel(
            name="StationTrial",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("station", models.CharField(max_length=64)),
                ("document", models.JSONField(help_text="The line as it is drawn, stored or not.")),
                ("inputs", models.JSONField(default=dict)),
                (
                    "context",
                    models.JSONField(
                        default=dict, help_text="What earlier stations are said to have handed on."
                    ),
                ),
                (
                    "source",
                    models.BigIntegerField(
                        blank=True,
                        help_text="The recorded run whose inputs and files it gets; empty: typed.",
                        null=True,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                (
                    "log",
                    models.TextField(blank=True, help_text="Whole lines, each “seconds<TAB>text”; bounded."),
                ),
                ("outcome", models.JSONField(blank=True, null=True)),
                (
                    "why",
                    models.CharField(
                        blank=True, help_text="A key of pipelines.lines.trials.ENDED.", max_length=40
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                (
                    "seen_at",
                    models.DateTimeField(
                        blank=True, help_text="When its worker last said that it goes on.", null=True
                    ),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "line",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="trials",
                        to="pipelines.line",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["created_at"], name="trial_by_age")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["queued", "running"])),
                        fields=("by",),
                        name="one_open_trial_per_person",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("outcome__isnull", False), ("state", "done")),
                            models.Q(models.Q(("state", "done"), _negated=True), ("outcome__isnull", True)),
                            _connector="OR",
                        ),
                        name="a_done_trial_has_an_outcome",
                    ),
                ],
            },
        ),
    ]
