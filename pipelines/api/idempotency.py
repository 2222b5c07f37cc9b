"""Idempotency keys: a request that comes twice is carried out once and answered alike both times."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from django.http import HttpResponse
from ninja import Header
from pydantic import BaseModel

from pipelines.api.auth import Request, caller_actor
from pipelines.web.shell.repeated_requests import RequestAnswer, carry_out_once

IDEMPOTENCY_KEY = Header(
    None,
    alias="Idempotency-Key",
    min_length=1,
    max_length=255,
    pattern=r"\S",
    description="A value of your own. The same request sent again with it is answered as the first time.",
)


def answer_once(
    request: Request,
    key: str | None,
    work: Callable[[], BaseModel],
    status: int = 200,
) -> HttpResponse:
    """The answer of `work`, or, for a key that this actor used before, the answer it got then.

    Callers check access first: a repeat needs the same rights as the request. Raises Conflict when the key was used
    for another request, and whatever `work` raises."""
    if key is None:
        return _stored_response(RequestAnswer(status, _to_json(work())))
    actor, digest = str(caller_actor(request.auth)), _request_digest(request)
    return _stored_response(carry_out_once(actor, key, digest, lambda: _to_json(work()), status))


def _request_digest(request: Request) -> str:
    """Return the digest of a request: the address, by either of its names, and the body as it was sent.
    Reading the body again would meet its depth again."""
    address = request.get_full_path().replace("/api/v1/", "/api/", 1)
    # Also half a sign, as an address may have it, has its digest
    request_line = f"{request.method} {address}\n".encode("utf-8", "surrogatepass")
    return hashlib.sha256(request_line + request.body).hexdigest()


def _to_json(answer: BaseModel) -> bytes:
    return answer.model_dump_json().encode()


def _stored_response(answer: RequestAnswer) -> HttpResponse:
    response = HttpResponse(answer.body, status=answer.status, content_type="application/json; charset=utf-8")
    if answer.is_repeat:
        response["Idempotent-Replayed"] = "true"
    return response
