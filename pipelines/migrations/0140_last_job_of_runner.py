from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0122_indexes_of_time")]

    operations = [
        migrations.AddField(
            model_name="worker",
            name="last_job",
            field=models.BigIntegerField(
                blank=True,
                help_text="Of a runner of ALP, whose reports name none: the job it got last.",
                null=True,
            ),
        ),
    ]
