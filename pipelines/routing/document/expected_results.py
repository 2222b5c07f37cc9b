"""Expected results of a station, and the meaning of their absence (law §13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pipelines.routing.document.fields.field import WriteCondition, declared_field
from pipelines.routing.document.fields.plain_fields import Amount, Choice, Flag, Text
from pipelines.routing.document.fields.record import Record

CHANGE, OUTPUT, NOTHING = "change", "output", "nothing"
EXPECTS: Final = {
    "": "As its kind of work says",
    CHANGE: "A change: otherwise it failed",
    OUTPUT: "An output or artifact: otherwise it failed",
    NOTHING: "Nothing in particular",
}

OVER_BUDGET = "budget_exceeded"
NO_PROVIDER = "provider_unavailable"
NO_FINAL_EVENT = "no_final_event"
DENIED = "denied"
REFUSED = "refused"
UNREADABLE = "unreadable_output"
EMPTY = "empty_answer"
NOTHING_DONE = "nothing_done"
OUTPUT_MISSING = "output_missing"
FAILURES: Final[Mapping[str, tuple[str, str]]] = {
    OVER_BUDGET: ("If it costs more than its limit", "failure"),
    NO_PROVIDER: ("If the provider does not answer", "failure"),
    NO_FINAL_EVENT: ("If it ends without its final event", "failure"),
    DENIED: ("If a permission was denied and the result is missing", "blocked"),
    REFUSED: ("If the model refuses, and its output is read", "failure"),
    UNREADABLE: ("If there is output that cannot be read, and it is read", "failure"),
    EMPTY: ("If a model or an agent answers nothing, and its output is read", "failure"),
    NOTHING_DONE: ("If nothing was changed", "failure"),
    OUTPUT_MISSING: ("If its output or an artifact is missing", "failure"),
}
"""What a fact may decide, in the order in which it is asked: how people read it, and what it counts as."""

REVIEW = "review"
COUNTS_AS: Final = {
    "": "As usual",
    "success": "Success",
    "failure": "Failure",
    "blocked": "Blocked",
    REVIEW: "Ask a person at the gate of the station",
}
OUTCOME_OF: Final[Record[Mapping[str, str]]] = Record(
    lambda **members: {kind: word for kind, word in members.items() if word},
    {kind: Choice(COUNTS_AS, default="", label=label) for kind, (label, _usual) in FAILURES.items()},
)

KINDS_OF_ARTIFACT: Final = {
    "file": "File",
    "junit": "Test report (JUnit XML)",
    "sarif": "Findings (SARIF)",
    "lint": "Findings (lines of flake8 or pylint)",
    "cobertura": "Coverage (Cobertura)",
    "lcov": "Coverage (LCOV)",
    "markdown": "Markdown",
    "image": "Image",
    "table": "Table (CSV or JSON)",
}


@dataclass(frozen=True)
class DeclaredArtifact:
    """A file that the work leaves below its workspace."""

    path: str = declared_field(
        Text(required=True, longest=1_000, label="File", help="Its path in the workspace."), required=True
    )
    kind: str = declared_field(Choice(KINDS_OF_ARTIFACT, default="file", label="What it is"))
    required: bool = declared_field(
        Flag(default=True, written=WriteCondition.ALWAYS, label="Without it the station failed")
    )


ARTIFACT: Final = Record.of(DeclaredArtifact, name="artifact")


@dataclass(frozen=True)
class TaskLimits:
    """Limits of a whole task."""

    cost_usd: Any = declared_field(
        Amount(
            label="Most cost of a task (USD)",
            help="What its stations report, together. Beyond it, the station that passed it failed.",
        )
    )


TASK_LIMITS: Final = Record.of(TaskLimits)
