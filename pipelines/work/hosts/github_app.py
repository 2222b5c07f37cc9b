"""Signing in as a GitHub App: its private key signs a token of ten minutes, which is changed for one of an hour that
may do what its installation in this one repository may."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from pipelines.work.hosts.answers import number_field, object_field, text_field
from pipelines.work.hosts.errors import HostError
from pipelines.work.hosts.github import GitHub, api_url, request_headers
from pipelines.work.hosts.host_caller import HostCaller
from pipelines.work.hosts.page import HostPage, parsed_host_page
from pipelines.work.outgoing.guard import Guard
from pipelines.work.spec.hosting import HostAccess

SKEW, VALID = 60, 540
"""Seconds by which clocks may differ, and for which a signed token holds: GitHub takes ten minutes at most."""
SPARE = 600.0
"""A token with less than that left is not used for anything new."""
PEM = "-----BEGIN"


@dataclass(frozen=True)
class Installation:
    """`granted` {permission: read or write}; `until`: seconds since 1970."""

    token: str = field(repr=False)
    granted: Mapping[str, Any]
    until: float


_known: dict[str, Installation] = {}
"""Of this process, by what they were asked with."""


async def app_installation(access: HostAccess, guard: Guard) -> Installation:
    """:raises HostError"""
    page = parsed_host_page(access.page)
    identity = "\0".join((access.app, str(page), access.credential))
    # Hashed: the private key is not kept in the table.
    key = hashlib.sha256(identity.encode()).hexdigest()
    installation = _known.get(key)
    if installation is None or installation.until - SPARE < time.time():
        installation = _known[key] = await _request_installation(access, page, guard)
    return installation


async def git_credential(access: HostAccess | None, https: bool, credential: str, guard: Guard) -> str:
    """Return git's credential for signing in over https: of an app the token of its installation, else the
    credential itself.

    :raises HostError
    """
    if access is None or not access.app or not https or not access.credential.startswith(PEM):
        return credential
    # A credential of its own for git counts before the app
    if credential and not credential.startswith(PEM):
        return credential
    return (await app_installation(access, guard)).token


async def _request_installation(access: HostAccess, page: HostPage, guard: Guard) -> Installation:
    signed = request_headers(_signed_app_token(access.app, access.credential))
    host = HostCaller(GitHub.name, api_url(page), page.path, guard, signed)
    try:
        where = number_field(await host.call("GET", f"/repos/{page.quoted_path}/installation"), "id")
    except HostError as error:
        if error.status == 404:
            raise HostError(
                f"The GitHub App is not installed for {page.path}. Install it there.", 404
            ) from error
        raise
    path = f"/app/installations/{where}/access_tokens"
    # For this repository alone, though the app may be installed for more.
    response = await host.call("POST", path, {"repositories": [page.name]})
    token, until = text_field(response, "token"), _timestamp_or_now(text_field(response, "expires_at"))
    if not token:
        raise HostError("GitHub gave the app no token.")
    return Installation(token, object_field(response, "permissions"), until)


def _signed_app_token(app: str, key: str) -> str:
    """:raises HostError: it is no key that could sign"""
    try:
        private_key = load_pem_private_key(key.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise HostError("The secret is no private key of a GitHub App: store the whole .pem file.") from error
    if not isinstance(private_key, RSAPrivateKey):
        raise HostError("The private key of a GitHub App is an RSA key, and this secret is another.")
    now = int(time.time())
    parts = ({"alg": "RS256", "typ": "JWT"}, {"iat": now - SKEW, "exp": now + VALID, "iss": app})
    what = b".".join(_base64url(json.dumps(part).encode()) for part in parts)
    signature = private_key.sign(what, padding.PKCS1v15(), hashes.SHA256())
    return b".".join((what, _base64url(signature))).decode()


def _base64url(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _timestamp_or_now(timestamp: str) -> float:
    """Now, where it says none: then it is used once."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return time.time()
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
