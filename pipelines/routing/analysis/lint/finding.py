"""A finding of lint, as a value: every window shows the same ones (house §6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pipelines.routing.analysis.satisfiability.situations import Witness

ERROR, WARNING, INFO = "error", "warning", "info"
SEVERITIES = (ERROR, WARNING, INFO)


@dataclass(frozen=True, slots=True)
class Finding:
    """`check`: its stable id, which is also the name of its page. `path`: the place in the document.

    `rules`: the other rules that it speaks of. `witness`: a situation that shows it, run through `decide`. `short`,
    `why`: the message in two parts, where it has a reason of its own; people see them apart.
    """

    check: str
    severity: str
    path: str
    message: str
    hint: str = ""
    station: str | None = None
    rule: str | None = None
    rules: tuple[str, ...] = ()
    witness: Witness | None = None
    short: str = ""
    why: str = ""
    line: int | None = None
    column: int | None = None

    def with_position(self, line: int | None, column: int | None) -> Finding:
        return replace(self, line=line, column=column)

    def to_dict(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "severity": self.severity,
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "station": self.station,
            "rule": self.rule,
            "rules": list(self.rules),
            "message": self.message,
            "hint": self.hint,
            "witness": self.witness.to_dict() if self.witness else None,
        }

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}: " if self.line is not None else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.severity}: {self.message}{hint} [{self.check}]"
