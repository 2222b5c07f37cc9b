"""SQL of Insights: tasks that ended, decisions at gates, runs with a cost, records of gates and agents."""

from __future__ import annotations

from pipelines.queries.statements import COST, LANDED_TREES, REVERTED, TOKENS_IN, TOKENS_OUT, UNMERGED, USAGE

REVERTED_IN_PROJECT = REVERTED.format(
    what="done.visit_id", which="task.project_id = %(project)s", **LANDED_TREES
)

REVERTED_ON_LINES = REVERTED.format(
    what="done.visit_id", which="task.line_id = ANY(%(lines)s::bigint[])", **LANDED_TREES
)

BUCKET = "(({}.ended_at AT TIME ZONE %(zone)s)::date - %(first)s::date) / %(width)s"

IN_PERIOD = "{0} >= %(start)s AND {0} < %(end)s"

# UNMERGED is asked of completed tasks alone. Of a purged one (`retention` 2) nothing says it any more.
TASKS_ENDED = f"""tasks AS MATERIALIZED (
        SELECT task.id, task.line_id, task.status, {BUCKET.format("task")} AS bucket,
            CASE WHEN task.status = 'completed' THEN NOT {UNMERGED} ELSE false END AS accepted,
            extract(epoch FROM task.ended_at - task.created_at)::float8 AS seconds
        FROM pipelines_task task
        WHERE task.line_id = ANY(%(lines)s::bigint[]) AND {IN_PERIOD.format("task.ended_at")} AND task.retention < 2)"""

# Of accepted tasks: when their change landed, and whether it was reverted. `old`: its 30 days are over.
FATES = f"""landings AS MATERIALIZED (
        SELECT task_id, max(landed_at) <= %(now)s - interval '30 days' AS old FROM pipelines_delivery
        WHERE landed_at IS NOT NULL AND task_id IN (SELECT id FROM tasks WHERE accepted) GROUP BY task_id
    ), fates AS MATERIALIZED (
        SELECT landings.task_id, landings.old, reverted.task_id IS NOT NULL AS reverted FROM landings
        LEFT JOIN (SELECT DISTINCT task_id FROM ({REVERTED_ON_LINES}) AS landed) AS reverted USING (task_id))"""

ENDED_TASKS = f"""
    WITH {TASKS_ENDED}, {FATES}
    SELECT bucket, line_id,
        count(*) FILTER (WHERE accepted),
        count(*) FILTER (WHERE status = 'failed'),
        count(*) FILTER (WHERE status = 'cancelled'),
        count(*) FILTER (WHERE fates.reverted),
        count(fates.task_id),
        count(*) FILTER (WHERE fates.old),
        count(*) FILTER (WHERE fates.old AND fates.reverted),
        percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY seconds) FILTER (WHERE accepted)
    FROM tasks LEFT JOIN fates ON fates.task_id = tasks.id
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
        count(*) FILTER (WHERE word IN ('send_back', 'rework')),
        coalesce(sum(seconds), 0),
        count(*) FILTER (WHERE word = 'approve' AND seconds IS NOT NULL),
        count(*) FILTER (WHERE word = 'approve' AND seconds <= %(quick)s),
        count(*) FILTER (WHERE word = 'approve' AND reverted.visit_id IS NOT NULL),
        percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY waited)
    FROM visits LEFT JOIN reverted ON reverted.visit_id = visits.id
    GROUP BY GROUPING SETS ((line_id, gate), (bucket), (line_id), ())"""

AGENT = "coalesce(nullif(job.outcome#>>'{facts,agent,name}', ''), nullif(job.agent, ''), job.kind)"

# First decisions of each gate, and of each station and agent whose outcome it decided about; then in the period before.
FIRST_DECISIONS = f"""
    WITH decided AS MATERIALIZED (
        SELECT task.line_id, visit.gate, job.station, {AGENT} AS agent, visit.word = 'approve' AS approved,
            visit.decided_at >= %(start)s AS is_now
        FROM pipelines_gatevisit visit
        JOIN pipelines_task task ON task.id = visit.task_id AND task.line_id = ANY(%(lines)s::bigint[])
        JOIN pipelines_job job ON job.id = visit.job_id
        WHERE visit.decided_at >= %(before)s AND visit.decided_at < %(end)s AND visit.word <> '' AND visit.round = 1)
    SELECT NULL, line_id, gate, station, agent,
        count(*) FILTER (WHERE is_now), count(*) FILTER (WHERE is_now AND approved),
        count(*) FILTER (WHERE NOT is_now), count(*) FILTER (WHERE NOT is_now AND approved)
    FROM decided GROUP BY GROUPING SETS ((line_id, gate), (line_id, gate, station, agent))
    HAVING count(*) FILTER (WHERE is_now) > 0"""

# A station names its model in the version that a run was judged under, unless the run says which one it was.
RUNS_ENDED = f"""stations AS MATERIALIZED (
        SELECT version.id AS version, version.line_id, station->>'key' AS key, station#>>'{{work,model}}' AS model
        FROM pipelines_lineversion version
        CROSS JOIN LATERAL jsonb_array_elements(version.document->'stations') station
        WHERE version.line_id = ANY(%(lines)s::bigint[])
    ), runs AS MATERIALIZED (
        SELECT stations.line_id, job.task_id, {BUCKET.format("job")} AS bucket,
            {AGENT} AS agent, coalesce(nullif(job.outcome#>>'{{usage,model}}', ''), stations.model, '') AS model,
            {COST} AS cost, {TOKENS_IN} AS tokens_in, {TOKENS_OUT} AS tokens_out
        FROM pipelines_job job JOIN stations ON stations.version = job.pinned_id AND stations.key = job.station
        WHERE {USAGE} IS NOT NULL AND {IN_PERIOD.format("job.ended_at")}
            AND ({COST} IS NOT NULL OR {TOKENS_IN} + {TOKENS_OUT} > 0))"""

RUN_COSTS = f"""
    WITH {TASKS_ENDED}, {VISITS_ENDED}, {RUNS_ENDED}, shares AS (
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

# Tasks behind a figure, one row each, with what they took in the period, and how many there are of them.
LISTED_TASKS = f"""
    WITH {TASKS_ENDED}, {FATES}, {VISITS_ENDED}, {RUNS_ENDED},
    spent AS (SELECT task_id, sum(cost) AS cost, count(cost) AS priced, count(*) AS runs FROM runs GROUP BY task_id),
    looked AS (SELECT task_id, sum(seconds) AS looked FROM visits GROUP BY task_id HAVING sum(seconds) > 0)
    SELECT task_id, coalesce(tasks.accepted, false), fates.reverted, NOT fates.old, tasks.seconds,
        spent.cost, coalesce(spent.priced, 0), coalesce(spent.runs, 0), coalesce(looked.looked, 0),
        count(*) OVER (), sum(spent.cost) OVER (), coalesce(sum(looked.looked) OVER (), 0)
    FROM (SELECT id AS task_id, accepted, seconds FROM tasks) AS tasks
    LEFT JOIN fates USING (task_id) FULL JOIN spent USING (task_id) FULL JOIN looked USING (task_id)
    WHERE CASE %(which)s WHEN 'cost' THEN spent.runs > 0 WHEN 'minutes' THEN looked.looked > 0
        WHEN 'reverted' THEN fates.reverted WHEN 'young' THEN NOT fates.old ELSE tasks.accepted END
    ORDER BY CASE %(which)s WHEN 'cost' THEN spent.cost WHEN 'minutes' THEN looked.looked::numeric
        WHEN 'slowest' THEN tasks.seconds::numeric END DESC NULLS LAST, task_id DESC
    LIMIT %(most)s OFFSET %(skipped)s"""

# Of tasks that were reverted, every task whose delivery did it, with when.
REVERTING_TASKS = REVERTED.format(
    what="later.landed_at, later.task_id", which="task.id = ANY(%(tasks)s::bigint[])", **LANDED_TREES
)


# Gates where fewer might be asked

# Of each gate how often it asked of late, how often it was approved without a remark or a reason, how often in a row,
# how often in the last 30 days, and how many approvals without a remark were reverted; the newest visits of that row,
# and their tasks.
# OFFSET 0 keeps PostgreSQL from merging the subselect into the join
GATE_RECORDS = f"""
    WITH reverted AS MATERIALIZED ({REVERTED_IN_PROJECT}), said AS (
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
        count(*) FILTER (WHERE decided_at > now() - interval '30 days'),
        count(*) FILTER (WHERE NOT disputed AND id IN (SELECT visit_id FROM reverted)),
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
