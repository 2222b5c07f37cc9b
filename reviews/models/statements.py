"""SQL of reviews: whom open visits ask, claims, time at gates, notifications."""

from __future__ import annotations

from typing import Final

from pipelines.models.plumbing.compiled_queries import array_parameter_sql
from pipelines.queries.statements import COST, LANDED_TREES, REVERTED, TOKENS_IN, TOKENS_OUT, UNMERGED, USAGE

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


# Insights

REVERTED_IN_PROJECT = REVERTED.format(which="task.project_id = %(project)s", **LANDED_TREES)

REVERTED_ON_LINES = REVERTED.format(which="task.line_id = ANY(%(lines)s::bigint[])", **LANDED_TREES)

BUCKET = "(({}.ended_at AT TIME ZONE %(zone)s)::date - %(first)s::date) / %(width)s"

IN_PERIOD = "{0} >= %(start)s AND {0} < %(end)s"

# UNMERGED is asked of completed tasks alone. Of a purged one (`retention` 2) nothing says it any more.
TASKS_ENDED = f"""tasks AS MATERIALIZED (
        SELECT task.id, task.line_id, task.status, {BUCKET.format("task")} AS bucket,
            CASE WHEN task.status = 'completed' THEN NOT {UNMERGED} ELSE false END AS accepted,
            extract(epoch FROM task.ended_at - task.created_at)::float8 AS seconds
        FROM pipelines_task task
        WHERE task.line_id = ANY(%(lines)s::bigint[]) AND {IN_PERIOD.format("task.ended_at")} AND task.retention < 2)"""

ENDED_TASKS = f"""
    WITH {TASKS_ENDED}, reverted AS MATERIALIZED (SELECT DISTINCT task_id FROM ({REVERTED_ON_LINES}) AS landed)
    SELECT bucket, line_id,
        count(*) FILTER (WHERE accepted),
        count(*) FILTER (WHERE status = 'failed'),
        count(*) FILTER (WHERE status = 'cancelled'),
        count(*) FILTER (WHERE accepted AND reverted.task_id IS NOT NULL),
        percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY seconds) FILTER (WHERE accepted)
    FROM tasks LEFT JOIN reverted ON reverted.task_id = tasks.id
    GROUP BY GROUPING SETS ((bucket), (line_id), ())"""

# Visits that ended in the period, with the seconds in which somebody looked at them.
VISITS_ENDED = f"""visits AS MATERIALIZED (
        SELECT visit.id, visit.task_id, task.line_id, visit.gate, visit.word, visit.round,
            {BUCKET.format("visit").replace("ended_at", "decided_at")} AS bucket,
            extract(epoch FROM visit.decided_at - visit.opened_at)::float8 AS waited,
            (SELECT sum(sitting.seconds) FROM reviews_sitting sitting WHERE sitting.visit_id = visit.id) AS seconds
        FROM pipelines_gatevisit visit
        JOIN pipelines_task task ON task.id = visit.task_id AND task.line_id = ANY(%(lines)s::bigint[])
        WHERE {IN_PERIOD.format("visit.decided_at")})"""

GATE_DECISIONS = f"""
    WITH {VISITS_ENDED}, reverted AS MATERIALIZED ({REVERTED_ON_LINES})
    SELECT bucket, line_id, gate,
        count(*) FILTER (WHERE word <> ''),
        count(*) FILTER (WHERE word = 'approve'),
        count(*) FILTER (WHERE word <> '' AND round = 1),
        count(*) FILTER (WHERE word = 'approve' AND round = 1),
        count(*) FILTER (WHERE word IN ('send_back', 'rework')),
        coalesce(sum(seconds), 0),
        count(*) FILTER (WHERE word = 'approve' AND seconds IS NOT NULL),
        count(*) FILTER (WHERE word = 'approve' AND seconds <= %(quick)s),
        count(*) FILTER (WHERE word = 'approve' AND reverted.visit_id IS NOT NULL),
        percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY waited)
    FROM visits LEFT JOIN reverted ON reverted.visit_id = visits.id
    GROUP BY GROUPING SETS ((line_id, gate), (bucket), (line_id), ())"""

# A station names its model in the version that a run was judged under, unless the run says which one it was.
RUN_COSTS = f"""
    WITH {TASKS_ENDED}, {VISITS_ENDED}, stations AS MATERIALIZED (
        SELECT version.id AS version, version.line_id, station->>'key' AS key, station#>>'{{work,model}}' AS model
        FROM pipelines_lineversion version
        CROSS JOIN LATERAL jsonb_array_elements(version.document->'stations') station
        WHERE version.line_id = ANY(%(lines)s::bigint[])
    ), runs AS MATERIALIZED (
        SELECT stations.line_id, job.task_id, {BUCKET.format("job")} AS bucket,
            coalesce(nullif(job.outcome#>>'{{facts,agent,name}}', ''), nullif(job.agent, ''), job.kind) AS agent,
            coalesce(nullif(job.outcome#>>'{{usage,model}}', ''), stations.model, '') AS model,
            {COST} AS cost, {TOKENS_IN} AS tokens_in, {TOKENS_OUT} AS tokens_out
        FROM pipelines_job job JOIN stations ON stations.version = job.pinned_id AND stations.key = job.station
        WHERE {USAGE} IS NOT NULL AND {IN_PERIOD.format("job.ended_at")}
            AND ({COST} IS NOT NULL OR {TOKENS_IN} + {TOKENS_OUT} > 0)
    ), shares AS (
        SELECT agent, model, task_id, sum(cost) AS cost, count(cost) AS priced, count(*) AS runs,
            sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out
        FROM runs GROUP BY agent, model, task_id
    ), looked AS (SELECT task_id, sum(seconds) AS seconds FROM visits GROUP BY task_id)
    SELECT bucket, line_id, NULL AS agent, NULL AS model, sum(cost), count(cost), count(*), sum(tokens_in),
        sum(tokens_out), 0, 0
    FROM runs GROUP BY GROUPING SETS ((bucket), (line_id), ()) HAVING count(*) > 0
    UNION ALL
    SELECT NULL, NULL, agent, model, sum(cost), sum(priced)::bigint, sum(runs)::bigint, sum(tokens_in), sum(tokens_out),
        count(*) FILTER (WHERE tasks.accepted), coalesce(sum(looked.seconds), 0)
    FROM shares LEFT JOIN tasks ON tasks.id = shares.task_id LEFT JOIN looked ON looked.task_id = shares.task_id
    GROUP BY agent, model ORDER BY 5 DESC NULLS LAST, 3, 4"""


# Gates where fewer might be asked

# Of each gate how often it asked of late, how often it was approved without a remark or a reason, and how often in a
# row; the newest visits of that row, and their tasks.
# OFFSET 0 keeps PostgreSQL from merging the subselect into the join
GATE_RECORDS = """
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
    SELECT line_id, gate, count(*), count(*) FILTER (WHERE NOT disputed),
        count(*) FILTER (WHERE last IS NULL OR decided_at > last),
        (array_agg(id ORDER BY decided_at DESC, id) FILTER (WHERE last IS NULL OR decided_at > last))[1:%(most)s],
        (array_agg(task_id ORDER BY decided_at DESC, id) FILTER (WHERE last IS NULL OR decided_at > last))[1:%(most)s]
    FROM since GROUP BY line_id, gate ORDER BY 5 DESC, 3 DESC, 1, 2 LIMIT 20"""

# Of such visits, each with the first task of its chain: what the draw is about (law §15).
CHAIN_ROOTS = f"""
    WITH RECURSIVE reverted AS ({REVERTED_IN_PROJECT}),
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


# Trust in agents

# Of each agent at each station since it has its level there (`stations` "*": at all others): runs, the first decisions
# of gates that opened after them, tasks in which something was not right, and tasks whose change was reverted.
TRUST_RECORDS = f"""
    WITH levels AS (
        SELECT * FROM unnest(%(agents)s::text[], %(stations)s::text[], %(since)s::timestamptz[])
            AS level(agent, station, since)
    ), stations AS MATERIALIZED (
        SELECT DISTINCT version.id AS version, station->>'key' AS key, station->>'agent' AS agent
        FROM pipelines_lineversion version JOIN pipelines_line line ON line.id = version.line_id
        CROSS JOIN LATERAL jsonb_array_elements(version.document->'stations') station
        WHERE line.project_id = %(project)s AND station->>'agent' = ANY(%(agents)s::text[])
    ), runs AS MATERIALIZED (
        SELECT stations.agent, stations.key AS station, job.task_id, count(*) AS runs, min(job.ended_at) AS ended_at,
            bool_or(coalesce(job.outcome#>'{{facts,claims,contradicted}}', '[]') NOT IN ('[]', 'null')) AS contradicted
        FROM stations
        JOIN pipelines_job job ON job.pinned_id = stations.version AND job.station = stations.key
            AND job.state = 'done' AND job.created_at > now() - make_interval(days => %(days)s)
        LEFT JOIN levels named ON named.agent = stations.agent AND named.station = stations.key
        JOIN levels other ON other.agent = stations.agent AND other.station = '*'
        WHERE job.purpose = 'station' AND job.result <> 'cancelled'
            AND job.ended_at > coalesce(named.since, other.since)
        GROUP BY stations.agent, stations.key, job.task_id
    ), decided AS (
        SELECT runs.agent, runs.station, runs.task_id, count(*) FILTER (WHERE visit.round = 1) AS first,
            count(*) FILTER (WHERE visit.round = 1 AND visit.word = 'approve') AS first_approved,
            bool_or(visit.word <> 'approve') AS refused
        FROM runs JOIN pipelines_gatevisit visit ON visit.task_id = runs.task_id
            AND visit.word <> '' AND visit.opened_at >= runs.ended_at
        GROUP BY runs.agent, runs.station, runs.task_id
    ), reverted AS MATERIALIZED (SELECT DISTINCT task_id FROM ({REVERTED_IN_PROJECT}) AS landed)
    SELECT agent, station, min(ended_at), sum(runs)::bigint, count(*), coalesce(sum(first), 0)::bigint,
        coalesce(sum(first_approved), 0)::bigint, count(*) FILTER (WHERE refused OR contradicted),
        count(reverted.task_id)
    FROM runs LEFT JOIN decided USING (agent, station, task_id) LEFT JOIN reverted USING (task_id)
    GROUP BY agent, station ORDER BY agent, station LIMIT %(most)s"""


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
