"""Calls that come while others are being answered go together (pipelines/work/runners/gathering.py)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipelines.work.runners.gathering import Gathering
from tests.waiting import LONG, until

MOST = 4


class Halting:
    """Answers each call with its name in capitals, once it may go on. `faulty` cannot be answered, nor what goes with
    it."""

    def __init__(self) -> None:
        self.sent: list[list[str]] = []
        self.may_go_on: dict[str, threading.Event] = {}

    def hold(self, first: str) -> threading.Event:
        return self.may_go_on.setdefault(first, threading.Event())

    def __call__(self, calls: Sequence[str]) -> list[str]:
        self.sent.append(list(calls))
        if calls[0] in self.may_go_on:
            assert self.may_go_on[calls[0]].wait(LONG)
        if "faulty" in calls:
            raise ValueError(", ".join(calls))
        return [each.upper() for each in calls]


@pytest.fixture
def send() -> Halting:
    return Halting()


def gathering(send: Halting, lanes: int = 1, patience: float = LONG) -> Gathering[str, str]:
    return Gathering(send, len, 100, lanes=lanes, patience=patience)


def waiting(made: Gathering[str, str]) -> int:
    return sum(not each.leads for each in made._waiting)


def test_one_that_is_alone_goes_at_once(send: Halting) -> None:
    made = gathering(send)
    assert [made.answer(each) for each in ("a", "b")] == ["A", "B"]
    assert send.sent == [["a"], ["b"]]


def test_those_who_come_meanwhile_go_together_and_each_has_its_own_answer(send: Halting) -> None:
    made, first = gathering(send), send.hold("first")
    with ThreadPoolExecutor(MOST) as pool:
        one = pool.submit(made.answer, "first")
        until(lambda: bool(send.sent))
        others = [pool.submit(made.answer, each) for each in ("b", "c", "d")]
        until(lambda: waiting(made) == 3)
        first.set()
        assert [each.result(LONG) for each in (one, *others)] == ["FIRST", "B", "C", "D"]
    assert [sorted(each) for each in send.sent] == [["first"], ["b", "c", "d"]]
    assert made._busy == 0 and not made._waiting


def test_no_more_go_together_than_may(send: Halting) -> None:
    made, first = Gathering(send, len, 10, lanes=1, patience=LONG), send.hold("first")
    with ThreadPoolExecutor(MOST) as pool:
        answers = [pool.submit(made.answer, "first")]
        until(lambda: bool(send.sent))
        answers += [pool.submit(made.answer, each * 5) for each in "bcd"]
        until(lambda: waiting(made) == 3)
        first.set()
        assert sorted(each.result(LONG) for each in answers) == ["BBBBB", "CCCCC", "DDDDD", "FIRST"]
    assert [len(each) for each in send.sent] == [1, 2, 1]


def test_one_that_cannot_be_answered_hinders_none_of_those_it_went_with(send: Halting) -> None:
    made, first = gathering(send), send.hold("first")
    with ThreadPoolExecutor(MOST) as pool:
        one = pool.submit(made.answer, "first")
        until(lambda: bool(send.sent))
        others = {each: pool.submit(made.answer, each) for each in ("b", "faulty", "d")}
        until(lambda: waiting(made) == 3)
        first.set()
        assert [one.result(LONG), others["b"].result(LONG), others["d"].result(LONG)] == ["FIRST", "B", "D"]
        with pytest.raises(ValueError, match=r"^faulty$"):
            others["faulty"].result(LONG)
    assert sorted(map(sorted, send.sent[1:])) == [["b"], ["b", "d", "faulty"], ["d"], ["faulty"]]
    assert made.answer("e") == "E"


def test_one_that_fails_alone_leaves_the_lane_to_the_next(send: Halting) -> None:
    made, held = gathering(send), send.hold("faulty")
    with ThreadPoolExecutor(MOST) as pool:
        one = pool.submit(made.answer, "faulty")
        until(lambda: bool(send.sent))
        other = pool.submit(made.answer, "b")
        until(lambda: waiting(made) == 1)
        held.set()
        assert other.result(LONG) == "B"
        with pytest.raises(ValueError, match="faulty"):
            one.result(LONG)
    assert send.sent == [["faulty"], ["b"]]


def test_who_has_waited_too_long_goes_beside_with_all_who_wait(send: Halting) -> None:
    made, first = gathering(send, lanes=2, patience=0.01), send.hold("first")
    with ThreadPoolExecutor(MOST) as pool:
        one = pool.submit(made.answer, "first")
        until(lambda: bool(send.sent))
        assert [each.result(LONG) for each in [pool.submit(made.answer, each) for each in "bcd"]] == [*"BCD"]
        assert not one.done()
        first.set()
        assert one.result(LONG) == "FIRST"
    assert made._busy == 0 and not made._waiting


def test_who_finds_every_lane_taken_for_too_long_goes_alone(send: Halting) -> None:
    made, first = gathering(send, patience=0.01), send.hold("first")
    with ThreadPoolExecutor(MOST) as pool:
        one = pool.submit(made.answer, "first")
        until(lambda: bool(send.sent))
        assert [each.result(LONG) for each in [pool.submit(made.answer, each) for each in "bc"]] == [*"BC"]
        first.set()
        assert one.result(LONG) == "FIRST"
    assert send.sent == [["first"], *sorted(send.sent[1:])] and made._busy == 0


def test_many_at_once_are_each_answered_once(send: Halting) -> None:
    """No call is lost or told another's answer, whoever leads, waits or gives up waiting."""
    made = gathering(send, lanes=2, patience=0.001)
    said = [f"call {number}" for number in range(400)]
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(made.answer, said)) == [each.upper() for each in said]
    assert sorted(each for calls in send.sent for each in calls) == sorted(said)
    assert made._busy == 0 and not made._waiting
