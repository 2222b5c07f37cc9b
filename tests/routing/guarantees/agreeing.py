"""What is said of drawn guarantees, held against brute force, random walks and the replay of each refutation."""

from __future__ import annotations

from collections import Counter

from pipelines.routing.document.line import read_line
from pipelines.routing.guarantees.guarantee_proofs import PROVED, REFUTED, GuaranteeAnswer, prove_guarantees
from pipelines.routing.simulate.run import run_scenario_until_refused
from tests.routing.guarantees.drawing import Drawn, Json
from tests.routing.guarantees.histories import Observer, brute_force, random_walk

counted: Counter[str] = Counter()


def agrees(seed: int, steps: int, walks: int) -> None:
    """Of the three guarantees of a drawn line."""
    document = Drawn(seed).document
    line = read_line(document)
    for said, answer in zip(document["guarantees"], prove_guarantees(line), strict=True):
        counted[answer.answer] += 1
        counted[f"{answer.answer}, {next(key for key in said if key != 'id')}"] += 1
        told = f"seed {seed}: {answer.sentence}: {answer.answer}"
        if answer.answer == REFUTED:
            assert breaks(document, said, answer), told
            continue
        found = brute_force(line, said, steps) or any(
            random_walk(line, said, seed * 100 + n) for n in range(walks)
        )
        if answer.answer == PROVED:
            assert not found, told
        elif found:
            counted["unknown, but a walk breaks it"] += 1


def breaks(document: Json, said: Json, answer: GuaranteeAnswer) -> bool:
    """Whether `simulate` replays the walk, by `decide`, and the second opinion says that it breaks the promise."""
    script = answer.scenario
    assert script is not None
    line = read_line(document)
    replayed = run_scenario_until_refused(line, script)
    assert replayed.holds, [str(failure) for failure in replayed.failures]
    observer = Observer(line, said)
    for step in script.steps:
        observer.do(step)
    return observer.broken
