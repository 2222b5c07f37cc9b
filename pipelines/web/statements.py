"""SQL of the pages: hints to open pages, requests of one address, and whether the database answers."""

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
