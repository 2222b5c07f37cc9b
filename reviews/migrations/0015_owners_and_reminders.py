from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reviews", "0014_sittings")]

    operations = [
        migrations.AlterField(
            model_name="askedplace",
            name="kind",
            field=models.CharField(help_text="role, group, user or owner", max_length=5),
        ),
        migrations.RemoveConstraint(model_name="askedplace", name="asked_kind_known"),
        migrations.AddConstraint(
            model_name="askedplace",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["role", "group", "user", "owner"])), name="asked_kind_known"
            ),
        ),
        migrations.AlterField(
            model_name="mail",
            name="kind",
            field=models.CharField(
                choices=[
                    ("asked", "Review asked"),
                    ("soon", "Review due soon"),
                    ("overdue", "Review overdue"),
                    ("closed", "Review closed"),
                ],
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="mail",
            name="number",
            field=models.PositiveSmallIntegerField(default=1, help_text="Of a reminder: 0 before it is due."),
        ),
        migrations.RemoveConstraint(model_name="mail", name="one_mail_per_visit_address_kind"),
        migrations.AddConstraint(
            model_name="mail",
            constraint=models.UniqueConstraint(
                fields=("visit", "address", "kind", "number"), name="one_mail_of_each_kind"
            ),
        ),
    ]
