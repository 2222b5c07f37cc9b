"""Calls that come while others are being answered go together (pipelines/work/transport/batching.py)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from pipelines.work.transport.batching import CallBatcher
from tests.waiting import LONG, eventually, let_others_run


class Halting:
    """Answers each call with its name in capitals, once it may go on. `faulty` cannot be answered, nor what goes with
    it."""

    def __init__(self) -> None:
        self.sent: list[list[str]] = []
        self.may_go_on: dict[str, asyncio.Event] = {}

    def hold(self, first: str) -> asyncio.Event:
        return self.may_go_on.setdefault(first, asyncio.Event())

    async def __call__(self, calls: Sequence[str]) -> list[str | None]:
        self.sent.append(list(calls))
        if calls[0] in self.may_go_on:
            await asyncio.wait_for(self.may_go_on[calls[0]].wait(), LONG)
        if "faulty" in calls:
            raise ValueError(", ".join(calls))
        return [each.upper() for each in calls]


@pytest.fixture
def send() -> Halting:
    return Halting()


def gathering(send: Halting, lanes: int = 1, patience: float = LONG, **more: Any) -> CallBatcher[str, str]:
    most = more.pop("most", 100)
    return CallBatcher(send, most, size=len, lanes=lanes, patience=patience, **more)


Answers = list[str | None]


async def while_the_first_is_held(
    made: CallBatcher[str, str], send: Halting, others: Sequence[str]
) -> tuple[asyncio.Task[str | None], list[asyncio.Task[str | None]]]:
    """The first is being answered, and the others are here."""
    first = asyncio.create_task(made.answer_in_batch("first"))
    await eventually(lambda: bool(send.sent))
    tasks = [asyncio.create_task(made.answer_in_batch(each)) for each in others]
    await let_others_run(1)
    return first, tasks


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, LONG))


def is_at_rest(made: CallBatcher[str, str]) -> bool:
    return not made._waiting and not made._coming and not made._lanes


def test_one_that_is_alone_goes_at_once(send: Halting) -> None:
    async def work() -> Answers:
        made = gathering(send)
        return [await made.answer_in_batch(each) for each in ("a", "b")]

    assert run(work()) == ["A", "B"] and send.sent == [["a"], ["b"]]


def test_those_who_come_meanwhile_go_together_and_each_has_its_own_answer(send: Halting) -> None:
    async def work() -> Answers:
        made, held = gathering(send), send.hold("first")
        first, others = await while_the_first_is_held(made, send, "bcd")
        held.set()
        answers = await asyncio.gather(first, *others)
        await eventually(lambda: is_at_rest(made))
        return answers

    assert run(work()) == ["FIRST", "B", "C", "D"] and send.sent == [["first"], ["b", "c", "d"]]


def test_no_more_go_together_than_may(send: Halting) -> None:
    async def work() -> Answers:
        made, held = gathering(send, most=10), send.hold("first")
        first, others = await while_the_first_is_held(made, send, ["b" * 5, "c" * 6, "d" * 5, "e" * 11])
        held.set()
        return await asyncio.gather(first, *others)

    assert run(work()) == ["FIRST", "B" * 5, "C" * 6, "D" * 5, "E" * 11]
    assert send.sent == [["first"], ["b" * 5, "d" * 5], ["c" * 6], ["e" * 11]]


def test_where_what_goes_together_fails_each_learns_of_it(send: Halting) -> None:
    async def work() -> list[Any]:
        made, held = gathering(send), send.hold("first")
        first, others = await while_the_first_is_held(made, send, ["b", "faulty"])
        held.set()
        answers = await asyncio.gather(first, *others, return_exceptions=True)
        return [*answers, await made.answer_in_batch("e")]

    first, *faults, last = run(work())
    assert (first, [str(each) for each in faults], last) == ("FIRST", ["b, faulty"] * 2, "E")
    assert send.sent == [["first"], ["b", "faulty"], ["e"]]


def test_each_may_fail_of_its_own() -> None:
    async def send(calls: Sequence[str]) -> list[str | Exception]:
        return [ValueError(each) if each == "b" else each for each in calls]

    async def work() -> list[Any]:
        made = CallBatcher[str, str](send, 10)
        return await asyncio.gather(*map(made.answer_in_batch, "abc"), return_exceptions=True)

    first, fault, last = run(work())
    assert (first, str(fault), type(fault), last) == ("a", "b", ValueError, "c")


def test_without_patience_a_second_lane_is_opened_at_once(send: Halting) -> None:
    async def work() -> Answers:
        made, held = gathering(send, lanes=2, patience=0), send.hold("first")
        first, others = await while_the_first_is_held(made, send, "bc")
        answers = await asyncio.gather(*others)
        assert not first.done()
        held.set()
        return [await first, *answers]

    assert run(work()) == ["FIRST", "B", "C"] and send.sent[0] == ["first"]


def test_who_has_waited_too_long_goes_beside_with_all_who_wait(send: Halting) -> None:
    async def work() -> Answers:
        made, held = gathering(send, lanes=2, patience=0.01), send.hold("first")
        first, others = await while_the_first_is_held(made, send, "bcd")
        answers = await asyncio.gather(*others)
        assert not first.done()
        held.set()
        return [await first, *answers]

    assert run(work()) == ["FIRST", "B", "C", "D"] and send.sent == [["first"], ["b", "c", "d"]]


def test_who_finds_every_lane_taken_for_too_long_is_to_be_answered_by_itself(send: Halting) -> None:
    async def work() -> Answers:
        made, held = gathering(send, patience=0.01), send.hold("first")
        first, others = await while_the_first_is_held(made, send, "bc")
        answers = await asyncio.gather(*others)
        held.set()
        return [await first, *answers]

    assert run(work()) == ["FIRST", None, None] and send.sent == [["first"]]


def test_who_hangs_up_while_it_waits_is_not_sent(send: Halting) -> None:
    async def work() -> Answers:
        made, held = gathering(send), send.hold("first")
        first, others = await while_the_first_is_held(made, send, "bc")
        others[0].cancel()
        await let_others_run(1)
        held.set()
        return [await first, await others[1]]

    assert run(work()) == ["FIRST", "C"] and send.sent == [["first"], ["c"]]


def test_who_hangs_up_while_it_is_answered_keeps_nobody_from_an_answer(send: Halting) -> None:
    async def work() -> str | None:
        made, held = gathering(send), send.hold("first")
        first, (other,) = await while_the_first_is_held(made, send, "b")
        first.cancel()
        await let_others_run(1)
        held.set()
        return await other

    assert run(work()) == "B" and send.sent == [["first"], ["b"]]


def test_who_is_about_to_come_goes_along(send: Halting) -> None:
    async def work() -> Answers:
        made = gathering(send, moment=LONG)
        made.expect_calls_about([1, 2])
        one = asyncio.create_task(made.answer_in_batch("a", [1]))
        await let_others_run()
        assert not send.sent
        return [await made.answer_in_batch("b", [2]), await one]

    assert run(work()) == ["B", "A"] and send.sent == [["a", "b"]]


def test_nobody_waits_longer_than_a_moment_for_who_does_not_come(send: Halting) -> None:
    async def work() -> Answers:
        made = gathering(send, moment=0.001)
        made.expect_calls_about([1, 2])
        answers = [await made.answer_in_batch("a", [1])]
        made._moment = 2 * LONG  # it is not waited for again
        return [*answers, await made.answer_in_batch("b", [3])]

    assert run(work()) == ["A", "B"] and send.sent == [["a"], ["b"]]


def test_many_at_once_are_each_answered_once(send: Halting) -> None:
    """No call is lost or told another's answer, whoever waits or loses patience."""
    said = [f"call {number}" for number in range(400)]

    async def work() -> Answers:
        made = gathering(send, lanes=2, patience=0.0005)
        slow = send.__call__

        async def slowly(calls: Sequence[str]) -> list[str | None]:
            await let_others_run(20)
            return await slow(calls)

        made._send = slowly

        async def one(at: int, each: str) -> str | None:
            await let_others_run(at)
            return await made.answer_in_batch(each) or f"by itself: {each}"

        answers = await asyncio.gather(*(one(at, each) for at, each in enumerate(said)))
        await eventually(lambda: is_at_rest(made))
        return answers

    answers = run(work())
    sent = [each for calls in send.sent for each in calls]
    assert len(sent) == len(set(sent)) > 0
    assert answers == [each.upper() if each in sent else f"by itself: {each}" for each in said]
