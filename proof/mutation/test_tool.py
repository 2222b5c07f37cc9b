"""The mutation run's own parts: which mutants it takes, where a change stands, and how the share is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from proof.mutation.report import Result, interval, text
from proof.mutation.sample import draw, shares
from proof.mutation.survivors import function_of, survivor

MUTANTS = [f"a.big.x_f__mutmut_{i}" for i in range(90)] + [f"a.small.x_g__mutmut_{i}" for i in range(10)]


def test_a_sample_takes_from_each_module_its_share() -> None:
    chosen = draw(MUTANTS, 20, "seed")
    assert len(set(chosen)) == 20
    assert sum(name.startswith("a.small") for name in chosen) == 2


def test_the_same_seed_draws_the_same_sample_and_another_one_another() -> None:
    assert draw(MUTANTS, 20, 1) == draw(list(reversed(MUTANTS)), 20, 1)
    assert draw(MUTANTS, 20, 1) != draw(MUTANTS, 20, 2)


def test_a_sample_larger_than_all_is_all() -> None:
    assert sorted(draw(MUTANTS, 1000, 1)) == sorted(MUTANTS)


@pytest.mark.parametrize("total", range(1, 12))
def test_shares_add_up_and_none_is_larger_than_its_module(total: int) -> None:
    sizes = {"a": 1, "b": 4, "c": 6}
    given = shares(sizes, total)
    assert sum(given.values()) == total
    assert all(given[name] <= sizes[name] for name in sizes)


@pytest.mark.parametrize(
    ("mutant", "function"),
    [
        ("p.m.x_find__mutmut_3", "find"),
        ("p.m.x__find__mutmut_3", "_find"),
        ("p.m.xǁPathǁfind__mutmut_12", "Path.find"),
    ],
)
def test_a_mutant_names_its_function(mutant: str, function: str) -> None:
    assert function_of(mutant) == function


SOURCE = """\
def other():
    return 1


class Thing:
    def first(self):
        x = 1
        y = 2
        z = 3
        a = 4
        return 1
"""

DIFFERENCE = """\
# p.m.xǁThingǁfirst__mutmut_9: survived
--- p/m.py
+++ p/m.py
@@ -3,4 +3,4 @@
         y = 2
         z = 3
         a = 4
-        return 1
+        return 2
"""


def test_a_survivor_is_shown_with_its_line_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "m.py").write_text(SOURCE)
    found = survivor(tmp_path, "p.m.xǁThingǁfirst__mutmut_9", DIFFERENCE)
    assert str(found) == "p/m.py:11 Thing.first\n  - return 1\n  + return 2"


def test_the_share_of_a_sample_is_told_with_how_sure_it_is() -> None:
    low, high = interval(90, 100)
    assert (round(low, 3), round(high, 3)) == (0.826, 0.945)
    verdicts = {f"a.b.x_f__mutmut_{i}": "killed" if i else "survived" for i in range(10)}
    told = text(Result(100, "abc", verdicts, []))
    assert "a.b     9 of    10" in told
    assert "a sample of 100 mutants, seed abc" in told
    assert told.endswith("caught: 9 of 10, 90.0 % (59.6 to 98.2 % of all, 95 %)")


def test_a_mutant_that_no_test_reaches_is_not_caught_and_one_that_never_ends_is() -> None:
    verdicts = {
        "a.b.x_f__mutmut_1": "no tests",
        "a.b.x_f__mutmut_2": "timeout",
        "a.b.x_f__mutmut_3": "not checked",
    }
    assert Result(3, 1, verdicts, []).caught == 1
