"""However deep the calls of a request are, a loop of small ones takes no memory from the system each time."""

from __future__ import annotations

import resource
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.http import HttpRequest, HttpResponse

from config.middleware import RoomMiddleware

CALLS, DEEPEST = 500, 300


def _small() -> None:
    pass


def _deep(levels: int, act: Callable[[], int]) -> int:
    return _deep(levels - 1, act) if levels else act()


def _faults() -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        _small()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def _page(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(max(_deep(levels, _faults) for levels in range(DEEPEST))))


def test_no_depth_of_calls_is_slow() -> None:
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(RoomMiddleware(_page), HttpRequest()).result()
        alone = threads.submit(_page, HttpRequest()).result()
    print(f"page faults of {CALLS} calls: {answer.content!r}, without the room {alone.content!r}")
    assert int(answer.content) < CALLS / 5
