"""Protocol between a worker and the server whose jobs it does: claim, renew, report, store, fetch.

A worker knows nothing else of the server. Its messages are plain: orders and outcomes are JSON, files are
bytes with a digest, a lease is a key. The server is in the same process (`transport.local`)
or at the other end of HTTP (`transport.http`).
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pipelines.work.config import WorkerConfig
from pipelines.work.orders.order import Orders
from pipelines.work.spec.agent_call import PermissionAnswer, PermissionRequest
from pipelines.work.spec.repository import AtHost, DeliveryPermission, GitLeft, GitState

Entry = dict[str, Any]
# {digest: (path below the attempt's root, size)}
FileSources = dict[str, tuple[str, int]]
MEDIA_TYPE = "application/octet-stream"


class LeaseLost(Exception):
    """The attempt has no lease any more: it was cancelled, or another worker goes on."""


class ServerAway(Exception):
    """The server does not answer now. Nothing is known of what was asked."""


class NotStored(Exception):
    """The server does not take what the attempt left; the message says why."""


class QuestionRefused(Exception):
    """Refusal of an agent's question about its task; the message says why."""


class ReportFailed(Exception):
    """The engine met something unexpected; nothing moved."""


@dataclass(frozen=True)
class StationValues:
    """Secrets and variables {name: value} that the station of one job names. `masked`: what no log and no outcome of
    it may show, which is every secret that its line names: a station before may have left it in the workspace.
    `withheld`: {name of a secret that is a credential: its repository}, which no station gets. They come with a claim
    and are never part of the orders."""

    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    variables: Mapping[str, str] = field(default_factory=dict)
    masked: tuple[str, ...] = field(default=(), repr=False)
    withheld: Mapping[str, str] = field(default_factory=dict)
    # Of the repository of its line: for the worker itself, never for an attempt.
    credential: str = field(default="", repr=False)
    host_credential: str = field(default="", repr=False)


NO_VALUES = StationValues()


@dataclass(frozen=True)
class Started:
    """A job that this worker holds. `request_id`: of the request that queued it, "" where none did."""

    orders: Orders
    lease: uuid.UUID
    values: StationValues = NO_VALUES
    request_id: str = ""


@dataclass(frozen=True)
class ReportAnswer:
    """Answer to a report, and the next job of the same token if it came already leased. `status`: accepted,
    repeated, ignored, conflict, invalid (then `path` and `detail` say what); `decision`: what was decided."""

    status: str
    decision: str = ""
    path: str = ""
    detail: str = ""
    following: Started | None = None


@dataclass(frozen=True)
class StartingWorkspace:
    """The workspace that a job starts from. `stored` {digest: where `fetch` finds the bytes}."""

    digest: str
    manifest: tuple[Entry, ...] = field(repr=False)
    stored: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class EarlierFile:
    """A file that a station before handed over. `stored`: where `fetch` finds it."""

    station: str
    name: str
    stored: str


@dataclass(frozen=True)
class InputFile:
    """A file that was uploaded for an input. `stored`: where `fetch` finds it."""

    key: str
    name: str
    stored: str


@dataclass(frozen=True)
class Material:
    """Material that an attempt starts with, besides its orders."""

    before: StartingWorkspace | None
    earlier: tuple[EarlierFile, ...] = ()
    files: tuple[InputFile, ...] = ()
    git: GitState | None = None


@dataclass(frozen=True)
class HandedOver:
    """A file that the work named. `error` says why it was not kept."""

    name: str
    media_type: str = MEDIA_TYPE
    digest: str = ""
    size: int = 0
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        if self.error:
            return {"name": self.name, "error": self.error}
        return {"name": self.name, "media_type": self.media_type, "digest": self.digest, "size": self.size}


@dataclass(frozen=True)
class Workspace:
    """A picture of a workspace: its manifest, the digest of that, and the bytes of all files together."""

    digest: str
    manifest: tuple[Entry, ...] = field(repr=False)
    size: int = 0


@dataclass(frozen=True)
class AttemptResults:
    """Results that an attempt left below `root`. `files`: the bytes that artifacts and workspace name;
    `workspace` is None where it is as the one before."""

    root: Path
    files: FileSources = field(default_factory=dict)
    artifacts: tuple[HandedOver, ...] = ()
    workspace: Workspace | None = None
    git: GitLeft | None = None


class JobTransport(Protocol):
    """Transport of one job: what its execution asks of the server, and leaves there."""

    # Fetch and store

    async def read_material(self, started: Started) -> Material: ...

    async def read_workspace_before_or_none(self, started: Started) -> StartingWorkspace | None:
        """Return only the workspace of the material."""

    def fetch(self, stored: str, path: Path) -> None:
        """Bytes into a new file; in a thread."""

    async def store_results(self, started: Started, attempt_results: AttemptResults) -> None:
        """:raises LeaseLost: nothing is kept; OSError: there is no room for it; NotStored: it is refused"""

    def log_appender(self, started: Started) -> Callable[[str], Awaitable[None]]:
        """Return a function that appends whole, time-stamped lines to the log of this attempt."""

    # Ask

    async def answer_agent(
        self, started: Started, question: str, outcome: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Answer what the agent of this job asks about its own task: `get_task`, or of an outcome `what_if` and
        `gate_checks`. Changes nothing. :raises LeaseLost, ServerAway, QuestionRefused"""

    async def ask_permission(self, started: Started, request: PermissionRequest) -> PermissionAnswer:
        """Ask people about a call of a tool, or for their answer to it. :raises LeaseLost, ServerAway,
        QuestionRefused"""

    # Deliver

    async def permit_or_refuse_delivery(self, started: Started) -> DeliveryPermission:
        """Ask whether this delivery may push, under the lock of its task. :raises LeaseLost"""

    async def report_delivered(
        self,
        started: Started,
        commit: str,
        request: Mapping[str, Any] | None = None,
        base: str | None = None,
    ) -> None:
        """It landed. `request`: the one that is open for it; `base`: where it stood before. :raises LeaseLost"""

    async def report_host_progress(self, started: Started, host_state: AtHost) -> None:
        """It goes on through its host. :raises LeaseLost"""

    async def seconds_to_wait(self, started: Started) -> float:
        """Seconds after which to look again, while another delivery to the branch comes first; else 0.0."""

    async def find_stored_files(self, started: Started, digests: Sequence[str]) -> Mapping[str, str]:
        """Return {digest: where `fetch` finds the bytes} of those of these that visits of the task left."""

    async def report_base_moved(self, started: Started, onto: str, tree: str) -> None:
        """The base stands at `onto`; `tree`: what the approved change makes of it, where it is the same; else "".
        :raises LeaseLost"""

    async def report_push_by_others(
        self, started: Started, commit: str, who: Sequence[str], logins: Sequence[str]
    ) -> None:
        """People pushed this commit to the branch of the task. `who`: e-mail addresses that commits name; `logins`: of
        who pushed, as the host says. The task goes on with it, and this job may be over. :raises LeaseLost"""


class TrialTransport(JobTransport, Protocol):
    """Transport of one run of a station by itself: no task has any part in it."""

    async def claim(self, config: WorkerConfig) -> Started | None:
        """Return what to run, if nobody else took it and this worker may."""

    async def keep_alive(self) -> bool:
        """Say that it is still worked on; whether it still may be."""

    async def start_next_station_or_none(self, outcome: Mapping[str, Any]) -> Started | None:
        """Return what is to be run on what the station made: the check of an evaluation. None: this was all."""

    async def end_or_say_why_unstorable(self, outcome: Mapping[str, Any]) -> str:
        """ "", or why this outcome cannot be stored; then nothing is."""

    async def give_up(self, why: str) -> None:
        """End the run without an outcome. `why`: a key of `pipelines.lines.trials.ENDED`."""

    def close(self) -> None:
        """Close the transport, in a thread."""


class Transport(JobTransport, Protocol):
    """Every call may come again after its answer got lost, and sits a short absence of the server out, but for
    `update_worker`, `unattended`, `sign_off` and `renew`. :raises ServerAway: these do"""

    # The worker itself

    async def register(self, facts: Mapping[str, Any]) -> None: ...

    async def update_worker(self, **facts: Any) -> None:
        """`stopping`, `no_space`, `agents`, `programs`, `registries`."""

    async def sign_off(self) -> None:
        """Give back whatever it still holds; it is gone."""

    # Claim

    async def claim_token(self, token_id: int) -> Started | None:
        """The job that a ticket is for, if this worker may have it."""

    async def claim_job(self, job_id: int) -> Started | None: ...

    async def claim_instant(self, token_id: int | None, most: int) -> list[Started]:
        """Jobs whose work takes no time, in one transaction: that of a ticket, and those whose tickets wait."""

    async def unattended_jobs(self, older_than: float, room: Mapping[str, int]) -> dict[int, str]:
        """Return {job: queue} of what waits without a ticket and this worker may have, the most urgent first; `room`
        {queue: how many}."""

    async def give_back(self, job_id: int, attempt: int, lease: uuid.UUID, after: float = 0.0) -> None:
        """Queue the job again without counting an attempt, for a planned stop or to look again after `after`
        seconds."""

    async def give_back_stray(self, job_id: int, lease: uuid.UUID) -> None:
        """Give back a lease of ours whose job we do not drive, because an answer was lost."""

    # Renew: in a thread of the worker's own

    def renew_leases(self, abandoned: Collection[int]) -> dict[int, uuid.UUID]:
        """Renew all leases but those of these jobs, at once; return {job: lease} of the current ones."""

    def close_connection_of_thread(self) -> None:
        """Close what the renewing thread used, when it ends."""

    def has_room(self, folder: Path) -> bool:
        """Return whether something can be stored, and written to this folder; in a thread."""

    # Report

    async def report(self, started: Started, outcome: dict[str, Any], go_on: bool) -> ReportAnswer:
        """`go_on`: the next job of the token may come along. :raises ReportFailed: nothing moved"""

    async def report_together(
        self, outcomes_of_started: Sequence[tuple[Started, dict[str, Any], bool]]
    ) -> list[ReportAnswer]:
        """Outcomes of work that took no time, each with `go_on`, in one transaction; one answer each. Nothing moved of
        what answers `error`."""

    def close(self) -> None:
        """Wait for what is under way; in a thread."""
