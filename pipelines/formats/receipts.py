"""Receipts of deliveries (law §15): an in-toto Statement in a DSSE envelope, signed with Ed25519.

There is one way to write a receipt: RFC 8785 for the envelope and for the statement in it, strict Base64, no key that
is not known, the fingerprint of the key as its name. Whoever verifies brings the key; what a receipt says of its key is
compared, never believed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from pipelines.routing.basics.canonical import CanonicalError, canonical_json

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:gateline:delivery:1"
SAME_PATCH: Final = "same_patch"
OPTIONAL: Final = frozenset(("rebase", "host", "requester", "producers", "protection", "too_large_to_read"))
MOST_BYTES: Final = 1024 * 1024
# Commits and trees of git: 40 digits of SHA-1, or 64 of SHA-256
_HASH: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class ReceiptInvalid(Exception):
    """Tells in a sentence why a receipt is no receipt."""


@dataclass(frozen=True)
class SignedVote:
    """`evidence`: the digest of what the person saw."""

    by: str
    word: str
    evidence: str
    at: str


@dataclass(frozen=True)
class ReceiptApproval:
    """The gate that approved; `tree`: exactly what, "" where nothing says it."""

    gate: str
    visit: str
    round: int
    evidence: str
    tree: str
    by: str
    at: str
    votes: Sequence[SignedVote] = ()


@dataclass(frozen=True)
class LandedChange:
    """Landed change: what landed where. Times are ISO 8601 in UTC. `to`: merge, request or push. `rebase`:
    same_patch where the approval is of the same change on another base; `host`: which host merged it, by
    its own call or queue. `too_large_to_read`: {files, bytes} of a change of which no person can have read
    everything (law §6); `requester`, `producers`: user names of who asked for the change and who made it;
    `protection`: {approvals, groups, gates, changed_by, and four_eyes where that is true} of the
    repository, stored when it was delivered. The statement has these keys only then."""

    project: str
    task: str
    line: str
    version: int
    delivery: int
    to: str
    repository: str
    branch: str
    base: str
    commit: str
    tree: str
    at: str
    approval: ReceiptApproval | None = None
    rebase: str = ""
    host: str = ""
    requester: str = ""
    producers: Sequence[str] = ()
    protection: Mapping[str, Any] | None = None
    too_large_to_read: Mapping[str, int] | None = None

    @property
    def is_same_patch(self) -> bool:
        """Return whether it is the approved change, hunk by hunk, on a base that moved, and was checked again
        there."""
        return self.rebase == SAME_PATCH and self.approval is not None and not self.is_exact

    @property
    def is_exact(self) -> bool:
        """Return whether what landed is the tree that was approved."""
        return self.approval is not None and self.approval.tree == self.tree

    def statement(self) -> dict[str, Any]:
        fields = asdict(self)
        votes = [asdict(vote) for vote in self.approval.votes] if self.approval else []
        approval = {**fields["approval"], "votes": votes} if self.approval else None
        predicate = {key: value for key, value in fields.items() if key not in ("commit", "tree", "approval")}
        # A list, as JSON gives it back: a receipt that is read is compared with its statement.
        predicate["producers"] = list(self.producers)
        for key in OPTIONAL:
            if not predicate[key]:
                del predicate[key]
        return {
            "_type": STATEMENT_TYPE,
            "subject": [
                {
                    "name": f"{self.repository}@{self.branch}",
                    "digest": {"gitCommit": self.commit, "gitTree": self.tree},
                }
            ],
            "predicateType": PREDICATE_TYPE,
            "predicate": {**predicate, "approval": approval},
        }


def key_fingerprint(key: Ed25519PublicKey) -> str:
    """SHA-256 of the key as a SubjectPublicKeyInfo, in hex."""
    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def public_pem(key: Ed25519PublicKey) -> str:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def read_key(pem: bytes) -> Ed25519PublicKey:
    """Raises ReceiptInvalid."""
    try:
        key = load_pem_public_key(pem)
    except (ValueError, TypeError) as error:
        raise ReceiptInvalid("The key is no public key in PEM.") from error
    if not isinstance(key, Ed25519PublicKey):
        raise ReceiptInvalid("The key is no Ed25519 key.")
    return key


def sign_receipt(change: LandedChange, key: Ed25519PrivateKey) -> bytes:
    """The receipt, ready to be kept as a file."""
    return sign_statement(change.statement(), key)


def sign_statement(statement: Mapping[str, Any], key: Ed25519PrivateKey) -> bytes:
    """Return the envelope of a statement, in the one way that is allowed."""
    payload = canonical_json(statement)
    envelope = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [
            {
                "keyid": key_fingerprint(key.public_key()),
                "sig": base64.b64encode(key.sign(_bytes_to_sign(payload))).decode(),
            }
        ],
    }
    return canonical_json(envelope)


def verified_landed_change(receipt: bytes, key: Ed25519PublicKey) -> LandedChange:
    """Read what the receipt says, if this key signed it. Raises ReceiptInvalid."""
    envelope = _parse_canonical(receipt, "The receipt")
    _mapping_with_exactly_these_keys(envelope, ("payload", "payloadType", "signatures"), "the receipt")
    if envelope["payloadType"] != PAYLOAD_TYPE:
        raise ReceiptInvalid(f"payloadType is not {PAYLOAD_TYPE}.")
    signatures = envelope["signatures"]
    if not isinstance(signatures, list) or len(signatures) != 1:
        raise ReceiptInvalid("signatures is not a list of one.")
    _mapping_with_exactly_these_keys(signatures[0], ("keyid", "sig"), "signatures[0]")
    payload = _decode_base64(envelope["payload"], "payload")
    if signatures[0]["keyid"] != key_fingerprint(key):
        raise ReceiptInvalid("It was signed with another key than this one.")
    try:
        key.verify(_decode_base64(signatures[0]["sig"], "signatures[0].sig"), _bytes_to_sign(payload))
    except InvalidSignature as error:
        raise ReceiptInvalid("The signature is wrong: the receipt was changed, or forged.") from error
    return read_statement(_parse_canonical(payload, "The statement"))


def _bytes_to_sign(payload: bytes) -> bytes:
    """Return the bytes to sign: DSSE's PAE."""
    kind = PAYLOAD_TYPE.encode()
    # The lengths keep type and payload apart: no other pair gives the same bytes.
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def _parse_canonical(data: bytes, what: str) -> Any:
    if len(data) > MOST_BYTES:
        raise ReceiptInvalid(f"{what} is larger than 1 MiB.")
    try:
        document = json.loads(data.decode())
        same = canonical_json(document) == data
    # RecursionError: it is nested deeper than the interpreter's stack.
    except (ValueError, RecursionError, CanonicalError) as error:
        raise ReceiptInvalid(f"{what} is no JSON.") from error
    if not same:
        raise ReceiptInvalid(f"{what} is not written in the one way that is allowed (RFC 8785).")
    return document


def _decode_base64(value: Any, place: str) -> bytes:
    """Return the bytes of strict Base64: encoding them again gives the same text."""
    try:
        decoded = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        decoded = b""
    if not decoded or base64.b64encode(decoded).decode() != value:
        raise ReceiptInvalid(f"{place} is no strict Base64.")
    return decoded


def _mapping_with_exactly_these_keys(value: Any, keys: Iterable[str], place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or set(value) != set(keys):
        raise ReceiptInvalid(
            f"{place[0].upper()}{place[1:]} does not have exactly these keys: {', '.join(keys)}."
        )
    return value


def read_statement(statement: Any) -> LandedChange:
    """Read the statement of a receipt. Raises ReceiptInvalid."""
    _mapping_with_exactly_these_keys(
        statement, ("_type", "subject", "predicateType", "predicate"), "the statement"
    )
    if (statement["_type"], statement["predicateType"]) != (STATEMENT_TYPE, PREDICATE_TYPE):
        raise ReceiptInvalid("The statement is of another type.")
    raw_predicate = statement["predicate"]
    there = {field for field in OPTIONAL if isinstance(raw_predicate, dict) and raw_predicate.get(field)}
    if "rebase" in there and raw_predicate["rebase"] != SAME_PATCH:
        # Any other word is refused as a key that is not known.
        there.remove("rebase")
    predicate = dict(
        _mapping_with_exactly_these_keys(raw_predicate, _PREDICATE - (OPTIONAL - there), "predicate")
    )
    subjects = statement["subject"]
    if not isinstance(subjects, list) or len(subjects) != 1:
        raise ReceiptInvalid("subject is not a list of one.")
    digest = _mapping_with_exactly_these_keys(
        _mapping_with_exactly_these_keys(subjects[0], ("name", "digest"), "subject[0]")["digest"],
        ("gitCommit", "gitTree"),
        "digest",
    )
    approval = predicate.pop("approval")
    producers = _checked_texts(predicate.pop("producers", []), "producers")
    change = LandedChange(
        **predicate,
        producers=producers,
        commit=digest["gitCommit"],
        tree=digest["gitTree"],
        approval=_receipt_approval(approval) if approval is not None else None,
    )
    for name, kind in LandedChange.__annotations__.items():
        _check_type(getattr(change, name), kind, name)
    _check_protection(change.protection)
    _check_amount(change.too_large_to_read)
    _check_hashes(change)
    if change.statement() != statement:
        raise ReceiptInvalid("The statement says its own subject differently in two places.")
    return change


def _check_protection(rules: Any) -> None:
    if rules is None:
        return
    extra = ("four_eyes",) if isinstance(rules, dict) and rules.get("four_eyes") is True else ()
    _mapping_with_exactly_these_keys(
        rules, ("approvals", "groups", "gates", "changed_by", *extra), "protection"
    )
    _check_type(rules["approvals"], "int", "protection.approvals")
    _check_type(rules["changed_by"], "str", "protection.changed_by")
    for key in ("groups", "gates"):
        _checked_texts(rules[key], f"protection.{key}")


def _check_amount(amount: Any) -> None:
    if amount is None:
        return
    _mapping_with_exactly_these_keys(amount, ("files", "bytes"), "too_large_to_read")
    for key, number in amount.items():
        _check_type(number, "int", f"too_large_to_read.{key}")


def _checked_texts(value: Any, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ReceiptInvalid(f"{place} is no list of texts.")
    return tuple(value)


def _receipt_approval(raw_approval: Any) -> ReceiptApproval:
    members = dict(
        _mapping_with_exactly_these_keys(raw_approval, tuple(ReceiptApproval.__annotations__), "approval")
    )
    votes = members.pop("votes")
    if not isinstance(votes, list):
        raise ReceiptInvalid("approval.votes is not a list.")
    made = [
        SignedVote(**_mapping_with_exactly_these_keys(raw_vote, tuple(SignedVote.__annotations__), "a vote"))
        for raw_vote in votes
    ]
    approval = ReceiptApproval(**members, votes=made)
    for name, kind in ReceiptApproval.__annotations__.items():
        _check_type(getattr(approval, name), kind, f"approval.{name}")
    for vote in made:
        for name, kind in SignedVote.__annotations__.items():
            _check_type(getattr(vote, name), kind, f"votes.{name}")
    return approval


def _check_type(value: Any, kind: str, place: str) -> None:
    expected = {"str": str, "int": int}.get(kind)
    # `type`, not isinstance: true is no whole number.
    if expected is not None and type(value) is not expected:
        raise ReceiptInvalid(f"{place} is no {'text' if expected is str else 'whole number'}.")


def _check_hashes(change: LandedChange) -> None:
    trees = [change.commit, change.tree, *([change.base] if change.base else [])]
    digests = []
    if change.approval is not None:
        trees += [change.approval.tree] if change.approval.tree else []
        digests = [change.approval.evidence, *(vote.evidence for vote in change.approval.votes)]
    if not all(map(_HASH.fullmatch, trees)) or not all(map(_DIGEST.fullmatch, digests)):
        raise ReceiptInvalid("A commit, a tree or a digest is none.")


_PREDICATE: Final = LandedChange.__annotations__.keys() - {"commit", "tree"}
