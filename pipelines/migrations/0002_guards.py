"""What the database itself refuses: rewriting the record, changing a published version, leaving a terminal state.

A purge that is audited elsewhere sets `gateline.purge` to `on` for its transaction; then the record of a task may be
deleted, never altered."""

from django.db import migrations

REFUSE = """
CREATE FUNCTION gateline_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND TG_ARGV[1] = 'purgeable' AND current_setting('gateline.purge', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% of %: %', TG_OP, TG_TABLE_NAME, TG_ARGV[0]
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""

APPEND_ONLY = ("event", "decision", "vote")
PUBLISHED = ("lineversion", "versionstation", "versionrule", "versiongate")

# {table: (condition on the old row, columns that no longer change then)}
FINAL = {
    "task": (
        "ended_at IS NOT NULL",
        'status, "end", error, reason, ended_at, visits, edges, rules, rounds, context, variables, pinned_id,'
        " inputs, number, project_id, line_id",
    ),
    "token": ("ended_at IS NOT NULL", 'status, "end", error, ended_at, version, station, task_id, parent_id'),
    "job": (
        "state = 'done'",
        "state, outcome, result, exit_code, attempt, lease_key, report_digest, report_answer, reported_by, ended_at,"
        " station, visit, task_id, token_id, pinned_id",
    ),
    "gatevisit": (
        "state <> 'open'",
        "state, word, route, reason, decided_by_id, decided_at, evidence, evidence_digest, token_version, gate, round,"
        " task_id, token_id, job_id, asked_by_id",
    ),
}


def guard(table: str, event: str, reason: str, mode: str, when: str = "") -> str:
    return (
        f"CREATE TRIGGER gateline_{event.split()[0].lower()} BEFORE {event} ON pipelines_{table} FOR EACH ROW {when}"
        f" EXECUTE FUNCTION gateline_refuse('{reason}', '{mode}');"
    )


def final(table: str, condition: str, columns: str) -> str:
    names = [name.strip() for name in columns.split(",")]
    changed = " OR ".join(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in names)
    return guard(
        table,
        "UPDATE",
        "what has ended stays as it ended",
        "never",
        f"WHEN (OLD.{condition} AND ({changed}))",
    )


FORWARDS = [
    REFUSE,
    *(guard(table, "UPDATE OR DELETE", "the record is append-only", "purgeable") for table in APPEND_ONLY),
    *(guard(table, "UPDATE OR DELETE", "a published version never changes", "never") for table in PUBLISHED),
    *(final(table, *columns) for table, columns in FINAL.items()),
]
BACKWARDS = [
    *(f"DROP TRIGGER gateline_update ON pipelines_{table};" for table in (*APPEND_ONLY, *PUBLISHED, *FINAL)),
    "DROP FUNCTION gateline_refuse();",
]


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0001_initial")]
    operations = [migrations.RunSQL(sql=FORWARDS, reverse_sql=BACKWARDS)]
