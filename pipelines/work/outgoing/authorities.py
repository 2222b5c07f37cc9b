"""Authorities that may sign the certificates of servers: the public ones, and those that the operator adds,
such as a company's own. One set for a whole process: for its own calls and those of its stations."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Final

import certifi

SETTING: Final = "GATELINE_CA_BUNDLE"
USUAL: Final = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
"""Where nothing is set: what a shell behind a company's proxy has for other programs."""
PROGRAMS: Final = (
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
    "DENO_CERT",
    "AWS_CA_BUNDLE",
)
"""Variables by which programs are told: OpenSSL, Python, Go, uv · Node · git · curl · requests · pip · Cargo · …"""
CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")
REMEDY: Final = f"An operator can add its authority in {SETTING}."


def program_variables(bundle: Path) -> dict[str, str]:
    """Return the variables that tell programs to trust only the authorities in this file."""
    return dict.fromkeys(PROGRAMS, str(bundle))


class WrongBundle(Exception):
    """The file holds no certificates; the message says which."""


@dataclass(frozen=True)
class Authorities:
    """`own`: certificates that the operator adds, as PEM. `source`: the setting that named them, and its file."""

    own: tuple[str, ...] = field(default=(), repr=False)
    source: str = ""

    @cached_property
    def tls_context(self) -> ssl.SSLContext:
        made = _public_context()
        if self.own:
            made.load_verify_locations(cadata="\n".join(self.own))
        return made

    @cached_property
    def bundle_or_empty(self) -> str:
        """Certificates of all authorities together, for programs; "" where there are only the public ones,
        which programs know."""
        return (
            "\n".join((*map(ssl.DER_cert_to_PEM_cert, _public_certificates()), *self.own, ""))
            if self.own
            else ""
        )


def configured_authorities(environment: Mapping[str, str]) -> Authorities:
    """:raises WrongBundle: the setting names a file without certificates"""
    configured = environment.get(SETTING, "").strip()
    own, sources = dict[str, None](), list[str]()
    for name in (SETTING,) if configured else USUAL:
        if place := environment.get(name, "").strip():
            try:
                certificates = _certificates_in_file(Path(place).expanduser())
            except WrongBundle as error:
                if configured:
                    raise WrongBundle(f"{name} is “{place}”: {error}") from error
                # Only our own setting has to be right: the others are meant for other programs
                continue
            added = [
                certificate
                for certificate in certificates
                if ssl.PEM_cert_to_DER_cert(certificate) not in _public_certificates()
            ]
            own |= dict.fromkeys(added)
            sources += [f"{name}={place}"] if added else []
    return Authorities(tuple(own), ", ".join(sources))


def _certificates_in_file(path: Path) -> list[str]:
    """:raises WrongBundle: why there are none"""
    try:
        certificates = CERTIFICATE.findall(path.read_text("utf-8"))
        if certificates:
            # A test: what only looks like a certificate would fail at the first call
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata="\n".join(certificates))
            return certificates
    except OSError as error:
        # An SSLError is an OSError, too
        reason = "its certificates cannot be read" if isinstance(error, ssl.SSLError) else error.strerror
        raise WrongBundle(f"{reason}.") from error
    except ValueError as error:
        raise WrongBundle("it is no text.") from error
    raise WrongBundle("it holds no certificate in PEM.")


def _public_context() -> ssl.SSLContext:
    # Mozilla's, on every machine the same: httpx2 takes the system's, of which a bare one has none.
    return ssl.create_default_context(cafile=certifi.where())


@cache
def _public_certificates() -> tuple[bytes, ...]:
    return tuple(_public_context().get_ca_certs(binary_form=True))


_trusted: list[Authorities] = [Authorities()]


def set_trusted_authorities(authorities: Authorities) -> None:
    """Set the authorities that this process trusts, when it starts."""
    _trusted[:] = [authorities]


def trusted_authorities() -> Authorities:
    return _trusted[0]
