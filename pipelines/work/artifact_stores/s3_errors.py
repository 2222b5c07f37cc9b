"""Refusals of a bucket in words: what is wrong, where, and what to do."""

from __future__ import annotations

from typing import Final

import httpx2
from defusedxml import ElementTree

from pipelines.work.artifact_stores.store import StoreAway, StoreFailed, WrongContent

KEYS: Final = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
REMEDIES: Final = {
    "NoSuchBucket": "It has no bucket “{bucket}”. Create it, or correct GATELINE_ARTIFACT_STORE.",
    "InvalidBucketName": "“{bucket}” is no name of a bucket. Correct GATELINE_ARTIFACT_STORE.",
    "InvalidAccessKeyId": f"It does not know the access key. Correct {KEYS}.",
    "SignatureDoesNotMatch": f"The secret key does not fit the access key. Correct {KEYS}.",
    "AccessDenied": "The key may not do this. Allow it to get, put and delete objects of “{bucket}”.",
    "RequestTimeTooSkewed": "The clocks of this machine and of the store differ. Set them.",
    "ExpiredToken": "The session token has expired. Set a newer AWS_SESSION_TOKEN.",
    "AuthorizationHeaderMalformed": "The region is another one. Name it with region= in GATELINE_ARTIFACT_STORE.",
    "PermanentRedirect": "The bucket lies elsewhere. Correct region= or endpoint= in GATELINE_ARTIFACT_STORE.",
}
"""{code of the store: what is wrong, and the remedy}"""
WRONG_BYTES: Final = frozenset(
    ("BadDigest", "XAmzContentChecksumMismatch", "InvalidDigest", "IncompleteBody")
)
# Answers that are another one a little later
BUSY: Final = frozenset((408, 409, 429, 500, 502, 503, 504))
OF_STATUS: Final = {403: "AccessDenied", 404: "NoSuchKey"}
"""Codes of answers without a body, such as those to HEAD."""


def refusal_of_answer(answer: httpx2.Response, bucket: str, base: str, name: str) -> OSError:
    """Return the error to raise for an answer of the store."""
    code = _code_of(answer)
    if code == "NoSuchKey":
        return FileNotFoundError(f"The artifact store at {base} has no {name}.")
    if code in WRONG_BYTES:
        return WrongContent(f"{name} is not what its digest says: the artifact store did not take it.")
    place = f"The artifact store at {base} refused a call ({answer.status_code} {code})."
    if answer.status_code in BUSY and code not in REMEDIES:
        return StoreAway(f"{place} Try again; its own log says more.")
    remedy = REMEDIES.get(code, "Its own log says more.")
    return StoreFailed(f"{place} {remedy.format(bucket=bucket)}")


def _code_of(answer: httpx2.Response) -> str:
    try:
        code = ElementTree.fromstring(answer.content).findtext("{*}Code") if answer.content else None
    except (ElementTree.ParseError, ValueError):
        code = None
    return code or OF_STATUS.get(answer.status_code, answer.reason_phrase)
