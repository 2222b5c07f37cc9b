"""The steps of an agent, as rows of a conversation: what it said, ran and changed, in words. All of it is its own
report, read from the log of its job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, NamedTuple

from pipelines.formats.evidence.trees.line_diff import StepBudget, diff_blocks
from pipelines.models import Job, Purpose
from pipelines.queries import versions
from pipelines.queries.usage import short_number
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.agents import Preset
from pipelines.routing.document.kinds.agent import KIND, agent_preset_or_none
from pipelines.routing.sentences.names import station_name
from pipelines.work import logs
from pipelines.work.agents.log_steps import read_stream
from pipelines.work.agents.steps import Step, StepKind, StepState, TextChange, Verb
from pipelines.work.agents.stream import Stream
from pipelines.work.results.text import LONGEST_LINE

PAGE_SIZE: Final = 200
"""Steps of one screen; the ones before come when they are asked for."""
OPEN: Final = 40
"""The last steps that may still change, and are brought anew."""
MOST_CHUNKS: Final = 100_000
LAST_LINES: Final = 4
MOST_LINES: Final = 400
DIFF_LINES: Final = 24
LONGEST_NOTE: Final = 120
FOLDED: Final = 600
"""Characters of a text that is shown whole."""
# How often a page asks for more; a log beyond LARGE_LOG costs more to read each time.
EVERY, SELDOM = "2s", "10s"
LARGE_LOG: Final = 1024 * 1024

VERBS: Final[Mapping[Verb, str]] = {
    Verb.RUN: "Run",
    Verb.EDIT: "Edit",
    Verb.WRITE: "Write",
    Verb.DELETE: "Delete",
    Verb.READ: "Read",
    Verb.LIST: "List",
    Verb.SEARCH: "Search",
    Verb.FETCH: "Fetch",
    Verb.PLAN: "Plan",
    Verb.DELEGATE: "Delegate",
    Verb.TOOL: "Use",
    Verb.THINK: "Thought",
    Verb.RETRY: "The model did not answer",
    Verb.TELL: "Message",
}
ICONS: Final[Mapping[Verb, str]] = {
    Verb.RUN: "actor-command",
    Verb.EDIT: "edit",
    Verb.WRITE: "edit",
    Verb.DELETE: "delete",
    Verb.READ: "file",
    Verb.LIST: "folder",
    Verb.SEARCH: "search",
    Verb.FETCH: "link",
    Verb.PLAN: "tasks",
    Verb.DELEGATE: "fork",
    Verb.TOOL: "settings",
    Verb.SAY: "comment",
    Verb.THINK: "comment",
    Verb.RETRY: "loop",
    Verb.TELL: "info",
}


class DiffLine(NamedTuple):
    """`kind`: same, removed, added or gap."""

    kind: str
    sign: str
    text: str


@dataclass(frozen=True)
class StepRow:
    """Row of one step. `index` counts from 0 within the attempt. `budget` is that of the whole screen."""

    index: int
    step: Step
    at: datetime | None
    allowed: str
    budget: StepBudget

    @property
    def icon(self) -> str:
        if self.step.is_denied:
            return "gate-auto"
        return "danger" if self.step.verb == Verb.TELL and self.step.has_failed else ICONS[self.step.verb]

    @property
    def tone(self) -> str:
        step = self.step
        if step.is_denied:
            return "denied"
        if step.has_failed:
            return "failed"
        if step.verb == Verb.RETRY:
            return "retry"
        return "running" if step.state == StepState.RUNNING else ""

    @property
    def verb_text(self) -> str:
        step = self.step
        if step.is_denied:
            return "Denied"
        if step.verb == Verb.TOOL and step.tool:
            return f"{VERBS[step.verb]} {step.tool}"
        return "" if step.verb == Verb.SAY else str(VERBS[step.verb])

    @property
    def is_shown_as_code(self) -> bool:
        return self.step.kind in (StepKind.COMMAND, StepKind.EDIT) or self.step.verb in (
            Verb.READ,
            Verb.SEARCH,
            Verb.LIST,
        )

    @property
    def result_word(self) -> str:
        step = self.step
        if step.is_denied:
            return ""
        if step.verb == Verb.RETRY:
            return {StepState.DONE: "Recovered", StepState.FAILED: "Gave up"}.get(step.state, "")
        if step.code is not None and step.kind == StepKind.COMMAND:
            return f"exit {step.code}"
        return "failed" if step.has_failed and step.kind != StepKind.ERROR else ""

    @property
    def denial_text(self) -> str:
        """Under a denied step: that nothing happened, and what it may run."""
        return "Nothing happened." + (f" {self.allowed}" if self.allowed else "")

    @property
    def last_output_lines(self) -> list[str]:
        return self.step.detail.rstrip().splitlines()[-MOST_LINES:]

    @property
    def failed_output_end(self) -> str:
        """Last lines of a failed step; the rest is folded."""
        return "\n".join(self.last_output_lines[-LAST_LINES:]) if self.step.has_failed else ""

    @property
    def one_line_output(self) -> str:
        """The output of what passed, where it is one short line."""
        lines = self.last_output_lines
        done = self.step.state == StepState.DONE and self.step.kind in (StepKind.TOOL, StepKind.COMMAND)
        return lines[0] if done and len(lines) == 1 and len(lines[0]) <= LONGEST_NOTE else ""

    @property
    def folded_output(self) -> str:
        """Below a fold: the output of what passed, all of what failed, what a refusal says."""
        if self.step.verb == Verb.RETRY or self.one_line_output:
            return ""
        if self.step.kind == StepKind.EDIT and self.step.state == StepState.DONE:
            return ""
        if self.step.has_failed and len(self.last_output_lines) <= LAST_LINES:
            return ""
        return "\n".join(self.last_output_lines)

    @property
    def fold_label(self) -> str:
        number = len(self.last_output_lines)
        if self.step.is_denied:
            return "What it was told"
        return singular_or_plural("Show %d line", "Show all %d lines", number) % number

    @property
    def is_long(self) -> bool:
        return self.step.kind == StepKind.THOUGHT or len(self.step.what) > FOLDED

    @property
    def first_line(self) -> str:
        return self.step.what.strip().splitlines()[0][:160] if self.step.what.strip() else ""

    @cached_property
    def diff_lines(self) -> list[DiffLine]:
        return edit_diff_lines(self.step.changes, self.budget)

    @property
    def tokens_text(self) -> str:
        return short_number(self.step.tokens)

    @property
    def cost_text(self) -> str:
        return cost_text(self.step.cost)


@dataclass(frozen=True)
class StepsView:
    """The steps of one attempt that are shown, and what stands around them."""

    job: Job
    attempt: int
    preset: Preset
    stream: Stream
    rows: tuple[StepRow, ...]
    first: int
    next: int
    complete: bool
    allowed: tuple[str, ...]
    every: str = EVERY

    @property
    def settled_rows(self) -> tuple[StepRow, ...]:
        return self.rows[: len(self.rows) - len(self.unsettled_rows)]

    @property
    def unsettled_rows(self) -> tuple[StepRow, ...]:
        """Rows from the first that still runs on: they are sent anew while the agent works."""
        if self.complete:
            return ()
        recent = self.rows[-OPEN:]
        running = (n for n, row in enumerate(recent) if row.step.state == StepState.RUNNING)
        # Where nothing runs any more there is no tail.
        return recent[next(running, len(recent)) :]

    @property
    def first_unsettled_index(self) -> int:
        """The index of the first step that is brought anew."""
        return self.first + len(self.rows) - len(self.unsettled_rows)

    @property
    def show_earlier_label(self) -> str:
        counted = singular_or_plural("%d earlier step", "%d earlier steps", self.first) % self.first
        return f"Show the {min(self.first, PAGE_SIZE)} before ({counted})"

    @property
    def step_count(self) -> int:
        return len(self.stream.steps)

    @property
    def usage_text(self) -> str:
        usage = self.stream.usage
        words = "%(given)s tokens in, %(made)s out"
        return words % {
            "given": short_number(usage.tokens_in) or "0",
            "made": short_number(usage.tokens_out) or "0",
        }

    @property
    def cost_text(self) -> str:
        amount = cost_text(self.stream.usage.cost)
        if amount or not self.complete:
            return amount
        return "no price" if self.stream.usage.tokens_in else ""

    @property
    def denied_count(self) -> int:
        return self.stream.commands.denied

    @property
    def commands_text(self) -> str:
        counts = self.stream.commands
        words = singular_or_plural("%d command", "%d commands", counts.run) % counts.run
        return f"{words}, {counts.failed} failed" if counts.failed else words

    @property
    def empty_note(self) -> str:
        """Note where there is nothing to display."""
        if self.preset.dialect == "text":
            return f"The output of {self.preset.name} is not read as steps. See the log."
        return "Its output could not be read as steps. See the log for what it wrote."


def preset_and_allowed_or_none(job: Job) -> tuple[Preset, tuple[str, ...]] | None:
    """The agent that a job calls and the commands that it may run; None for every other job."""
    if job.kind != KIND.key or job.purpose != Purpose.STATION:
        return None
    work = versions.parsed_line_by_version_id(job.pinned_id).station(job.station).work
    preset = agent_preset_or_none(work)
    return (preset, tuple(work.get("allow") or ())) if preset else None


def steps_view_or_none(
    job: Job, attempt: int, *, start: int | None = None, end: int | None = None
) -> StepsView | None:
    """The last steps of an attempt; those from `start` on; or those before `end`."""
    preset_entry = preset_and_allowed_or_none(job)
    if preset_entry is None:
        return None
    preset, allow = preset_entry
    # From the beginning: later lines complete earlier steps.
    piece = logs.read_log_part(job, attempt, 0, MOST_CHUNKS)
    stream = read_stream(preset, piece.lines, LONGEST_LINE)
    last = len(stream.steps) if end is None else min(max(end, 0), len(stream.steps))
    first = max(last - PAGE_SIZE, 0) if start is None else min(max(start, 0), last)
    line = versions.parsed_line_by_version_id(job.pinned_id)
    allowed = _allowed_sentence(station_name(line, job.station), allow)
    # The row knows when its latest attempt started, and no earlier one.
    began = job.started_at if attempt == job.attempt else None
    # One for the whole screen: many large edits cost no more than one.
    budget = StepBudget()
    rows = tuple(
        StepRow(index, step, began + timedelta(seconds=step.at) if began else None, allowed, budget)
        for index, step in enumerate(stream.steps[first:last], first)
    )
    every = EVERY if piece.next < LARGE_LOG else SELDOM
    return StepsView(job, attempt, preset, stream, rows, first, piece.next, piece.complete, allow, every)


def _allowed_sentence(station: str, allow: Sequence[str]) -> str:
    # `tool:…` allows a tool, not a command.
    commands = [entry for entry in allow if not entry.startswith("tool:")]
    if not commands:
        return ""
    return f"{station} may run {', '.join(commands)} only."


def edit_diff_lines(changes: Sequence[TextChange], budget: StepBudget) -> list[DiffLine]:
    """A small diff of what an edit says it replaces: without the numbers of lines, which it does not say. Once the
    budget is spent, the old text stands before the new one."""
    diff_lines: list[DiffLine] = []
    for change in changes:
        lines = list(_diff_lines_of_change(change, budget))
        diff_lines += lines[:DIFF_LINES]
        if more := len(lines[DIFF_LINES:]):
            diff_lines.append(
                DiffLine("gap", "", singular_or_plural("%d more line", "%d more lines", more) % more)
            )
    return diff_lines


def _diff_lines_of_change(change: TextChange, budget: StepBudget) -> Iterator[DiffLine]:
    before, after = change.before.splitlines(), change.after.splitlines()
    for block in diff_blocks(before, after, budget):
        old, new = before[block.old : block.old_end], after[block.new : block.new_end]
        if block.same:
            yield from (DiffLine("same", "  ", text) for text in old)
            continue
        yield from (DiffLine("removed", "− ", text) for text in old)
        yield from (DiffLine("added", "+ ", text) for text in new)


def cost_text(cost: float | None) -> str:
    """Two digits, and more below a cent; nothing where no price was said."""
    if cost is None:
        return ""
    return f"${cost:.2f}" if cost >= 0.01 or cost == 0 else f"${cost:.4f}"
