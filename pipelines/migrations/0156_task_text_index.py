"""The texts of the tasks there are, and their index. Moves and new tasks go on meanwhile: rows are written 10,000 at a
time, and the index is made concurrently. Broken off, it begins again where it was."""

from django.db import migrations

STEP = 10_000


def fill(apps, editor):
    with editor.connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(max(id), 0) FROM pipelines_task")
        [[last]] = cursor.fetchall()
        after = 0
        while after < last:
            cursor.execute(
                """WITH next AS (SELECT id, title, labels, number FROM pipelines_task WHERE id > %s ORDER BY id LIMIT %s),
                   done AS (INSERT INTO pipelines_tasktext
                            SELECT id, gateline_task_text(title, labels, number) FROM next ON CONFLICT DO NOTHING)
                   SELECT coalesce(max(id), %s) FROM next""",
                [after, STEP, last],
            )
            [[after]] = cursor.fetchall()


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("pipelines", "0155_task_text")]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        # One that was not finished is there, and not used.
        migrations.RunSQL("DROP INDEX IF EXISTS task_text_grams", migrations.RunSQL.noop),
        # A short list of what is pending: a search has to read it, and a new task now and then to empty it.
        migrations.RunSQL(
            "CREATE INDEX CONCURRENTLY task_text_grams ON pipelines_tasktext USING gin (gateline_grams(text))"
            " WITH (gin_pending_list_limit = 512)",
            "DROP INDEX task_text_grams",
        ),
        migrations.RunSQL("ANALYZE pipelines_tasktext", migrations.RunSQL.noop),
    ]
