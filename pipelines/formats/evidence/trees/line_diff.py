"""The difference of two texts by line, in bounded time.

What both begin and end with is cut off; lines that stand once in both tie the rest together; what lies between is
compared exactly (Myers). Both last as long as the budget; after it, what lies between is one replaced block. So a text
that was made to be slow costs no more than the budget."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

STEPS = 400_000
"""Lines that are looked at to compare one text: each costs one as often as it is."""
DEPTH = 600
"""Inserted and deleted lines of one block that is compared exactly."""


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Old lines [old, old_end) became new lines [new, new_end), counted from 0. `same`: they are equal."""

    same: bool
    old: int
    old_end: int
    new: int
    new_end: int


@dataclass
class StepBudget:
    steps: int = STEPS

    @property
    def is_spent(self) -> bool:
        return self.steps <= 0


def diff_blocks(
    old: Sequence[Hashable], new: Sequence[Hashable], budget: StepBudget | None = None
) -> list[LineBlock]:
    """Return all lines of both texts, in order; blocks that are not the same never follow each other."""
    # Lines as numbers: two of them are compared in no time, however long they are.
    numbers: dict[Hashable, int] = {}
    a = [numbers.setdefault(line, len(numbers)) for line in old]
    b = [numbers.setdefault(line, len(numbers)) for line in new]
    return _blocks_of_runs(_equal_runs(a, b, budget or StepBudget()), len(a), len(b))


def _blocks_of_runs(matches: Iterator[tuple[int, int, int]], olds: int, news: int) -> list[LineBlock]:
    line_blocks: list[LineBlock] = []
    at_old = at_new = 0
    for old, new, size in [*matches, (olds, news, 0)]:
        if old > at_old or new > at_new:
            line_blocks.append(LineBlock(False, at_old, old, at_new, new))
        # Two runs that touch are one block
        elif line_blocks and line_blocks[-1].same and size:
            before = line_blocks.pop()
            old, new, size = before.old, before.new, size + before.old_end - before.old
        if size:
            line_blocks.append(LineBlock(True, old, old + size, new, new + size))
        at_old, at_new = old + size, new + size
    return line_blocks


def _equal_runs(a: list[int], b: list[int], budget: StepBudget) -> Iterator[tuple[int, int, int]]:
    """(old, new, length) of equal runs, in order. A stack in place of recursion: a text may be as deep as it likes."""
    # Of four: a part to compare (old, its end, new, its end); of three: a run known to be equal
    left: list[tuple[int, int, int, int] | tuple[int, int, int]] = [(0, len(a), 0, len(b))]
    while left:
        part = left.pop()
        if len(part) == 3:
            yield part
            continue
        i, i_end, j, j_end = part
        start = 0
        while i + start < i_end and j + start < j_end and a[i + start] == b[j + start]:
            start += 1
        end = 0
        while (
            i_end - end > i + start and j_end - end > j + start and a[i_end - end - 1] == b[j_end - end - 1]
        ):
            end += 1
        if start:
            yield i, j, start
        i, j, i_end, j_end = i + start, j + start, i_end - end, j_end - end
        if end:
            left.append((i_end, j_end, end))
        if i == i_end or j == j_end:
            continue
        budget.steps -= i_end - i + j_end - j
        anchors = [] if budget.is_spent else _common_unique_lines(a, b, i, i_end, j, j_end)
        if not anchors:
            yield from _exact_runs(a[i:i_end], b[j:j_end], i, j, budget)
            continue
        parts: list[tuple[int, int, int, int] | tuple[int, int, int]] = []
        for at_old, at_new in anchors:
            parts += [(i, at_old, j, at_new), (at_old, at_new, 1)]
            i, j = at_old + 1, at_new + 1
        left += reversed([*parts, (i, i_end, j, j_end)])


def _common_unique_lines(
    a: list[int], b: list[int], i: int, i_end: int, j: int, j_end: int
) -> list[tuple[int, int]]:
    """Lines that stand once in both parts, as many as keep their order."""
    once_old = {line for line, count in Counter(a[i:i_end]).items() if count == 1}
    once_new = {line for line, count in Counter(b[j:j_end]).items() if count == 1}
    both = once_old & once_new
    if not both:
        return []
    places = {b[at]: at for at in range(j, j_end) if b[at] in both}
    pairs = [(at, places[a[at]]) for at in range(i, i_end) if a[at] in both]
    # Longest increasing subsequence: tails[n] is the smallest end of one of n + 1 lines, ends[n]
    # its pair, before[i] the pair in front of pair i.
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, at_new) in enumerate(pairs):
        place = bisect_left(tails, at_new)
        before.append(ends[place - 1] if place else -1)
        if place == len(tails):
            tails.append(at_new)
            ends.append(index)
        else:
            tails[place], ends[place] = at_new, index
    chain = []
    index = ends[-1]
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _exact_runs(
    a: list[int], b: list[int], i: int, j: int, budget: StepBudget
) -> Iterator[tuple[int, int, int]]:
    """The fewest insertions and deletions, or nothing in common once that would cost too much."""
    known = set(a) & set(b)
    if not known or budget.is_spent:
        return
    size_a, size_b = len(a), len(b)
    # reach[k]: the furthest old line on the diagonal k, which is old minus new
    reach = {1: 0}
    trail: list[dict[int, int]] = []
    for depth in range(min(size_a + size_b, DEPTH) + 1):
        trail.append(
            dict(reach) if depth < 2 else {k: reach[k] for k in range(-depth - 1, depth + 2) if k in reach}
        )
        for k in range(-depth, depth + 1, 2):
            down = k == -depth or (k != depth and reach[k - 1] < reach[k + 1])
            x = reach[k + 1] if down else reach[k - 1] + 1
            y = x - k
            began = x
            while x < size_a and y < size_b and a[x] == b[y]:
                x, y = x + 1, y + 1
            budget.steps -= 1 + x - began
            reach[k] = x
            if x >= size_a and y >= size_b:
                yield from _runs_of_trail(trail, size_a, size_b, i, j)
                return
        if budget.steps <= 0:
            return


def _runs_of_trail(
    trail: list[dict[int, int]], x: int, y: int, i: int, j: int
) -> Iterator[tuple[int, int, int]]:
    matches = []
    for depth in range(len(trail) - 1, -1, -1):
        reach, k = trail[depth], x - y
        down = k == -depth or (k != depth and reach[k - 1] < reach[k + 1])
        was_k = k + 1 if down else k - 1
        was_x = reach[was_k] if depth else 0
        was_y = was_x - was_k if depth else 0
        # Where the edit of this depth has led to; from there on the lines are equal.
        here_x = was_x if down and depth else was_x + (1 if depth else 0)
        here_y = here_x - k
        if x > here_x:
            matches.append((i + here_x, j + here_y, x - here_x))
        x, y = was_x, was_y
    yield from reversed(matches)
