"""Requests that come twice, by a second click or over a bad network, and are carried out once.

The key is inserted in the transaction that does the work. A second request with the same key waits for that
transaction and then finds its answer; a refused request leaves no row, so it can be corrected and sent again."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode
from uuid import uuid4

from django.http import QueryDict

from pipelines.engine.core.transaction import run_in_transaction
from pipelines.errors import Conflict
from pipelines.models import RecordedAnswer
from pipelines.models.plumbing.compiled_queries import execute, fetch
from pipelines.web.statements import DELETE_EXPIRED_ANSWERS, DELETE_SURPLUS_ANSWERS, RECORD_KEY

HOURS = 24
LARGEST = 1_000
"""Answers kept for each person or machine; the oldest go first."""
# Expired answers, of anybody, that one request deletes
AT_ONCE = 100
FORM_KEY = "request_key"
"""Field of a form that names one showing of it."""
CSRF = "csrfmiddlewaretoken"


@dataclass(frozen=True, slots=True)
class RequestAnswer:
    """Answer of a request. `is_repeat`: it was given before."""

    status: int
    body: bytes
    is_repeat: bool = False


def carry_out_once(
    actor: str, key: str, digest: str, work: Callable[[], bytes], status: int = 200
) -> RequestAnswer:
    """Return the answer of `work`, or, for a key that this actor used before, the answer it got then. `digest`: of
    the request. Callers check access first: a repeat needs the same rights as the request.

    Raises Conflict when the key was used for another request, and whatever `work` raises."""
    return run_in_transaction(partial(_carry_out_recorded, actor, key, digest, work, status))


def _carry_out_recorded(
    actor: str, key: str, digest: str, work: Callable[[], bytes], status: int
) -> RequestAnswer:
    execute(DELETE_EXPIRED_ANSWERS, [HOURS, AT_ONCE])
    # The key first: of two equal requests at once the second waits here for the answer of the first
    inserted = fetch(RECORD_KEY, [actor, key, digest])
    if not inserted:
        return _repeated_answer(RecordedAnswer.objects.get(actor=actor, key=key), digest)
    execute(DELETE_SURPLUS_ANSWERS, [actor, LARGEST])
    body = work()
    RecordedAnswer.objects.filter(pk=inserted[0][0]).update(status=status, body=zlib.compress(body))
    return RequestAnswer(status, body)


def _repeated_answer(first: RecordedAnswer, digest: str) -> RequestAnswer:
    if first.request_digest != digest:
        raise Conflict("This idempotency key belongs to another request. Use a new key for a new request.")
    return RequestAnswer(first.status, zlib.decompress(first.body), is_repeat=True)


# Forms: each showing has a key of its own, so that a second click sends the same request.


def new_form_key() -> str:
    return uuid4().hex


def submit_once(actor: str, path: str, form: QueryDict, work: Callable[[], str]) -> str:
    """Return the answer of `work` to a form, or the one that it got when it was sent before. Whoever goes back and
    changes the form sends another request; a form without a key is always carried out."""
    if not form.get(FORM_KEY):
        return work()
    fields = sorted((name, value) for name, values in form.lists() for value in values if name != CSRF)
    # Also half a sign, as a form may have it, has its digest
    sent = f"{path}\n{urlencode(fields, errors='surrogatepass')}".encode()
    digest = hashlib.sha256(sent).hexdigest()
    return carry_out_once(actor, f"form:{digest}", digest, lambda: work().encode()).body.decode()
