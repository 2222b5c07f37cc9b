from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0014_limits_and_quotas"),
    ]

    operations = [
        migrations.AddField(
            model_name="apitoken",
            name="only_job",
            field=models.ForeignKey(
                blank=True,
                help_text="Of a runner that was started for one job: it gets no other.",
                null=True,
                on_delete=models.deletion.CASCADE,
                related_name="+",
                to="pipelines.job",
            ),
        ),
    ]
