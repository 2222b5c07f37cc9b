"""SQL of reviews: whom open visits ask, claims, time at gates, notifications."""

from __future__ import annotations

from typing import Final

from pipelines.models.plumbing.compiled_queries import array_parameter_sql

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

DELETE_PLACES = f"DELETE FROM reviews_askedplace WHERE visit_id = ANY({array_parameter_sql('uuid')})"

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
# or has voted; nor for a seat that has voted, or connected the chat by which somebody did.
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
               WHERE v.visit_id = a.visit_id AND (coalesce(v.stands_for_id, v.user_id) = place.seat
                 OR (v.entitled_as ->> 'connected_by')::bigint = place.seat) LIMIT 1) IS NULL
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
    EXISTS (SELECT 1 FROM pipelines_deadlock WHERE state = 'open'),
    EXISTS (SELECT 1 FROM pipelines_toolpermission WHERE state = 'open' AND due_at > clock_timestamp()),
    EXISTS (SELECT 1 FROM pipelines_job
            WHERE state = 'running' AND purpose = 'station' AND kind NOT IN ('manual', 'wait'))"""


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


# Notifications

KNOWN_FOLLOWERS = f"""
    SELECT ARRAY(
        SELECT id FROM reviews_follow WHERE task_id = ANY(%s::bigint[])
        UNION ALL
        SELECT id FROM reviews_follow
        WHERE line_id = ANY(ARRAY(SELECT DISTINCT line_id FROM pipelines_task WHERE id = ANY(%s::bigint[])))),
      EXISTS (SELECT FROM reviews_channelconnection WHERE project_id = ANY({array_parameter_sql("bigint")}) AND enabled
              AND 'waiting' = ANY(topics)),
      EXISTS (SELECT FROM reviews_channelconnection WHERE enabled AND topics <> '{{waiting}}' AND project_id = ANY(
        ARRAY(SELECT DISTINCT project_id FROM pipelines_task WHERE id = ANY(%s::bigint[])))),
      EXISTS (SELECT FROM reviews_channelmessage
              WHERE visit_id = ANY({array_parameter_sql("uuid")}) AND kind = 'opened'),
      EXISTS (SELECT FROM reviews_mail WHERE visit_id = ANY({array_parameter_sql("uuid")}))"""

CHANNELS_OF_TOPICS = f"""
    SELECT channel.id, channel.topics, channel.project_id, ARRAY(
        SELECT id FROM pipelines_task WHERE id = ANY(asked.tasks) AND project_id = channel.project_id)
    FROM (SELECT {array_parameter_sql("text")} AS told, {array_parameter_sql("bigint")} AS tasks,
                 {array_parameter_sql("bigint")} AS projects) asked
    JOIN reviews_channelconnection channel ON channel.enabled AND channel.topics::text[] && asked.told
      AND (channel.project_id = ANY(asked.projects)
        OR channel.project_id IN (SELECT project_id FROM pipelines_task WHERE id = ANY(asked.tasks)))
    ORDER BY channel.id"""
"""Rows: connection, what it tells of, its project, and those of the tasks that are of it."""

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
