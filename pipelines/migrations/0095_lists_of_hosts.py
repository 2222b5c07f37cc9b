from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0110_gates_fields_and_samples")]

    operations = [
        migrations.AddField(
            model_name="worker",
            name="limits_hosts",
            field=models.BooleanField(
                default=False, help_text="Whether a station with a list of hosts is kept to it here."
            ),
        ),
    ]
