from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0151_open_visits_covered")]

    operations = [
        migrations.AddIndex(
            model_name="gatevisit",
            index=models.Index(
                condition=models.Q(("decided_at__isnull", False)),
                fields=["decided_at"],
                name="gate_visit_over_at",
            ),
        ),
        migrations.RemoveIndex(model_name="gatevisit", name="gate_visit_of_time"),
    ]
