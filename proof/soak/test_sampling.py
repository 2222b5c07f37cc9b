"""10,000 chains of tasks, each retried up to ten times, forked, followed up, with blank lines added: the rate stays
within its bounds, and nothing but a reason to ask changes the draw (law §15, Sampling)."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pipelines.routing.basics.outcome import read_outcome
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.decisions import Wait
from pipelines.routing.decide.sampling import DRAWN, NOT_DRAWN, is_chain_drawn
from pipelines.routing.decide.situation import Facts, Situation
from pipelines.routing.document.line import read_line

CHAINS, KEY = 10_000, b"an installation's key"


def line(one_in: int) -> Any:
    check = {"field": "facts.git.paths", "operator": "contains", "value": "ci.yml"}
    gate = {"key": "review", "sample": {"one_in": one_in, "always": {"any": [check]}}}
    stations = [
        {
            "key": "build",
            "work": {"kind": "noop"},
            "gate": "review",
            "rules": [{"id": "go", "to": "completed"}],
        }
    ]
    return read_line({"gateline": 1, "key": "l", "name": "L", "stations": stations, "gates": [gate]})


def asks(document: Any, root: str, rng: random.Random, paths: list[str]) -> bool:
    """One attempt of a chain; what differs between attempts is drawn, and must not matter."""
    one_in = document.gate("review").sample.one_in
    samples = {"review": DRAWN if is_chain_drawn(KEY, "1/review", root, one_in) else NOT_DRAWN}
    git = {"paths": paths, "insertions": rng.randrange(99), "tree": str(rng.random()), "lines": "same"}
    outcome = read_outcome({"result": "success", "facts": {"git": git}, "summary": str(rng.random())})
    facts = Facts(samples=samples, visits={"build": rng.randrange(1, 9)}, task={"title": str(rng.random())})
    return isinstance(decide(document, Situation("build", outcome, facts)), Wait)


@pytest.mark.soak
@pytest.mark.parametrize("one_in", [2, 5, 20, 100])
def test_the_rate_holds_over_chains_whatever_is_retried_forked_or_added(one_in: int) -> None:
    rng, document = random.Random(one_in), line(one_in)
    asked = 0
    for chain in range(CHAINS):
        answers = {asks(document, str(chain), rng, ["a.py"]) for _ in range(rng.randrange(1, 12))}
        assert len(answers) == 1, "a retry changed the draw"
        asked += answers.pop()
        assert asks(document, str(chain), rng, ["a.py", "ci.yml"]), "a reason to ask was not heard"
    share, wanted = asked / CHAINS, 1 / one_in
    sigma = (wanted * (1 - wanted) / CHAINS) ** 0.5
    print(
        f"1 in {one_in}: {asked} of {CHAINS} chains asked, {abs(share - wanted) / sigma:.1f} sigma from the rate"
    )
    assert abs(share - wanted) < 4 * sigma
