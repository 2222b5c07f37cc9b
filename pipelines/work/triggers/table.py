"""Table of the kinds of triggers. One line adds a kind."""

from __future__ import annotations

from typing import Final

from pipelines.work.triggers.kind import TriggerKind
from pipelines.work.triggers.line_end import LINE_END
from pipelines.work.triggers.schedule import SCHEDULE
from pipelines.work.triggers.webhook import WEBHOOK

KINDS: Final[dict[str, TriggerKind]] = {kind.key: kind for kind in (SCHEDULE, WEBHOOK, LINE_END)}
