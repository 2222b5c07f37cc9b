from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0105_push_named_by_host"),
    ]

    operations = [
        migrations.AddField(
            model_name="repository",
            name="proposed",
            field=models.JSONField(blank=True, null=True),
        ),
    ]
