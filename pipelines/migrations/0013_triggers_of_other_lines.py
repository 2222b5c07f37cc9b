import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0012_bulk_commands"),
    ]

    operations = [
        migrations.AddField(
            model_name="trigger",
            name="source",
            field=models.ForeignKey(
                blank=True,
                help_text="The line of the project whose ends it waits for; empty: it waits for something else.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="follower_triggers",
                to="pipelines.line",
            ),
        ),
    ]
