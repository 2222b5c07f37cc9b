"""Input and output of handlers. Handlers know no engine and no database: (spec, sink) -> outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pipelines.work.outgoing.endpoint import Outgoing
from pipelines.work.processes.image_root import ImageRoot
from pipelines.work.processes.isolation import OPEN, Access, Isolation
from pipelines.work.processes.resources import DEFAULT, Resources
from pipelines.work.spec.agent_call import AgentCall
from pipelines.work.spec.offered_tools import OfferedTool
from pipelines.work.spec.preparation import ServiceProgram
from pipelines.work.spec.repository import ChecksOrder, DeliveryOrder

NOTHING = Isolation("none")
# An outcome as of law §2, plain JSON.
Outcome = dict[str, Any]


class Sink(Protocol):
    """Destination of the text of a running job."""

    async def write(self, stream: str, data: bytes) -> None:
        """Bytes that the work wrote to `out` or `err`; waits while the log is behind."""

    async def note(self, text: str) -> None:
        """Write a line of Gateline's own."""


@dataclass(frozen=True)
class Attempt:
    """The folder of one attempt; no other attempt ever works in it."""

    root: Path

    @property
    def workspace(self) -> Path:
        """The working folder of the task: HOME, and what snapshots keep."""
        return self.root / "workspace"

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"

    def relative_to_root(self, path: Path) -> str:
        """A path of this attempt, relative to its root."""
        return path.relative_to(self.root).as_posix()

    @property
    def result(self) -> Path:
        """The result document: beside the working folder, so that no checked-out file can pass for it."""
        # Beside the working folder: no file that was checked out can pass for it
        return self.root / "result" / "document.json"

    @property
    def home(self) -> Path:
        """HOME of an agent, which goes on from visit to visit, and of a station that works in a repository: beside the
        files, so that nothing of it is committed or kept in a snapshot."""
        # Beside the files, so that nothing of it is committed or kept in a snapshot
        return self.root / "home"

    @property
    def certificates(self) -> Path:
        """File of all authorities that its programs must trust, where an operator added some."""
        return self.root / "certificates.pem"

    @property
    def inputs_folder(self) -> Path:
        """Folder of what the work may read: `context.json`, and the artifacts of the stations before. No
        snapshot includes it."""
        return self.root / "given"


@dataclass(frozen=True)
class ProcessLimits:
    """Seconds and bytes. `idle`: without a byte of output. `grace`: between SIGTERM and SIGKILL."""

    idle: float | None = None
    total: float | None = 3600.0
    grace: float = 10.0
    signal_grace: float = 10.0
    text_bytes: int = 10 * 1024 * 1024
    document_bytes: int = 10 * 1024 * 1024


class LookAgain(Exception):
    """Nothing is decided yet: the job is put off for some seconds, and its worker does other work."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"in {seconds:g} s")


@dataclass(frozen=True)
class Spec:
    """Job to do, with every template rendered."""

    kind: str
    attempt: Attempt
    argv: tuple[str, ...] = ()
    prompt: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = "."
    limits: ProcessLimits = ProcessLimits()
    result_document: str = "none"
    document_style: str = "native"
    output_keys: tuple[str, ...] = ()
    # What the station is expected to leave (law §13), and the files that it declares: {path, kind, required}.
    expects: str = ""
    artifacts: tuple[Mapping[str, Any], ...] = ()
    isolation: Isolation = NOTHING
    access: Access = OPEN
    resources: Resources = DEFAULT
    # What the document says of the work, and what templates may read: task, input, context, variables.
    work: Mapping[str, Any] = field(default_factory=dict, repr=False)
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)
    outgoing: Outgoing = field(default_factory=Outgoing)
    # What was said to the station last, and the question of its own that this answers, if it asked one.
    feedback: str = ""
    question: str = ""
    # What a `route` may choose; the tools that a model is told of; those that a station declares.
    labels: tuple[str, ...] = ()
    offered: tuple[Mapping[str, Any], ...] = ()
    tools: tuple[OfferedTool, ...] = ()
    # What a delivery pushes, and whom it asks.
    delivery: DeliveryOrder | None = None
    # Which checks of a host are waited for.
    checks: ChecksOrder | None = None
    # Which agent is called, and with what, where one is.
    agent: AgentCall | None = None
    # Programs that run beside it, of its repository.
    services: tuple[ServiceProgram, ...] = ()
    # The image whose files it sees, "" for those of the runner; and all that it and its services are in, by name.
    image: str = ""
    images: Mapping[str, ImageRoot] = field(default_factory=dict)
    # Whether a signal on standard output is followed; what a tool shows is somebody else's text.
    heeds_signals: bool = True

    def secrets_now(self) -> tuple[str, ...]:
        """Return the secrets that nothing may show, as far as they are known now: the sign-in that its agent
        is lent, renewed."""
        lent = self.agent.signed_in if self.agent else None
        return lent.tokens() if lent else ()
