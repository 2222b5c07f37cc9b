from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0085_month_cost"),
    ]

    operations = [
        migrations.AddField(
            model_name="worker",
            name="agents",
            field=models.JSONField(
                default=dict,
                help_text="{agent: {path, version, seconds}} of the coding agents that are installed here.",
            ),
        ),
    ]
