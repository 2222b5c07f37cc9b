"""A command for many tasks as people read it: the plan in words, how far it is, and what became of each task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pipelines import access
from pipelines.access import Who
from pipelines.engine import SUCCESS
from pipelines.lines.bulk_commands.operation import Action, Result, State
from pipelines.models import BulkCommand, BulkEntry, Status
from pipelines.queries import versions
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.sentences.names import gate_name, place_name

PLACE_LIMIT = 8


@dataclass(frozen=True)
class EntryRow:
    """Entry whose task the reader may see. `station`: where a move brings it, by name."""

    entry: BulkEntry
    station: str = ""

    @property
    def result_words(self) -> str:
        return Result(self.entry.result).label


@dataclass(frozen=True)
class BulkSummary:
    """`counts`: entries by result; `rows`: those whose tasks the reader may see; `hidden`: how many others there are;
    `sentences`: what is planned, each with an icon; `refusals`: reasons with the rows that were refused for them."""

    command: BulkCommand
    counts: Counter[str]
    rows: Sequence[EntryRow]
    hidden: int
    sentences: Sequence[tuple[str, str]]
    refusals: Sequence[tuple[str, Sequence[EntryRow]]]

    @property
    def total(self) -> int:
        return self.counts.total()

    @property
    def still_possible_count(self) -> int:
        """Return how many can be done still."""
        return self.counts[Result.PLANNED]

    @property
    def progress(self) -> int:
        """Return how many are planned already, or, once it was started, how many had their turn."""
        if self.command.state == State.PLANNING:
            return self.total - self.counts[Result.CHOSEN]
        return self.total - self.counts[Result.CHOSEN] - self.counts[Result.PLANNED]

    @property
    def is_under_way(self) -> bool:
        return self.command.state in (State.PLANNING, State.RUNNING)

    @property
    def heading(self) -> str:
        return WORDS[self.command.state](self)


def bulk_summary(command: BulkCommand, who: Who) -> BulkSummary:
    """Return what the reader may see of a command of theirs."""
    entries = list(
        command.entries.select_related("task__project__owner")
        .order_by("pk")
        .defer("task__inputs", "task__context")
    )
    visible_ids = {project.pk for project in access.visible_projects_with_owner(who)}
    rows = [
        EntryRow(entry, _station_name_of_entry_or_empty(entry))
        for entry in entries
        if entry.task.project_id in visible_ids
    ]
    refusals: dict[str, list[EntryRow]] = {}
    for row in rows:
        if row.entry.result == Result.REFUSED:
            refusals.setdefault(row.entry.detail, []).append(row)
    return BulkSummary(
        command,
        Counter(entry.result for entry in entries),
        rows,
        len(entries) - len(rows),
        list(_plan_icons_and_sentences(command, rows)),
        sorted(refusals.items(), key=lambda pair: -len(pair[1])),
    )


def _station_name_of_entry_or_empty(entry: BulkEntry) -> str:
    places = entry.plan.get("places") or []
    line = versions.parsed_line_by_version_id(entry.task.pinned_id) if places else None
    return place_name(line, places[0][0]) if line else ""


def tasks_in_words(count: int) -> str:
    return singular_or_plural("%(n)s task", "%(n)s tasks", count) % {"n": count}


# The plan in sentences


def _plan_icons_and_sentences(command: BulkCommand, rows: Sequence[EntryRow]) -> Iterator[tuple[str, str]]:
    able = [row for row in rows if row.entry.result not in (Result.CHOSEN, Result.REFUSED)]
    if not able:
        return
    count = tasks_in_words(len({row.entry.task_id for row in able}))
    yield ICONS[Action(command.action)], f"{count} can be {DONE[Action(command.action)]}."
    if command.moves_positions:
        yield from _place_icons_and_sentences(command, able)
    yield from _left_behind_icons_and_sentences(command, able)
    if command.left_out:
        yield "warning", f"{command.left_out} more match. Do it again for those."


def _place_icons_and_sentences(command: BulkCommand, rows: Sequence[EntryRow]) -> Iterator[tuple[str, str]]:
    places = Counter((row.station, row.entry.plan["places"][0][1]) for row in rows if row.station)
    for (station, status), number in places.most_common(PLACE_LIMIT):
        if status == Status.QUEUED:
            yield "status-queued", f"{station} starts: {tasks_in_words(number)}."
        else:
            yield (
                f"status-{status}",
                f"Waits at {station}, {Status(status).label.lower()}: {tasks_in_words(number)}.",
            )
    if (more := len(places) - PLACE_LIMIT) > 0:
        yield (
            "status-queued",
            singular_or_plural("%(n)s more place.", "%(n)s more places.", more) % {"n": more},
        )
    if ended := sum(1 for row in rows if not row.station and row.entry.plan.get("end")):
        yield "flag", f"Ends: {tasks_in_words(ended)}."
    if command.to == SUCCESS:
        yield "arrow-right", "Each goes where its rules lead after success."


def _left_behind_icons_and_sentences(
    command: BulkCommand, rows: Sequence[EntryRow]
) -> Iterator[tuple[str, str]]:
    if command.action == Action.RESUME:
        return
    working = sum(1 for row in rows if row.entry.plan.get("work"))
    drains = command.action == Action.PAUSE and not command.stops
    if working and drains:
        yield "status-running", f"Running work of {tasks_in_words(working)} ends by itself."
    elif working:
        yield "x", f"Running work of {tasks_in_words(working)} is stopped."
    # Under a pause people still decide
    if command.action == Action.PAUSE:
        return
    closes = Counter(
        gate_name(versions.parsed_line_by_version_id(row.entry.task.pinned_id), gate)
        for row in rows
        for gate in row.entry.plan.get("closes", ())
    )
    votes = sum(row.entry.plan.get("votes", 0) for row in rows)
    for gate, number in closes.most_common():
        yield (
            "gate",
            singular_or_plural(
                "%(n)s review at %(gate)s is closed.", "%(n)s reviews at %(gate)s are closed.", number
            )
            % {
                "n": number,
                "gate": gate,
            },
        )
    if votes:
        yield (
            "gate",
            singular_or_plural("%(n)s vote no longer counts.", "%(n)s votes no longer count.", votes)
            % {"n": votes},
        )


ICONS = {
    Action.MOVE: "move",
    Action.RETRY: "retry",
    Action.PAUSE: "pause",
    Action.RESUME: "status-running",
    Action.CANCEL: "x",
}
DONE = {
    Action.MOVE: "moved",
    Action.RETRY: "retried",
    Action.PAUSE: "paused",
    Action.RESUME: "resumed",
    Action.CANCEL: "cancelled",
}
"""What becomes of a task, by the action."""


def _planning_heading(summary: BulkSummary) -> str:
    return f"Planning: {summary.progress} of {summary.total}"


def _planned_heading(summary: BulkSummary) -> str:
    verb = Action(summary.command.action).label
    return (
        f"{verb} {tasks_in_words(summary.still_possible_count)}?"
        if summary.still_possible_count
        else "Nothing of it can be done"
    )


def _running_heading(summary: BulkSummary) -> str:
    done = DONE[Action(summary.command.action)].capitalize()
    return f"{done}: {summary.counts[Result.DONE]} of {summary.total}"


def _stopped_heading(summary: BulkSummary) -> str:
    return f"Stopped. {_running_heading(summary)}"


WORDS: dict[str, Callable[[BulkSummary], str]] = {
    State.PLANNING: _planning_heading,
    State.PLANNED: _planned_heading,
    State.RUNNING: _running_heading,
    State.STOPPED: _stopped_heading,
    State.FINISHED: _running_heading,
}
