"""A passkey whose key is in memory, as a browser would use it."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from django.test import Client
from django.urls import reverse
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import Aaguid, AttestationObject, AttestedCredentialData, AuthenticatorData

from pipelines.models import User

HOST = "testserver"
FLAG = AuthenticatorData.FLAG
UNLOCKED = FLAG.UP | FLAG.UV


class Passkey:
    def __init__(self, user: User) -> None:
        self.user, self.id = user, secrets.token_bytes(16)
        self.key = ec.generate_private_key(ec.SECP256R1())
        public = ES256.from_cryptography_key(self.key.public_key())
        credential = AttestedCredentialData.create(Aaguid(bytes(16)), self.id, public)
        attested = AttestationObject.create("none", self._data(UNLOCKED | FLAG.AT, credential), {})
        response = {
            "attestationObject": websafe_encode(attested),
            **self._client("webauthn.create", websafe_encode(bytes(16))),
        }
        stored = self._credential(response) | {"clientExtensionResults": {"credProps": {"rk": True}}}
        data = {"name": "Passkey 1", "credential": stored}
        Authenticator.objects.create(user=user, type=Authenticator.Type.WEBAUTHN, data=data)

    def sign_in(self, client: Client) -> Any:
        """Press the button of the sign-in page and unlock the device."""
        asks = {"X-Requested-With": "XMLHttpRequest"}
        options = client.get(reverse("mfa_login_webauthn"), headers=asks, secure=True).json()
        said = self._client("webauthn.get", options["request_options"]["publicKey"]["challenge"])
        data = bytes(self._data(UNLOCKED, None))
        digest = hashlib.sha256(self._text).digest()
        response = {
            **said,
            "authenticatorData": websafe_encode(data),
            "signature": websafe_encode(self.key.sign(data + digest, ec.ECDSA(hashes.SHA256()))),
            "userHandle": websafe_encode(user_pk_to_url_str(self.user).encode()),
        }
        form = {"credential": json.dumps(self._credential(response))}
        return client.post(reverse("mfa_login_webauthn"), form, secure=True)

    def _data(
        self, flags: AuthenticatorData.FLAG, credential: AttestedCredentialData | None
    ) -> AuthenticatorData:
        of_host = hashlib.sha256(HOST.encode()).digest()
        return AuthenticatorData.create(of_host, flags, 0, credential or b"")

    def _client(self, kind: str, challenge: str) -> dict[str, str]:
        said = {"type": kind, "challenge": challenge, "origin": f"https://{HOST}"}
        self._text = json.dumps(said).encode()
        return {"clientDataJSON": websafe_encode(self._text)}

    def _credential(self, response: dict[str, str]) -> dict[str, Any]:
        name = websafe_encode(self.id)
        return {"id": name, "rawId": name, "type": "public-key", "response": response}
