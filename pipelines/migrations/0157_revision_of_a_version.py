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
    dependencies = [("pipelines", "0156_task_text_index")]

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
        migrations.RunSQL(guard(VERSION), guard(VERSION.replace(" revision,", ""))),
    ]
