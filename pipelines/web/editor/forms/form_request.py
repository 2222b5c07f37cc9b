"""Requests of the canvas to a form: the fragment, the other named parts of the line, the typed text, and the
action."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

# Names in one request: a bound on what a client can send
MOST = 5_000


class PartReference(BaseModel):
    """A station, gate or end of the line: what a form needs to name it."""

    key: str
    name: str = ""
    kind: str = ""


class Outline(BaseModel):
    """The rest of the line. Whatever a draft holds where a text should stand comes as what it is."""

    preset: Any = None
    policy: Any = None
    flags: Any = None
    stations: list[PartReference] = Field(default_factory=list, max_length=MOST)
    gates: list[PartReference] = Field(default_factory=list, max_length=MOST)
    ends: list[PartReference] = Field(default_factory=list, max_length=MOST)
    inputs: list[str] = Field(default_factory=list, max_length=MOST)
    input_names: dict[str, str] = Field(default_factory=dict, max_length=MOST)
    rules: list[str] = Field(default_factory=list, max_length=20 * MOST)

    def options(self, part: Literal["stations", "gates", "ends"]) -> list[tuple[str, str]]:
        members: list[PartReference] = getattr(self, part)
        return [(member.key, member.name or member.key) for member in members]


class RowAction(BaseModel):
    """Action of a button on the rows of a list."""

    do: Literal["add", "remove", "up", "down"]
    rows: str
    """Name of the list: `inputs`, `approval.who`."""
    index: int = Field(default=0, ge=0, le=100_000)
    kind: str = ""
    """Of what is added, where a list has several kinds."""


class FormRequest(BaseModel):
    """`own`: the key under which the line has the fragment, which a typed key is about to change; `within`: the key of
    the station that it is a part of, if it is one. `typed`: the fields whose control differs from what stands in the
    fragment. `peek`: only show what would be wrong with it."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    fragment: dict[str, Any]
    own: str = ""
    within: str = ""
    # Every id of the page begins with it, so nothing else may stand in it.
    scope: str = Field(default="", max_length=100, pattern=r"^[a-z0-9-]*$")
    names: Outline = Field(default_factory=Outline)
    typed: dict[str, list[str]] = Field(default_factory=dict, max_length=1_000)
    deed: RowAction | None = None
    peek: bool = False
