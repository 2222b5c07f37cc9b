from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0015_runner_token_of_one_job"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["commit"], name="delivery_commit"),
        ),
    ]
