"""Calls of a host's API, by the guarded client: JSON to and fro, and each refusal in words (house §5)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx2

from pipelines.work.hosts.answers import object_rows
from pipelines.work.hosts.errors import HostAway, HostError
from pipelines.work.outgoing.guard import Guard, RefusedAddress
from pipelines.work.outgoing.http_fetch import Call, HttpAnswer, fetch_url
from pipelines.work.results.text import MASK

SILENT, TOTAL_SECONDS = 20.0, 60.0
"""Seconds for which a host may be silent, and in which all of an answer has to be there."""
LONGEST_WAIT = 30.0
MAX_ERROR_BYTES, DEEP = 64 * 1024, 5
"""Bytes of a refusal that is read for its words, and how deep they may lie."""
# Too many requests, and errors of the server that may pass
LATER = frozenset((429, 500, 502, 503, 504))
PAGES = 20
"""Of a list, at most."""
# In the header Link: `<https://…&page=2>; rel="next"`
NEXT = re.compile(r';\s*rel="?next"?')


@dataclass(frozen=True)
class HostCaller:
    """`name`: of the host, as people know it. `base`: of its API."""

    name: str
    base: str
    repository: str
    guard: Guard = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    async def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, **query: str | int
    ) -> Any:
        """The answer as JSON; None where it has none. :raises HostError"""
        return self._payload_or_host_error(await self._answer_of_host(method, path, body, query))

    async def get_answer_and_headers(self, path: str) -> tuple[Any, Mapping[str, str]]:
        """Return the answer to a GET, and its headers, their names in small letters. :raises HostError"""
        answer = await self._answer_of_host("GET", path, None, {})
        return self._payload_or_host_error(answer), answer.headers

    async def list_all(self, path: str, key: str = "", **query: str | int) -> list[Mapping[str, Any]]:
        """Return all pages of a list: each host says by a link whether there is another one, whatever the
        page size. `key`: the key of the rows, where the answer is an object.

        :raises HostError
        """
        entries: list[Mapping[str, Any]] = []
        for page in range(1, PAGES + 1):
            answer = await self._answer_of_host("GET", path, None, {**query, "page": page})
            payload = self._payload_or_host_error(answer)
            entries += object_rows(payload.get(key) if key and isinstance(payload, Mapping) else payload)
            if not NEXT.search(answer.headers.get("link", "")):
                break
        return entries

    async def _answer_of_host(
        self, method: str, path: str, body: Mapping[str, Any] | None, query: Mapping[str, str | int]
    ) -> HttpAnswer:
        if not all(" " <= sign <= "~" for value in self.headers.values() for sign in value):
            # What no header takes would be told with the error.
            raise HostError(
                f"The token for {self.name} has line breaks or letters that no token has. Store it again."
            )
        url = f"{self.base}{path}" + (f"?{urlencode(query)}" if query else "")
        sent = b"" if body is None else json.dumps(body).encode()
        typed = {} if body is None else {"content-type": "application/json"}
        call = Call(method, url, {"accept": "application/json", **typed, **self.headers}, sent)
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                return await fetch_url(call, self.guard, SILENT)
        except RefusedAddress as error:
            raise HostError(str(error)) from error
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise HostAway(f"{self.name} did not answer in time.") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise HostAway(f"{self.name} could not be reached: {error or type(error).__name__}") from error

    def _payload_or_host_error(self, answer: HttpAnswer) -> Any:
        payload = _json_or_none(answer)
        if answer.status in LATER or _is_rate_limited(answer):
            why = f"{self.name} answers {answer.status} at the moment. Try again later."
            raise HostAway(why, answer.status, _retry_seconds(answer))
        if not 200 <= answer.status < 300:
            why = error_text(payload) if len(answer.body) <= MAX_ERROR_BYTES else ""
            # A host may repeat the token that it refuses.
            for own in filter(None, self.headers.get("authorization", "").split()[1:]):
                why = why.replace(own, MASK)
            raise HostError(self._message_of_refusal(answer.status, why), answer.status)
        if answer.cut or (answer.body and payload is None):
            raise HostError(f"{self.name} answered with something that is no JSON.", answer.status)
        return payload

    def _message_of_refusal(self, status: int, why: str) -> str:
        more = f" It says: {why}" if why else ""
        if status == 401:
            return f"{self.name} refuses the credential. Store a valid token, or choose another secret.{more}"
        if status == 403:
            return f"The token may not do this in {self.repository} on {self.name}.{more}"
        if status == 404:
            return f"{self.name} has no {self.repository} that this token may see.{more}"
        return f"{self.name} refused it with {status}.{more}"


def error_text(payload: Any, deep: int = DEEP) -> str:
    """Return a host's text about a refusal: each puts it elsewhere. Every part is read once."""
    if isinstance(payload, str):
        return payload
    if not deep:
        return ""
    if isinstance(payload, list):
        return "; ".join(filter(None, (error_text(entry, deep - 1) for entry in payload)))
    if not isinstance(payload, dict):
        return ""
    parts = {key: words for key, value in payload.items() if (words := error_text(value, deep - 1))}
    own = next((parts[key] for key in ("message", "error_description", "error") if key in parts), "")
    inner = parts.get("errors", "") if isinstance(payload.get("errors"), list) else ""
    if not own and not inner:
        return "; ".join(f"{key} {words}" for key, words in parts.items())
    return ": ".join(filter(None, (own, inner)))


def _json_or_none(answer: HttpAnswer) -> Any:
    try:
        return json.loads(answer.body) if answer.body and not answer.cut else None
    except (ValueError, RecursionError):
        return None


def _is_rate_limited(answer: HttpAnswer) -> bool:
    """GitHub says 403 to who asked too often."""
    spent = answer.headers.get("x-ratelimit-remaining") == "0" or "retry-after" in answer.headers
    return answer.status == 403 and spent


def _retry_seconds(answer: HttpAnswer) -> float:
    retry_after = answer.headers.get("retry-after", "")
    # The header may be a date as well, which is not read.
    return min(float(retry_after), LONGEST_WAIT) if retry_after.isdecimal() else 1.0
