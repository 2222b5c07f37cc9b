from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0090_runners")]

    operations = [
        migrations.AddField(
            model_name="repository",
            name="prepare",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
