"""Receipts: one way to write them, and whoever verifies brings the key."""

from __future__ import annotations

import base64
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gateline import receipts as alone
from gateline.commands.verify import receipt_sentences
from pipelines.formats.receipts import (
    LandedChange,
    ReceiptApproval,
    ReceiptInvalid,
    SignedVote,
    key_fingerprint,
    public_pem,
    read_key,
    sign_receipt,
    verified_landed_change,
)
from pipelines.routing.basics.canonical import canonical_json
from tests.fixtures.receipts import gateline_verify

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
AT = "2026-11-20T10:00:00.000000Z"
APPROVAL = ReceiptApproval(
    gate="code-review",
    visit="9c1f",
    round=2,
    evidence="e" * 64,
    tree="b" * 40,
    by="reviewer",
    at=AT,
    votes=[SignedVote("reviewer", "approve", "e" * 64, AT)],
)
CHANGE = LandedChange(
    project="acme/app",
    task="WI-app-42",
    line="fix",
    version=3,
    delivery=17,
    to="merge",
    repository="app",
    branch="main",
    base="a" * 40,
    commit="c" * 40,
    tree="b" * 40,
    at=AT,
    approval=APPROVAL,
)


def parts(receipt: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    envelope = json.loads(receipt)
    return envelope, json.loads(base64.b64decode(envelope["payload"]))


def signed(statement: Any, key: Ed25519PrivateKey = KEY, data: bytes | None = None) -> bytes:
    """An envelope around any statement, rightly signed."""
    payload = canonical_json(statement) if data is None else data
    kind = b"application/vnd.in-toto+json"
    told = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    envelope = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": kind.decode(),
        "signatures": [
            {"keyid": key_fingerprint(key.public_key()), "sig": base64.b64encode(key.sign(told)).decode()}
        ],
    }
    return canonical_json(envelope)


@pytest.mark.parametrize("change", [CHANGE, replace(CHANGE, approval=None, base="")])
def test_what_is_sealed_is_verified_and_is_always_the_same_bytes(change: LandedChange) -> None:
    receipt = sign_receipt(change, KEY)
    assert verified_landed_change(receipt, read_key(public_pem(KEY.public_key()).encode())) == change
    assert sign_receipt(change, KEY) == receipt == signed(change.statement())


def test_a_statement_is_one_of_in_toto_about_the_commit() -> None:
    envelope, statement = parts(sign_receipt(CHANGE, KEY))
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["subject"] == [
        {"name": "app@main", "digest": {"gitCommit": "c" * 40, "gitTree": "b" * 40}}
    ]
    assert statement["predicate"]["approval"]["votes"][0]["word"] == "approve"
    assert CHANGE.is_exact and not replace(CHANGE, tree="d" * 40).is_exact
    unknown = replace(CHANGE, approval=replace(APPROVAL, tree=""))
    assert (
        verified_landed_change(sign_receipt(unknown, KEY), KEY.public_key()) == unknown
        and not unknown.is_exact
    )


def test_the_same_change_on_another_base_names_both_trees() -> None:
    moved = replace(CHANGE, tree="d" * 40, rebase="same_patch")
    assert (
        verified_landed_change(sign_receipt(moved, KEY), KEY.public_key()) == moved
        and moved.is_same_patch
        and not moved.is_exact
    )
    assert "rebase" not in parts(sign_receipt(CHANGE, KEY))[1]["predicate"], "older receipts stay as they are"
    for said in ("", "never"):
        statement = moved.statement()
        statement["predicate"]["rebase"] = said
        assert "exactly these keys" in refusal(signed(statement))


def test_a_change_that_no_person_can_read_says_its_amount() -> None:
    large = replace(CHANGE, too_large_to_read={"files": 2_000, "bytes": 9})
    assert verified_landed_change(sign_receipt(large, KEY), KEY.public_key()) == large
    assert "too_large_to_read" not in parts(sign_receipt(CHANGE, KEY))[1]["predicate"], (
        "older receipts stay as they are"
    )
    statement = large.statement()
    for amount, why in (
        ({"files": 1}, "exactly these keys"),
        ({"files": "1", "bytes": 1}, "no whole number"),
    ):
        statement["predicate"]["too_large_to_read"] = amount
        assert why in refusal(signed(statement))


def refusal(receipt: bytes, key: Ed25519PrivateKey = KEY) -> str:
    """What the server says. The command, which shares nothing with it, refuses the same."""
    with pytest.raises(ReceiptInvalid) as found:
        verified_landed_change(receipt, key.public_key())
    with pytest.raises(alone.UnverifiableReceipt):
        alone.verified_receipt(receipt, key.public_key())
    return str(found.value)


def test_every_changed_byte_is_refused() -> None:
    receipt = sign_receipt(CHANGE, KEY)
    for at in range(len(receipt)):
        assert refusal(receipt[:at] + bytes([receipt[at] ^ 1]) + receipt[at + 1 :])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda e: e | {"more": 1}, "exactly these keys"),
        (lambda e: {"payload": e["payload"]}, "exactly these keys"),
        (lambda e: e | {"payloadType": "text/plain"}, "payloadType"),
        (lambda e: e | {"signatures": []}, "list of one"),
        (lambda e: e | {"signatures": e["signatures"] * 2}, "list of one"),
        (lambda e: e | {"signatures": [e["signatures"][0] | {"cert": ""}]}, "exactly these keys"),
        (lambda e: e | {"payload": e["payload"].replace("=", "") + "\n"}, "strict Base64"),
        (lambda e: e | {"payload": 1}, "strict Base64"),
        (lambda e: e | {"signatures": [e["signatures"][0] | {"keyid": "0" * 64}]}, "another key"),
        (lambda e: [e], "exactly these keys"),
    ],
)
def test_an_envelope_of_another_form_is_refused(change: Any, why: str) -> None:
    envelope, _statement = parts(sign_receipt(CHANGE, KEY))
    assert why in refusal(canonical_json(change(envelope)))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda s: s | {"more": 1}, "exactly these keys"),
        (lambda s: s | {"predicateType": "x"}, "another type"),
        (lambda s: s | {"subject": s["subject"] * 2}, "list of one"),
        (lambda s: s | {"subject": [s["subject"][0] | {"name": "other@main"}]}, "differently"),
        (lambda s: s | {"predicate": s["predicate"] | {"version": "3"}}, "version is no whole number"),
        (lambda s: s | {"predicate": s["predicate"] | {"task": 1}}, "task is no text"),
        (lambda s: s | {"predicate": s["predicate"] | {"base": "HEAD"}}, "is none"),
        (lambda s: s | {"predicate": s["predicate"] | {"approval": {}}}, "exactly these keys"),
        (lambda s: None, "exactly these keys"),
    ],
)
def test_a_statement_of_another_form_is_refused_though_it_is_signed(change: Any, why: str) -> None:
    _envelope, statement = parts(sign_receipt(CHANGE, KEY))
    assert why in refusal(signed(change(statement)))


def test_another_spelling_of_the_same_is_refused() -> None:
    envelope, statement = parts(sign_receipt(CHANGE, KEY))
    assert "one way" in refusal(json.dumps(envelope).encode())
    assert "one way" in refusal(signed(None, data=json.dumps(statement).encode()))
    assert "no JSON" in refusal(b"\xff") and "no JSON" in refusal(b"[" * 10_000)
    assert "1 MiB" in refusal(b" " * (1024 * 1024 + 1))


def test_the_key_comes_from_outside() -> None:
    assert "another key" in refusal(sign_receipt(CHANGE, OTHER))
    assert refusal(sign_receipt(CHANGE, OTHER).replace(
        key_fingerprint(OTHER.public_key()).encode(), key_fingerprint(KEY.public_key()).encode()
    )).startswith("The signature is wrong")  # fmt: skip
    with pytest.raises(ReceiptInvalid, match="no public key"):
        read_key(b"none")


@pytest.mark.parametrize("changes", [25, pytest.param(1_000, marks=pytest.mark.soak)])
def test_a_file_with_one_other_byte_is_refused_by_both_who_verify(changes: int) -> None:
    receipt, draw = sign_receipt(CHANGE, KEY), random.Random(15)
    assert alone.verified_receipt(receipt, KEY.public_key()).commit == CHANGE.commit
    places, said = set(), Counter[str]()
    while len(places) < changes:
        at, other = draw.randrange(len(receipt)), draw.randrange(256)
        if receipt[at] == other or (at, other) in places:
            continue
        places.add((at, other))
        said[refusal(receipt[:at] + bytes([other]) + receipt[at + 1 :])[:60]] += 1
    print(f"{changes} of {changes} refused; {len(said)} reasons, the most frequent: {said.most_common(3)}")


PROTECTION = {"approvals": 2, "groups": ["leads"], "gates": [], "changed_by": "owner"}
NOBODY = replace(APPROVAL, by="", votes=[])
OVERRIDE = replace(APPROVAL, by="admin", votes=[SignedVote("admin", "override", "e" * 64, AT)])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (CHANGE, f"Approved {AT} at code-review by reviewer, tree {'b' * 40}"),
        (
            replace(CHANGE, approval=NOBODY),
            f"Approved {AT} at code-review; who approved is not recorded, tree {'b' * 40}",
        ),
        (
            replace(CHANGE, approval=OVERRIDE),
            f"Approved {AT} at code-review by admin instead of the people that the gate asks, tree {'b' * 40}",
        ),
        (
            replace(CHANGE, protection=PROTECTION),
            "The repository is protected: 2 approvals, the group leads, none of it by them.",
        ),
        (
            replace(CHANGE, protection={**PROTECTION, "approvals": 0, "groups": [], "four_eyes": True}),
            "The repository is protected: a line that two people published.",
        ),
        (
            replace(CHANGE, to="request", protection=PROTECTION),
            "The repository asks, before anything is merged, for 2 approvals, the group leads, none of it by them.",
        ),
    ],
)
def test_the_command_says_who_approved_and_what_a_protection_is_about(
    change: LandedChange, sentence: str
) -> None:
    verified = alone.verified_receipt(sign_receipt(change, KEY), KEY.public_key())
    assert sentence in receipt_sentences(verified, is_looked_up=False)


def test_the_command_ends_with_one_where_something_is_wrong_or_was_not_approved(tmp_path: Path) -> None:
    file, key = tmp_path / "receipt.json", tmp_path / "key.pem"
    key.write_bytes(KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    file.write_bytes(sign_receipt(CHANGE, KEY))
    approved = gateline_verify(file, "--key", key, "--approved")
    assert approved.returncode == 0 and "Exactly what was approved." in approved.stdout, approved.stderr
    file.write_bytes(sign_receipt(replace(CHANGE, tree="d" * 40), KEY))
    assert gateline_verify(file, "--key", key).returncode == 0
    other = gateline_verify(file, "--key", key, "--approved")
    assert other.returncode == 1 and "not what a gate approved" in other.stderr
    file.write_bytes(sign_receipt(CHANGE, OTHER))
    forged = gateline_verify(file, "--key", key)
    assert forged.returncode == 1 and "Not valid: It was signed with another key" in forged.stderr
    assert gateline_verify("--key", key).returncode == 2
    assert gateline_verify(tmp_path / "none", "--key", key).returncode == 2
