"""Requests to the server's API, version 1. Whatever is refused is raised as a failure with its remedy."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import certifi
import httpx2

from gateline import __version__
from gateline.failures import (
    CommandFailure,
    ConflictFailure,
    FaultPlace,
    ForbiddenFailure,
    InvalidFailure,
    NotFoundFailure,
    SignInFailure,
    UnreachableFailure,
)
from gateline.profiles import Profile

TIMEOUT = httpx2.Timeout(60, connect=10)
BASE = "/api/v1"


class Client:
    """HTTP client of one server, as the person or machine of a profile. Paths are those below /api/v1."""

    def __init__(self, profile: Profile, timeout: httpx2.Timeout = TIMEOUT) -> None:
        self.profile = profile
        self._http = httpx2.Client(
            base_url=profile.url + BASE,
            headers={
                "Authorization": f"Bearer {profile.token}",
                "Accept": "application/json",
                "User-Agent": f"gateline/{__version__}",
            },
            timeout=timeout,
            verify=trusted_authorities(),
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **query: object) -> Any:
        """Return the answer to a GET, as JSON. Raises a CommandFailure."""
        return _json_or_none_if_empty(
            self._send_or_raise("GET", path, params=_nonempty_query_parameters(query)), self.profile.url
        )

    def get_text(self, path: str, **query: object) -> str:
        """Return the answer to a GET, as text. Raises a CommandFailure."""
        return self._send_or_raise("GET", path, params=_nonempty_query_parameters(query)).text

    def post(self, path: str, body: object = None, **more: Any) -> Any:
        """Return the answer to a POST, as JSON. `more`: arguments of httpx2. Raises a CommandFailure."""
        return self.send("POST", path, **({"json": body} if body is not None else {}), **more)

    def send(self, method: str, path: str, **more: Any) -> Any:
        return _json_or_none_if_empty(self._send_or_raise(method, path, **more), self.profile.url)

    @contextmanager
    def stream(self, method: str, path: str, **more: Any) -> Iterator[httpx2.Response]:
        """An answer that is read while it comes. Raises a CommandFailure."""
        with (
            translating_connection_errors(self.profile.url),
            self._http.stream(method, path, **more) as response,
        ):
            if response.status_code >= 300:
                # The problem is in the body, of which a stream has read nothing yet.
                response.read()
                raise refusal_failure(response, self.profile)
            yield response

    def _send_or_raise(self, method: str, path: str, **more: Any) -> httpx2.Response:
        with translating_connection_errors(self.profile.url):
            response = self._http.request(method, path, **more)
        # Redirects, too: the token is for this address, and follows to no other
        if response.status_code >= 300:
            raise refusal_failure(response, self.profile)
        return response


def url_path(*parts: str | int) -> str:
    """`("owners", "acme", …)` as a path. No part of it can lead to another address."""
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


def trusted_authorities() -> ssl.SSLContext:
    """The public authorities, or those of SSL_CERT_FILE, and those of GATELINE_CA_BUNDLE. Raises Unreachable."""
    # OpenSSL reads these two by itself, where no file is given.
    elsewhere = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")
    made = ssl.create_default_context(cafile=None if elsewhere else certifi.where())
    if ca_bundle := os.environ.get("GATELINE_CA_BUNDLE", "").strip():
        try:
            made.load_verify_locations(cafile=os.path.expanduser(ca_bundle))
        except OSError as fault:
            why = "it holds no certificates" if isinstance(fault, ssl.SSLError) else fault.strerror
            raise UnreachableFailure(f"GATELINE_CA_BUNDLE is “{ca_bundle}”: {why}",
                              "Name a file with certificates in PEM.") from fault  # fmt: skip
    return made


@contextmanager
def translating_connection_errors(url: str) -> Iterator[None]:
    """Raise UnreachableFailure, with cause and remedy, for a connection error in the block."""
    try:
        yield
    except httpx2.ConnectError as fault:
        if isinstance(_deepest_cause_or_none(fault), ssl.SSLError):
            raise UnreachableFailure(f"The certificate of {url} is not trusted: {_deepest_cause_or_none(fault)}",
                              "Check the address, or name its authority: GATELINE_CA_BUNDLE.") from fault  # fmt: skip
        raise UnreachableFailure(f"{url} cannot be reached: {_deepest_cause_or_none(fault) or fault}",
                          "Check the address and the network.") from fault  # fmt: skip
    except httpx2.TimeoutException as fault:
        raise UnreachableFailure(f"{url} did not answer in time.", "Try again.") from fault
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as fault:
        raise UnreachableFailure(
            f"“{url}” is not an address of a server: {fault}", "Use https://…"
        ) from fault
    except httpx2.TransportError as fault:
        raise UnreachableFailure(f"The connection to {url} broke: {fault}", "Try again.") from fault


def refusal_failure(response: httpx2.Response, profile: Profile) -> CommandFailure:
    """Return the command failure for a refusal."""
    status = response.status_code
    if status < 400:
        to = response.headers.get("location", "another address")
        return UnreachableFailure(f"{profile.url} sends its callers on to {to}.", "Sign in to that address.")
    problem = _problem_body_or_none(response)
    # Whoever says 401, a proxy in front among them: the remedy is to sign in again
    if problem is None and status != 401:
        return UnreachableFailure(
            f"{profile.url} answers {status}, and not as a Gateline server does.",
            "Check the address, any proxy before it, and that the server is not older than this command.",
        )
    details = problem or {}
    detail = str(details.get("detail") or response.reason_phrase)
    places = [
        _fault_place_of_error(error) for error in details.get("errors") or () if isinstance(error, dict)
    ]
    if status == 401:
        return SignInFailure(
            f"{profile.url} does not accept the token of “{profile.name}”: it is wrong, expired or revoked.",
            f"Sign in again: gateline login {profile.url}",
        )
    if status == 403:
        return ForbiddenFailure(detail)
    if status == 404:
        return NotFoundFailure(detail)
    if status == 409:
        by = f" ({details['by']}, {details.get('at')})" if details.get("by") else ""
        return ConflictFailure(detail + by, places=places, problem=details)
    if status == 429 or status >= 500:
        wait = response.headers.get("retry-after")
        return UnreachableFailure(detail, f"Try again in {wait} s." if wait else "Try again later.")
    return InvalidFailure("The server does not take this:" if places else detail, places=places)


def _fault_place_of_error(error: dict[str, Any]) -> FaultPlace:
    return FaultPlace(
        message=str(error.get("message", "")),
        path=str(error.get("path") or ""),
        hint=str(error.get("hint") or ""),
        line=error.get("line"),
        column=error.get("column"),
    )


def _problem_body_or_none(response: httpx2.Response) -> dict[str, Any] | None:
    try:
        payload = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        return None
    return payload if isinstance(payload, dict) and "detail" in payload else None


def _json_or_none_if_empty(response: httpx2.Response, url: str) -> Any:
    if response.status_code == 204:
        return None
    try:
        return response.json()
    # A proxy on the way, or another program at this address
    except (json.JSONDecodeError, UnicodeDecodeError) as fault:
        raise UnreachableFailure(
            f"{url} does not answer as a Gateline server does.", "Check the address."
        ) from fault


def _nonempty_query_parameters(query: dict[str, object]) -> dict[str, Any]:
    # `from_` is the parameter `from`, which no argument in Python can be called.
    return {key.rstrip("_"): value for key, value in query.items() if value not in (None, "")}


def _deepest_cause_or_none(fault: BaseException) -> BaseException | None:
    """Return the root cause of an error: the system's own message."""
    while (inner := fault.__cause__ or fault.__context__) is not None:
        fault = inner
    return fault
