"""Addresses of S3 that carry their signature (AWS Signature Version 4, in the query)."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from pipelines.work.artifact_stores.store import StoreFailed

ALGORITHM: Final = "AWS4-HMAC-SHA256"


@dataclass(frozen=True)
class S3Keys:
    """An access key with its secret; a session token where they are for a while."""

    access_key: str
    secret_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)


def keys_of_environment() -> S3Keys:
    """Return the keys in the variables that programs for S3 read. :raises StoreFailed: there are none"""
    access_key, secret_key = (
        os.environ.get(f"AWS_{name}", "").strip() for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY")
    )
    if not (access_key and secret_key):
        raise StoreFailed(
            "GATELINE_ARTIFACT_STORE names a bucket, and there are no keys for it. "
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the same with _FILE."
        )
    return S3Keys(access_key, secret_key, os.environ.get("AWS_SESSION_TOKEN", "").strip())


def signed_url(
    keys: S3Keys, region: str, method: str, url: str, headers: Mapping[str, str], seconds: int, at: datetime
) -> str:
    """Return the address for one call that begins within so many seconds, with exactly these headers."""
    parts, stamp = urlsplit(url), at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    signed_headers = {"host": parts.netloc, **{name.lower(): text.strip() for name, text in headers.items()}}
    names = ";".join(sorted(signed_headers))
    query = {
        **dict(parse_qsl(parts.query, keep_blank_values=True)),
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{keys.access_key}/{scope}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(seconds),
        "X-Amz-SignedHeaders": names,
        **({"X-Amz-Security-Token": keys.session_token} if keys.session_token else {}),
    }
    encoded = urlencode(sorted(query.items()), quote_via=quote, safe="-_.~")
    lines = "".join(f"{name}:{text}\n" for name, text in sorted(signed_headers.items()))
    call = f"{method}\n{parts.path or '/'}\n{encoded}\n{lines}\n{names}\nUNSIGNED-PAYLOAD"
    text = f"{ALGORITHM}\n{stamp}\n{scope}\n{hashlib.sha256(call.encode()).hexdigest()}"
    key = f"AWS4{keys.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return f"{parts.scheme}://{parts.netloc}{parts.path}?{encoded}&X-Amz-Signature={signature}"
