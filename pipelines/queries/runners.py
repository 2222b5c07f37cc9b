"""The machines that do the work of a project: what they offer, when they were seen, what they do now. Three statements,
however many there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q

from pipelines.models import ApiToken, Job, Lease, Project, Worker
from pipelines.queries import versions
from pipelines.queries.workers import ALIVE, NONE, WITHOUT_PORTS
from pipelines.routing.document.agents import PRESETS
from pipelines.routing.document.agents.preset import Preset
from pipelines.routing.document.kinds import SEVERAL_OWNERS, runs_programs
from pipelines.routing.document.kinds.agent import SIGNED_IN

SHOWN_FOR: Final = timedelta(days=30)
"""A machine that was not seen for longer is no longer shown beside others of its token."""
MOST: Final = 500


@dataclass(frozen=True)
class RunnerJob:
    """Job that a runner holds."""

    task: str
    station: str


@dataclass(frozen=True)
class RunnerRow:
    """Row of one machine. `token`: None for what runs beside the server. `worker`: None where it never
    called."""

    token: ApiToken | None
    worker: Worker | None
    now: datetime
    doing: Sequence[RunnerJob] = ()

    @property
    def name(self) -> str:
        return self.worker.name if self.worker else str(self.token.name if self.token else "")

    @property
    def is_online(self) -> bool:
        return bool(self.worker and not self.worker.stopped_at and self.worker.seen_at > self.now - ALIVE)

    @property
    def state_tone_and_word(self) -> tuple[str, str]:
        """Tone and word."""
        if self.token and self.token.expires_at <= self.now:
            # Said first: whatever else it does, no call of it is answered
            return "danger", "Token expired"
        if self.worker is None:
            return "neutral", "Never started"
        if not self.is_online:
            return ("neutral", "Stopped") if self.worker.stopped_at else ("danger", "Offline")
        if self.worker.no_space:
            return "danger", "Disk full"
        return ("attention", "Draining") if self.worker.stopping else ("ok", "Online")

    @property
    def has_room(self) -> bool:
        return bool(self.is_online and self.worker and self.worker.concurrency and not self.worker.stopping)

    @property
    def is_drained(self) -> bool:
        return bool(self.token and self.token.drained_at)

    @property
    def agent_labels(self) -> list[str]:
        """“Claude Code 2.1.330 (signed in)”, by name."""
        agents = self.worker.agents if self.worker else {}
        labels = {
            key: " ".join(filter(None, (_agent_name(key), _reported_version_number(agent))))
            for key, agent in agents.items()
        }
        ready = {need.partition(":")[2] for need in self._offers if need.startswith(f"{SIGNED_IN}:")}
        labels |= {key: f"{labels.get(key) or _agent_name(key)} (signed in)" for key in ready}
        return sorted(labels.values())

    @property
    def _offers(self) -> Sequence[str]:
        return (self.worker.offers or ()) if self.worker else ()

    @property
    def starts_programs(self) -> bool:
        """Say whether it runs commands and agents."""
        return self.worker is not None and runs_programs(self.worker.offers)

    @property
    def serves_several_owners(self) -> bool:
        """Say whether it runs none only because it serves several owners behind Landlock."""
        return SEVERAL_OWNERS in self._offers

    @property
    def is_isolated(self) -> bool:
        return bool(self.worker and self.worker.isolation != NONE)

    @property
    def cuts_network_without_ports(self) -> bool:
        return bool(self.worker and self.worker.isolation == WITHOUT_PORTS and self.worker.cuts_network)

    @property
    def isolation_name(self) -> str:
        words = {
            "bubblewrap": "bubblewrap",
            "landlock": "Landlock",
            "prefix": "your own command",
            NONE: "none",
        }
        return words.get(self.worker.isolation, self.worker.isolation) if self.worker else ""

    @property
    def operating_system(self) -> str:
        machine = self.worker.machine if self.worker else {}
        return " · ".join(filter(None, (machine.get("os"), machine.get("arch"))))

    @property
    def git_version(self) -> str:
        return str(self.worker.machine.get("git") or "") if self.worker else ""


def runner_rows(project: Project, now: datetime) -> list[RunnerRow]:
    """Return the runners by name; those of the project before what runs beside the server."""
    tokens = list(
        ApiToken.objects.filter(project=project, kind=ApiToken.TokenKind.RUNNER, revoked_at=None)
        # Of those for one job there are as many as there were jobs
        .filter(Q(only_job=None) | Q(expires_at__gt=now) & ~Q(only_job__state="done"))
        .order_by("name", "pk")
    )
    theirs = Q(token__in=tokens, seen_at__gt=now - SHOWN_FOR)
    # Beside the server each start of a worker is a row of its own: those of before are not shown.
    without_token = Q(token=None, project=None, stopped_at=None, seen_at__gt=now - ALIVE)
    workers = list(Worker.objects.filter(theirs | without_token).order_by("name", "-seen_at")[:MOST])
    by_token = defaultdict[int | None, list[Worker]](list)
    for worker in workers:
        if worker.token_id or worker.owners is None or project.owner.key in worker.owners:
            by_token[worker.token_id].append(worker)
    doing = _current_jobs_by_worker(project, workers)
    rows = [
        RunnerRow(token, worker, now, doing.get(worker.pk, ()) if worker else ())
        for token in tokens
        for worker in _workers_or_none(by_token.get(token.pk, []))
    ]
    return [
        *rows,
        *(RunnerRow(None, worker, now, doing.get(worker.pk, ())) for worker in by_token.get(None, ())),
    ]


def _workers_or_none(workers: list[Worker]) -> Sequence[Worker | None]:
    return workers or [None]


def _current_jobs_by_worker(project: Project, workers: Iterable[Worker]) -> dict[object, list[RunnerJob]]:
    """Return the jobs of this project that each worker does: what it does for others is nobody's matter here."""
    leases = Lease.objects.filter(
        worker__in=list(workers), job__task__project=project, job__state=Job.State.RUNNING
    )
    rows = leases.select_related("job__task__project").order_by("job_id")[:MOST]
    doing = defaultdict[object, list[RunnerJob]](list)
    for lease in rows:
        job = lease.job
        station = versions.parsed_line_by_version_id(job.pinned_id).stations_by_key.get(job.station)
        doing[lease.worker_id].append(RunnerJob(job.task.name, station.name if station else job.station))
    return doing


def _agent_name(key: str) -> str:
    preset: Preset | None = PRESETS.get(key)
    return preset.name if preset else key


def _reported_version_number(agent: dict[str, object]) -> str:
    """The version alone, of “2.1.330 (Claude Code)” or “codex-cli 0.169.0”."""
    version = str(agent.get("version") or "")
    return next((word for word in version.split() if word[:1].isdigit()), "")
