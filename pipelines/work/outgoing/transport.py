"""The way out: transports of httpx2 that connect to the address they checked."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

from pipelines.work.outgoing.authorities import REMEDY, trusted_authorities
from pipelines.work.outgoing.guard import Guard

# Seconds to find a server and to be answered by it.
CONNECT_SECONDS = 10.0


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Resolves, checks, and connects to what was checked, for each request anew, redirects among them. The name of the
    server goes along for its certificate and its Host header.

    No connection is kept: a pool finds its connections by address, and two names at one address must not share what
    only one of them was checked for."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._inner = httpx2.AsyncHTTPTransport(
            verify=trusted_authorities().tls_context,
            trust_env=False,
            limits=httpx2.Limits(max_keepalive_connections=0),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        name, port = _host_and_port(request)
        *others, last = await self._guard.allowed_addresses(name, port)
        for address in others:
            try:
                return await self._inner.handle_async_request(
                    _request_sent_to_address(request, address, name)
                )
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue  # Nothing was sent yet.
        with _explaining_certificates(name):
            return await self._inner.handle_async_request(_request_sent_to_address(request, last, name))

    async def aclose(self) -> None:
        await self._inner.aclose()


class GuardedBlockingTransport(httpx2.BaseTransport):
    """The same for programs without an event loop."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._inner = httpx2.HTTPTransport(
            verify=trusted_authorities().tls_context,
            trust_env=False,
            limits=httpx2.Limits(max_keepalive_connections=0),
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        name, port = _host_and_port(request)
        *others, last = asyncio.run(self._guard.allowed_addresses(name, port))
        for address in others:
            try:
                return self._inner.handle_request(_request_sent_to_address(request, address, name))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue  # Nothing was sent yet.
        with _explaining_certificates(name):
            return self._inner.handle_request(_request_sent_to_address(request, last, name))

    def close(self) -> None:
        self._inner.close()


@contextmanager
def _explaining_certificates(name: str) -> Iterator[None]:
    """:raises httpx2.ConnectError: the certificate is not trusted, and what can be done"""
    try:
        yield
    except httpx2.ConnectError as error:
        why: BaseException | None = error
        # The client wraps the cause, several times
        while why is not None and not isinstance(why, ssl.SSLCertVerificationError):
            why = why.__cause__ or why.__context__
        if why is None:
            raise
        message = f"The certificate of {name} is not trusted: {why.verify_message}. {REMEDY}"
        raise httpx2.ConnectError(message) from error


def _host_and_port(request: httpx2.Request) -> tuple[str, int]:
    host = request.url.raw_host.decode("ascii")
    # An IPv6 address stands in brackets in a URL, and without them for a resolver
    return host.strip("[]"), request.url.port or (443 if request.url.scheme == "https" else 80)


def _request_sent_to_address(request: httpx2.Request, address: str, name: str) -> httpx2.Request:
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        # The certificate is checked for the name, though the URL has the address now
        extensions={**request.extensions, "sni_hostname": name},
    )


def guarded_client(guard: Guard, seconds: float) -> httpx2.AsyncClient:
    """A client for one piece of work: no proxy, no cookie jar of the machine, no redirect unasked. `seconds`: for which
    a server may be silent."""
    return httpx2.AsyncClient(
        transport=GuardedTransport(guard),
        timeout=_connect_timeout(seconds),
        trust_env=False,
        follow_redirects=False,
    )


def blocking_client(guard: Guard, seconds: float) -> httpx2.Client:
    """The same for programs without an event loop."""
    return httpx2.Client(
        transport=GuardedBlockingTransport(guard),
        timeout=_connect_timeout(seconds),
        trust_env=False,
        follow_redirects=False,
    )


def _connect_timeout(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
