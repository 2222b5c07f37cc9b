from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0150_task_newest")]

    operations = [
        migrations.AddConstraint(
            model_name="gatevisit",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "open")),
                fields=("token", "gate"),
                include=("position", "opened_at", "due_at"),
                name="one_open_visit_of_token_and_gate",
            ),
        ),
        migrations.RemoveConstraint(model_name="gatevisit", name="one_open_visit_per_token_and_gate"),
    ]
