from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0001_schema")]

    operations = [
        migrations.AddField(
            model_name="worker",
            name="registries",
            field=models.JSONField(
                default=dict,
                help_text="{tool: hosts} of tools that say from which hosts they take packages here.",
            ),
        )
    ]
