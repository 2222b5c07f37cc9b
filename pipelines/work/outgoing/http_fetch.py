"""HTTP call, bounded in size and in redirects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import httpx2

from pipelines.work.outgoing.guard import Guard
from pipelines.work.outgoing.transport import guarded_client

NOT_FETCHED = (httpx2.HTTPError, httpx2.InvalidURL)
"""Refused, not reached, cut off, too slow, or no address."""
MOST_REDIRECTS = 5
MOST_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True)
class Call:
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class HttpAnswer:
    """`cut`: the body went on beyond `MOST_BYTES`. `url`: who answered in the end."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: bool
    url: str

    def text(self) -> str:
        return self.body.decode(errors="replace")


async def fetch_url(call: Call, guard: Guard, seconds: float, most: int = MOST_BYTES) -> HttpAnswer:
    """Call, following redirects through the same guard. Headers of the call stay with the origin that they were meant
    for: another one gets none of them. `seconds`: for which a server may be silent.

    :raises httpx2.HTTPError: refused, not reached, cut off, too slow, redirected too often
    :raises httpx2.InvalidURL: no address
    """
    async with guarded_client(guard, seconds) as http:
        # Bytes as they are: a small answer must not unfold into a large one.
        headers = {"accept-encoding": "identity", "user-agent": "gateline", **call.headers}
        request = http.build_request(call.method, call.url, headers=headers, content=call.body or None)
        for _ in range(MOST_REDIRECTS + 1):
            response = await http.send(request, stream=True)
            try:
                if response.next_request is None:
                    return await _read_until_limit(response, most)
            finally:
                await response.aclose()
            request = _redirected_request(request, response.next_request, call)
    raise httpx2.TooManyRedirects(f"redirected more than {MOST_REDIRECTS} times", request=request)


def _redirected_request(before: httpx2.Request, after: httpx2.Request, call: Call) -> httpx2.Request:
    if _scheme_host_and_port(before.url) != _scheme_host_and_port(after.url):
        for name in call.headers:
            after.headers.pop(name, None)
    return after


def _scheme_host_and_port(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


async def _read_until_limit(response: httpx2.Response, most: int) -> HttpAnswer:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most:
            break
    return HttpAnswer(
        response.status_code,
        dict(response.headers),
        bytes(body[:most]),
        len(body) > most,
        # User and password of an address go into no output
        str(response.url.copy_with(userinfo=b"")),
    )
