from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0013_triggers_of_other_lines"),
    ]

    operations = [
        migrations.AddField(
            model_name="dependency",
            name="room",
            field=models.PositiveSmallIntegerField(
                blank=True,
                help_text="Under the limit of a line: fewer of those ahead have to be open; empty: `on` has to complete.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="line",
            name="limit_key",
            field=models.CharField(
                blank=True,
                help_text="Path over the inputs: tasks with the same value are counted together; empty: all.",
                max_length=200,
            ),
        ),
        migrations.AddField(
            model_name="line",
            name="limit_over",
            field=models.CharField(
                choices=[
                    ("queue", "It waits for its turn"),
                    ("replace", "It replaces the oldest, which is cancelled"),
                ],
                default="queue",
                help_text="What becomes of one task more.",
                max_length=7,
            ),
        ),
        migrations.AddField(
            model_name="line",
            name="limit_tasks",
            field=models.PositiveSmallIntegerField(
                blank=True,
                help_text="So many of its tasks may be open at once; empty: any number.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="day_cost_usd",
            field=models.DecimalField(
                blank=True,
                decimal_places=2,
                help_text="When the runs of a day have cost so much, no task starts on it any more.",
                max_digits=12,
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="day_tasks",
            field=models.PositiveIntegerField(
                blank=True, help_text="So many tasks may start on a day (UTC).", null=True
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="month_tasks",
            field=models.PositiveIntegerField(
                blank=True, help_text="So many tasks may start in a calendar month (UTC).", null=True
            ),
        ),
        migrations.AddField(
            model_name="task",
            name="limit_key",
            field=models.CharField(
                blank=True,
                help_text="Of the limit of its line: it counts with those of the same key.",
                max_length=100,
            ),
        ),
        migrations.AddConstraint(
            model_name="line",
            constraint=models.CheckConstraint(
                condition=models.Q(("limit_tasks__isnull", True), ("limit_tasks__gte", 1), _connector="OR"),
                name="a_limit_lets_one_task_work",
            ),
        ),
    ]
