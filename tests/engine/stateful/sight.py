"""What there is of some tasks at one moment, read by one statement: rows as dictionaries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db import connection

from pipelines.queries import versions
from pipelines.routing.document.line import ParsedLine

Row = dict[str, Any]
ENDED = ("completed", "failed", "cancelled")

SEE = """
SELECT json_build_object(
  'tasks', (SELECT coalesce(json_agg(to_jsonb(t) ORDER BY t.id), '[]') FROM pipelines_task t WHERE t.id = ANY(%(ids)s)),
  'tokens', (SELECT coalesce(json_agg(to_jsonb(t) ORDER BY t.id), '[]')
             FROM pipelines_token t WHERE t.task_id = ANY(%(ids)s)),
  'jobs', (SELECT coalesce(json_agg(to_jsonb(j) || jsonb_build_object(
               'expires_at', l.expires_at, 'expired', l.expires_at < clock_timestamp()) ORDER BY j.id), '[]')
           FROM pipelines_job j LEFT JOIN pipelines_lease l ON l.job_id = j.id WHERE j.task_id = ANY(%(ids)s)),
  'visits', (SELECT coalesce(json_agg(to_jsonb(v) - 'evidence' ORDER BY v.opened_at, v.position), '[]')
             FROM pipelines_gatevisit v WHERE v.task_id = ANY(%(ids)s)),
  'votes', (SELECT coalesce(json_agg(to_jsonb(w) ORDER BY w.id), '[]')
            FROM pipelines_vote w JOIN pipelines_gatevisit v ON v.id = w.visit_id WHERE v.task_id = ANY(%(ids)s)),
  'escalations', (SELECT coalesce(json_agg(to_jsonb(e) ORDER BY e.opened_at, e.id), '[]')
                  FROM pipelines_escalation e WHERE e.task_id = ANY(%(ids)s)),
  'deadlocks', (SELECT coalesce(json_agg(to_jsonb(d) ORDER BY d.found_at, d.id), '[]')
                FROM pipelines_deadlock d WHERE d.task_id = ANY(%(ids)s)),
  'dues', (SELECT coalesce(json_agg(to_jsonb(u) ORDER BY u.id), '[]')
           FROM pipelines_due u WHERE u.task_id = ANY(%(ids)s)),
  'depends', (SELECT coalesce(json_agg(to_jsonb(p) ORDER BY p.id), '[]')
              FROM pipelines_dependency p WHERE p.task_id = ANY(%(ids)s)),
  'handoffs', (SELECT count(*) FROM pipelines_handoff h WHERE h.task_id = ANY(%(ids)s)),
  'followed', (SELECT count(*) FROM pipelines_task t WHERE t.follows_id = ANY(%(ids)s)),
  'decisions', (SELECT count(*) FROM pipelines_decision d WHERE d.task_id = ANY(%(ids)s)),
  'mails', (SELECT count(*) FROM reviews_mail m JOIN pipelines_gatevisit v ON v.id = m.visit_id
            WHERE v.task_id = ANY(%(ids)s)),
  'tickets', (SELECT count(*) FROM procrastinate_jobs),
  'ignored', (SELECT count(*) FROM pipelines_event e WHERE e.task_id = ANY(%(ids)s) AND e.kind = 'job.ignored'),
  'versions', (SELECT count(*) FROM pipelines_lineversion v JOIN pipelines_task t ON t.line_id = v.line_id
               WHERE t.id = ANY(%(ids)s)))::text"""


@dataclass(frozen=True)
class Sight:
    rows: dict[str, Any]

    @classmethod
    def of(cls, task_ids: Sequence[int]) -> Sight:
        with connection.cursor() as cursor:
            cursor.execute(SEE, {"ids": list(task_ids)})
            return cls(json.loads(cursor.fetchone()[0]))

    @cached_property
    def subjects(self) -> dict[int, Subject]:
        """Every position there is or was, by the id of its token."""
        return {token["id"]: Subject(self, token) for token in self.rows["tokens"]}

    def moved_from(self, before: Sight) -> bool:
        """Whether anything is another than before. That a report was ignored is kept as evidence, and moves nothing."""
        return self._still != before._still

    @property
    def _still(self) -> dict[str, Any]:
        kept = {name: rows for name, rows in self.rows.items() if name not in ("ignored", "tasks", "tickets")}
        tasks = [
            {**{name: value for name, value in task.items() if name != "changed_at"}, "seq": None}
            for task in self.rows["tasks"]
        ]
        said = sum(task["seq"] for task in self.rows["tasks"]) - self.rows["ignored"]
        return {**kept, "tasks": tasks, "events": said}


@dataclass(frozen=True)
class Subject:
    """One token, with what belongs to it."""

    sight: Sight
    token: Row

    @property
    def id(self) -> int:
        return int(self.token["id"])

    @cached_property
    def task(self) -> Row:
        return next(task for task in self.sight.rows["tasks"] if task["id"] == self.token["task_id"])

    @cached_property
    def jobs(self) -> list[Row]:
        return [job for job in self.sight.rows["jobs"] if job["token_id"] == self.id]

    @property
    def open_job(self) -> Row | None:
        return next((job for job in self.jobs if job["state"] != "done"), None)

    @property
    def leased(self) -> Row | None:
        """The open job, if a worker has it."""
        job = self.open_job
        return job if job and job["state"] == "running" and job["lease_key"] else None

    def last_done(self, *, by_hand: bool) -> Row | None:
        done = [job for job in self.jobs if job["state"] == "done" and (job["kind"] == "manual") == by_hand]
        return done[-1] if done else None

    @cached_property
    def visits(self) -> list[Row]:
        return [visit for visit in self.sight.rows["visits"] if visit["token_id"] == self.id]

    @property
    def open_visits(self) -> list[Row]:
        return [visit for visit in self.visits if visit["state"] == "open"]

    def votes(self, visit: Row) -> list[Row]:
        return [vote for vote in self.sight.rows["votes"] if vote["visit_id"] == visit["id"]]

    @cached_property
    def still(self) -> Row:
        """All that is the token's own."""
        votes = [vote for visit in self.visits for vote in self.votes(visit)]
        return {"token": self.token, "jobs": self.jobs, "visits": self.visits, "votes": votes}

    @property
    def dues(self) -> list[Row]:
        """Of all tasks."""
        rows: list[Row] = self.sight.rows["dues"]
        return rows

    @property
    def as_a_whole(self) -> tuple[int, int]:
        """Of its task: what tells whether anything was said to it."""
        depends = sum(row["task_id"] == self.task["id"] for row in self.sight.rows["depends"])
        return self.task["seq"], depends

    @property
    def over(self) -> bool:
        return self.task["status"] in ENDED

    def line_of(self, visit: Row) -> ParsedLine:
        """The line under which a gate visit is judged."""
        job = next(job for job in self.sight.rows["jobs"] if job["id"] == visit["job_id"])
        return versions.parsed_line_by_version_id(job["pinned_id"])
