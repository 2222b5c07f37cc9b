"""What was found out about the guarantees of a line, as lint tells it. Who proves them is handed in: that needs walks,
which this floor does not know."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pipelines.routing.analysis.lint.subject import LintSubject

PROVED, REFUTED, UNKNOWN = "proved", "refuted", "unknown"


class GuaranteeFinding(Protocol):
    """`answer`: proved, refuted or unknown. `sentence`: the promise in words; `because`: what an unknown one is stopped
    by, `tried`: how far it was searched for a path that breaks it, `why`: both."""

    @property
    def id(self) -> str: ...
    @property
    def sentence(self) -> str: ...
    @property
    def answer(self) -> str: ...
    @property
    def because(self) -> str: ...
    @property
    def tried(self) -> str: ...
    @property
    def why(self) -> str: ...
    @property
    def path(self) -> str:
        """The path of the walk that breaks it, in words; nothing for others."""

    @property
    def moves(self) -> tuple[Any, ...]:
        """Those of this walk, each a `DrawnMove`."""

    def to_dict(self) -> dict[str, Any]: ...


Prove = Callable[["LintSubject"], tuple[GuaranteeFinding, ...]]


def place_of(subject: LintSubject, index: int) -> str:
    """Return the path of a promise: behind those of the line stand those that its repository asks for."""
    return f"guarantees[{index}]" if index < len(subject.line.guarantees) else "workspace.git.repository"


def unasked(_subject: LintSubject) -> tuple[GuaranteeFinding, ...]:
    return ()
