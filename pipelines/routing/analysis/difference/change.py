"""Region that is decided otherwise, and the search for the situation that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pipelines.routing.analysis.difference.routing_effects import LinePair
from pipelines.routing.analysis.difference.samples import (
    Sample,
    Situation,
    first_sample_decided_otherwise_or_none,
    passing_outcome,
    situation_with_merged_facts,
)
from pipelines.routing.analysis.satisfiability.box_situations import build_situations
from pipelines.routing.analysis.satisfiability.choices import ValueChoice
from pipelines.routing.analysis.satisfiability.evals import EvalSet
from pipelines.routing.analysis.satisfiability.formulas import EVAL, STATUS, Formula, eval_literal
from pipelines.routing.analysis.satisfiability.search_failures import Impossible, Unknown
from pipelines.routing.analysis.satisfiability.situation_bounds import (
    COUPLED,
    edge_count_bounds,
    variable_at_first_stage,
)
from pipelines.routing.analysis.satisfiability.solver import Box, first_accepted_result
from pipelines.routing.analysis.satisfiability.statuses import BLOCKED, EXHAUSTED, FORCED_FAILURE, RECORDED
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station

EVERY_STATUS = RECORDED | {BLOCKED, EXHAUSTED}
MAX_TRIED = 12
"""Parts of one region, and situations of each part, that are tried as a sample."""
NO_SAMPLE = "the two are defined otherwise, but no situation was found that they decide otherwise"

Both = tuple[Rule, Rule]
"""A rule of the old version, and one of the new."""


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one region that is decided otherwise, or of which that is not known (`sample` is None, `why`
    says why).

    `old`, `new`: ids of the rules that take it, None where none does. `after`: the rules whose gate demanded
    rework before. `differing_fields`: parts of the effect (`routing_effects.RoutingEffect`), or `asks` and
    `unreadable`."""

    station: str
    old: str | None
    new: str | None
    differs_in: tuple[str, ...]
    sample: Sample | None = None
    why: str = ""
    after: tuple[str, str] | None = None

    @property
    def is_known(self) -> bool:
        return self.sample is not None

    def to_dict(self) -> dict[str, Any]:
        return {
            "station": self.station,
            "old_rule": self.old,
            "new_rule": self.new,
            "after_rework": None if self.after is None else list(self.after),
            "differs_in": list(self.differs_in),
            "sample": self.sample.to_dict() if self.sample else None,
            "why": self.why,
        }


@dataclass(frozen=True)
class StationPair:
    """Sides of one station, as both versions have it."""

    pair: LinePair
    old: Station
    new: Station

    def build_change(
        self, old: Rule | None, new: Rule | None, differs_in: tuple[str, ...], after: Both | None
    ) -> Change:
        ids = None if after is None else (after[0].id, after[1].id)
        return Change(self.old.key, old.id if old else None, new.id if new else None, differs_in, after=ids)

    def situations(self, box: Box) -> list[Situation]:
        """Return the situations of a box: they pass the station gates of both versions and answer what either
        asks."""
        both = replace(
            self.new,
            rules=(*self.old.rules, *self.new.rules),
            # Exhausted `rework` signals have to be as many as either version allows.
            limits=replace(
                self.new.limits,
                max_retries=max(station.limits.signal_retries for station in (self.old, self.new)),
            ),
        )
        line = self.pair.old if self.pair.old.policy.condition_scope == "merged" else self.pair.new
        gates = [
            line.gate(station.gate)
            for line, station in ((self.pair.old, self.old), (self.pair.new, self.new))
            if station.gate
        ]
        approved = {
            "gates": {gate.key: {"decision": "approve"} for gate in gates if "approve" in gate.offers}
        }
        built = [
            situation_with_merged_facts(situation, approved)
            for situation in build_situations(line, both, box)
        ]
        checked = [gate for gate in gates if gate.enforces_checks]
        passing_them = [
            {**situation, "outcome": reduce(passing_outcome, checked, situation["outcome"])}
            for situation in built
        ]
        return [*passing_them, *built] if checked else built


class _NoSample(Exception):
    """Enough parts of the region were tried."""


def change_with_sample_or_reason(
    sides: StationPair,
    change: Change,
    formulas: Iterable[Formula],
    variants: Callable[[Situation, Box], Iterator[Situation]],
) -> Change | None:
    """The change with its sample, or with the reason why there is none; None: the region is proved empty.

    Exhausted `rework` signals are a last resort: what else is decided otherwise is the better sample.
    """
    every = [*formulas, COUPLED]
    every += edge_count_bounds(every)
    tries = 0

    def sample_in_box(box: Box) -> Sample:
        nonlocal tries
        built = sides.situations(box_without_forced_outcome(box))
        tries += 1
        for situation in built[:MAX_TRIED]:
            sample = first_sample_decided_otherwise_or_none(sides.pair, variants(situation, box))
            if sample is not None:
                return sample
        # By Unknown the solver goes on to other boxes, and nothing is proved any more.
        raise _NoSample if tries >= MAX_TRIED else Unknown(NO_SAMPLE)

    recorded, all_statuses = _status_variable_and_values(change)
    try:
        for statuses in (all_statuses - {EXHAUSTED}, all_statuses & {EXHAUSTED}):
            try:
                box: Box = {**_FORCED[change.after is not None], recorded: ValueChoice(statuses)}
                return replace(change, sample=first_accepted_result(every, box, sample_in_box))
            except Impossible:
                continue
    except _NoSample:
        return replace(change, why=NO_SAMPLE)
    except Unknown as unknown:
        return replace(change, why=str(unknown))
    return None


def _status_variable_and_values(change: Change) -> tuple[tuple[str, ...], frozenset[tuple[str, str]]]:
    """The variable of the outcome as it was recorded, and what it may be."""
    if change.after is None:
        return STATUS, EVERY_STATUS
    return variable_at_first_stage(STATUS), RECORDED | {EXHAUSTED}


_FORCED: dict[bool, Box] = {
    False: {},
    True: {STATUS: ValueChoice(FORCED_FAILURE), EVAL: eval_literal("error").yes},
}
"""What the rules see after a gate has demanded rework, by whether one has."""


def box_without_forced_outcome(box: Box) -> Box:
    """Return the box without what the forced failure route put in the place of result, verdict and eval."""
    # No gate demanded rework: the rules saw the outcome as it was recorded.
    if variable_at_first_stage(STATUS) not in box:
        return box
    merged = {
        **box,
        STATUS: box[variable_at_first_stage(STATUS)],
        EVAL: box.get(variable_at_first_stage(EVAL), EvalSet()),
    }
    return {
        variable: domain
        for variable, domain in merged.items()
        if variable != variable_at_first_stage(variable[:-1])
    }
