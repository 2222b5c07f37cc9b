from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0036_archived")]

    operations = [
        migrations.AddField(
            model_name="upload",
            name="content",
            field=models.CharField(
                blank=True,
                default="",
                help_text="What its first bytes say; empty: nobody looked.",
                max_length=10,
            ),
        ),
    ]
