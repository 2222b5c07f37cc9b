from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0010_drawing_of_line"),
    ]

    operations = [
        migrations.AddField(
            model_name="task",
            name="fork_event",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Of a fork: the number of the event of the followed task with whose files it begins (law §17).",
                null=True,
            ),
        ),
    ]
