"""What a run found, in words: the share caught, over all and by module, and what survived."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proof.mutation.sample import Seed, module_of
from proof.mutation.survivors import Survivor

CAUGHT = frozenset({"killed", "timeout", "segfault"})
"""A test fails, or the run does not end, or the process dies: in each case somebody would look."""


@dataclass(frozen=True)
class Result:
    """`verdicts` of the mutants that were tried, the equivalent ones left out; `survivors` are those not caught."""

    population: int
    seed: Seed
    verdicts: Mapping[str, str]
    survivors: Sequence[Survivor]
    equivalent: Sequence[Survivor] = ()

    @property
    def caught(self) -> int:
        return sum(verdict in CAUGHT for verdict in self.verdicts.values())

    @property
    def tried(self) -> int:
        return len(self.verdicts)

    @property
    def share(self) -> float:
        return self.caught / self.tried if self.tried else 0.0

    @property
    def is_whole(self) -> bool:
        return self.tried + len(self.equivalent) >= self.population


def interval(caught: int, tried: int) -> tuple[float, float]:
    """Wilson's interval, 95 %: where the share of all mutants lies, told from a sample."""
    if not tried:
        return 0.0, 1.0
    z, share = 1.96, caught / tried
    middle = share + z * z / (2 * tried)
    spread = z * math.sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried))
    whole = 1 + z * z / tried
    return (middle - spread) / whole, (middle + spread) / whole


def text(result: Result) -> str:
    return "\n".join([*_modules(result), "", *map(str, _sorted(result.survivors)), "", *_summary(result)])


def _sorted(survivors: Sequence[Survivor]) -> list[Survivor]:
    return sorted(survivors, key=lambda each: (each.path, each.line, each.name))


def _modules(result: Result) -> list[str]:
    tried = Counter(module_of(mutant) for mutant in result.verdicts)
    caught = Counter(module_of(mutant) for mutant, verdict in result.verdicts.items() if verdict in CAUGHT)
    width = max(map(len, tried), default=0)
    return [f"{name:<{width}} {caught[name]:>5} of {tried[name]:>5}" for name in sorted(tried)]


def _summary(result: Result) -> list[str]:
    kinds = Counter(result.verdicts.values())
    low, high = interval(result.caught, result.tried)
    kind = (
        "all mutants" if result.is_whole else f"a sample of {result.population} mutants, seed {result.seed}"
    )
    range_ = "" if result.is_whole else f" ({100 * low:.1f} to {100 * high:.1f} % of all, 95 %)"
    return [
        f"{kind}; {', '.join(f'{count} {verdict}' for verdict, count in kinds.most_common())}; "
        f"{len(result.equivalent)} equivalent, left out",
        f"caught: {result.caught} of {result.tried}, {100 * result.share:.1f} %{range_}",
    ]
