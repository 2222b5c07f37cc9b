"""The policy knobs of a line and the presets that fill them (law §4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

DEFAULT_PRESET: Final = "alp"
VISIT_CAP: Final = 100


@dataclass(frozen=True, slots=True)
class Policy:
    """Every knob filled. `revisit`, `on_failure` and `on_reject` are as written (`limit:2`, `station:fix`)."""

    no_rules: str
    no_match: str
    on_failure: str
    failure_rules: bool
    revisit: str
    self_loop_limit: int | None
    on_reject: str
    on_exhausted: str
    condition_scope: str
    contradiction: str
    visit_cap: int
    standard_budgets: bool = False
    preconditions: bool = False
    deadlocks: bool = False

    @property
    def revisit_limit(self) -> int | None:
        """Re-entries allowed per station, or None for any number; `forbid` is asked by `forbids_revisits`."""
        return int(self.revisit.partition(":")[2]) if self.revisit.startswith("limit:") else None

    @property
    def forbids_revisits(self) -> bool:
        return self.revisit == "forbid"

    def to_document(self) -> dict[str, Any]:
        return {
            "no_rules": self.no_rules,
            "no_match": self.no_match,
            "on_failure": self.on_failure,
            "failure_rules": "yes" if self.failure_rules else "no",
            "revisit": self.revisit,
            "self_loop_limit": "none" if self.self_loop_limit is None else self.self_loop_limit,
            "on_reject": self.on_reject,
            "on_exhausted": self.on_exhausted,
            "condition_scope": self.condition_scope,
            "contradiction": self.contradiction,
            "visit_cap": self.visit_cap,
            # Left out where they are off: a version of before these knobs names all others, and none of these two.
            **({"standard_budgets": "yes"} if self.standard_budgets else {}),
            **({"preconditions": "yes"} if self.preconditions else {}),
            **({"deadlocks": "yes"} if self.deadlocks else {}),
        }


def _preset(
    no_rules: str,
    no_match: str,
    on_failure: str,
    revisit: str,
    on_reject: str,
    on_exhausted: str,
    contradiction: str = "later_wins",
    self_loop_limit: int | None = None,
    *,
    standard: bool = False,
) -> Policy:
    return Policy(
        no_rules=no_rules,
        no_match=no_match,
        on_failure=on_failure,
        failure_rules=True,
        revisit=revisit,
        self_loop_limit=self_loop_limit,
        on_reject=on_reject,
        on_exhausted=on_exhausted,
        condition_scope="current",
        contradiction=contradiction,
        visit_cap=VISIT_CAP,
        standard_budgets=standard,
        preconditions=standard,
        deadlocks=standard,
    )


PRESETS: Final[dict[str, Policy]] = {
    "alp": _preset("advance", "default", "halt", "allow", "fail", "fail", self_loop_limit=3),
    "contenox": _preset("end", "fail", "halt", "allow", "fail", "stuck"),
    "vibe-factory": _preset("end", "stuck", "halt", "forbid", "rework", "stuck"),
    "flux": _preset("refuse", "fallback", "fallback", "allow", "reviewer_chooses", "stuck"),
    "aeef": _preset(
        "refuse", "escalate", "escalate", "allow", "rework", "escalate", "escalate", standard=True
    ),
}
