import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import pipelines.models.invitations

# As of other records (0002_guards): deleted only in a transaction that purges, altered never.
APPEND_ONLY = """
CREATE TRIGGER gateline_update BEFORE UPDATE OR DELETE ON pipelines_administrativeact FOR EACH ROW
EXECUTE FUNCTION gateline_refuse('the record is append-only', 'purgeable');
"""


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0030_held_is_on_hold"),
    ]

    operations = [
        migrations.CreateModel(
            name="AdministrativeAct",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("actor", models.CharField(help_text="person:7, or command for the shell", max_length=200)),
                ("kind", models.CharField(help_text="A key of pipelines.ports.audit.KINDS.", max_length=40)),
                (
                    "about",
                    models.CharField(blank=True, help_text="person:7, group:3, token:12 …", max_length=200),
                ),
                (
                    "name",
                    models.CharField(
                        blank=True, help_text="What it was called at that time.", max_length=300
                    ),
                ),
                ("data", models.JSONField(default=dict)),
                (
                    "project",
                    models.ForeignKey(
                        help_text="Empty: of the installation.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="acts",
                        to="pipelines.project",
                    ),
                ),
            ],
            options={
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(fields=["project", "-id"], name="act_of_project"),
                    models.Index(fields=["about", "-id"], name="act_about"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        default=pipelines.models.invitations.new_key, max_length=43, unique=True
                    ),
                ),
                (
                    "email",
                    models.EmailField(
                        blank=True, help_text="Empty: the link is handed over by other means.", max_length=254
                    ),
                ),
                (
                    "roles",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("viewer", "Viewer"),
                                ("operator", "Operator"),
                                ("designer", "Designer"),
                                ("reviewer", "Reviewer"),
                                ("admin", "Admin"),
                            ],
                            max_length=10,
                        ),
                        size=None,
                    ),
                ),
                ("execute", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("mailed_at", models.DateTimeField(blank=True, null=True)),
                ("mail_error", models.TextField(blank=True)),
                ("accepted_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "accepted_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("groups", models.ManyToManyField(blank=True, related_name="+", to="pipelines.group")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="pipelines.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("roles__contained_by", ["viewer", "operator", "designer", "reviewer", "admin"]),
                            ("roles__len__gt", 0),
                        ),
                        name="invitation_roles_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("accepted_at__isnull", True), ("accepted_by__isnull", False), _connector="OR"
                        ),
                        name="an_accepted_invitation_says_by_whom",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("accepted_at__isnull", True), ("revoked_at__isnull", True), _connector="OR"
                        ),
                        name="an_accepted_invitation_is_not_revoked",
                    ),
                ],
            },
        ),
        migrations.RunSQL(
            sql=APPEND_ONLY, reverse_sql="DROP TRIGGER gateline_update ON pipelines_administrativeact;"
        ),
    ]
