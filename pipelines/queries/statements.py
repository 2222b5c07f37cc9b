"""SQL of the read side: what a line, a task and the work that waits look like."""

from __future__ import annotations

from typing import Final

from pipelines.routing.document.kinds.deliver import KIND as DELIVER

# Tasks with an unmerged change

UNMERGED: Final = f"""(
    EXISTS (SELECT FROM pipelines_versionstation station
            WHERE station.version_id = task.pinned_id AND station.kind = '{DELIVER.key}')
    AND EXISTS (
      SELECT FROM pipelines_visitcommit last
      WHERE last.task_id = task.id AND last.before <> '{{}}'
        AND NOT EXISTS (
          SELECT FROM pipelines_visitcommit later
          WHERE later.task_id = task.id AND later.job_id > last.job_id)
        AND NOT EXISTS (
          SELECT FROM pipelines_delivery delivery
          WHERE delivery.task_id = task.id AND delivery.landed_at IS NOT NULL
            AND delivery.job_id >= last.job_id)))"""
"""True of a completed row `task` whose last commit differs from its base and was never delivered."""


# A task's page

# Jobs by the tokens: an index of all jobs by task would cost each move.
TASK_ROWS = """
    WITH token AS MATERIALIZED (SELECT * FROM pipelines_token WHERE task_id = %s)
    SELECT task.id,
      (SELECT json_agg(token ORDER BY id)::text FROM token),
      (SELECT json_agg(json_build_array(to_json(job), to_json(worker)) ORDER BY job.id)::text
       FROM pipelines_job job LEFT JOIN pipelines_worker worker ON worker.id = job.worker_id
       WHERE job.token_id IN (SELECT id FROM token)),
      (SELECT json_agg(event ORDER BY seq)::text FROM pipelines_event event WHERE task_id = task.id),
      (SELECT json_agg(json_build_array(
                to_jsonb(visit) - 'evidence',
                to_jsonb(asked) - CASE visit.state WHEN 'open' THEN '{trace}' ELSE '{trace,situation}' END::text[],
                to_jsonb(person) - 'password') ORDER BY opened_at, position)::text
       FROM pipelines_gatevisit visit JOIN pipelines_decision asked ON asked.id = visit.asked_by_id
         LEFT JOIN pipelines_user person ON person.id = visit.decided_by_id WHERE visit.task_id = task.id),
      (SELECT json_agg(id ORDER BY at, id)::text FROM pipelines_decision WHERE task_id = task.id),
      (SELECT json_agg(json_build_array(to_json(artifact), to_json(blob)) ORDER BY artifact.job_id, artifact.name)::text
       FROM pipelines_artifact artifact JOIN pipelines_blob blob ON blob.digest = artifact.blob_id
       WHERE artifact.task_id = task.id),
      (SELECT json_agg(latest ORDER BY at DESC)::text FROM (
         SELECT * FROM pipelines_handoff WHERE task_id = task.id ORDER BY at DESC LIMIT %s) latest),
      (SELECT json_agg(linked ORDER BY number)::text FROM (
         (SELECT 'depends_on' AS kind, id, number, status, title, project_id, retry_of_id, fork_event
          FROM pipelines_task
          WHERE id IN (SELECT on_id FROM pipelines_dependency WHERE task_id = task.id AND room IS NULL)
          ORDER BY number LIMIT %s)
         UNION ALL
         (SELECT 'needed_by', id, number, status, title, project_id, retry_of_id, fork_event FROM pipelines_task
          WHERE id IN (SELECT task_id FROM pipelines_dependency WHERE on_id = task.id AND room IS NULL)
          ORDER BY number LIMIT %s)
         UNION ALL
         (SELECT 'followed_by', id, number, status, title, project_id, retry_of_id, fork_event FROM pipelines_task
          WHERE follows_id = task.id ORDER BY number LIMIT %s)) linked),
      (SELECT json_agg(json_build_array(to_json(pause), to_jsonb(person) - 'password') ORDER BY since)::text
       FROM pipelines_pause pause JOIN pipelines_user person ON person.id = pause.by_id
       WHERE pause.project_id = task.project_id AND (pause.line_id IS NULL OR pause.line_id = task.line_id)
         AND (pause.task_id IS NULL OR pause.task_id = task.id)
         AND pause.ended_at IS NULL AND task.ended_at IS NULL)
    FROM pipelines_task task WHERE id = %s"""


# The board

# Texts are compared by their bytes: what is sorted is only told apart.
BY_POSITION = "CASE WHEN gate IS NULL THEN 'station:' || station ELSE 'gate:' || gate END"
"""Places of the board of one line: its stations and gates."""

BY_STATE = """CASE WHEN status IN ('running', 'evaluating') THEN 'running'
    WHEN status IN ('queued', 'stuck') THEN status ELSE 'waiting' END"""
"""Places of the board over all lines: the columns of `queries/open_work.py`."""

BY_LINE = "line_id::text"

BOARD_PLACES = """
    WITH tasks(task_id, seq, due_at, pinned_id, line_id) AS MATERIALIZED ({tasks}),
    chosen AS MATERIALIZED (
        SELECT t.id, t.task_id, t.station, t.status, t.entered_at, t.changed_at, k.seq, k.due_at,
          k.pinned_id, k.line_id, t.status = '{blocked}' AND t.wait ? 'question' AND NOT t.wait ? 'evaluation' AS asks
        FROM tasks k CROSS JOIN LATERAL (
          SELECT id, task_id, station, status, wait, entered_at, changed_at FROM pipelines_token
          WHERE task_id = k.task_id AND ended_at IS NULL AND NOT forked OFFSET 0
        ) AS t
    ),
    -- Each looks for what its positions may have, and none for what they have not: a job, or visits.
    placed AS (
        SELECT t.*, last.kind, last.started_at, NULL AS gate, NULL::timestamptz AS opened_at, NULL::timestamptz AS due
        FROM chosen t LEFT JOIN LATERAL (
          SELECT j.kind, j.started_at FROM pipelines_job j WHERE j.token_id = t.id AND j.purpose = '{purpose}'
          ORDER BY j.id DESC LIMIT 1
        ) AS last ON true
        WHERE t.status = '{running}'
        UNION ALL (
        SELECT DISTINCT ON (t.id) t.*, NULL, NULL::timestamptz, visit.gate, visit.opened_at,
          CASE WHEN visit.paused_at IS NULL OR visit.paused_at >= visit.due_at THEN visit.due_at END
        FROM chosen t LEFT JOIN pipelines_gatevisit visit ON visit.token_id = t.id AND visit.state = 'open'
        WHERE t.status = '{review}' ORDER BY t.id, visit.position)
        UNION ALL
        SELECT t.*, NULL, NULL::timestamptz, NULL, NULL::timestamptz, NULL::timestamptz
        FROM chosen t WHERE t.status NOT IN ('{running}', '{review}')
    ),
    told AS (
        SELECT t.id, t.task_id, t.seq, t.entered_at, t.station, t.gate, t.line_id,
          CASE
            WHEN t.asks THEN '{input}'
            WHEN t.kind = 'manual' THEN '{input}'
            ELSE t.status
          END COLLATE "C" AS status,
          coalesce(
            t.opened_at, t.started_at,
            CASE WHEN t.status IN ('{stuck}', '{review}', '{blocked}', '{held}') THEN t.changed_at END,
            t.entered_at
          ) AS since,
          CASE
            -- The due time of its gate, or that of the task: whichever passed, as `queries/late.py` has it
            WHEN t.due < %(now)s OR t.due_at < %(now)s THEN true
            ELSE coalesce(
              t.status = '{running}'
              AND extract(epoch FROM %(now)s - coalesce(t.started_at, t.entered_at)) > limits.seconds, false)
          END AS late
        FROM placed t
        LEFT JOIN unnest(%(versions)s::bigint[], %(stations)s::text[], %(seconds)s::float[])
          AS limits(version, station, seconds) ON limits.version = t.pinned_id AND limits.station = t.station
    ),
    living AS MATERIALIZED (
        SELECT *, ({by}) COLLATE "C" AS place, CASE
            WHEN %(late)s THEN late ELSE %(statuses)s::text[] IS NULL OR status = ANY(%(statuses)s::text[])
          END AS shown
        FROM told
    ),
    counted AS MATERIALIZED (
        SELECT place, status, late, shown, count(*) AS number, min(since) AS oldest, sum(seq) AS seq
        FROM living GROUP BY place, status, late, shown
    )
    SELECT place, status, late, shown, number, oldest, seq, NULL::bigint[] FROM counted
    UNION ALL
    -- Looking through all for each place is cheaper than sorting all by it, up to about a dozen places.
    SELECT place, NULL, NULL, NULL, NULL, NULL, NULL, ARRAY(
      SELECT id FROM living l WHERE l.shown AND l.place = p.place ORDER BY entered_at, id
      LIMIT coalesce((%(rows)s::jsonb ->> p.place)::int, %(most)s))
    FROM (SELECT DISTINCT place FROM counted WHERE shown) p
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, count(DISTINCT task_id), NULL, NULL, NULL FROM living
"""


# Activity

# The newest events are those of the tasks that changed last, so that no index of all events by time is needed. Of tasks
# that went on since then (an earlier page), each is asked.
RECENT_EVENTS: Final = """
    WITH changed AS MATERIALIZED (
      SELECT id FROM pipelines_task
      WHERE project_id = ANY(%(projects)s) AND (%(lines)s::bigint[] IS NULL OR line_id = ANY(%(lines)s))
        AND changed_at > %(until)s::timestamptz AND created_at <= %(until)s::timestamptz
      UNION ALL
      (SELECT id FROM pipelines_task
       WHERE project_id = ANY(%(projects)s) AND (%(lines)s::bigint[] IS NULL OR line_id = ANY(%(lines)s))
         AND changed_at <= %(until)s::timestamptz AND changed_at > %(since)s::timestamptz
       ORDER BY changed_at DESC LIMIT %(most)s + 1)
    )
    SELECT event.id, event.at, event.kind, event.actor FROM changed CROSS JOIN LATERAL (
      SELECT id, at, kind, actor, seq FROM pipelines_event
      WHERE task_id = changed.id AND at <= %(until)s::timestamptz AND at > %(since)s::timestamptz
      ORDER BY seq DESC LIMIT %(most)s + 1
    ) event
    ORDER BY event.at DESC, changed.id, event.seq DESC LIMIT %(most)s + 1"""


# Work that waits for a worker

NEXT_STATION: Final = """
    SELECT job.pinned_id, job.station, job.purpose, job.kind FROM pipelines_job job
    WHERE job.state = 'queued' AND {}
    ORDER BY job.pinned_id, job.station, job.purpose, job.kind LIMIT 1"""

WAITING_STATIONS: Final = f"""
    waiting AS (
      SELECT head.* FROM version CROSS JOIN LATERAL ({NEXT_STATION.format("job.pinned_id = version.id")}) head
      UNION ALL
      SELECT following.* FROM waiting CROSS JOIN LATERAL ({
    NEXT_STATION.format(
        "job.pinned_id = waiting.pinned_id AND"
        " (job.station, job.purpose, job.kind) > (waiting.station, waiting.purpose, waiting.kind)"
    )
}) following)
    SELECT waiting.*, line.id, project.id, owner.id, owner.key FROM waiting
    JOIN pipelines_lineversion pinned ON pinned.id = waiting.pinned_id
    JOIN pipelines_line line ON line.id = pinned.line_id
    JOIN pipelines_project project ON project.id = line.project_id
    JOIN pipelines_owner owner ON owner.id = project.owner_id"""

QUEUED_IN_PROJECT: Final = f"""
    WITH RECURSIVE version AS (
      SELECT version.id FROM pipelines_lineversion version
      JOIN pipelines_line line ON line.id = version.line_id WHERE line.project_id = %s),
    {WAITING_STATIONS}"""

QUEUED_IN_LINE: Final = f"""
    WITH RECURSIVE version AS (SELECT id FROM pipelines_lineversion WHERE line_id = %s), {WAITING_STATIONS}"""

FIRST_VERSION: Final = (
    "SELECT job.pinned_id FROM pipelines_job job WHERE job.state = 'queued' {} ORDER BY job.pinned_id LIMIT 1"
)

QUEUED_EVERYWHERE: Final = f"""
    WITH RECURSIVE version(id) AS (
      ({FIRST_VERSION.format("")})
      UNION ALL
      SELECT following.pinned_id FROM version CROSS JOIN LATERAL (
        {FIRST_VERSION.format("AND job.pinned_id > version.id")}) following),
    {WAITING_STATIONS}"""

UNOFFERED_COUNT: Final = """
    SELECT (SELECT count(*) FROM (
      SELECT FROM pipelines_job job JOIN pipelines_token token ON token.id = job.token_id
      WHERE job.state = 'queued' AND job.pinned_id = work.version AND job.station = work.station
        AND job.purpose = 'station' AND job.kind = work.kind AND token.status = 'queued'
      LIMIT %s) waiting)
    FROM ROWS FROM (jsonb_to_recordset(%s::jsonb) AS (version bigint, station text, kind text))
      WITH ORDINALITY AS work(version, station, kind, number)
    ORDER BY work.number"""
"""How many jobs wait at each of these stations, at most so many."""


# Deliveries

LOCK_BRANCH = "SELECT pg_advisory_xact_lock(%s)"


# Cost and tokens

# Spelt as the index job_of_cost has it.
USAGE = "(job.outcome #> '{facts,usage}')"

COST = f"({USAGE} ->> 'cost_usd')::numeric"

TOKENS_IN, TOKENS_OUT = (
    f"coalesce(({USAGE} ->> '{key}')::numeric, 0)" for key in ("tokens_in", "tokens_out")
)

METERED = f"count(*) FILTER (WHERE {COST} IS NOT NULL OR {TOKENS_IN} + {TOKENS_OUT} > 0)"

USAGE_SUMS = f"""SELECT %(what)s, sum({COST}), count({COST}), {METERED}, sum({TOKENS_IN}), sum({TOKENS_OUT})
           FROM pipelines_job job %(joined)s
           WHERE {USAGE} IS NOT NULL AND %(which)s
           GROUP BY 1 HAVING {METERED} > 0 ORDER BY 1"""

# An index of jobs by task has those of stations alone.
OF_TASK = "job.token_id IN (SELECT id FROM pipelines_token WHERE task_id = %s)"

OF_TASKS = "job.token_id IN (SELECT id FROM pipelines_token WHERE task_id = ANY(%s))"

OF_OPEN_TASKS = """job.token_id IN (SELECT token.id FROM pipelines_token token
    JOIN pipelines_task task ON task.id = token.task_id
    WHERE task.project_id = ANY(%s) AND task.ended_at IS NULL)"""

COST_OF_TASK = f"SELECT coalesce(sum({COST}), 0) FROM pipelines_job job WHERE {OF_TASK}"

WITHOUT_JOB = " AND job.id <> %s"

IN_PROJECT = "line.project_id = %s"

ENDED_SINCE = f"{IN_PROJECT} AND job.ended_at > %s"

MONTH_ENDED = "date_trunc('month', job.ended_at AT TIME ZONE %s)::date"

IN_THIS_MONTH = (
    f"{IN_PROJECT} AND job.ended_at >= date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"
)

IN_THIS_DAY = (
    f"{IN_PROJECT} AND job.ended_at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"
)

# Of the clock, not of the transaction: who waited for the counter over midnight starts on the new day
TASKS_STARTED = """SELECT count(*) FROM pipelines_task WHERE project_id = %s
    AND created_at >= date_trunc(%s, clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"""

VERSIONS = "JOIN pipelines_lineversion version ON version.id = job.pinned_id"

LINES = f"{VERSIONS} JOIN pipelines_line line ON line.id = version.line_id"
"""Of which line a run is its version says: no task is read."""


# Times of stations

SHARES = "percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM {})::float8)"

SPREAD = f"count(*), {SHARES}"

# The jobs of these versions that began in this time, as `jobs`: those that are done from an index alone, which has no
# others; few are not.
JOBS_BEGUN = """jobs AS MATERIALIZED (
    SELECT of.line_id, job.id, job.station,
      CASE WHEN job.kind <> 'manual' AND job.purpose = 'station' THEN job.started_at - job.created_at END AS waiting,
      CASE WHEN job.purpose = 'station' THEN job.ended_at - coalesce(job.started_at, job.created_at) END AS working
    FROM pipelines_lineversion of CROSS JOIN LATERAL (
      SELECT id, station, kind, purpose, created_at, started_at, ended_at FROM pipelines_job
      WHERE pinned_id = of.id AND state = 'done' AND created_at >= %(start)s AND created_at < %(end)s OFFSET 0
    ) AS job
    WHERE of.id = ANY(%(versions)s)
    UNION ALL
    SELECT of.line_id, job.id, job.station,
      CASE WHEN job.kind <> 'manual' AND job.purpose = 'station' THEN job.started_at - job.created_at END, NULL
    FROM pipelines_job job JOIN pipelines_lineversion of ON of.id = job.pinned_id
    WHERE job.state <> 'done' AND job.pinned_id = ANY(%(versions)s)
      AND job.created_at >= %(start)s AND job.created_at < %(end)s
)"""

# A visit is over after its job began.
STATION_TIMES = f"""WITH {JOBS_BEGUN}, held AS (
    SELECT jobs.line_id, jobs.station, {SPREAD.format("visit.decided_at - visit.opened_at")}
    FROM pipelines_gatevisit visit JOIN jobs ON jobs.id = visit.job_id
    WHERE visit.decided_at >= %(start)s GROUP BY 1, 2
), worked AS (
    SELECT line_id, station, count(waiting), {SHARES.format("waiting")},
      count(working), {SHARES.format("working")}
    FROM jobs GROUP BY 1, 2
)
SELECT worked.*, held.count, held.percentile_cont FROM worked LEFT JOIN held USING (line_id, station)"""


# Medians

MAX_TASKS = 300
"""Of so many tasks that ended last, and so many open ones that came last: what a line has done before is not read."""

# Both by an index; the jobs and visits of each are then found by their task.
LATEST_TASKS = f"""WITH latest AS MATERIALIZED (
    (SELECT id FROM pipelines_task WHERE line_id = %(line)s AND ended_at IS NOT NULL
     ORDER BY ended_at DESC LIMIT {MAX_TASKS})
    UNION ALL
    (SELECT id FROM pipelines_task WHERE line_id = %(line)s AND ended_at IS NULL ORDER BY id DESC LIMIT {MAX_TASKS})
)"""

STATION_MEDIANS = f"""{LATEST_TASKS} SELECT job.station, percentile_cont(0.5) WITHIN GROUP
                  (ORDER BY EXTRACT(EPOCH FROM job.ended_at - coalesce(job.started_at, job.created_at)))
           FROM latest, LATERAL (
             SELECT * FROM pipelines_job WHERE task_id = latest.id AND purpose = 'station'
               AND ended_at > now() - make_interval(days => %(days)s) OFFSET 0
           ) AS job
           GROUP BY job.station"""

GATE_MEDIANS = f"""{LATEST_TASKS} SELECT visit.gate, percentile_cont(0.5) WITHIN GROUP
                  (ORDER BY EXTRACT(EPOCH FROM visit.decided_at - visit.opened_at))
           FROM latest, LATERAL (
             SELECT * FROM pipelines_gatevisit WHERE task_id = latest.id AND state = 'decided'
               AND decided_at > now() - make_interval(days => %(days)s) OFFSET 0
           ) AS visit
           GROUP BY visit.gate"""

LINE_MEDIAN = f"""SELECT 'line', percentile_cont(0.5) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM ended_at - created_at))
           FROM (SELECT * FROM pipelines_task WHERE line_id = %(line)s AND ended_at IS NOT NULL
                 ORDER BY ended_at DESC LIMIT {MAX_TASKS}) AS task
           WHERE status = 'completed' AND ended_at > now() - make_interval(days => %(days)s) AND NOT {UNMERGED}"""

# By the index task_ended; the jobs of each task by its tokens: an index of jobs by task has those of stations alone.
LINE_FIGURES = f"""
WITH latest AS MATERIALIZED (
    SELECT id, pinned_id, status, created_at, ended_at FROM pipelines_task
    WHERE line_id = %(line)s AND ended_at > now() - make_interval(days => %(days)s)
    ORDER BY ended_at DESC LIMIT %(most)s + 1
), counted AS (SELECT * FROM latest ORDER BY ended_at DESC LIMIT %(most)s)
SELECT (SELECT count(*) FROM latest), count(*),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM ended_at - created_at)),
       percentile_disc(0.5) WITHIN GROUP (ORDER BY spent.cost)
FROM counted task, LATERAL (
    SELECT sum({COST}) AS cost FROM pipelines_token token JOIN pipelines_job job ON job.token_id = token.id
    WHERE token.task_id = task.id AND {USAGE} IS NOT NULL
) AS spent
WHERE status = 'completed' AND NOT {UNMERGED}"""

HOME_TIMES = f"""SELECT line_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM ended_at - created_at))
FROM pipelines_task task
WHERE line_id = ANY(%s) AND status = 'completed' AND ended_at >= %s AND NOT {UNMERGED} GROUP BY line_id"""


# Rules taken most

MAX_RANKED_TASKS = 500
"""Of so many tasks that ended last."""

# A task counts once for each of its rules: one that went round a hundred times is no hundred tasks.
RULE_COUNTS = f"""SELECT rule, count(*) FROM (
  SELECT rules FROM pipelines_task WHERE line_id = %s AND ended_at IS NOT NULL
  ORDER BY ended_at DESC LIMIT {MAX_RANKED_TASKS}
) AS latest, jsonb_object_keys(latest.rules) AS rule GROUP BY rule"""


# Insights

# The decisions under these versions in this time; those that read no trace are of an index alone.
DECISIONS = """unnest(%(versions)s::bigint[]) AS of(version) CROSS JOIN LATERAL (
    SELECT id, pinned_id, station, job_id, task_id, trace FROM pipelines_decision
    WHERE pinned_id = of.version AND at >= %(start)s AND at < %(end)s OFFSET 0
) AS decision"""

TESTED_RULES = f"""
SELECT decision.station, coalesce(rule.key, entry->>'rule', ''),
       CASE WHEN entry->>'why' ~ '^(no_rules|no_match|on_failure|failure_rules): '
            THEN split_part(entry->>'why', ' after ', 1)
            WHEN entry->>'why' LIKE 'blocked, and%%' THEN 'blocked' ELSE '' END AS knob,
       count(DISTINCT decision.job_id)
FROM {DECISIONS} CROSS JOIN LATERAL jsonb_array_elements(decision.trace) entry
LEFT JOIN (pipelines_versionrule rule JOIN pipelines_versionstation station ON station.id = rule.station_id)
ON station.version_id = decision.pinned_id AND station.key = decision.station
AND rule.position < (entry->>'untaken')::int
WHERE entry->>'step' = 'rules' OR rule.id IS NOT NULL GROUP BY 1, 2, 3"""
"""`untaken`: the first so many rules of the station were false. One that was left out there had been tested before."""

MATCHED_RULES = f"""
SELECT decision.station, counted.rule, count(*), max(event.at)
FROM {DECISIONS} JOIN pipelines_event event ON event.decision_id = decision.id
CROSS JOIN LATERAL jsonb_object_keys(event.data #> '{{count,rules}}') counted(rule)
WHERE jsonb_typeof(event.data #> '{{count,rules}}') = 'object' GROUP BY 1, 2"""

STATION_OUTCOMES = f"""
SELECT decision.pinned_id, decision.station, count(DISTINCT decision.job_id), count(DISTINCT decision.task_id), count(*)
FROM {DECISIONS} GROUP BY GROUPING SETS ((decision.pinned_id, decision.station), ())"""
"""The row without a station is of all."""

# A row without a state says how long the decisions of its gate took.
GATE_WORDS = f"""WITH {JOBS_BEGUN}
SELECT visit.gate, visit.state, visit.word, count(*), count(*) FILTER (WHERE visit.state = 'decided'),
  {SHARES.format("visit.decided_at - visit.opened_at")} FILTER (WHERE visit.state = 'decided')
FROM jobs JOIN pipelines_gatevisit visit ON visit.job_id = jobs.id
GROUP BY GROUPING SETS ((visit.gate, visit.state, visit.word), (visit.gate))"""


# Triggers

LATEST_DELIVERIES = """
    SELECT latest.id FROM unnest(%s::bigint[]) AS asked(id) CROSS JOIN LATERAL (
      SELECT id FROM pipelines_triggerdelivery WHERE trigger_id = asked.id ORDER BY id DESC LIMIT %s) latest"""


# Reverted changes

LANDED_TREES: Final = {
    name: f"coalesce(nullif({name}.landed_tree, ''), {name}.tree)" for name in ("before", "done", "later")
}

REVERTED = """
    SELECT DISTINCT done.task_id, {what}
    FROM pipelines_delivery done
    JOIN pipelines_task task ON task.id = done.task_id
    JOIN pipelines_delivery before ON before.commit = done.base AND before.commit <> ''
        AND before.repository_id = done.repository_id AND before.branch = done.branch AND {before} <> {done}
    JOIN pipelines_delivery later ON {later} = {before} AND later.repository_id = done.repository_id
        AND later.branch = done.branch AND later.landed_at > done.landed_at
        AND later.landed_at < done.landed_at + interval '30 days'
    WHERE {which} AND done.landed_at IS NOT NULL AND before.landed_at IS NOT NULL"""
"""`what`: columns beside the task. `which`: condition on the `task`, or on the delivery `later`, which brought the
files back."""

REVERTED_BY = REVERTED.format(what="done.visit_id", which="later.job_id = %s", **LANDED_TREES)
