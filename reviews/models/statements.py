"""SQL of reviews: whom open visits ask, claims, time at gates, notifications."""

from __future__ import annotations

from typing import Final

from pipelines.models.plumbing.compiled import array
from pipelines.queries.statements import UNMERGED

# Whom open visits ask

SNOOZED = """EXISTS (SELECT 1 FROM reviews_reviewsnooze s
              WHERE s.visit_id = a.visit_id AND s.user_id = %s AND s.until > clock_timestamp())"""

CLAIMED = """EXISTS (SELECT 1 FROM reviews_reviewclaim c
              WHERE c.visit_id = a.visit_id AND c.until > clock_timestamp())"""

VISIT_STATES = {
    "claimed": CLAIMED,
    "unclaimed": f"NOT {CLAIMED}",
    "asked": """EXISTS (SELECT 1 FROM reviews_reviewquestion q
                WHERE q.visit_id = a.visit_id AND q.answered_at IS NULL)""",
}
"""What is asked of an open visit besides: who looks after it, whether its requester was asked."""

DELETE_PLACES = f"DELETE FROM reviews_askedplace WHERE visit_id = ANY({array('uuid')})"

# Conditions on a row `a` of what is asked.
ON_LINES = "a.line_id = ANY(%s)"

AT_GATE = "a.gate = %s"

OPENED_SINCE = "a.opened_at >= %s"

OPENED_BEFORE = "a.opened_at < %s"

AMONG_VISITS = "a.visit_id = ANY(%s)"

AFTER_PLACE = "(a.{column}, a.visit_id) > (%s, %s)"

# Conditions on a visit `g` of a task `t` that is over.
DECIDED_IN_PROJECTS = "t.project_id = ANY(%s)"

DECIDED_ON_LINES = "t.line_id = ANY(%s)"

DECIDED_AT_GATE = "g.gate = %s"

DECIDED_SINCE = "{at} >= %s"

DECIDED_BEFORE = "{at} < %s"

DECIDED_AS = "g.word = %s"

DECIDED_AFTER_PLACE = "({at}, {visit}) < (%s, %s)"

# For each place that the person fills, in their own seat or in that of somebody who is away, the first rows in order,
# from an index; then the first of all of them. Nobody is asked who is barred, stands in for or through somebody who is,
# or has voted; nor for a seat that has voted.
DECIDABLE_VISITS = """
    SELECT DISTINCT found.at, found.visit_id
    FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::bigint[], %s::text[])
        AS place(project_id, kind, name, seat, people)
    CROSS JOIN LATERAL (
        SELECT a.{column} AS at, a.visit_id
        FROM reviews_askedplace a
        WHERE a.project_id = place.project_id AND a.kind = place.kind AND a.name = place.name
          AND NOT a.barred && place.people::int[]
          AND (SELECT v.user_id FROM pipelines_vote v WHERE v.visit_id = a.visit_id AND v.user_id = %s) IS NULL
          AND (SELECT v.user_id FROM pipelines_vote v
               WHERE v.visit_id = a.visit_id AND coalesce(v.stands_for_id, v.user_id) = place.seat) IS NULL
          {where}
        ORDER BY a.{column}, a.visit_id
        LIMIT %s
    ) AS found
    ORDER BY found.at, found.visit_id
    LIMIT %s
"""

TEAM = """
    SELECT found.at, found.visit_id
    FROM unnest(%s::bigint[]) AS place(project_id)
    CROSS JOIN LATERAL (
        SELECT a.{column} AS at, a.visit_id
        FROM reviews_askedplace a
        WHERE a.project_id = place.project_id AND a.first
          {where}
        ORDER BY a.{column}, a.visit_id
        LIMIT %s
    ) AS found
    ORDER BY found.at, found.visit_id
    LIMIT %s
"""

REQUESTED = """
    SELECT a.{column} AS at, a.visit_id
    FROM reviews_askedplace a
    WHERE a.requester_id = %s AND a.first AND a.project_id = ANY(%s)
      {where}
    ORDER BY a.{column}, a.visit_id
    LIMIT %s
"""

DECIDED = """
    SELECT DISTINCT found.at, found.visit_id
    FROM (
        (SELECT g.decided_at AS at, g.id AS visit_id
         FROM pipelines_gatevisit g
         JOIN pipelines_task t ON t.id = g.task_id
         WHERE g.decided_by_id = %s AND g.decided_at IS NOT NULL {decided}
         ORDER BY g.decided_at DESC, g.id DESC
         LIMIT %s)
        UNION ALL
        (SELECT v.at, v.visit_id
         FROM pipelines_vote v
         JOIN pipelines_gatevisit g ON g.id = v.visit_id
         JOIN pipelines_task t ON t.id = g.task_id
         WHERE v.user_id = %s AND g.decided_at IS NOT NULL {voted}
         ORDER BY v.at DESC, v.visit_id DESC
         LIMIT %s)
    ) AS found
    ORDER BY found.at DESC, found.visit_id DESC
    LIMIT %s
"""
"""A decision has the time of its last vote, so that whoever decided is found once."""


# The inbox

# Whether there may be any of a kind: asked in one cheap statement, as most kinds are empty most of the time.
PRESENT_KINDS = """SELECT
    EXISTS (SELECT 1 FROM reviews_reviewquestion WHERE asked_id = %(user)s AND answered_at IS NULL),
    EXISTS (SELECT 1 FROM pipelines_line line JOIN pipelines_task task ON task.line_id = line.id
            WHERE line.project_id = ANY(%(projects)s) AND task.status IN ('stuck', 'blocked', 'held')),
    EXISTS (SELECT 1 FROM pipelines_job WHERE state = 'running' AND kind = 'manual'),
    EXISTS (SELECT 1 FROM pipelines_escalation WHERE state = 'open'),
    EXISTS (SELECT 1 FROM pipelines_deadlock WHERE state = 'open')"""


# Claims

# One statement, so that of two people who claim at once one wins and the other is told.
CLAIM = """
    INSERT INTO reviews_reviewclaim AS held (visit_id, user_id, at, until)
    SELECT g.id, %s, clock_timestamp(), clock_timestamp() + %s * interval '1 second'
    FROM pipelines_gatevisit g WHERE g.id = %s AND g.state = 'open'
    ON CONFLICT (visit_id) DO UPDATE SET user_id = excluded.user_id, at = excluded.at, until = excluded.until
    WHERE held.user_id = excluded.user_id OR held.until <= clock_timestamp()
    RETURNING held.visit_id
"""


# Human minutes

CONTINUE_SITTING = """
    UPDATE reviews_sitting SET
        seconds = seconds + CASE WHEN clock_timestamp() - last_at <= make_interval(secs => %s)
            THEN greatest(0, extract(epoch FROM clock_timestamp() - last_at)) ELSE 0 END,
        last_at = clock_timestamp()
    WHERE id = %s AND visit_id = %s RETURNING id"""

BEGIN_SITTING = """
    INSERT INTO reviews_sitting (id, visit_id, seconds, last_at)
    SELECT %s, %s, 0, clock_timestamp()
    WHERE (SELECT count(*) FROM (SELECT 1 FROM reviews_sitting WHERE visit_id = %s LIMIT %s) AS known) < %s
    RETURNING id"""


# Time at gates

MAX_GATES = 200

# What was landed and later taken back: the branch came to the very tree that it had before.
REVERTED = """
    SELECT DISTINCT done.visit_id
    FROM pipelines_delivery done
    JOIN pipelines_task task ON task.id = done.task_id AND task.project_id = %(project)s
    JOIN pipelines_delivery before ON before.commit = done.base AND before.commit <> ''
        AND before.repository_id = done.repository_id AND before.branch = done.branch AND {before} <> {done}
    JOIN pipelines_delivery later ON {later} = {before} AND later.repository_id = done.repository_id
        AND later.branch = done.branch AND later.landed_at > done.landed_at
    WHERE done.landed_at IS NOT NULL AND before.landed_at IS NOT NULL AND done.visit_id IS NOT NULL""".format(
    **{name: f"coalesce(nullif({name}.landed_tree, ''), {name}.tree)" for name in ("before", "done", "later")}
)

GATE_TIMES = f"""
    WITH reverted AS ({REVERTED}),
    sat AS (
        SELECT sitting.visit_id, sum(sitting.seconds) AS seconds FROM reviews_sitting sitting
        JOIN pipelines_gatevisit visit ON visit.id = sitting.visit_id
        JOIN pipelines_task task ON task.id = visit.task_id AND task.project_id = %(project)s
        GROUP BY sitting.visit_id
    )
    SELECT task.line_id, visit.gate,
        count(*) FILTER (WHERE visit.word <> ''),
        count(*) FILTER (WHERE visit.word = 'approve'),
        count(*) FILTER (WHERE visit.word IN ('send_back', 'rework')),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM visit.decided_at - visit.opened_at)::float8),
        coalesce(sum(sat.seconds), 0),
        count(*) FILTER (WHERE visit.word = 'approve' AND sat.seconds IS NOT NULL),
        count(*) FILTER (WHERE visit.word = 'approve' AND sat.seconds <= %(quick)s),
        count(*) FILTER (WHERE visit.word = 'approve' AND reverted.visit_id IS NOT NULL)
    FROM pipelines_gatevisit visit
    JOIN pipelines_task task ON task.id = visit.task_id AND task.project_id = %(project)s
    LEFT JOIN sat ON sat.visit_id = visit.id
    LEFT JOIN reverted ON reverted.visit_id = visit.id
    WHERE visit.decided_at >= coalesce(%(since)s, '-infinity'::timestamptz)
      AND visit.decided_at < coalesce(%(until)s, 'infinity'::timestamptz)
    GROUP BY task.line_id, visit.gate
    ORDER BY 7 DESC, 3 DESC, 1, 2 LIMIT {MAX_GATES}"""

COMPLETED_TASKS = f"""
    SELECT line.id, done.n FROM pipelines_line line CROSS JOIN LATERAL (
        SELECT count(*) AS n FROM pipelines_task task WHERE task.line_id = line.id AND task.status = 'completed'
          AND NOT {UNMERGED}
          AND task.ended_at >= coalesce(%(since)s, '-infinity'::timestamptz)
          AND task.ended_at < coalesce(%(until)s, 'infinity'::timestamptz)
    ) AS done
    WHERE line.project_id = %(project)s"""

# Approvals of late since somebody last said anything but “approve”, or wrote a remark or a reason; the newest of them,
# and their tasks.
# OFFSET 0 keeps PostgreSQL from merging the subselect into the join
UNDISPUTED_APPROVALS = """
    WITH said AS (
        SELECT task.line_id, visit.gate, visit.id, visit.task_id, visit.decided_at,
            visit.word <> 'approve' OR visit.reason <> ''
            OR EXISTS (SELECT 1 FROM pipelines_vote vote WHERE vote.visit_id = visit.id AND vote.reason <> '')
            OR EXISTS (SELECT 1 FROM reviews_remark remark WHERE remark.visit_id = visit.id) AS disputed
        FROM pipelines_gatevisit visit
        CROSS JOIN LATERAL (
            SELECT line_id FROM pipelines_task WHERE id = visit.task_id AND project_id = %(project)s OFFSET 0
        ) AS task
        WHERE visit.word <> '' AND visit.decided_at > now() - make_interval(days => %(days)s)
    ), since AS (
        SELECT said.*, max(decided_at) FILTER (WHERE disputed) OVER (PARTITION BY line_id, gate) AS last FROM said
    )
    SELECT line_id, gate, count(*),
        (array_agg(id ORDER BY decided_at DESC, id))[1:%(most)s],
        (array_agg(task_id ORDER BY decided_at DESC, id))[1:%(most)s]
    FROM since
    WHERE last IS NULL OR decided_at > last
    GROUP BY line_id, gate HAVING count(*) >= %(most)s ORDER BY 3 DESC, 1, 2 LIMIT 20"""

# Of such visits, each with the first task of its chain: what the draw is about (law §15).
CHAIN_ROOTS = f"""
    WITH RECURSIVE reverted AS ({REVERTED}),
    visits AS (SELECT * FROM unnest(%(visits)s::uuid[], %(tasks)s::bigint[]) AS visit(id, task_id)),
    chain(start, id, follows_id) AS (
        SELECT DISTINCT task.id, task.id, task.follows_id FROM pipelines_task task
        JOIN visits ON visits.task_id = task.id
        UNION SELECT chain.start, before.id, before.follows_id FROM chain CROSS JOIN LATERAL (
            SELECT id, follows_id FROM pipelines_task WHERE id = chain.follows_id OFFSET 0
        ) AS before
    )
    SELECT visits.id, chain.id, reverted.visit_id IS NOT NULL
    FROM visits JOIN chain ON chain.start = visits.task_id AND chain.follows_id IS NULL
    LEFT JOIN reverted ON reverted.visit_id = visits.id"""


# Notifications

KNOWN_FOLLOWERS = f"""
    SELECT ARRAY(
        SELECT id FROM reviews_follow WHERE task_id = ANY(%s::bigint[])
        UNION ALL
        SELECT id FROM reviews_follow
        WHERE line_id = ANY(ARRAY(SELECT DISTINCT line_id FROM pipelines_task WHERE id = ANY(%s::bigint[])))),
      EXISTS (SELECT FROM reviews_channelconnection WHERE project_id = ANY({array("bigint")}) AND enabled),
      EXISTS (SELECT FROM reviews_channelmessage WHERE visit_id = ANY({array("uuid")}) AND kind = 'opened'),
      EXISTS (SELECT FROM reviews_mail WHERE visit_id = ANY({array("uuid")}))"""

SETTLE_NOTIFICATIONS = """UPDATE reviews_notification SET read_at = statement_timestamp()
            WHERE kind = '{kind}' AND about = ANY(%s::text[]) AND read_at IS NULL RETURNING user_id"""

SETTLE_VOTER = """UPDATE reviews_notification SET read_at = statement_timestamp()
                  WHERE kind = 'review' AND about = ANY(%s::text[]) AND read_at IS NULL AND user_id = %s
                  RETURNING user_id"""
"""A text for each kind of the table: an index holds the unread ones of reviews alone."""


# Metrics

UNDELIVERED: Final = """
    SELECT 'undelivered', ARRAY['mail'], count(*)::float FROM reviews_mail WHERE state = 'failed'
    UNION ALL SELECT 'undelivered', ARRAY['notice'], count(*) FROM reviews_notice WHERE state = 'failed'
    UNION ALL SELECT 'undelivered', ARRAY['digest'], count(*) FROM reviews_digest WHERE state = 'failed'
    UNION ALL SELECT 'undelivered', ARRAY['notification'], count(*) FROM reviews_notification WHERE state = 'failed'
    UNION ALL SELECT 'undelivered', ARRAY['channel'], count(*) FROM reviews_channelmessage WHERE state = 'failed'"""
"""Messages that were given up, of each kind: read from an index that holds no others."""
