from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0026_lost_dependencies"),
    ]

    operations = [
        migrations.AddField(
            model_name="worker",
            name="offers",
            field=models.JSONField(
                blank=True, help_text="What it has of what stations need; null: everything.", null=True
            ),
        ),
        migrations.AddField(
            model_name="worker",
            name="cuts_network",
            field=models.BooleanField(
                default=False, help_text="Whether a station without the network is kept from it here."
            ),
        ),
    ]
