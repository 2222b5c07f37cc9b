"""SQL of the pages: hints to open pages, requests of one address, whether the database answers, and metrics."""

from __future__ import annotations

from typing import Final

# NOTIFY itself takes no parameters.
NOTIFY: Final = "SELECT pg_notify(%s, payload) FROM unnest(%s::text[]) AS payload"


# Lost hints

# LEFT JOIN: the clock comes also where nothing changed.
CHANGED_TASKS = """
    SELECT clock.now, task.project_id, task.line_id, task.key, task.number, task.seq
    FROM (SELECT clock_timestamp() AS now) clock LEFT JOIN (
        SELECT t.project_id, t.line_id, p.key, t.number, t.seq
        FROM pipelines_task t JOIN pipelines_project p ON p.id = t.project_id
        WHERE t.project_id = ANY(%s) AND t.changed_at >= %s ORDER BY t.changed_at DESC LIMIT %s
    ) task ON true"""

LINE_NUMBERS = """
    SELECT l.id, l.draft_number, v.number,
           (SELECT sum(c.revision) FROM pipelines_comment c WHERE c.line_id = l.id)
    FROM pipelines_line l LEFT JOIN pipelines_lineversion v ON v.id = l.live_id WHERE l.id = ANY(%s)"""


# Requests of an address

# One statement: the requests of this minute, with this one, how far the minute is, and those of the minute before.
COUNT_REQUEST = """
    WITH clock AS (SELECT clock_timestamp() AS now),
    counted AS (
        INSERT INTO pipelines_addressminute (address, minute, requests)
        SELECT %(address)s, date_trunc('minute', now), 1 FROM clock
        ON CONFLICT (address, minute) DO UPDATE SET requests = pipelines_addressminute.requests + 1
        RETURNING requests
    )
    SELECT counted.requests, extract(second FROM clock.now)::float, coalesce((
        SELECT requests FROM pipelines_addressminute
        WHERE address = %(address)s AND minute = date_trunc('minute', clock.now) - interval '1 minute'
    ), 0) FROM counted, clock"""

# What another process sweeps at the moment is skipped, so none waits for the other.
SWEEP_MINUTES = """
    DELETE FROM pipelines_addressminute WHERE id IN (
        SELECT id FROM pipelines_addressminute WHERE minute < clock_timestamp() - interval '3 minutes'
        LIMIT 1000 FOR UPDATE SKIP LOCKED
    )"""


# Health

PING = "SELECT 1"


# Metrics

# Rows (metric, values of its labels, value), each read from an index or a table that holds open work alone.
INSTALLATION_METRICS: Final = """
    WITH queued AS MATERIALIZED (
        SELECT job.pinned_id, job.station, job.purpose, count(*) AS jobs,
               min(greatest(token.changed_at, job.not_before)) AS since
        FROM pipelines_job job JOIN pipelines_token token ON token.id = job.token_id
        WHERE job.state = 'queued' AND token.status IN ('queued', 'evaluating')
          AND (job.not_before IS NULL OR job.not_before <= statement_timestamp())
        GROUP BY job.pinned_id, job.station, job.purpose),
    labelled AS (
        SELECT queued.purpose, queued.jobs, queued.since, coalesce((
            SELECT string_agg(label, ',' ORDER BY label COLLATE "C")
            FROM jsonb_array_elements(version.document -> 'stations') member,
                 jsonb_array_elements_text(member -> 'labels') label
            WHERE member ->> 'key' = queued.station), '') AS labels
        FROM queued JOIN pipelines_lineversion version ON version.id = queued.pinned_id),
    gate AS (
        SELECT count(*) AS visits,
               count(*) FILTER (WHERE due_at < coalesce(paused_at, statement_timestamp())) AS overdue,
               min(opened_at) AS since
        FROM pipelines_gatevisit WHERE state = 'open'),
    worker AS (
        SELECT CASE WHEN token_id IS NULL THEN 'server' ELSE 'runner' END AS kind, count(*) AS workers,
               sum(concurrency) AS slots, count(*) FILTER (WHERE no_space) AS without_space
        FROM pipelines_worker
        WHERE stopped_at IS NULL AND seen_at > statement_timestamp() - make_interval(secs => %(alive)s)
        GROUP BY 1),
    session AS MATERIALIZED (
        SELECT CASE WHEN application_name IN ('gateline web', 'gateline worker', 'gateline command')
                    THEN split_part(application_name, ' ', 2) ELSE 'other' END AS process,
               coalesce(state, 'unknown') AS state, wait_event_type = 'Lock' AS waits, xact_start
        FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend')
    SELECT 'queue_jobs', ARRAY[labels, purpose], sum(jobs)::float FROM labelled GROUP BY labels, purpose
    UNION ALL
    SELECT 'queue_oldest_seconds', ARRAY[labels, purpose], extract(epoch FROM statement_timestamp() - min(since))
    FROM labelled GROUP BY labels, purpose
    UNION ALL
    SELECT 'jobs_running', ARRAY[purpose, kind], count(*) FROM pipelines_job WHERE state = 'running'
    GROUP BY purpose, kind
    UNION ALL
    SELECT 'tasks_open', ARRAY[status], count(*) FROM pipelines_task WHERE ended_at IS NULL GROUP BY status
    UNION ALL
    SELECT 'tasks_ended_recently', ARRAY[status], count(*) FROM pipelines_task
    WHERE changed_at > statement_timestamp() - interval '5 minutes'
      AND ended_at > statement_timestamp() - interval '5 minutes' GROUP BY status
    UNION ALL SELECT 'gates_open', '{}', visits FROM gate
    UNION ALL SELECT 'gates_overdue', '{}', overdue FROM gate
    UNION ALL
    SELECT 'gates_oldest_seconds', '{}', coalesce(extract(epoch FROM statement_timestamp() - since), 0) FROM gate
    UNION ALL SELECT 'workers', ARRAY[kind], workers FROM worker
    UNION ALL SELECT 'worker_slots', ARRAY[kind], slots FROM worker
    UNION ALL SELECT 'workers_without_space', ARRAY[kind], without_space FROM worker
    UNION ALL
    SELECT 'tickets', ARRAY[queue_name, status::text], count(*) FROM procrastinate_jobs
    WHERE status <> 'todo' OR scheduled_at IS NULL OR scheduled_at <= statement_timestamp()
    GROUP BY queue_name, status
    UNION ALL
    -- Counted by the server itself: nothing that moves share is updated by a move.
    SELECT CASE relname WHEN 'pipelines_event' THEN 'events' WHEN 'pipelines_decision' THEN 'decisions'
             WHEN 'pipelines_task' THEN 'tasks' WHEN 'pipelines_job' THEN 'jobs' ELSE 'votes' END,
           '{}', n_tup_ins
    FROM pg_stat_user_tables WHERE schemaname = current_schema() AND relname IN (
      'pipelines_event', 'pipelines_decision', 'pipelines_task', 'pipelines_job', 'pipelines_vote')
    UNION ALL
    SELECT 'database_connections', ARRAY[process, state], count(*) FROM session GROUP BY process, state
    UNION ALL SELECT 'database_connections_max', '{}', current_setting('max_connections')::float
    UNION ALL SELECT 'database_lock_waits', '{}', count(*) FROM session WHERE waits
    UNION ALL
    SELECT 'database_oldest_transaction_seconds', '{}',
           coalesce(extract(epoch FROM max(statement_timestamp() - xact_start)), 0) FROM session
    UNION ALL SELECT 'info', ARRAY[%(version)s, current_setting('server_version')], 1
    UNION ALL SELECT 'undelivered', ARRAY['host'], count(*) FROM pipelines_hostnotice WHERE state = 'failed'"""


# Answers that are recorded, so that a request that comes twice is carried out once

RECORD_KEY = """INSERT INTO pipelines_recordedanswer (actor, key, request_digest, status, body, at)
            VALUES (%s, %s, %s, 0, '', clock_timestamp()) ON CONFLICT (actor, key) DO NOTHING RETURNING id"""

# Concurrent requests clean up too: each takes other rows, so none waits for another.
DELETE_EXPIRED_ANSWERS = """DELETE FROM pipelines_recordedanswer WHERE id IN (
               SELECT id FROM pipelines_recordedanswer WHERE at < clock_timestamp() - make_interval(hours => %s)
               ORDER BY at LIMIT %s FOR UPDATE SKIP LOCKED)"""

DELETE_SURPLUS_ANSWERS = """DELETE FROM pipelines_recordedanswer WHERE id IN (
               SELECT id FROM pipelines_recordedanswer WHERE actor = %s ORDER BY id DESC OFFSET %s
               FOR UPDATE SKIP LOCKED)"""
