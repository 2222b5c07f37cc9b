"""Findings on the guarantees of a line, as lint reports them. The prover is passed in: it needs walks, which
this layer does not know."""

from __future__ import annotations

from typing import Any, Protocol

from pipelines.routing.document.model import ParsedLine

PROVED, REFUTED, UNKNOWN = "proved", "refuted", "unknown"


class GuaranteeFinding(Protocol):
    """`answer`: proved, refuted or unknown. `sentence`: the promise in words; `because`: what an unknown one is stopped
    by, `tried`: how far it was searched for a path that breaks it, `explanation`: both."""

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
    def explanation(self) -> str: ...
    @property
    def path(self) -> str:
        """The path of the walk that breaks it, in words; nothing for others."""

    @property
    def moves(self) -> tuple[Any, ...]:
        """Moves of this walk, each a `DrawnMove`."""

    def to_dict(self) -> dict[str, Any]: ...


def guarantee_path(line: ParsedLine, index: int) -> str:
    """Return the path of a promise: behind those of the line stand those that its repository asks for."""
    return f"guarantees[{index}]" if index < len(line.guarantees) else "workspace.git.repository"
