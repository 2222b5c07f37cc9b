"""SQL of the engine, by the floors on which it is sent."""

from __future__ import annotations

from pipelines.models.plumbing.compiled_queries import array_parameter_sql

# Loading the tasks of a batch

# A job never changes its task, so finding the tasks needs no lock.
TASKS_OF_JOBS = "ARRAY(SELECT DISTINCT task_id FROM pipelines_job WHERE id = ANY(%s::bigint[]))"

TASKS_BY_ID = array_parameter_sql("bigint")

# In id order, so that no two wait for each other; NO KEY, so that rows which refer to a task
# can be written meanwhile.
LOCK_TASKS = """SELECT to_json(task)::text FROM pipelines_task task WHERE id = ANY({of})
          ORDER BY id FOR NO KEY UPDATE"""

# An open job has a living token, and by that it is found: a task's open jobs, not the installation's.
# MATERIALIZED: each is read once, though several of the parts use it
# Pauses: those in force, and those that are over and have not moved every due time yet (law §17)
READ_TASKS = """
    WITH mine AS MATERIALIZED (SELECT {of} AS ids),
      living AS MATERIALIZED (
        SELECT token.* FROM pipelines_token token
        WHERE task_id = ANY((SELECT ids FROM mine)::bigint[]) AND ended_at IS NULL),
      work AS (
        SELECT job.* FROM pipelines_job job
        WHERE token_id = ANY(ARRAY(SELECT id FROM living)) AND state <> 'done'
        UNION ALL
        SELECT job.* FROM pipelines_job job WHERE id = ANY(%s::bigint[]) AND state = 'done')
    SELECT clock_timestamp(),
      ARRAY(SELECT nextval(pg_get_serial_sequence('pipelines_job', 'id')) FROM generate_series(1, %s)),
      (SELECT json_agg(living)::text FROM living),
      (SELECT json_agg(work)::text FROM work),
      (SELECT json_agg(json_build_array(to_json(project), to_json(owner)))::text
       FROM pipelines_project project JOIN pipelines_owner owner ON owner.id = project.owner_id
       WHERE project.id IN (SELECT project_id FROM pipelines_task WHERE id = ANY((SELECT ids FROM mine)::bigint[]))),
      (SELECT json_agg(due)::text FROM pipelines_due due WHERE task_id = ANY((SELECT ids FROM mine)::bigint[])),
      (SELECT json_object_agg(task_id, names)::text FROM (
         SELECT task_id, json_object_agg(name, state ORDER BY other_id) names
         FROM (
           SELECT waits.task_id, waits.room, other.id AS other_id, other.ended_at,
             'WI-' || project.key || '-' || other.number AS name,
             CASE WHEN waits.room IS NULL THEN other.status ELSE 'turn' END AS state,
             count(*) FILTER (WHERE waits.room IS NOT NULL AND other.ended_at IS NULL)
               OVER (PARTITION BY waits.task_id) AS ahead
           FROM pipelines_dependency waits JOIN pipelines_task other ON other.id = waits.on_id
             JOIN pipelines_project project ON project.id = other.project_id
           WHERE waits.task_id = ANY((SELECT ids FROM mine)::bigint[]) AND other.status <> 'completed') one
         WHERE room IS NULL OR (ended_at IS NULL AND ahead >= room)
         GROUP BY task_id) unmet),
      (SELECT json_agg(json_build_array(task.id, pause.id, pause.station, pause.stops, person.username, pause.reason,
                                        pause.since, pause.ended_at) ORDER BY pause.since)::text
       FROM pipelines_pause pause JOIN pipelines_user person ON person.id = pause.by_id
         JOIN pipelines_task task ON task.project_id = pause.project_id
           AND (pause.line_id IS NULL OR pause.line_id = task.line_id)
           AND (pause.task_id IS NULL OR pause.task_id = task.id)
           AND (pause.ended_at IS NULL OR pause.ended_at > (
             SELECT min(coalesce(due.paused_at, due.due_at)) FROM pipelines_due due
             WHERE due.task_id = task.id AND (due.paused_at IS NOT NULL OR due.kind = 'pause')))
       WHERE task.id = ANY((SELECT ids FROM mine)::bigint[])),
      (SELECT json_object_agg(task_id, found)::text FROM (
         SELECT party.task_id, json_agg(circle.id ORDER BY circle.found_at) found
         FROM pipelines_deadlock_tasks party JOIN pipelines_deadlock circle ON circle.id = party.deadlock_id
         WHERE party.task_id = ANY((SELECT ids FROM mine)::bigint[])
           AND circle.state = 'open' AND circle.kind = 'circular_wait'
         GROUP BY party.task_id) circles)"""

JOB_IDS = "SELECT nextval(pg_get_serial_sequence('pipelines_job', 'id')) FROM generate_series(1, %s)"

AWAITED_TASKS = """
    SELECT on_id FROM pipelines_dependency WHERE on_id = ANY(%s::bigint[])
    UNION
    SELECT party.task_id
    FROM pipelines_deadlock_tasks party JOIN pipelines_deadlock found ON found.id = party.deadlock_id
    WHERE party.task_id = ANY(%s::bigint[]) AND found.state = 'open'"""


# Leases, agents and draws

# A row is: old job, new job, key, seconds (core/lease_transfers.py).
HAND_LEASES_ON = """
    UPDATE pipelines_lease AS lease SET job_id = (v.row ->> 1)::bigint, key = (v.row ->> 2)::uuid,
      expires_at = clock_timestamp() + make_interval(secs => (v.row ->> 3)::float8)
    FROM json_array_elements(%s::json) AS v(row) WHERE lease.job_id = (v.row ->> 0)::bigint"""

# Written without the locks of these tasks, so the same due time may be there already
WAKE_WAITING = """
    INSERT INTO pipelines_due (task_id, kind, key, token_id, set_at, due_at)
    SELECT token.task_id, %(kind)s, token.id::text, token.id, clock_timestamp(), clock_timestamp()
    FROM pipelines_token token JOIN pipelines_task task ON task.id = token.task_id
    WHERE token.status = 'held' AND task.project_id = %(project)s AND token.wait -> 'missing' ? %(missing)s
    ON CONFLICT DO NOTHING"""

# The task that follows none comes first.
TASK_CHAIN = """WITH RECURSIVE chain(id, follows_id) AS (
            SELECT id, follows_id FROM pipelines_task WHERE id = %s
            UNION SELECT task.id, task.follows_id FROM pipelines_task task JOIN chain ON task.id = chain.follows_id)
          SELECT id FROM chain ORDER BY follows_id NULLS FIRST"""


# Gates and joins

# A digest of digests, so that a log is never put together for it
LOG_DIGEST = """SELECT encode(sha256(string_agg(sha256(data), ''::bytea ORDER BY number)), 'hex')
                FROM pipelines_logchunk WHERE job_id = %s AND attempt = %s"""

# house §4: of two words at once the first changes a row, the second none.
DECIDE = """UPDATE pipelines_gatevisit SET state = 'decided', word = %s, route = %s, reason = %s, decided_by_id = %s,
              decided_at = %s, overridden = %s
            WHERE id = %s AND state = 'open' AND token_version = %s RETURNING 1"""

TOKENS_OF_TASK = "SELECT to_json(token)::text FROM pipelines_token token WHERE task_id = %s"

CONTEXT_WRITES = """SELECT token_id, seq, (data -> 'context')::text, source FROM pipelines_event
            WHERE task_id = %s AND token_id = ANY(%s::bigint[]) AND jsonb_exists(data, 'context')"""

# Of a member who may sign in and is away, the stand-in: the one for the project, else the one for all.
STAND_INS = f"""
    SELECT DISTINCT ON (m.project_id, a.user_id) m.project_id, a.user_id, a.stand_in_id
    FROM pipelines_absence a
    JOIN pipelines_membership m ON m.user_id = a.user_id AND (a.project_id IS NULL OR a.project_id = m.project_id)
    JOIN pipelines_user u ON u.id = a.user_id AND u.is_active
    WHERE m.project_id = ANY({array_parameter_sql("bigint")}) AND a.until > clock_timestamp()
    ORDER BY m.project_id, a.user_id, a.project_id NULLS LAST
"""


# Commands

# The row stays locked until the end of the transaction, so that numbers have no gaps.
NEXT_NUMBER = """INSERT INTO pipelines_taskcounter (project_id, last) VALUES (%s, 1)
          ON CONFLICT (project_id) DO UPDATE SET last = pipelines_taskcounter.last + 1
          RETURNING last, clock_timestamp()"""

# Locked: one that ends at the same time would wake nobody. Behind the lock PostgreSQL looks again whether it is open.
TASKS_AHEAD = """SELECT id, number FROM pipelines_task
          WHERE line_id = %s AND limit_key = %s AND id < %s AND ended_at IS NULL
          ORDER BY id LIMIT %s FOR NO KEY UPDATE"""

# xmax = 0 is a row that was inserted, and not updated: the first report of its kind.
COUNT_IGNORED = """INSERT INTO pipelines_ignoredreport (job_id, attempt, digest, count)
           SELECT * FROM unnest(%s::bigint[], %s::int[], %s::text[], %s::int[])
           ON CONFLICT (job_id, attempt, digest) DO UPDATE SET count = pipelines_ignoredreport.count + excluded.count
           RETURNING job_id, attempt, digest, xmax = 0"""

TAKE_LEASE_BACK = "DELETE FROM pipelines_lease WHERE job_id = %s AND key = %s"

IF_EXPIRED = " AND expires_at < clock_timestamp()"

# Sent after the lease is gone: whoever stores results holds it until they are stored.
DROP_UNREPORTED_RESULTS = """
    WITH given(job) AS (SELECT unnest(%s::bigint[])),
      snapshot AS (DELETE FROM pipelines_snapshot WHERE job_id IN (SELECT job FROM given)),
      visit AS (DELETE FROM pipelines_visitcommit WHERE job_id IN (SELECT job FROM given)),
      result AS (DELETE FROM pipelines_runnerresult WHERE job_id IN (SELECT job FROM given))
    DELETE FROM pipelines_artifact WHERE job_id IN (SELECT job FROM given)"""

# Freed by the end of the transaction
LOCK_DEPENDENCIES = "SELECT pg_advisory_xact_lock(hashtext('gateline.dependencies'), %s)"


# Due times

TAKE_DUE_TIME = "DELETE FROM pipelines_due WHERE id = %s AND due_at <= %s AND paused_at IS NULL"


# Pauses

# Who starts a task locks its row first, so that none is started in between
LOCK_COUNTER = """INSERT INTO pipelines_taskcounter (project_id, last) VALUES (%s, 0)
          ON CONFLICT (project_id) DO UPDATE SET last = pipelines_taskcounter.last
          RETURNING clock_timestamp()"""

# Written without the locks of these tasks, as each is paused and resumed by a due time of its own
WAKE_SCOPE = """
    INSERT INTO pipelines_due (task_id, kind, key, set_at, due_at)
    SELECT task.id, %(kind)s, %(key)s, %(at)s, %(at)s FROM pipelines_task task
    WHERE task.project_id = %(project)s AND task.ended_at IS NULL
      AND (%(line)s::bigint IS NULL OR task.line_id = %(line)s)
      AND (%(task)s::bigint IS NULL OR task.id = %(task)s)
    ON CONFLICT DO NOTHING"""

PAUSE_DUE_TIMES = """
    UPDATE pipelines_due due SET paused_at = stopped.at
    FROM unnest(%s::bigint[], %s::timestamptz[]) stopped(id, at) WHERE due.id = stopped.id"""

RESUME_DUE_TIMES = """
    UPDATE pipelines_due due SET due_at = going.at, paused_at = NULL
    FROM unnest(%s::bigint[], %s::timestamptz[]) going(id, at) WHERE due.id = going.id"""

# Lists and pages read these, and no due times
PAUSE_DEADLINES = """
    WITH visits AS (
        UPDATE pipelines_gatevisit visit SET paused_at = due.paused_at FROM pipelines_due due
        WHERE due.task_id = ANY(%s) AND visit.id = due.visit_id AND visit.due_at = due.due_at
          AND visit.paused_at IS DISTINCT FROM due.paused_at)
    UPDATE pipelines_task task SET paused_at = due.paused_at FROM pipelines_due due
    WHERE due.task_id = task.id AND task.id = ANY(%s) AND due.kind = 'task'
      AND task.paused_at IS DISTINCT FROM due.paused_at"""


# Retention

# What stays and follows a task, depends on it or is caught in a deadlock of its needs its record: they go first.
_NEEDED = """EXISTS (SELECT FROM pipelines_task later WHERE later.follows_id = task.id AND later.retention < {kept})
    OR EXISTS (SELECT FROM pipelines_dependency waits JOIN pipelines_task later ON later.id = waits.task_id
               WHERE waits.on_id = task.id AND later.retention < {kept})
    OR EXISTS (SELECT FROM pipelines_deadlock_tasks party JOIN pipelines_deadlock lock ON lock.id = party.deadlock_id
               JOIN pipelines_task later ON later.id = lock.task_id
               WHERE party.task_id = task.id AND later.id <> task.id AND later.retention < {kept})"""

# Of each project a few, the longest ended first, by the index task_by_retention. Whoever works on one is passed over.
_LOCK_EXPIRED = """
    SELECT task.id FROM pipelines_project project
    CROSS JOIN generate_series(0, {kept} - 1) AS before
    CROSS JOIN LATERAL (
      SELECT task.id FROM pipelines_task task
      WHERE task.project_id = project.id AND task.retention = before AND task.retention < 2
        AND task.ended_at < %(now)s - make_interval(days => project.{days}) AND task.ended_at IS NOT NULL
        AND NOT ({needed})
      ORDER BY task.ended_at LIMIT %(most)s FOR NO KEY UPDATE SKIP LOCKED) task
    WHERE project.{days} IS NOT NULL LIMIT %(most)s"""

LOCK_EXPIRED_RECORDS = _LOCK_EXPIRED.format(kept=2, days="record_days", needed=_NEEDED.format(kept=2))

LOCK_EXPIRED_FILES = _LOCK_EXPIRED.format(kept=1, days="file_days", needed=_NEEDED.format(kept=1))

# Behind the lock: who started a retry meanwhile held it.
STILL_NEEDED = f"SELECT id FROM pipelines_task task WHERE id = ANY(%s) AND ({_NEEDED.format(kept=2)})"

ALLOW_PURGE = "SET LOCAL gateline.purge = 'on'"

REFUSE_PURGE = "SET LOCAL gateline.purge = 'off'"

DELETE_ROWS = "DELETE FROM {table} WHERE {column} = ANY(%s)"


# Invariants

# A ticket that found nothing to do is spent; the workers' sweep of unattended jobs finds the job
# (work/transport/local/claimable.py).
TICKETS_TO_DRIVE = (
    "SELECT DISTINCT (args->>'token_id')::bigint FROM procrastinate_jobs WHERE task_name = 'pipelines.drive'"
)

# Columns 5 and 6 are the positions of the station and of the rule in it.
VERSION_ROWS = """
    SELECT version_id, 'station', key, kind, position, 0 FROM pipelines_versionstation WHERE version_id = ANY(%(of)s)
    UNION ALL
    SELECT r.version_id, 'rule', s.key, r.key, s.position, r.position FROM pipelines_versionrule r
      JOIN pipelines_versionstation s ON s.id = r.station_id WHERE r.version_id = ANY(%(of)s)
    UNION ALL
    SELECT version_id, 'gate', key, mode, position, 0 FROM pipelines_versiongate WHERE version_id = ANY(%(of)s)
    ORDER BY 5, 6"""

# tgenabled “O” is a trigger in force, as it is made.
UNGUARDED_TABLES = """SELECT name FROM unnest(%s::text[]) AS name WHERE NOT EXISTS (
                 SELECT FROM pg_trigger t WHERE t.tgrelid = ('pipelines_' || name)::regclass
                 AND t.tgname = 'gateline_update' AND t.tgenabled = 'O')"""

READ_ONE_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
