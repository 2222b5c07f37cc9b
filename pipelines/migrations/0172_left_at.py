"""Keep when a member last left a project or lost their account: whoever stays alone does not approve their own work at
once, however the others went (law §6)."""

from django.db import migrations, models

KEEP = """
CREATE FUNCTION gateline_member_left() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE pipelines_project SET left_at = clock_timestamp() WHERE id = OLD.project_id;
  RETURN NULL;
END $$;
CREATE FUNCTION gateline_member_deactivated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE pipelines_project SET left_at = clock_timestamp()
    WHERE id IN (SELECT project_id FROM pipelines_membership WHERE user_id = OLD.id);
  RETURN NULL;
END $$;
CREATE TRIGGER gateline_left AFTER DELETE ON pipelines_membership FOR EACH ROW EXECUTE FUNCTION gateline_member_left();
CREATE TRIGGER gateline_deactivated AFTER UPDATE OF is_active ON pipelines_user FOR EACH ROW
  WHEN (OLD.is_active AND NOT NEW.is_active) EXECUTE FUNCTION gateline_member_deactivated();
"""
DROP = """
DROP TRIGGER gateline_left ON pipelines_membership;
DROP TRIGGER gateline_deactivated ON pipelines_user;
DROP FUNCTION gateline_member_left();
DROP FUNCTION gateline_member_deactivated();
"""


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0001_schema")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="left_at",
            field=models.DateTimeField(
                blank=True,
                editable=False,
                help_text="When a member last left, was removed or was deactivated. The database writes it.",
                null=True,
            ),
        ),
        migrations.RunSQL(KEEP, DROP),
    ]
