"""Named budgets of a line as values (law §8), and those that the preset `aeef` switches on (AEEF E16, E20)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

KINDS: Final[dict[str, tuple[str, ...]]] = {
    "rules": ("rules",),
    "edges": ("edges",),
    "station": ("stations",),
    "failure_type": ("failure_types", "stations"),
    "same_stage": ("stations",),
    "cross_stage": (),
    "restart": ("stations",),
    "loop": ("stations",),
}
"""Each kind with the lists that it reads, the one that it needs first; see docs/rules.md."""

NEEDS: Final = ("rules", "edges", "station", "failure_type", "loop")
"""Kinds that count nothing without their first list."""

STAGE_OWNER: Final = "stage-owner"
"""The role that stands for the human owner of the stage: of the agent of the station at which it happened."""
MANAGER: Final = "development-manager"


@dataclass(frozen=True)
class Budget:
    """`most` takings are allowed, the next one is refused; None: any number, which switches a standard one off.

    `on_exhausted` and `exhausted_to` as of a rule. `role`: who is told of an escalation."""

    key: str
    kind: str
    most: int | None
    rules: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    stations: tuple[str, ...] = ()
    failure_types: tuple[str, ...] = ()
    on_exhausted: str | None = None
    exhausted_to: str | None = None
    role: str | None = None
    label: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.label or self.key


def spelt(name: str) -> tuple[str, ...]:
    """A failure type as tables, code and labels write it."""
    return (name, name.replace(" ", "_"), name.replace(" ", "-"))


def standard(stations: Collection[str], declared: Collection[str] = ()) -> tuple[Budget, ...]:
    """The numbers of AEEF for a line with these stations; a declared budget of the same key takes its place."""
    given = [*_LIMITS, *_of_types()]
    if "deployment" in stations:
        given.append(
            Budget(
                "deployment-retry",
                "same_stage",
                2,
                stations=("deployment",),
                on_exhausted="escalate",
                role="human-investigation",
            )
        )
    return tuple(each for each in given if each.key not in declared)


_LIMITS: Final = (
    Budget("same-stage-rework", "same_stage", 3, on_exhausted="escalate", role=STAGE_OWNER),
    Budget("cross-stage-rework", "cross_stage", 5, on_exhausted="escalate", role=MANAGER),
    Budget("restart", "restart", 2, on_exhausted="escalate", role="cto"),
)

FAILURES: Final = {
    "test failure": 3,
    "test gap": 2,
    "acceptance mismatch": 1,
    "vulnerability": 3,
    "license": 2,
    "evidence gap": 2,
    "configuration error": 2,
    "environment mismatch": 2,
    "health check": 1,
}
"""How often a station may be left for each type of failure (AEEF E16)."""


def _of_types() -> list[Budget]:
    return [
        Budget(
            f"failure-{name.replace(' ', '-')}",
            "failure_type",
            most,
            failure_types=tuple(dict.fromkeys(spelt(name))),
            on_exhausted="escalate",
            role=MANAGER,
        )
        for name, most in FAILURES.items()
    ]
