"""A company's own certificate authority, made for a test, and a server of its."""

from __future__ import annotations

import datetime
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

BEGIN = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
END = datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class CompanyAuthority:
    """`bundle`: the file with its certificate. `server`: for `localhost` and `registry.test`, signed by it."""

    bundle: Path
    server: ssl.SSLContext


def company_authority(folder: Path) -> CompanyAuthority:
    key, name = ec.generate_private_key(ec.SECP256R1()), _name("A company")
    root = _begun(name, name, key).add_extension(x509.BasicConstraints(True, 0), critical=True)
    made = root.sign(key, SHA256())
    bundle = folder / "company.pem"
    bundle.write_bytes(made.public_bytes(Encoding.PEM))
    own = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.DNSName("registry.test")])
    leaf = _begun(_name("localhost"), name, own).add_extension(names, critical=False).sign(key, SHA256())
    both = folder / "server.pem"
    private = own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    both.write_bytes(private + leaf.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return CompanyAuthority(bundle, context)


def _name(word: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, word)])


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    made = x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
    return made.not_valid_before(BEGIN).not_valid_after(END)
