"""Which mutants a run tries: all, or a sample that is spread over the modules and can be drawn again."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

Seed = int | str


def module_of(mutant: str) -> str:
    """`pipelines.routing.document.paths.x_find__mutmut_3` is one of `pipelines.routing.document.paths`."""
    return mutant.rpartition(".")[0]


def by_module(mutants: Sequence[str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for mutant in mutants:
        grouped.setdefault(module_of(mutant), []).append(mutant)
    return grouped


def shares(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """How many of `total` each stratum gives: in proportion, the largest remainders rounded up."""
    everything = sum(sizes.values())
    total = min(total, everything)
    given = {name: size * total // everything for name, size in sizes.items()}
    remainders = sorted(sizes, key=lambda name: (-(sizes[name] * total % everything), name))
    for name in remainders[: total - sum(given.values())]:
        given[name] += 1
    return given


def draw(mutants: Sequence[str], total: int, seed: Seed) -> list[str]:
    """So many of them, each module with its share of all: the share that is caught needs no weights."""
    grouped = by_module(sorted(mutants))
    given = shares({name: len(each) for name, each in grouped.items()}, total)
    chosen = random.Random(f"gateline {seed}")
    return [mutant for name, each in sorted(grouped.items()) for mutant in chosen.sample(each, given[name])]


def commit(root: Path) -> str:
    """Names the sample, so that each commit is tried on another one; `none` outside of a repository."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip()[:12] if done.returncode == 0 else "none"
