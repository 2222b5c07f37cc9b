"""Idempotency keys: a request that comes twice is carried out once and answered alike both times.

The key is inserted in the transaction that does the work. A second request with the same key waits for that
transaction and then finds its answer; a refused request leaves no row, so it can be corrected and sent again."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from functools import partial

from django.http import HttpResponse
from ninja import Header
from pydantic import BaseModel

from pipelines.api.auth import Request, caller_actor
from pipelines.api.statements import DELETE_EXPIRED_ANSWERS, DELETE_SURPLUS_ANSWERS, RECORD_KEY
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.errors import Conflict
from pipelines.models import RecordedAnswer
from pipelines.models.plumbing.compiled_queries import execute, fetch

IDEMPOTENCY_KEY = Header(
    None,
    alias="Idempotency-Key",
    min_length=1,
    max_length=255,
    pattern=r"\S",
    description="A value of your own. The same request sent again with it is answered as the first time.",
)
HOURS = 24
LARGEST = 1_000
"""Answers kept for each person or machine; the oldest go first."""
# Expired answers, of anybody, that one request deletes
AT_ONCE = 100


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
        return _stored_response(_to_json(work()), status)
    actor, digest = str(caller_actor(request.auth)), _request_digest(request)
    return run_in_transaction(partial(_answer_recorded, actor, key, digest, work, status))


def _answer_recorded(
    actor: str, key: str, digest: str, work: Callable[[], BaseModel], status: int
) -> HttpResponse:
    execute(DELETE_EXPIRED_ANSWERS, [HOURS, AT_ONCE])
    # The key first: of two equal requests at once the second waits here for the answer of the first
    inserted = fetch(RECORD_KEY, [actor, key, digest])
    if not inserted:
        return _repeated_response(RecordedAnswer.objects.get(actor=actor, key=key), digest)
    execute(DELETE_SURPLUS_ANSWERS, [actor, LARGEST])
    body = _to_json(work())
    RecordedAnswer.objects.filter(pk=inserted[0][0]).update(status=status, body=zlib.compress(body))
    return _stored_response(body, status)


def _repeated_response(first: RecordedAnswer, digest: str) -> HttpResponse:
    if first.request_digest != digest:
        raise Conflict("This idempotency key belongs to another request. Use a new key for a new request.")
    response = _stored_response(zlib.decompress(first.body), first.status)
    response["Idempotent-Replayed"] = "true"
    return response


def _request_digest(request: Request) -> str:
    """Return the digest of a request: the address, by either of its names, and the body as it was sent.
    Reading the body again would meet its depth again."""
    address = request.get_full_path().replace("/api/v1/", "/api/", 1)
    # Also half a sign, as an address may have it, has its digest
    request_line = f"{request.method} {address}\n".encode("utf-8", "surrogatepass")
    return hashlib.sha256(request_line + request.body).hexdigest()


def _to_json(answer: BaseModel) -> bytes:
    return answer.model_dump_json().encode()


def _stored_response(body: bytes, status: int) -> HttpResponse:
    return HttpResponse(body, status=status, content_type="application/json; charset=utf-8")
