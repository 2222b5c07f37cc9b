import datetime

import django.contrib.postgres.fields
from django.db import migrations, models

import pipelines.models.people


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0140_last_job_of_runner")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="time_zone",
            field=models.CharField(default="UTC", help_text="Of its working time.", max_length=64),
        ),
        migrations.AddField(
            model_name="project",
            name="work_days",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.PositiveSmallIntegerField(),
                default=pipelines.models.people.monday_to_friday,
                help_text="1 is Monday, 7 is Sunday.",
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="work_from",
            field=models.TimeField(default=datetime.time(9, 0)),
        ),
        migrations.AddField(
            model_name="project",
            name="work_until",
            field=models.TimeField(default=datetime.time(17, 0), help_text="00:00 is the end of the day."),
        ),
        migrations.AddField(
            model_name="project",
            name="days_off",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.DateField(), blank=True, default=list, size=None
            ),
        ),
    ]
