from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0137_working_time"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="task",
            index=models.Index(fields=["-created_at", "-id"], name="task_newest"),
        ),
    ]
