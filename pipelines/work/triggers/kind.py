"""Declaration of a kind of trigger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Occasion:
    """Time at which a task may start. `key` names it among those of its trigger. `title_at`: the moment that its title
    may name. `refusal`: why nothing starts; `note`: what else is to know where something does."""

    key: str
    title_at: datetime
    refusal: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class TriggerFact:
    """Fact that a page says of a trigger. `code`: the same as it is typed, where that is another text."""

    label: str
    text: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class TriggerKind:
    """Kind of trigger. `read`: typed options as they are stored; raises Invalid with the option. `words`: a sentence,
    without its full stop. `facts`: what else a page says. `zone`: whose clock it goes by. `upcoming`: the times after a
    moment at which it starts tasks by the clock, none where it waits for none. `occasion`: what is due at `next_at`,
    seen at a later moment. `occasion_at`: the time that a stored key names."""

    key: str
    label: str
    icon: str
    read: Callable[[Options], dict[str, Any]]
    words: Callable[[Options], str]
    facts: Callable[[Options], list[TriggerFact]]
    zone: Callable[[Options], str]
    upcoming: Callable[[Options, datetime], Iterator[datetime]]
    occasion: Callable[[Options, datetime, datetime], Occasion]
    occasion_at: Callable[[str], datetime | None]

    def next_at(self, options: Options, after: datetime) -> datetime | None:
        """Return the first time after a moment at which it starts tasks by the clock."""
        return next(self.upcoming(options, after), None)
