"""A row beside each task with what a search reads, kept by the database. An index on the table of tasks itself would be
written by every move, since each changes a column that is indexed: the embedded PostgreSQL has no `pg_trgm` either, so
`gateline_grams` makes what the index of 0156 holds.

Locks writes to tasks for a moment, whatever their number: the trigger is made in an empty table's time."""

import django.db.models.deletion
from django.db import migrations, models

# Every two and three characters that follow each other: words of one character are not looked up.
GRAMS = """
CREATE FUNCTION gateline_grams(text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS $$
    SELECT coalesce(array_agg(DISTINCT substr($1, at, size)), '{}')
    FROM generate_series(1, length($1) - 1) at, generate_series(2, 3) size
$$;
CREATE FUNCTION gateline_task_text(title text, labels text[], number bigint) RETURNS text LANGUAGE sql AS $$
    SELECT upper(title || E'\\n' || array_to_string(labels, E'\\n') || E'\\n#' || number || E'\\n')
$$;
"""
KEEP = """
CREATE FUNCTION gateline_keep_task_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM pipelines_tasktext WHERE task_id = OLD.id;
    ELSE
        INSERT INTO pipelines_tasktext VALUES (NEW.id, gateline_task_text(NEW.title, NEW.labels, NEW.number))
        ON CONFLICT (task_id) DO UPDATE SET text = EXCLUDED.text;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER gateline_text_of_new AFTER INSERT OR DELETE ON pipelines_task
    FOR EACH ROW EXECUTE FUNCTION gateline_keep_task_text();
CREATE TRIGGER gateline_text_of_changed AFTER UPDATE OF title, labels, number ON pipelines_task FOR EACH ROW
    WHEN (ROW(OLD.title, OLD.labels, OLD.number) IS DISTINCT FROM ROW(NEW.title, NEW.labels, NEW.number))
    EXECUTE FUNCTION gateline_keep_task_text();
"""
FORGET = """
DROP TRIGGER gateline_text_of_new ON pipelines_task;
DROP TRIGGER gateline_text_of_changed ON pipelines_task;
DROP FUNCTION gateline_keep_task_text();
"""


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0154_insights_by_version")]

    operations = [
        migrations.CreateModel(
            name="TaskText",
            fields=[
                (
                    "task",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="pipelines.task",
                    ),
                ),
                ("text", models.TextField()),
            ],
        ),
        migrations.RunSQL(
            GRAMS, "DROP FUNCTION gateline_grams(text), gateline_task_text(text, text[], bigint)"
        ),
        migrations.RunSQL(KEEP, FORGET),
    ]
