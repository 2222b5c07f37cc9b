"""One call: what goes along on a redirect, and how much comes back."""

from __future__ import annotations

import httpx2
import pytest

from pipelines.work.outgoing.guard import Guard
from pipelines.work.outgoing.http_fetch import Call, fetch_url
from tests.outgoing.servers import say, serving, silent

LOOPBACK = Guard(("127.0.0.0/8",))


async def test_headers_of_the_call_stay_with_its_origin() -> None:
    with serving(lambda to, asked: say(to, 200), "127.0.0.2") as other:

        def away(to, asked):  # type: ignore[no-untyped-def]
            say(to, 302, location="/here" if asked.path == "/" else f"{other.url}/there")

        with serving(away) as first:
            headers = {"Authorization": "Bearer planted-canary", "X-Api-Key": "planted-canary"}
            await fetch_url(Call("GET", f"{first.url}/", headers), LOOPBACK, 5)
    assert [asked.headers["x-api-key"] for asked in first.asked] == ["planted-canary"] * 2
    assert "planted-canary" not in str(other.asked[0].headers)


async def test_it_does_not_go_round_for_ever() -> None:
    with serving(lambda to, asked: say(to, 302, location="/")) as server:
        with pytest.raises(httpx2.TooManyRedirects):
            await fetch_url(Call("GET", server.url, {}), LOOPBACK, 5)
        assert len(server.asked) == 6


async def test_a_large_answer_is_cut() -> None:
    with serving(lambda to, asked: say(to, 200, b"x" * 100_000)) as server:
        answer = await fetch_url(Call("GET", server.url, {}), LOOPBACK, 5, most=1000)
    assert (len(answer.body), answer.cut) == (1000, True)


async def test_a_server_that_says_nothing_is_given_up() -> None:
    with serving(silent) as server, pytest.raises(httpx2.TimeoutException):
        await fetch_url(Call("GET", server.url, {}), LOOPBACK, 0.2)


async def test_a_password_in_an_address_is_used_and_not_told() -> None:
    with serving(lambda to, asked: say(to, 200)) as server:
        url = server.url.replace("//", "//me:planted-canary@")
        answer = await fetch_url(Call("GET", url, {}), LOOPBACK, 5)
    assert server.asked[0].headers["authorization"].startswith("Basic ")
    assert "planted-canary" not in answer.url
