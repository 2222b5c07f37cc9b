"""A year of 100,000 tasks on fifty lines: every figure of Insights equals its recount, and what reading them costs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from pipelines.models import Line, Project, User
from proof.bench.scale import data, measure, pages
from proof.bench.yardstick import yardstick
from reviews.insights.figures import Insights
from reviews.insights.selection import Period
from tests.pages.insights_data import history_rewritten
from tests.pages.insights_records_recount import RecordsRecount, unequal_records
from tests.pages.insights_recount import Recount, unequal

pytestmark = [pytest.mark.soak, pytest.mark.broken, pytest.mark.django_db(transaction=True)]
TASKS = 100_000
# Copies are alike: without this a figure that is of the wrong rows might be right
VARIED = (
    "SELECT setseed(0.5)",
    """UPDATE pipelines_task SET created_at = ended_at - random() * interval '30 hours',
         status = CASE WHEN status = 'completed' AND random() < 0.1 THEN 'failed' ELSE status END
       WHERE ended_at IS NOT NULL""",
    """UPDATE pipelines_job SET outcome = CASE WHEN random() < 0.1 THEN outcome #- '{facts,usage,cost_usd}'
         ELSE jsonb_set(jsonb_set(outcome, '{facts,usage,cost_usd}', to_jsonb(round(random()::numeric * 2, 4))),
           '{facts,agent,name}', to_jsonb('Agent ' || id % 4)) END,
         started_at = created_at + random() * interval '1 hour', ended_at = created_at + random() * interval '9 hours'
           + interval '1 hour'
       WHERE outcome #> '{facts,usage}' IS NOT NULL""",
    """UPDATE pipelines_lineversion SET document = jsonb_set(document, '{stations,0,agent}', '"coder"')""",
    "UPDATE reviews_sitting SET seconds = random() * 900",
    """UPDATE pipelines_gatevisit SET round = 1 + floor(random() * 2)::int,
         word = CASE WHEN random() < 0.2 THEN 'send_back' ELSE word END,
         opened_at = decided_at - random() * interval '20 hours'
       WHERE decided_at IS NOT NULL""",
    """WITH chosen AS (
         SELECT task.id, task.project_id, task.ended_at, max(job.id) AS job,
           (SELECT min(visit.id::text)::uuid FROM pipelines_gatevisit visit WHERE visit.task_id = task.id) AS visit,
           row_number() OVER (PARTITION BY task.project_id ORDER BY task.ended_at, task.id) AS place
         FROM pipelines_task task JOIN pipelines_job job ON job.task_id = task.id
         WHERE task.status = 'completed' AND random() < 0.1 GROUP BY task.id
       )
       INSERT INTO pipelines_delivery (job_id, task_id, repository_id, repository_name, visit_id, "to", branch,
         base, tree, commit, moved, moved_to, approved, kept_tree, way, head, at_host, landed_tree,
         cleared_at, landed_at)
       SELECT job, id, (SELECT min(id) FROM pipelines_repository one WHERE one.project_id = chosen.project_id), 'app',
         visit, 'merge', 'main', 'c' || place - 1,
         't' || CASE WHEN place % 7 = 0 THEN place - 2 ELSE place END, 'c' || place,
         false, '', '', '', '', '', false, '', ended_at, ended_at
       FROM chosen""",
)


@pytest.fixture
def year() -> Iterator[None]:
    began = time.monotonic()
    data.make(data.Size(TASKS))
    print(f"{TASKS} tasks copied in {time.monotonic() - began:.0f} s", flush=True)
    reader = User.objects.filter(username__startswith="reader").earliest("pk")
    then = timezone.now() - timedelta(days=400)
    for project in Project.objects.all():
        project.repositories.create(name="app", address="/no", connected_at=timezone.now())
        project.agents.create(key="coder", owner=reader, created_at=then)
    try:
        with history_rewritten(), connection.cursor() as cursor:
            for sql in VARIED:
                cursor.execute(sql)
            cursor.execute("ANALYZE")
        print(f"varied after {time.monotonic() - began:.0f} s", flush=True)
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE scale_made")


@pytest.mark.usefixtures("year")
def test_every_figure_of_a_year_equals_its_recount() -> None:
    today, faults, counted = timezone.localdate(), list[str](), 0
    for project in Project.objects.filter(key__in=("team0", "team1")):
        lines = list(Line.objects.select_related("live").filter(project=project))
        for days in (30, 365):
            period = Period(today - timedelta(days=days - 1), today, days)
            now = timezone.now()
            recount = Recount({line.pk: line.name for line in lines}, period, now=now)
            assert len(recount.ended) > days and recount.reverted and recount.runs and recount.visits
            counted += sum(len(row) for table in recount.tables().values() for row in table.values())
            counted += 2 * len(recount.band())
            faults += unequal(Insights(project, lines, period, None, now), recount)
        now = timezone.now()
        unequal_rows, figures = unequal_records(project, now, RecordsRecount(project, now))
        faults, counted = [*faults, *unequal_rows], counted + figures
    assert faults == []
    print(f"{TASKS} tasks, {counted} figures recounted")
    print(f"load {os.getloadavg()[0]:.1f}, 20 million additions {yardstick()} s")
    for name, act in pages.acts().items():
        if "nsights" in name:
            cost = measure.cost(act, 20)
            print(f"{name}: {cost}")
            assert cost.statements < 40
