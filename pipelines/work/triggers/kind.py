"""Declaration of a kind of trigger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
class TriggerKind:
    """Kind of trigger. `read`: typed options as they are stored; raises Invalid with the field. `words`: a sentence,
    without its full stop. `zone`: whose clock it goes by. `next_at`: the first time after a moment at which it starts
    tasks by the clock, None where it waits for none. `occasion`: what is due at `next_at`, seen at a later moment.
    `occasion_at`: the time that a stored key names."""

    key: str
    label: str
    icon: str
    read: Callable[[Options], dict[str, Any]]
    words: Callable[[Options], str]
    zone: Callable[[Options], str]
    next_at: Callable[[Options, datetime], datetime | None]
    occasion: Callable[[Options, datetime, datetime], Occasion]
    occasion_at: Callable[[str], datetime | None]
