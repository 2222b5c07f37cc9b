"""SQL of the ports: the clock, leases and notices on their way out."""

from __future__ import annotations

from pipelines.models.plumbing.compiled_queries import array_parameter_sql

# The clock

NOW = "SELECT clock_timestamp()"

ANNOUNCE = "SELECT pg_notify(%s, '')"


# Leases

GRANT_LEASES = """INSERT INTO pipelines_lease (job_id, key, worker_id, expires_at)
           SELECT job_id, key, %s, clock_timestamp() + make_interval(secs => %s)
           FROM unnest(%s::bigint[], %s::uuid[]) AS new(job_id, key)
           ON CONFLICT (job_id) DO UPDATE SET key = excluded.key, worker_id = excluded.worker_id,
                                              expires_at = excluded.expires_at"""
"""Writes the leases of jobs: worker, seconds, jobs and their keys. The caller holds the locks of their tasks, and no
lease is in force."""

DROP_LEASES = f"DELETE FROM pipelines_lease WHERE job_id = ANY({array_parameter_sql('bigint')})"
"""Removes the leases of jobs that are no longer worked on. The caller holds their tasks' locks."""

RENEW_LEASES = """WITH seen AS (
                 UPDATE pipelines_worker worker SET seen_at = clock_timestamp() + CASE
                   WHEN EXISTS (SELECT FROM pipelines_lease lease WHERE lease.worker_id = worker.id)
                   THEN interval '0' ELSE make_interval(secs => %(idle)s) END
                 WHERE id = %(worker)s)
               UPDATE pipelines_lease SET expires_at = clock_timestamp() + make_interval(secs => %(seconds)s)
               WHERE worker_id = %(worker)s AND NOT job_id = ANY(%(but)s) RETURNING job_id, key"""

LEASES_AND_JOBS = """SELECT lease.job_id, job.task_id, job.token_id, lease.key, lease.worker_id
          FROM pipelines_lease lease JOIN pipelines_job job ON job.id = lease.job_id """

EXPIRED_LEASES = (
    LEASES_AND_JOBS
    + """WHERE lease.expires_at < clock_timestamp()
                   AND pg_postmaster_start_time() < clock_timestamp() - make_interval(secs => %s)
                 ORDER BY lease.expires_at LIMIT %s"""
)

LEASES_OF_WORKER = LEASES_AND_JOBS + "WHERE lease.worker_id = %s ORDER BY lease.job_id"

CUT_LEASES_SHORT = (
    "UPDATE pipelines_lease SET expires_at = clock_timestamp() - interval '1 second' WHERE worker_id = %s"
)

LEASE_EXISTS = "SELECT 1 FROM pipelines_lease WHERE job_id = %s AND key = %s AND worker_id = %s"

ANSWERS_OF_WORKERS = """SELECT DISTINCT jsonb_array_elements_text(answers) FROM pipelines_worker
               WHERE answers <> '[]' AND (owners IS NULL OR jsonb_exists(owners, %s))
                 AND (project_id IS NULL OR project_id = %s) AND NOT stopping
                 AND stopped_at IS NULL AND seen_at > clock_timestamp() - make_interval(secs => %s)"""

OFFERS_OF_WORKERS = """SELECT id, labels::text, owners::text, offers::text, project_id FROM pipelines_worker
               WHERE NOT stopping AND stopped_at IS NULL
                 AND seen_at > clock_timestamp() - make_interval(secs => %s)"""


# Notices of hosts

# The ticket is written with the row and goes after it: a queued notice without one is nobody's.
UNSENT_NOTICES = """
    SELECT notice.id, notice.queued_at < %(before)s FROM pipelines_hostnotice notice
    WHERE notice.state = 'queued' AND (%(among)s::bigint[] IS NULL OR notice.id = ANY(%(among)s))
      AND (notice.queued_at < %(before)s OR NOT EXISTS (
        SELECT FROM procrastinate_jobs ticket
        WHERE ticket.queue_name = %(queue)s AND ticket.task_name = %(task)s AND ticket.status IN ('todo', 'doing')
          AND (ticket.args ->> 'notice_id')::bigint = notice.id))
    ORDER BY notice.id LIMIT %(most)s"""
