"""A kind of work as a value: everything that is known of it besides how it is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal

from pipelines.routing.basics.problems import Problem, member_path
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.document.document_readers.reader import Reader
from pipelines.routing.document.fields.field import Field, ReadContext
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.inputs import Input
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.stations import Station
from pipelines.routing.document.work.keys import TextsIn, Work, WorkKey, never_applies
from pipelines.routing.document.work.network import Network

WORKER: Final = "worker"
PERSON: Final = "person"
CLOCK: Final = "clock"
ELSEWHERE: Final = "elsewhere"
"""Who does it. The job of a person's work and of the clock's runs from the moment it is opened, without a lease; what
is done elsewhere is leased to a program of another system."""


@dataclass(frozen=True)
class NotBoth:
    """Two keys that exclude each other; `message` stands at the second."""

    first: str
    second: str
    message: str

    def check(self, reader: Reader, context: ReadContext) -> None:
        if reader.has(self.first) and reader.has(self.second):
            reader.note(self.second, self.message)

    @property
    def schema_rule(self) -> Schema:
        return {"not": {"required": [self.first, self.second]}}


def no_problems(line: ParsedLine, station: Station, path: str) -> Iterator[Problem]:
    return iter(())


def no_stored_names(work: Work, kind: str) -> tuple[str, ...]:
    return ()


def no_hosts(work: Work) -> tuple[str, ...]:
    return ()


def no_needs(work: Work) -> tuple[str, ...]:
    return ()


def no_form(station: Station) -> tuple[Input, ...]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Kind of work. `name`, `about`, `title`, `help`, `said_as` and `silent` are for people."""

    key: str
    name: str
    about: str
    """One line: who does what. The palette and the form show it."""
    icon: str
    """Its drawing in lucide (static/build/sprite.ts)."""
    docs: str
    """Where it is documented, below docs/."""
    title: str = ""
    """Of its fields in the inspector; a kind without keys has none."""
    help: str = ""

    keys: Mapping[str, WorkKey] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    """The order of the fields in the inspector, where it is another than that of the keys."""
    not_both: NotBoth | None = None
    fresh: Mapping[str, Any] = field(default_factory=dict)
    """What a station that is put on the canvas says besides its kind."""
    lacks: Callable[[ParsedLine, Station, str], Iterator[Problem]] = no_problems
    """What keeps it from being published, besides what its keys say."""

    done_by: Literal["worker", "person", "clock", "elsewhere"] = WORKER
    asks_a_person: Callable[[Work], bool] | None = None
    """Whether this work of a worker's kind is done by a person after all."""
    form: Callable[[Station], tuple[Input, ...]] = no_form
    """What a person fills in who does it."""
    expects: str = ""
    """What its stations are expected to leave, where they do not say (law §13); "" where nothing is."""
    costs: Callable[[Work], bool] = never_applies
    """Whether this work may report a price."""
    unpriced: Callable[[Work], bool] = never_applies
    """Whether nobody can tell what it cost: then no limit in dollars stops it."""
    chooses: bool = False
    """What a person fills in is the eval, and the output of the station before passes through (dialects B12)."""
    executes: bool = False
    """Code on a worker, in a folder: publishing needs `execute`, and `network` and `resources` mean something."""
    calls: bool = False
    """It has a log, and no folder. Without this and `executes` a handler that writes fails."""
    of_a_branch: bool = False
    """It acts on the branch of a task at its host, and has no meaning without one."""
    instant: bool = False
    """It takes no time: a worker does hundreds at once. It writes no log, and waits for nothing."""
    asks_a_model: bool = False
    hosts: Callable[[Work], tuple[str, ...]] = no_hosts
    """Whom its program has to reach, whatever hosts its station lists besides."""
    needs: Callable[[Work], tuple[str, ...]] = no_needs
    """What a worker has to offer for it, besides kind, model and secrets."""
    stored: Callable[[Work, str], tuple[str, ...]] = no_stored_names
    """Names of the secrets, or the variables, that it gets where they are stored and does without where not."""
    result_document: bool = False
    """Whether it can write one."""

    evals: tuple[str, ...] = ()
    """What it says in `eval` by itself (dialects B11). Any text may stand in a condition; these are offered."""
    failed: str = "error"
    """The eval of a failure that says none."""
    tells: bool = False
    """Each eval is an outcome of its own: a walk offers them, besides success and failure."""

    actor: str = "system"
    """The icon of who did it, in the history of a task."""
    signed: Callable[[Work], str] | None = None
    """The name beside it; without it that of the kind."""
    says: Callable[[Station], str] = lambda station: ""
    """What happens at a station, in one line, in the words of its document."""
    says_code: bool = False
    """Whether that line is code, and set in the fixed font."""
    said_as: str = ""
    """A sentence around it, with the place %(said)s."""
    silent: str = ""
    """The line where the document says nothing."""

    def __post_init__(self) -> None:
        if self.instant and (self.calls or self.executes):
            raise ValueError(
                f"{self.key}: what takes no time has no log. Leave out instant, or calls and executes."
            )

    @cached_property
    def record(self) -> Record[dict[str, Any]]:
        """The whole of `work`."""
        pair = self.not_both
        fields = {"kind": Field(required=True), "network": Network(), **self.keys}
        return Record(
            dict, fields, check=pair.check if pair else None, rules=pair.schema_rule if pair else None
        )

    @property
    def is_done_by_workers(self) -> bool:
        return self.done_by == WORKER

    @property
    def can_run_alone(self) -> bool:
        """Return whether a worker can do this work without a task."""
        return self.is_done_by_workers and not self.of_a_branch

    @property
    def is_done_elsewhere(self) -> bool:
        return self.done_by == ELSEWHERE

    def is_done_by_people(self, work: Work) -> bool:
        return self.done_by == PERSON or (self.asks_a_person is not None and self.asks_a_person(work))

    def publishing_problems(self, line: ParsedLine, station: Station, path: str) -> Iterator[Problem]:
        """Yield the problems that a station has to fix before it can be published."""
        for name, key in self.keys.items():
            yield from key.publishing_problems(name, line, station.work, path)
        yield from self.lacks(line, station, path)

    def templates(self, work: Work, path: str) -> TextsIn:
        for name, key in self.keys.items():
            yield from key.templates(work.get(name), member_path(path, name))

    def references(self, work: Work, kind: str) -> Iterator[str]:
        for name, key in self.keys.items():
            yield from key.references(work.get(name), kind)
