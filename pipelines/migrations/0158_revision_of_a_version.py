"""Every version is read under the revision of the law under which it was published; those of before are of the second."""

from django.db import migrations, models

VERSION = "line_id, number, document, digest, law, revision, published_by_id, published_at"


def guard(columns: str) -> str:
    other = " OR ".join(
        f"OLD.{each.strip()} IS DISTINCT FROM NEW.{each.strip()}" for each in columns.split(",")
    )
    return f"""
DROP TRIGGER gateline_update ON pipelines_lineversion;
CREATE TRIGGER gateline_update BEFORE UPDATE ON pipelines_lineversion FOR EACH ROW
    WHEN (OLD.id <> NEW.id OR {other} OR OLD.name IS NOT DISTINCT FROM NEW.name)
    EXECUTE FUNCTION gateline_refuse('a published version never changes', 'never');
"""


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0157_notices_not_sent")]

    operations = [
        migrations.AddField(
            model_name="lineversion",
            name="revision",
            field=models.PositiveSmallIntegerField(
                default=2, help_text="Of the law under which it was published, and is read ever after."
            ),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name="lineversion",
            name="revision",
            field=models.PositiveSmallIntegerField(
                default=3, help_text="Of the law under which it was published, and is read ever after."
            ),
        ),
        migrations.RemoveConstraint(model_name="lineevent", name="line_event_kind_known"),
        migrations.AddConstraint(
            model_name="lineevent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind__in", ["published", "named", "restored", "not_migrated", "reread"])
                ),
                name="line_event_kind_known",
            ),
        ),
        migrations.AlterField(
            model_name="lineevent",
            name="kind",
            field=models.CharField(
                choices=[
                    ("published", "Published"),
                    ("named", "Named"),
                    ("restored", "Restored as the draft"),
                    ("not_migrated", "Published, and not migrated"),
                    ("reread", "Guarantees read anew"),
                ],
                max_length=16,
            ),
        ),
        migrations.RunSQL(guard(VERSION), guard(VERSION.replace(" revision,", ""))),
    ]
