"""The way out: a transport of httpx that connects to the address it checked."""

from __future__ import annotations

import httpx

from pipelines.outgoing.guard import Guard

# Seconds to find a server and to be answered by it.
CONNECT_SECONDS = 10.0


class GuardedTransport(httpx.AsyncBaseTransport):
    """Resolves, checks, and connects to what was checked, for each request anew, redirects among them. The name of the
    server goes along for its certificate and its Host header.

    No connection is kept: a pool finds its connections by address, and two names at one address must not share what
    only one of them was checked for."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._inner = httpx.AsyncHTTPTransport(
            trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.raw_host.decode("ascii")
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        addresses = await self._guard.addresses(host.strip("[]"), port)
        for address in addresses[:-1]:
            try:
                return await self._inner.handle_async_request(_to(request, address, host))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue  # Nothing was sent yet.
        return await self._inner.handle_async_request(_to(request, addresses[-1], host))

    async def aclose(self) -> None:
        await self._inner.aclose()


def _to(request: httpx.Request, address: str, name: str) -> httpx.Request:
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": name},
    )


def client(guard: Guard, seconds: float) -> httpx.AsyncClient:
    """A client for one piece of work: no proxy, no cookie jar of the machine, no redirect unasked. `seconds`: for which
    a server may be silent."""
    return httpx.AsyncClient(
        transport=GuardedTransport(guard),
        timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
        trust_env=False,
        follow_redirects=False,
    )
