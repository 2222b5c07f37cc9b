"""Verification of signed receipts of deliveries, and of tombstones of purged tasks: an in-toto Statement in a DSSE
envelope, signed with Ed25519. Nothing of the server is used or believed: whoever verifies brings the public key, and
git says what a commit holds."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:gateline:delivery:1"
TOMBSTONE_TYPE: Final = "urn:gateline:tombstone:1"
MOST_BYTES: Final = 1 << 20
TEXTS: Final = ("project", "task", "line", "to", "repository", "branch", "base", "at")
NUMBERS: Final = ("version", "delivery")
OPTIONAL: Final = ("rebase", "host", "requester", "producers", "protection", "too_large_to_read")
APPROVAL: Final = ("gate", "visit", "round", "evidence", "tree", "by", "at", "votes")
TOMBSTONE: Final = (
    *("project", "task", "line", "version", "status", "end", "started", "ended", "purged", "days"),
    *("events", "receipts"),
)
VOTE: Final = ("by", "word", "evidence", "at")
SAME_PATCH: Final = "same_patch"
# Commits and trees of git: 40 digits of SHA-1, or 64 of SHA-256; nothing where it is not known
HASH: Final = re.compile(r"([0-9a-f]{40}([0-9a-f]{24})?)?")
DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class UnverifiableReceipt(Exception):
    """Says in a sentence what is wrong with a receipt."""


class Receipt:
    """Content of a receipt that the key signed. `fields`: of its predicate, by the names of the format."""

    def __init__(self, statement: Mapping[str, Any]) -> None:
        subject, self.fields = statement["subject"][0], statement["predicate"]
        self.commit: str = subject["digest"]["gitCommit"]
        self.tree: str = subject["digest"]["gitTree"]

    @property
    def approval(self) -> Mapping[str, Any] | None:
        return self.fields["approval"]

    @property
    def is_exact(self) -> bool:
        """Return whether what landed is the tree that was approved."""
        return self.approval is not None and self.approval["tree"] == self.tree

    @property
    def is_same_patch(self) -> bool:
        """Return whether it is the approved change on a base that moved, checked again there."""
        return self.approval is not None and self.fields.get("rebase") == SAME_PATCH and not self.is_exact


class PurgedTask:
    """Content of a tombstone that the key signed. `fields`: of its predicate, by the names of the format."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields

    def check_and_count_events(self, lines: Iterable[bytes]) -> int:
        """Compare exported events, one a line, with the digests of what was purged; how many were of this task.
        Raises UnverifiableReceipt: one of them was changed."""
        numbers = set()
        for line in filter(None, map(bytes.strip, lines)):
            event = _parse_event(line)
            if event["work_item_id"] != self.fields["task"]:
                continue
            digest, number = _canonical_digest(event), event["sequence"]
            if not 1 <= number <= len(self.fields["events"]) or self.fields["events"][number - 1] != digest:
                raise UnverifiableReceipt(f"Event {number} is not the one that was purged.")
            numbers.add(number)
        return len(numbers)


def _parse_event(line: bytes) -> Mapping[str, Any]:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UnverifiableReceipt("A line of the events is no JSON.") from error
    if not isinstance(event, dict) or type(event.get("sequence")) is not int or "work_item_id" not in event:
        raise UnverifiableReceipt("A line of the events is no exported event.")
    return event


def _canonical_digest(value: Any) -> str:
    try:
        return hashlib.sha256(rfc8785.dumps(value)).hexdigest()
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise UnverifiableReceipt("A line of the events is no exported event.") from error


def read_public_key(pem: bytes) -> Ed25519PublicKey:
    """Raises UnverifiableReceipt."""
    try:
        key = load_pem_public_key(pem)
    except (ValueError, TypeError) as error:
        raise UnverifiableReceipt("The key is no public key in PEM.") from error
    if not isinstance(key, Ed25519PublicKey):
        raise UnverifiableReceipt("The key is no Ed25519 key.")
    return key


def verified_receipt(data: bytes, key: Ed25519PublicKey) -> Receipt:
    """Return the receipt, if this key signed it and it is canonical. Raises UnverifiableReceipt."""
    statement = _verified_statement(data, key)
    _check_statement(statement)
    return Receipt(statement)


def verified_tombstone(data: bytes, key: Ed25519PublicKey) -> PurgedTask:
    """Return the tombstone of a purged task, as `verified_receipt` does. Raises UnverifiableReceipt."""
    statement = _verified_statement(data, key)
    _require_keys(statement, ("_type", "subject", "predicateType", "predicate"), "The statement")
    if (statement["_type"], statement["predicateType"]) != (STATEMENT_TYPE, TOMBSTONE_TYPE):
        raise UnverifiableReceipt("It is no tombstone of a purged task.")
    predicate = statement["predicate"]
    _require_keys(predicate, TOMBSTONE, "The predicate")
    _require_types({name: predicate[name] for name in ("task", "purged", "line")}, str, "text")
    events = predicate["events"]
    if not isinstance(events, list) or not all(
        isinstance(one, str) and DIGEST.fullmatch(one) for one in events
    ):
        raise UnverifiableReceipt("Its events are no list of digests.")
    return PurgedTask(predicate)


def _verified_statement(data: bytes, key: Ed25519PublicKey) -> Any:
    envelope = _parse_canonical_object(data, "The receipt")
    _require_keys(envelope, ("payload", "payloadType", "signatures"), "The receipt")
    signatures = envelope["signatures"]
    if envelope["payloadType"] != PAYLOAD_TYPE or not isinstance(signatures, list) or len(signatures) != 1:
        raise UnverifiableReceipt(f"The receipt is not of type {PAYLOAD_TYPE} with one signature.")
    _require_keys(signatures[0], ("keyid", "sig"), "The signature")
    payload, signature = _decode_base64(envelope["payload"]), _decode_base64(signatures[0]["sig"])
    public = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    # Told apart from a wrong signature: it is the usual mistake
    if signatures[0]["keyid"] != hashlib.sha256(public).hexdigest():
        raise UnverifiableReceipt("It was signed with another key than this one.")
    kind = PAYLOAD_TYPE.encode()
    try:
        # DSSE's PAE: the lengths keep type and payload apart
        key.verify(signature, b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
    except InvalidSignature as error:
        raise UnverifiableReceipt("The signature is wrong: the receipt was changed, or forged.") from error
    # Read after the signature held: nothing of a forged one is parsed
    return _parse_canonical_object(payload, "The statement")


def _check_statement(statement: Mapping[str, Any]) -> None:
    _require_keys(statement, ("_type", "subject", "predicateType", "predicate"), "The statement")
    if (statement["_type"], statement["predicateType"]) != (STATEMENT_TYPE, PREDICATE_TYPE):
        raise UnverifiableReceipt("The statement is of another type.")
    predicate, subjects = statement["predicate"], statement["subject"]
    # A key that may be absent is there only with a value
    extra = [name for name in OPTIONAL if isinstance(predicate, dict) and predicate.get(name)]
    _require_keys(predicate, (*TEXTS, *NUMBERS, "approval", *extra), "The predicate")
    if not isinstance(subjects, list) or len(subjects) != 1:
        raise UnverifiableReceipt("The statement is not about one commit.")
    _require_keys(subjects[0], ("name", "digest"), "The subject")
    _require_keys(subjects[0]["digest"], ("gitCommit", "gitTree"), "The digest")
    texts = {name: predicate[name] for name in TEXTS} | dict(subjects[0]["digest"])
    _require_types(texts, str, "text")
    _require_types({name: predicate[name] for name in NUMBERS}, int, "whole number")
    if subjects[0]["name"] != f"{predicate['repository']}@{predicate['branch']}":
        raise UnverifiableReceipt("The statement says its own subject differently in two places.")
    _require_hashes(HASH, [*subjects[0]["digest"].values(), predicate["base"]])
    _check_optional(predicate)
    if predicate["approval"] is not None:
        _check_approval(predicate["approval"])


def _check_optional(predicate: Mapping[str, Any]) -> None:
    _require_types(
        {name: predicate[name] for name in ("host", "requester") if name in predicate}, str, "text"
    )
    if predicate.get("rebase", SAME_PATCH) != SAME_PATCH:
        raise UnverifiableReceipt(f"rebase is not {SAME_PATCH}.")
    _require_texts(predicate.get("producers", []), "producers")
    if amount := predicate.get("too_large_to_read"):
        _require_keys(amount, ("files", "bytes"), "too_large_to_read")
        _require_types(amount, int, "whole number")
    if rules := predicate.get("protection"):
        extra = ("four_eyes",) if isinstance(rules, dict) and rules.get("four_eyes") is True else ()
        _require_keys(rules, ("approvals", "groups", "gates", "changed_by", *extra), "The protection")
        _require_types({"approvals": rules["approvals"]}, int, "whole number")
        _require_types({"changed_by": rules["changed_by"]}, str, "text")
        for name in ("groups", "gates"):
            _require_texts(rules[name], f"protection.{name}")


def _check_approval(approval: Any) -> None:
    _require_keys(approval, APPROVAL, "The approval")
    _require_types({name: approval[name] for name in APPROVAL if name not in ("round", "votes")}, str, "text")
    if not isinstance(approval["votes"], list):
        raise UnverifiableReceipt("The votes are no list.")
    for vote in approval["votes"]:
        _require_keys(vote, VOTE, "A vote")
        _require_types(vote, str, "text")
    _require_hashes(HASH, [approval["tree"]])
    _require_hashes(DIGEST, [approval["evidence"], *(vote["evidence"] for vote in approval["votes"])])


def _require_hashes(pattern: re.Pattern[str], texts: list[str]) -> None:
    """Check commits, trees or digests; of the base and of the tree that was approved none may be known."""
    if not all(pattern.fullmatch(text) for text in texts):
        raise UnverifiableReceipt("A commit, a tree or a digest is none.")


def _require_texts(value: Any, place: str) -> None:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise UnverifiableReceipt(f"{place} is no list of texts.")


def _require_keys(value: Any, keys: tuple[str, ...], place: str) -> None:
    if not isinstance(value, dict) or set(value) != set(keys):
        raise UnverifiableReceipt(f"{place} does not have exactly these keys: {', '.join(keys)}.")


def _require_types(values: Mapping[str, Any], kind: type, word: str) -> None:
    for name, value in values.items():
        # Not isinstance: true is no whole number
        if type(value) is not kind:
            raise UnverifiableReceipt(f"{name} is no {word}.")


def _parse_canonical_object(data: bytes, place: str) -> Any:
    if len(data) > MOST_BYTES:
        raise UnverifiableReceipt(f"{place} is larger than 1 MiB.")
    try:
        value = json.loads(data)
        is_canonical = rfc8785.dumps(value) == data
    # RecursionError: nested deeper than the interpreter goes
    except (ValueError, RecursionError, rfc8785.CanonicalizationError) as error:
        raise UnverifiableReceipt(f"{place} is no JSON.") from error
    if not is_canonical:
        raise UnverifiableReceipt(f"{place} is not written in the one way that is allowed (RFC 8785).")
    return value


def _decode_base64(text: Any) -> bytes:
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        data = b""
    if not data or base64.b64encode(data).decode() != text:
        raise UnverifiableReceipt("Payload or signature is no strict Base64.")
    return data
