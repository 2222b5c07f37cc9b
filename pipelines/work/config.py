"""Configuration of a worker at its start; made from the settings by the command, handed in everywhere else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pipelines.ports.server_folders import PermittedFolder, ServerFolders
from pipelines.ports.terms import LEASE_SECONDS
from pipelines.routing.document.evaluations import MODEL, WORKER
from pipelines.routing.document.kinds import DEFAULT_MODEL, IMAGES, MODEL_SERVER, TABLE
from pipelines.routing.document.kinds.agent import SIGNED_IN
from pipelines.work.images import Images
from pipelines.work.outgoing.authorities import Authorities, trusted_authorities
from pipelines.work.outgoing.endpoint import Outgoing
from pipelines.work.processes.isolation import Isolation
from pipelines.work.processes.resources import DEFAULT, Resources

# A driver that continues directly gives others a turn after this many stations or seconds (house §2).
MOST_STATIONS = 20
MOST_SECONDS = 30.0
EVALUATOR_LABEL = "evaluator"
# Tokens at stations whose work takes no time: what they wait for is the database, and there they go together.
QUICK_AT_ONCE = 100
# Batches of them that one ticket each begins: one computes while the other waits for the disk.
INSTANT_AT_ONCE = 2


@dataclass(frozen=True)
class WorkerConfig:
    """`owners` None: every owner. `station_path`: the PATH of commands. `variables`: GATELINE_… of every command.
    `secrets`: never to be seen in a log. `evaluator`: the command that answers questions, if this worker has the label
    for it. Seconds and counts otherwise."""

    workspaces: Path
    isolation: Isolation
    # What brings images, where something does.
    images: Images | None = field(default=None, kw_only=True)
    station_path: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    # Defaults for stations without settings of their own, and folders below which repositories have to lie; None: no
    # bound.
    resources: Resources = DEFAULT
    repository_roots: tuple[str, ...] | None = None
    # Folders of the product, below which no repository is taken from; and whether permissions were given on another
    # machine, so that only the path says which folder is meant.
    protected: tuple[str, ...] = ()
    elsewhere: bool = False
    # Whether it does work that is a program: commands, agents, tools, hooks.
    programs: bool = True
    # Whether an administrator lets it do so for several owners behind Landlock.
    several_owners: bool = False
    labels: frozenset[str] = frozenset()
    owners: frozenset[str] | None = None
    concurrency: int = 8
    engine_threads: int = 4
    lease_seconds: float = LEASE_SECONDS
    heartbeat_seconds: float = 3.0
    drain_seconds: float = 4.0
    secrets: tuple[str, ...] = field(default=(), repr=False)
    # {name: value} that headers and environments may use: GATELINE_SECRET_…, and what came with the job.
    named_secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    named_variables: Mapping[str, str] = field(default_factory=dict)
    # {name of a secret that is the credential of a repository: that repository}
    withheld_secrets: Mapping[str, str] = field(default_factory=dict)
    # {agent: the folder with the sign-in of this machine's user, which its stations are lent}
    signed_in: Mapping[str, Path] = field(default_factory=dict)
    outgoing: Outgoing = field(default_factory=Outgoing)
    # Whom its stations are told to trust besides the public authorities.
    authorities: Authorities = field(default_factory=trusted_authorities)
    evaluator: tuple[str, ...] = ()
    most_stations: int = MOST_STATIONS
    most_seconds: float = MOST_SECONDS

    def folders(self, allowed: Iterable[Mapping[str, Any]]) -> ServerFolders:
        """The folders that a job may use, as its orders name them and this machine takes them."""
        permitted = tuple(PermittedFolder.of_dict(folder) for folder in allowed)
        protected = (*self.protected, str(self.workspaces))
        return ServerFolders(permitted, protected, self.repository_roots, self.elsewhere)

    def with_values(
        self,
        secrets: Mapping[str, str],
        variables: Mapping[str, str],
        masked: Iterable[str],
        withheld: Mapping[str, str],
    ) -> WorkerConfig:
        """The configuration for one job: values stored for its line take precedence over the worker's own."""
        # What the line has of its own counts before what this worker was started with
        usable = {**self.named_secrets, **secrets}
        return replace(
            self,
            named_secrets={name: value for name, value in usable.items() if name not in withheld},
            withheld_secrets=withheld,
            named_variables={**self.named_variables, **variables},
            secrets=(*self.secrets, *masked),
        )

    @property
    def serves_one_owner(self) -> bool:
        """Say whether it runs programs of one owner only: Landlock does not keep several apart (SECURITY.md)."""
        return self.programs and self.isolation.name == "landlock" and not self.several_owners

    @property
    def offers(self) -> frozenset[str]:
        """Needs of stations that this worker offers to meet (`routing.document.kinds.required_offers`)."""
        endpoint = self.outgoing.endpoint
        model = {MODEL_SERVER} if endpoint.url else set()
        model |= {DEFAULT_MODEL} if endpoint.url and endpoint.model else set()
        done = (kind for kind in TABLE if kind.is_done_by_workers and (self.programs or not kind.executes))
        kinds = {f"kind:{kind.key}" for kind in done}
        images = {IMAGES} if self.images is not None else set()
        signed_in = {f"{SIGNED_IN}:{agent}" for agent in self.signed_in}
        secrets = {f"secret:{name}" for name in self.named_secrets}
        return frozenset(kinds | model | images | secrets | signed_in)

    @property
    def answers(self) -> frozenset[str]:
        """Questions that this worker can answer (docs/workers.md, Evaluations)."""
        # The server knows the labels of a runner: they are those of its token.
        labelled = self.elsewhere or EVALUATOR_LABEL in self.labels
        by_command = {WORKER} if self.evaluator and labelled else set()
        by_model = {MODEL} if self.outgoing.endpoint.url and self.outgoing.endpoint.model else set()
        return frozenset(by_command | by_model)
