"""Change `pipelines/routing` a little, thousands of times over, and see whether its tests notice.

    python -m proof.mutation                       a sample of 600, another one for each commit
    python -m proof.mutation --sample 2000 --seed 7
    python -m proof.mutation --all                 every mutant: hours
    python -m proof.mutation --only 'pipelines.routing.decide.steps.*' --only 'pipelines.routing.decide.branch_joins.*'

Works in a temporary copy. Prints the share of each module, what survived with file, line and change, and last the
share of all; the exit code is 1 below nine in ten, 2 if it could not be tried.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

from proof.mutation.equivalent import EQUIVALENT
from proof.mutation.report import CAUGHT, Result, text
from proof.mutation.sample import Seed, commit, draw
from proof.mutation.survivors import survivor
from proof.mutation.workshop import ROOT, Unusable, Workshop

ENOUGH = 0.9
SAMPLE = 600


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return _try(options)
    except Unusable as error:
        print(error, file=sys.stderr)
        return 2


def _try(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="gateline-mutation-") as home:
        workshop = Workshop(Path(home), options.processes)
        wanted = options.only or ["*"]
        mutants = [name for name in workshop.mutants() if any(fnmatchcase(name, each) for each in wanted)]
        if not mutants:
            print(
                f"There is no mutant {' '.join(wanted)}: name a module, e.g. 'pipelines.routing.document.paths.*'",
                file=sys.stderr,
            )
            return 2
        size = len(mutants) if options.all else options.sample
        result = run(workshop, mutants, size, options.seed or commit(ROOT))
    print(text(result))
    return 0 if result.share >= ENOUGH else 1


def run(workshop: Workshop, mutants: list[str], size: int, seed: Seed) -> Result:
    chosen = draw(mutants, size, seed)
    workshop.try_out(chosen)
    known = workshop.verdicts()
    verdicts = {mutant: known[mutant] for mutant in chosen}
    missed = [mutant for mutant, verdict in verdicts.items() if verdict not in CAUGHT]
    left = [survivor(ROOT, mutant, workshop.difference(mutant)) for mutant in missed]
    same = [each for each in left if each.identity in EQUIVALENT]
    for each in same:
        del verdicts[each.name]
    return Result(len(mutants), seed, verdicts, [each for each in left if each not in same], same)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m proof.mutation", description="Mutation tests of routing."
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--sample", type=_positive, default=SAMPLE, metavar="N", help="so many mutants (600)")
    size.add_argument("--all", action="store_true", help="every mutant")
    parser.add_argument("--seed", help="which sample (the commit)")
    parser.add_argument(
        "--only", action="append", metavar="PATTERN", help="mutants with such names; repeatable"
    )
    parser.add_argument("--processes", type=_positive, default=1, metavar="N", help="tests at once (1)")
    return parser


def _positive(word: str) -> int:
    if not word.isdigit() or int(word) < 1:
        raise argparse.ArgumentTypeError("a number from 1")
    return int(word)


if __name__ == "__main__":
    sys.exit(main())
