"""What a station is expected to leave, and what it means that it did not (law §13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.fields.field import Written, declared
from pipelines.routing.document.fields.plain import Amount, Choice, Flag, Text
from pipelines.routing.document.fields.record import Record

CHANGE, OUTPUT, NOTHING = "change", "output", "nothing"
EXPECTS: Final = {
    "": _("As its kind of work says"),
    CHANGE: _("A change: otherwise it failed"),
    OUTPUT: _("An output or artifact: otherwise it failed"),
    NOTHING: _("Nothing in particular"),
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
    OVER_BUDGET: (_("If it costs more than its limit"), "failure"),
    NO_PROVIDER: (_("If the provider does not answer"), "failure"),
    NO_FINAL_EVENT: (_("If it ends without its final event"), "failure"),
    DENIED: (_("If a permission was denied and the result is missing"), "blocked"),
    REFUSED: (_("If the model refuses, and its output is read"), "failure"),
    UNREADABLE: (_("If there is output that cannot be read, and it is read"), "failure"),
    EMPTY: (_("If a model or an agent answers nothing, and its output is read"), "failure"),
    NOTHING_DONE: (_("If nothing was changed"), "failure"),
    OUTPUT_MISSING: (_("If its output or an artifact is missing"), "failure"),
}
"""What a fact may decide, in the order in which it is asked: how people read it, and what it counts as."""

REVIEW = "review"
COUNTS_AS: Final = {
    "": _("As usual"),
    "success": _("Success"),
    "failure": _("Failure"),
    "blocked": _("Blocked"),
    REVIEW: _("Ask a person at the gate of the station"),
}
OUTCOME_OF: Final[Record[Mapping[str, str]]] = Record(
    lambda **said: {kind: word for kind, word in said.items() if word},
    {kind: Choice(COUNTS_AS, default="", label=label) for kind, (label, _usual) in FAILURES.items()},
)

KINDS_OF_ARTIFACT: Final = {
    "file": _("File"),
    "junit": _("Test report (JUnit XML)"),
    "sarif": _("Findings (SARIF)"),
    "cobertura": _("Coverage (Cobertura)"),
    "lcov": _("Coverage (LCOV)"),
    "markdown": _("Markdown"),
    "image": _("Image"),
    "table": _("Table (CSV or JSON)"),
}


@dataclass(frozen=True)
class DeclaredArtifact:
    """A file that the work leaves below its workspace."""

    path: str = declared(
        Text(required=True, longest=1_000, label="File", help="Its path in the workspace."), given=True
    )
    kind: str = declared(Choice(KINDS_OF_ARTIFACT, default="file", label="What it is"))
    required: bool = declared(
        Flag(default=True, written=Written.ALWAYS, label="Without it the station failed")
    )


ARTIFACT: Final = Record.of(DeclaredArtifact, name="artifact")


@dataclass(frozen=True)
class TaskLimits:
    """Of a whole task."""

    cost_usd: Any = declared(
        Amount(
            label="Most cost of a task (USD)",
            help="What its stations report, together. Beyond it, the station that passed it failed.",
        )
    )


TASK_LIMITS: Final = Record.of(TaskLimits)
