"""Declaration of a kind of trigger."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.errors import Invalid
from pipelines.models import Task
from pipelines.routing.basics.values import MISSING

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Occasion:
    """Time at which a task may start. `key` names it among those of its trigger. `title_at`: the moment that its title
    may name. `refusal`: why nothing starts; `fault`: the same where something is wrong; `note`: what else is to know
    where something starts. `document`: what came with it, from which inputs are taken. `requesters`: who may have asked
    for it, as `Task.requesters`. `source`: the ended task that the new one follows."""

    key: str
    title_at: datetime
    refusal: str = ""
    fault: str = ""
    note: str = ""
    document: Any = MISSING
    requesters: tuple[str, ...] = ()
    source: Task | None = None


@dataclass(frozen=True, slots=True)
class TriggerFact:
    """Fact that a page says of a trigger. `code`: the same as it is typed, where that is another text."""

    label: str
    text: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class TriggerClock:
    """Clock by which a kind starts tasks. `zone`: whose clock it goes by. `upcoming`: the times after a moment.
    `occasion`: what is due at `next_at`, seen at a later moment. `occasion_at`: the time that a stored key names."""

    zone: Callable[[Options], str]
    upcoming: Callable[[Options, datetime], Iterator[datetime]]
    occasion: Callable[[Options, datetime, datetime], Occasion]
    occasion_at: Callable[[str], datetime | None]


@dataclass(frozen=True, slots=True)
class TriggerKind:
    """Kind of trigger. `read`: typed options as they are stored; raises Invalid with the option. `words`: what it
    is called by, without a full stop, of `Trigger.options_with_line_name`. `detail`: what is said beside its kind.
    `facts`: what else a page says. `clock`: None where it waits for no time. `is_mapped`: inputs are taken from a
    document that comes with each occasion (`mapping.py`). `has_address`: it is called over HTTP (`receiving.py`).
    `has_source`: it waits for the ends of another line of the project, which its option `line` names.
    `one_at_a_time`: how that begins."""

    key: str
    label: str
    icon: str
    read: Callable[[Options], dict[str, Any]]
    words: Callable[[Options], str]
    detail: Callable[[Options], str]
    facts: Callable[[Options], list[TriggerFact]]
    clock: TriggerClock | None = None
    is_mapped: bool = False
    has_address: bool = False
    has_source: bool = False
    one_at_a_time: bool = False

    def next_start_after_or_none(self, options: Options, after: datetime) -> datetime | None:
        """Return the first time after a moment at which it starts tasks by the clock."""
        return next(self.starts_after(options, after), None)

    def starts_after(self, options: Options, after: datetime) -> Iterator[datetime]:
        """Yield the times after a moment at which it starts tasks by the clock; none where it waits for no time."""
        return self.clock.upcoming(options, after) if self.clock else iter(())


def refuse_unknown_options(options: Options, names: Collection[str]) -> None:
    """Raises Invalid at an option that a kind does not have."""
    for name in options:
        if name not in names:
            raise Invalid.at(name, f"There is no such option. There are: {', '.join(names)}.")
