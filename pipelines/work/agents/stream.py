"""Reading a program's stream, line by line: what all dialects share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pipelines.work.agents.json_values import parsed_json_object_or_none
from pipelines.work.agents.steps import (
    LONGEST_CHANGE,
    LONGEST_DETAIL,
    LONGEST_WHAT,
    MOST_CHANGES,
    Step,
    StepKind,
    StepState,
    TextChange,
    Verb,
)

# Steps that wait for their end: a bound on what a stream makes us remember
MOST_OPEN: Final = 10_000
LONGEST_NAME: Final = 200


@dataclass
class StreamUsage:
    """`cost` is None where no price was said."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None


@dataclass
class Commands:
    """Counts of commands, as the program reports them."""

    run: int = 0
    failed: int = 0
    denied: int = 0
    last_exit_code: int | None = None


class Stream:
    """Reader of one run of a program. `feed` takes its lines as they come; what it says may be read at any moment.

    Whatever the lines hold, nothing is raised. `keep`: so many of the last steps are kept, None for all; everything
    that is counted counts all of them."""

    def __init__(self, keep: int | None = None) -> None:
        self.steps: list[Step] = []
        self.dropped = 0
        """How many steps came before those that are kept."""
        self.unread = 0
        """Lines that stay log."""
        self.lost = ""
        """Why a line of its events could not be read, "" where all could."""
        self.name, self.version, self.session, self.model = "", "", "", ""
        self.claim = ""
        """What it said last."""
        self.structured = ""
        """Its last answer in the form to which it was held, as JSON, beside what it said."""
        self.claim_cut = False
        self.earlier_block = ""
        """A message before the last one in which a json block stands."""
        self.earlier_cut = False
        """Whether a message before the last one was longer than what is kept of one."""
        self.refused = ""
        """The words with which the model refused, or the reason that its program gives."""
        self.error = ""
        """What it told went wrong, last."""
        self.final_event = ""
        """The event that ended it; "" while there was none."""
        self.problem = ""
        """What it says went wrong with all of it."""
        self.has_no_fixer = False
        """Whether the folder is set up for nothing that it could run."""
        self.retries = 0
        """How often in a row the model did not answer, at this moment."""
        self.unavailable = False
        """Whether it ended because the model did not answer."""
        self.over_budget = False
        """Whether it ended because it cost as much as it may."""
        self.usage, self.commands = StreamUsage(), Commands()
        self._keep = keep
        self._open: dict[str, int] = {}
        self._ended: dict[str, int] = {}
        self._at, self._number = 0.0, 0

    # What a dialect says

    def handlers_by_type(self) -> Mapping[str, Callable[[dict[str, Any]], bool]]:
        """{`type` of a line: what is made of it, False if nothing}"""
        return {}

    # What is asked

    @property
    def provider_down(self) -> bool:
        """The model did not answer, and no answer came after that."""
        return self.unavailable or self.retries > 0

    def feed(self, line: str, at: float = 0.0, number: int = 0) -> bool:
        """:return: whether it was understood; else it is log"""
        self._at, self._number = at, number
        value = parsed_json_object_or_none(line)
        read = None if value is None else self.handlers_by_type().get(_record_type_or_empty(value))
        understood = self.read_text_line(line) if value is None else read is not None and read(value)
        self.unread += not understood
        # It begins like an event and cannot be read: that is named (law §2).
        if value is None and self.handlers_by_type() and line.lstrip().startswith("{"):
            self.record_unreadable(
                f"line {number} of its stream is no JSON" if number else "a line of its stream is no JSON"
            )
        return understood

    def record_unreadable(self, why: str) -> None:
        """Note a line that cannot be read."""
        self.lost = self.lost or why

    def read_text_line(self, line: str) -> bool:
        """A line that is no JSON object."""
        return False

    # What a dialect does

    def begin_step(self, identity: str, step: Step) -> None:
        """A step whose end will be told under this identity."""
        if len(self._open) < MOST_OPEN:
            # Counted from the very first step, as steps are dropped at the front.
            self._open[identity[:LONGEST_NAME]] = self.dropped + len(self.steps)
        self.add_step(replace(step, state=StepState.RUNNING))

    def step_at_this_line(
        self, kind: StepKind, verb: Verb, what: str = "", *, changes: tuple[TextChange, ...] = (), **more: Any
    ) -> Step:
        """Make a step at this line, cut to what is shown."""
        bounded = tuple(
            TextChange(
                change.path[:LONGEST_WHAT], change.before[:LONGEST_CHANGE], change.after[:LONGEST_CHANGE]
            )
            for change in changes[:MOST_CHANGES]
        )
        # The end of an output is kept: it says how it came out.
        more["detail"] = more.get("detail", "")[-LONGEST_DETAIL:]
        more["tool"] = more.get("tool", "")[:LONGEST_NAME]
        longest = LONGEST_DETAIL if kind in (StepKind.TEXT, StepKind.THOUGHT) else LONGEST_WHAT
        return Step(kind, verb, self._at, what[:longest], changes=bounded, number=self._number, **more)

    def add_step(self, step: Step) -> None:
        self.steps.append(step if step.cost is not None else replace(step, cost=self.usage.cost))
        if self._keep is not None and len(self.steps) > self._keep:
            del self.steps[0]
            self.dropped += 1
        if step.state != StepState.RUNNING:
            self._count_command_of_step(step)

    def add_message(self, words: str, **more: Any) -> None:
        if words.strip():
            self.set_last_message(words.strip())
            self.add_step(self.step_at_this_line(StepKind.TEXT, Verb.SAY, words.strip(), **more))

    def set_last_message(self, words: str, longest: int = LONGEST_DETAIL) -> None:
        """Take this for what it said last."""
        # A message that comes in pieces goes on with what is there already.
        if not words.startswith(self.claim):
            self.earlier_cut |= self.claim_cut
            self.earlier_block = self.claim if "```json" in self.claim else self.earlier_block
        self.claim, self.claim_cut = words[:longest], len(words) > longest

    def try_to_end_step_begun_as(
        self, identity: str, state: StepState, detail: str = "", **more: Any
    ) -> bool:
        """:return: whether such a step was begun"""
        place = self._open.pop(identity[:LONGEST_NAME], None)
        if place is None:
            return False
        self._ended[identity[:LONGEST_NAME]] = place
        if len(self._ended) > MOST_OPEN:
            # The oldest: a dict keeps the order in which keys came.
            del self._ended[next(iter(self._ended))]
        index = place - self.dropped
        if index < 0:
            return True
        step = self.steps[index]
        more.setdefault("seconds", max(self._at - step.at, 0.0) if self._at else None)
        self.steps[index] = replace(
            step, state=state, detail=detail[-LONGEST_DETAIL:] or step.detail, cost=self.usage.cost, **more
        )
        self._count_command_of_step(self.steps[index])
        return True

    def try_to_mark_step_as_denied(self, identity: str, why: str) -> bool:
        """Also one that was told as failed before."""
        if self.try_to_end_step_begun_as(identity, StepState.DENIED, why, seconds=None):
            return True
        place = self._ended.get(identity[:LONGEST_NAME], -1) - self.dropped
        if not 0 <= place < len(self.steps) or self.steps[place].state != StepState.FAILED:
            return False
        step = self.steps[place]
        self.steps[place] = replace(step, state=StepState.DENIED, code=None, seconds=None)
        self.commands.denied += 1
        if step.kind == StepKind.COMMAND:
            # Its end was told before, and counted as run and failed.
            self.commands.run -= 1
            self.commands.failed -= 1
        return True

    def is_step_open(self, identity: str) -> bool:
        return identity[:LONGEST_NAME] in self._open

    def add_error(self, words: str, state: StepState = StepState.FAILED) -> None:
        """Something that went wrong, or a warning."""
        if state == StepState.FAILED and words.strip():
            self.error = words.strip()[:LONGEST_WHAT]
        self.add_step(self.step_at_this_line(StepKind.ERROR, Verb.TELL, words, state=state))

    def add_retry(self, retry_number: int, words: str, detail: str = "") -> None:
        """The model did not answer, and is asked again: one step, however often."""
        # A program that says no number (0) counts by how often it tells that it tries again
        self.retries = max(retry_number, self.retries + 1)
        last = self.steps[-1] if self.steps else None
        if last is not None and last.verb == Verb.RETRY and last.state == StepState.RUNNING:
            self.steps[-1] = replace(last, what=words[:LONGEST_WHAT], detail=detail[:LONGEST_DETAIL])
        else:
            self.add_step(
                self.step_at_this_line(
                    StepKind.ERROR, Verb.RETRY, words, detail=detail, state=StepState.RUNNING
                )
            )

    def end_retries(self) -> None:
        """The model answered."""
        if self.retries:
            self._close_retry(StepState.DONE)
        self.retries = 0

    def record_final_event(self, event: str, problem: str = "") -> None:
        self.final_event = event
        if problem:
            self.problem = problem[:LONGEST_WHAT]
            if self.retries:
                self.unavailable = True
                self._close_retry(StepState.FAILED)

    def add_usage(self, tokens_in: int, tokens_out: int, cost: float | None) -> None:
        """More of it."""
        usage = self.usage
        usage.tokens_in += tokens_in
        usage.tokens_out += tokens_out
        if cost is not None:
            usage.cost = (usage.cost or 0.0) + cost
        self.add_output_tokens_to_last_step(tokens_in + tokens_out)

    def add_output_tokens_to_last_step(self, tokens: int) -> None:
        """The last step belongs to this turn of the model."""
        if self.steps:
            self.steps[-1] = replace(self.steps[-1], tokens=tokens, cost=self.usage.cost)

    def _close_retry(self, state: StepState) -> None:
        for index in range(len(self.steps) - 1, max(len(self.steps) - 4, -1), -1):
            if self.steps[index].verb == Verb.RETRY and self.steps[index].state == StepState.RUNNING:
                self.steps[index] = replace(self.steps[index], state=state)

    def _count_command_of_step(self, step: Step) -> None:
        commands = self.commands
        if step.state == StepState.DENIED:
            commands.denied += 1
        elif step.kind == StepKind.COMMAND:
            commands.run += 1
            commands.failed += step.state == StepState.FAILED
            commands.last_exit_code = step.code


def _record_type_or_empty(value: dict[str, Any]) -> str:
    kind = value.get("type")
    return kind if isinstance(kind, str) else ""
