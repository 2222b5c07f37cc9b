"""Where one task is played, and what a step may find there."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import QuerySet

from pipelines.errors import Refused
from pipelines.models import ENDED, Due, Task, Token
from tests.playing.cast import Cast


class CannotHappen(Refused):
    says = "This cannot happen here."


class NotPlayable(Refused):
    says = "A script cannot do this on any line."


@dataclass
class Stage:
    """`passed`: how much time the script has let pass; `set_after`: how much of it had passed when each due time was
    first seen. `withheld`: by token and station what is missing there because the script says so."""

    task: Task
    cast: Cast
    now: datetime
    passed: timedelta = timedelta(0)
    set_after: dict[int, timedelta] = field(default_factory=dict)
    withheld: dict[tuple[int, str], set[str]] = field(default_factory=dict)

    @property
    def living(self) -> QuerySet[Token]:
        tokens = Token.objects.filter(task=self.task, forked=False).exclude(status__in=ENDED)
        return tokens.order_by("pk")

    @property
    def standing(self) -> list[Token]:
        """Those to which something may happen: who waits at a join for the other branches has nothing to do there."""
        return [token for token in self.living if not token.waits_at_join]

    def token(self, at: str | None) -> Token:
        """The first that has not ended, at this station if one is named."""
        standing = self.standing
        found = next((token for token in standing if at in (None, "", token.station)), None)
        if found is None:
            self.task.refresh_from_db(fields=["status", "end"])
            if self.task.status in ENDED:
                raise CannotHappen(f"the task has ended: {self.task.end or self.task.status}")
            stations = ", ".join(token.station for token in standing)
            raise CannotHappen(f"no token stands at {at}; it is at {stations}")
        return found

    def see_dues(self) -> list[Due]:
        dues = list(Due.objects.filter(task=self.task).order_by("due_at", "pk"))
        for due in dues:
            self.set_after.setdefault(due.pk, self.passed)
        return dues
