"""Roles become a set (house §5). A reviewer could design and publish until now, and keeps both roles. A machine never
decides, so its role reviewer gave what designer gives."""

import django.contrib.postgres.fields
from django.db import migrations, models

ROLES = ["viewer", "operator", "designer", "reviewer", "admin"]
CHOICES = [(role, role.title()) for role in ROLES]

FORWARD = """
UPDATE pipelines_membership
   SET roles = CASE role WHEN 'reviewer' THEN ARRAY['designer', 'reviewer'] ELSE ARRAY[role] END;
UPDATE pipelines_apitoken SET role = 'designer' WHERE kind = 'machine' AND role = 'reviewer';
"""
# The ladder knows no reviewer who is not a designer: the greater role of a set stands for it.
BACKWARD = """
UPDATE pipelines_membership SET role = CASE
    WHEN 'admin' = ANY (roles) THEN 'admin' WHEN 'reviewer' = ANY (roles) THEN 'reviewer'
    WHEN 'designer' = ANY (roles) THEN 'designer' WHEN 'operator' = ANY (roles) THEN 'operator'
    ELSE 'viewer' END;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0021_recorded_answers"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="membership", name="membership_role_known"),
        migrations.AddField(
            model_name="membership",
            name="roles",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(choices=CHOICES, max_length=10), default=list, size=None
            ),
            preserve_default=False,
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
        migrations.AlterField(
            model_name="membership",
            name="role",
            field=models.CharField(choices=CHOICES, max_length=10, default="viewer"),
        ),
        migrations.RemoveField(model_name="membership", name="role"),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.CheckConstraint(
                condition=models.Q(("roles__contained_by", ROLES), ("roles__len__gt", 0)),
                name="membership_roles_known",
            ),
        ),
    ]
