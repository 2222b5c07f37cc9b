"""SQL of work: jobs that may be claimed, what runners report, tickets and due times."""

from __future__ import annotations

from typing import Final

from pipelines.models.plumbing.compiled_queries import array_parameter_sql

# Claiming

# LATERAL with its own LIMIT: of a long queue only as many rows are read as there is room for
_CLAIMABLE: Final = """
    SELECT job.id, work.queue
    FROM jsonb_to_recordset((SELECT %s::jsonb)) AS work(
      version bigint, station text, purpose text, kind text, agent text, project bigint,
      queue text, most bigint, input text, refused jsonb, sole_job bigint)
    CROSS JOIN LATERAL (
      SELECT job.id, job.rank, job.created_at FROM pipelines_job job
      WHERE job.state = 'queued' AND job.pinned_id = work.version AND job.station = work.station
        AND job.purpose = work.purpose AND job.kind = work.kind
        AND (work.sole_job IS NULL OR job.id = work.sole_job)
        AND (SELECT token.status FROM pipelines_token token WHERE token.id = job.token_id)
            IN ('queued', 'evaluating')
        AND (work.input = '' OR NOT EXISTS (
          SELECT FROM pipelines_task task WHERE task.id = job.task_id
            AND jsonb_exists(work.refused, coalesce(task.inputs ->> work.input, ''))))
        {}
      ORDER BY job.rank, job.created_at, job.id LIMIT work.most) job
    WHERE work.agent = '' OR (
      NOT EXISTS (
        SELECT FROM pipelines_deadlock deadlock JOIN pipelines_task task ON task.id = deadlock.task_id
        WHERE deadlock.state = 'open' AND work.agent = ANY(deadlock.agents) AND task.project_id = work.project)
      AND NOT EXISTS (
        SELECT FROM pipelines_agent agent
        WHERE agent.project_id = work.project AND agent.key = work.agent
          AND (agent.suspended_at IS NOT NULL OR agent.capacity <= (
            SELECT count(*) FROM pipelines_job running JOIN pipelines_task task ON task.id = running.task_id
            WHERE running.agent = work.agent AND running.state = 'running'
              AND task.project_id = work.project))))
    ORDER BY job.rank, job.created_at, job.id"""

CLAIMABLE: Final = _CLAIMABLE.format("AND (job.not_before IS NULL OR job.not_before <= clock_timestamp())")
"""Rows (job, queue): of each station as many as there is room for, the most urgent first."""

UNATTENDED: Final = (
    "WITH since AS (SELECT clock_timestamp() - make_interval(secs => %s) AS at)"
    + _CLAIMABLE.format(
        """AND job.created_at < (SELECT at FROM since)
        AND (job.not_before IS NULL OR job.not_before < (SELECT at FROM since))
        AND job.token_id NOT IN (
          SELECT (ticket.args ->> 'token_id')::bigint FROM procrastinate_jobs ticket
          WHERE ticket.task_name = 'pipelines.drive' AND ticket.status IN ('todo', 'doing')
            AND ticket.args ->> 'token_id' IS NOT NULL
            AND (ticket.scheduled_at IS NULL
                 OR ticket.scheduled_at < clock_timestamp() + interval '1 second'))"""
    )
)
"""The same of jobs for which no ticket is on its way: it came to a worker that does not do them, or was lost."""

# SKIP LOCKED passes over tickets that another worker is taking
TAKE_TICKETS = """
    DELETE FROM procrastinate_jobs WHERE id = ANY(ARRAY(
      SELECT id FROM procrastinate_jobs
      WHERE status = 'todo' AND queue_name = %(queue)s AND task_name = 'pipelines.drive'
        AND (scheduled_at IS NULL OR scheduled_at <= clock_timestamp())
      ORDER BY priority DESC, id LIMIT %(most)s FOR UPDATE SKIP LOCKED))
    RETURNING (args ->> 'token_id')::bigint"""

HEARTBEAT = "SELECT procrastinate_update_heartbeat_v1(%s)"

SECONDS_FROM_NOW = "SELECT clock_timestamp() + make_interval(secs => %s)"


# Orders and results

RECEIVED_HANDOFFS = """
    SELECT DISTINCT ON (job.id) job.id, handoff.document::text
    FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS job(id, task_id, station)
      JOIN pipelines_handoff handoff ON handoff.task_id = job.task_id
      JOIN pipelines_job receiver ON receiver.id = handoff.to_id
    WHERE receiver.id <= job.id AND receiver.station = job.station
    ORDER BY job.id, receiver.id DESC, handoff.at DESC"""

# The job is created by the transaction that writes the event, or a later one queues it again
QUEUEING_REQUESTS: Final = """
    SELECT job.id, latest.request
    FROM unnest(%s::bigint[], %s::bigint[], %s::timestamptz[]) AS job(id, task_id, created_at)
      CROSS JOIN LATERAL (
        SELECT recent.data->>'request' AS request
        FROM (SELECT seq, at, data FROM pipelines_event WHERE task_id = job.task_id ORDER BY seq DESC LIMIT 8) recent
        WHERE recent.at >= job.created_at AND recent.data ? 'request'
        ORDER BY recent.seq DESC LIMIT 1) latest"""

HOLD_LEASE = "SELECT clock_timestamp() FROM pipelines_lease WHERE job_id = %s AND key = %s FOR UPDATE"


# Runners

RUNNER_OF_TOKEN: Final = (
    "SELECT to_json(runner)::text FROM pipelines_worker runner WHERE id = %s AND token_id = %s"
)

# MATERIALIZED: each is read once, though several of the parts use it
READ_REPORTED = """
    WITH runner AS MATERIALIZED (
        SELECT * FROM pipelines_worker
        WHERE id = ANY(%s::uuid[]) AND token_id = ANY(%s::bigint[]) AND project_id = %s),
      its AS MATERIALIZED (
        SELECT task.* FROM pipelines_task task
        WHERE task.id = ANY(ARRAY(SELECT task_id FROM pipelines_job WHERE id = ANY(%s::bigint[])))
          AND task.project_id = %s),
      work AS MATERIALIZED (
        SELECT job.* FROM pipelines_job job
        WHERE job.id = ANY(%s::bigint[]) AND job.task_id IN (SELECT id FROM its))
    SELECT (SELECT json_agg(runner)::text FROM runner),
      (SELECT json_agg(its)::text FROM its),
      (SELECT json_agg(work)::text FROM work),
      (SELECT json_agg(json_build_array(left_by.job_id, left_by.name, left_by.media_type, blob.digest, blob.size)
                       ORDER BY left_by.id)::text
       FROM pipelines_artifact left_by JOIN pipelines_blob blob ON blob.digest = left_by.blob_id
       WHERE left_by.job_id = ANY(ARRAY(SELECT id FROM work))),
      (SELECT json_agg(result)::text FROM pipelines_runnerresult result
       WHERE result.job_id = ANY(ARRAY(SELECT id FROM work))),
      (SELECT json_agg(json_build_array(ran.task_id, ran.pinned_id))::text
       FROM (SELECT DISTINCT job.task_id, job.pinned_id
             FROM pipelines_token token JOIN pipelines_job job ON job.token_id = token.id
             WHERE token.task_id = ANY(ARRAY(SELECT id FROM its))) ran),
      ARRAY(SELECT DISTINCT job_id FROM pipelines_runnerupload WHERE job_id = ANY(ARRAY(SELECT id FROM work)))"""


# Due times

DUE_TIMES = """
    SELECT id FROM pipelines_due
    WHERE paused_at IS NULL AND due_at <= coalesce(%s, clock_timestamp()) ORDER BY due_at, id LIMIT %s"""

DUE_TRIGGERS = """
    SELECT id FROM pipelines_trigger
    WHERE next_at <= coalesce(%s, clock_timestamp()) ORDER BY next_at, id LIMIT %s"""

# SKIP LOCKED: another worker starts it, or somebody changes it, and then it is not due, or due again at once
LOCK_DUE_TRIGGER = """
    SELECT coalesce(%(now)s, clock_timestamp()) FROM pipelines_trigger
    WHERE id = %(trigger)s AND next_at <= coalesce(%(now)s, clock_timestamp()) FOR NO KEY UPDATE SKIP LOCKED"""

TRIGGERS_OF_ENDED_TASKS = f"""
    SELECT trigger.id, task.id
    FROM pipelines_task task JOIN pipelines_trigger trigger ON trigger.source_id = task.line_id
    WHERE task.id = ANY({array_parameter_sql("bigint")}) AND trigger.paused_at IS NULL
      AND trigger.options ->> 'state' IN (task.status, 'any')
    ORDER BY task.id, trigger.id"""

# least() passes over what is null
OUTLOOK = """
    SELECT extract(epoch FROM least(
        (SELECT min(due_at) FROM pipelines_due WHERE paused_at IS NULL),
        (SELECT min(next_at) FROM pipelines_trigger)) - clock.now)::float8,
      extract(epoch FROM (
        SELECT min(coalesce(scheduled_at, clock.now)) FROM procrastinate_jobs WHERE status = 'todo')
        - clock.now)::float8,
      EXISTS (SELECT FROM pipelines_lease WHERE expires_at < clock.now)
        OR EXISTS (SELECT FROM procrastinate_jobs WHERE status = 'doing')
        OR EXISTS (SELECT FROM pipelines_hostnotice WHERE state = 'queued'),
      EXISTS (SELECT FROM pipelines_lease),
      EXISTS (SELECT FROM pipelines_job WHERE state = 'queued')
    FROM (SELECT clock_timestamp() AS now) clock"""
"""Row: seconds to the next due time or start of a trigger, seconds to the next ticket (0 or less: its time has come),
whether there is anything that a sweep might find, whether anything is at work, whether any job is queued."""

DELAY_DUE_TIME = (
    "UPDATE pipelines_due SET due_at = clock_timestamp() + make_interval(secs => %s) WHERE id = %s"
)


# Tickets

UNKNOWN_TICKETS = """
    SELECT DISTINCT task_name, queue_name FROM procrastinate_jobs
    WHERE status = 'todo' AND queue_name = ANY(%s) AND NOT task_name = ANY(%s) ORDER BY 1, 2"""


# Hosts

LINKS_OF_TASKS = f"SELECT id FROM pipelines_hostlink WHERE task_id = ANY({array_parameter_sql('bigint')})"


# Uploads

# A task uses the files its inputs name, and those handed over by a person who did the work of a station; a trigger uses
# those that its tasks start with.
UNUSED_UPLOADS = """
SELECT u.id, u.blob_id FROM pipelines_upload u
WHERE u.at < %(before)s AND NOT EXISTS (
    SELECT 1 FROM pipelines_task t
    WHERE t.project_id = u.project_id AND (t.ended_at IS NULL OR t.ended_at >= %(before)s)
      AND (strpos(t.inputs::text, u.blob_id) > 0 OR EXISTS (
          SELECT 1 FROM pipelines_token k JOIN pipelines_job j ON j.token_id = k.id
          WHERE k.task_id = t.id AND strpos(j.outcome::text, u.blob_id) > 0)))
  AND NOT EXISTS (
    SELECT 1 FROM pipelines_trigger r JOIN pipelines_line l ON l.id = r.line_id
    WHERE l.project_id = u.project_id AND strpos(r.inputs::text, u.blob_id) > 0)
ORDER BY u.id LIMIT %(most)s FOR UPDATE OF u SKIP LOCKED"""

# Read once for all of these digests, and never for each: a manifest has no index.
DIGESTS_OF_SNAPSHOTS = """
    SELECT DISTINCT entry ->> 'digest' FROM pipelines_snapshot snapshot
    CROSS JOIN LATERAL jsonb_array_elements(snapshot.manifest) entry WHERE entry ->> 'digest' = ANY(%s)"""
