"""The impact of a version on every running task of its line: read only, and exactly what migrating then does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet

from pipelines.engine.core import payload
from pipelines.engine.migration.snapshot import MigrationSnapshot, Planned
from pipelines.errors import Conflict, Invalid
from pipelines.models import ENDED, Line, LineVersion, Status, Task, Token, VersionStation
from pipelines.queries import versions
from pipelines.routing.analysis.migration_impact import EFFECTS, MigrationEffect
from pipelines.routing.document.line import DocumentError, ParsedLine, Problem, canonical_digest, read_line
from pipelines.routing.sentences import impacts

CHUNK = 2_500
"""Tasks that are read together: eight statements for so many, and their decisions in memory for as long."""


@dataclass(frozen=True)
class TaskImpact:
    """Impact on one running task. `positions`: (token, effect, the version that judges it, in words), in
    order."""

    task: Task
    planned: Planned
    positions: tuple[tuple[Token, MigrationEffect, str], ...]

    @property
    def worst_effect(self) -> str:
        """The worst of its positions."""
        return min((effect.effect for effect in self.planned.effects), key=EFFECTS.index)

    def to_dict(self) -> dict[str, Any]:
        return {
            "task": self.task.name,
            "title": self.task.title,
            "version": self.task.pinned.number,
            "status": self.task.status,
            "effect": self.worst_effect,
            "positions": [_position_dict(*position) for position in self.positions],
        }


def _position_dict(token: Token, effect: MigrationEffect, words: str) -> dict[str, Any]:
    decision = effect.decision.to_stored_dict() if effect.decision else None
    before = {"station": token.station, "status": str(token.status)}
    return {**effect.to_dict(), "before": before, "words": words, "decision": decision}


@dataclass(frozen=True)
class Impact:
    """Impact of a migration. `to`: None for the draft. `digest` names everything that is shown: it is what a
    confirm confirms. `plan`: the same without the number of the version, which a draft does not have yet."""

    line: Line
    to: LineVersion | None
    parsed: ParsedLine
    mapping: Mapping[str, str]
    tasks: tuple[TaskImpact, ...]
    digest: str
    plan: str
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def unmapped_stations(self) -> dict[str, int]:
        """Stations that have to be mapped: {key: how many tasks stand there}."""
        return dict(
            Counter(key for task_impact in self.tasks for key in task_impact.planned.unmapped_stations)
        )

    @property
    def task_counts_by_gone_next_station(self) -> dict[str, int]:
        """Stations to which jobs at work may lead and that are gone: {key: how many tasks}."""
        return dict(
            Counter(
                key
                for task_impact in self.tasks
                for key in dict.fromkeys(
                    key for effect in task_impact.planned.effects for key in effect.next_gone
                )
            )
        )

    @property
    def versions(self) -> list[int]:
        """Numbers of the versions that the tasks are on."""
        return sorted({task_impact.task.pinned.number for task_impact in self.tasks})

    def to_dict(self) -> dict[str, Any]:
        return {
            "line": self.line.key,
            "to": self.to.number if self.to else "draft",
            "from": self.versions,
            "mapping": dict(self.mapping),
            "digest": self.digest,
            "revision": self.parsed.revision,
            "counts": dict(self.counts),
            "needs_mapping": self.unmapped_stations,
            "may_need_mapping": self.task_counts_by_gone_next_station,
            "tasks": [task_impact.to_dict() for task_impact in self.tasks],
        }


def migration_impact_of(
    line: Line,
    to: LineVersion | None,
    mapping: Mapping[str, str] | None = None,
    tasks: Sequence[int] | None = None,
) -> Impact:
    """Return what migrating to `to` (None: the draft, as it would be published) does to every running task of
    the line that is not there yet, or to those with the numbers `tasks`. Raises Invalid (path `mapping.…`,
    `tasks`), Conflict (a draft that cannot be read)."""
    parsed, mapping = _parsed_target(line, to), dict(mapping or {})
    check_mapping(line, parsed, mapping)
    # Never saved: number 0 stands for the version that the draft would become.
    target = to or LineVersion(line=line, number=0)
    task_impacts = tuple(
        task_impact
        for chunk in _task_chunks(_running_tasks(line, tasks))
        for task_impact in _chunk_impacts(chunk, target, parsed, mapping)
        if not task_impact.planned.nothing
    )
    counts = Counter(task_impact.worst_effect for task_impact in task_impacts)
    digested = {
        "to": canonical_digest(parsed.to_document()),
        "mapping": mapping,
        "tasks": [
            [task_impact.task.pk, task_impact.task.pinned_id, task_impact.planned.effects_as_dicts()]
            for task_impact in task_impacts
        ],
    }
    plan, full_digest = (
        payload.json_digest(digested),
        payload.json_digest({**digested, "number": target.number}),
    )
    return Impact(
        line,
        to,
        parsed,
        mapping,
        task_impacts,
        full_digest,
        plan,
        {effect: counts[effect] for effect in EFFECTS},
    )


def _parsed_target(line: Line, to: LineVersion | None) -> ParsedLine:
    if to is not None:
        return versions.parsed_version(to)
    try:
        return read_line(line.draft)
    except DocumentError as fault:
        raise Conflict(f"The draft cannot be read: {fault}") from fault


def check_mapping(line: Line, parsed: ParsedLine, mapping: Mapping[Any, Any]) -> None:
    """Raises Invalid with every problem, each at its key."""
    # Of all versions: tasks on an older one may be at a station that is gone since
    known = set(VersionStation.objects.filter(version__line=line).values_list("key", flat=True))
    problems = []
    for old, new in mapping.items():
        if old not in known:
            hint = "Use the key of a station of one of this line's versions."
            problems.append(Problem(f"mapping.{old}", "no version of this line has this station", hint))
        if new in parsed.ends_by_key and new not in parsed.stations_by_key:
            hint = "Map it to a station; to end a task, cancel it."
            problems.append(Problem(f"mapping.{old}", f"“{new}” is an end, not a station", hint))
        elif new not in parsed.stations_by_key:
            hint = f"Use one of {', '.join(station.key for station in parsed.stations)}."
            problems.append(Problem(f"mapping.{old}", f"the new version has no station “{new}”", hint))
    if problems:
        raise Invalid(problems)


def _running_tasks(line: Line, numbers: Sequence[int] | None) -> QuerySet[Task]:
    tasks = Task.objects.filter(line=line, ended_at=None).select_related("project", "pinned").order_by("pk")
    if numbers is None:
        return tasks
    requested = set(numbers)
    running = set(tasks.filter(number__in=requested).values_list("number", flat=True))
    if requested - running:
        missing = ", ".join(map(str, sorted(requested - running)))
        raise Invalid.at("tasks", f"not running tasks of this line: {missing}")
    return tasks.filter(number__in=requested)


def _task_chunks(tasks: QuerySet[Task]) -> Iterator[list[Task]]:
    chunk: list[Task] = []
    # `versions` has each document once; here it would come with every task.
    for task in tasks.defer("pinned__document").iterator(chunk_size=CHUNK):
        chunk.append(task)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _chunk_impacts(
    tasks: list[Task], to: LineVersion, parsed: ParsedLine, mapping: Mapping[str, str]
) -> Iterable[TaskImpact]:
    tokens = Token.objects.filter(task__in=tasks).exclude(status__in=ENDED)
    ground = MigrationSnapshot(tasks, tokens)
    for task in tasks:
        planned = ground.plan_migration_of_task(task, to, mapping, parsed)
        by_token = {effect.token: effect for effect in planned.effects}
        yield TaskImpact(
            task,
            planned,
            tuple(
                (token, by_token[token.pk], _effect_words(ground, token, by_token[token.pk], to, parsed))
                for token in ground.tokens_of_task(task)
            ),
        )


def _effect_words(
    ground: MigrationSnapshot, token: Token, effect: MigrationEffect, to: LineVersion, parsed: ParsedLine
) -> str:
    judge = versions.parsed_line_by_version_id(ground.judge_version_id_of(token))
    status = str(dict(Status.choices).get(effect.status, effect.status))
    return impacts.impact_sentence(effect, token, judge, parsed, to.number or 0, status)
