"""Verify the receipt of a delivery with a public key, without the database."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from dulwich.errors import NotGitRepository

from pipelines.formats.receipts import (
    MOST_BYTES,
    LandedChange,
    ReceiptApproval,
    ReceiptInvalid,
    read_key,
    verify_receipt,
)
from pipelines.management import printing
from pipelines.queries.receipts import check_change_in_repository
from pipelines.routing.basics.plural import plural
from pipelines.routing.document.kinds.deliver import REQUEST


class Command(printing.Command):
    help = (
        "Verify the receipt of a delivery: its signature, its form, and with --repository what was committed."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("receipt", type=Path, help="the file that was downloaded")
        parser.add_argument(
            "--key", type=Path, required=True, help="the public key in PEM, from `manage.py receipt_key`"
        )
        parser.add_argument("--repository", type=Path, help="a clone in which the commit is looked up")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            change = verify_receipt(_read(options["receipt"]), read_key(_read(options["key"])))
            if options["repository"]:
                check_change_in_repository(change, options["repository"])
        except NotGitRepository as error:
            raise CommandError(f"{options['repository']} is no git repository.") from error
        except ReceiptInvalid as error:
            raise CommandError(f"Not valid: {error}") from error
        self._tell(change, options["repository"])

    def _tell(self, change: LandedChange, repository: Path | None) -> None:
        say = self.stdout.write
        say(
            f"Valid: signed by this key. {change.task} of {change.project}, line {change.line} v{change.version}"
        )
        say(f"Landed {change.at}: {change.commit} on {change.branch} of {change.repository}")
        if change.approval is None:
            say("The delivery named no gate.")
        else:
            say(_approval_sentence(change.approval))
            say(_tree_comparison_sentence(change))
        if change.requester:
            say(
                f"Requested by {change.requester}, produced by {', '.join(change.producers) or 'nobody by hand'}."
            )
        if change.protection:
            say(_protection_sentence(change.protection, change.to))
        if amount := change.too_large_to_read:
            say(f"No person can have read all of it: {amount['files']} files, {amount['bytes']} bytes.")
        if repository is not None:
            say("The commit is in the repository, with this tree.")


def _approval_sentence(approval: ReceiptApproval) -> str:
    tree = approval.tree or "not known"
    at = f"{approval.at} at {approval.gate}"
    if any(vote.word == "override" for vote in approval.votes):
        return f"Approved {at} by {approval.by} instead of the people that the gate asks, tree {tree}"
    if not approval.by:
        return f"Approved {at} by its due time, and by no person, tree {tree}"
    return f"Approved {at} by {approval.by}, tree {tree}"


def _protection_sentence(rules: Mapping[str, Any], to: str) -> str:
    votes = plural("%(n)s approval", "%(n)s approvals", rules["approvals"]) % {"n": rules["approvals"]}
    subjects = [f"the {kind[:-1]} {key}" for kind in ("groups", "gates") for key in rules[kind]]
    needed = ", ".join([*([votes] if rules["approvals"] else []), *subjects])
    rest = [f"{needed}, none of it by them"] if needed else []
    rest += ["a line that two people published"] if rules.get("four_eyes") else []
    # A request is opened without any of it, and brings nothing to where it counts.
    asks = "asks, before anything is merged, for" if to == REQUEST else "is protected:"
    return f"The repository {asks} {'; '.join(rest)}."


def _tree_comparison_sentence(change: LandedChange) -> str:
    if change.exact:
        return "Exactly what was approved."
    if change.same_patch:
        return f"The approved change, hunk by hunk, on a base that moved: tree {change.tree}, checked again."
    if change.host:
        return f"Merged by {change.host} together with what else landed there: tree {change.tree}."
    return "NOT the tree that was approved."


def _read(file: Path) -> bytes:
    """Return the bytes of a file: at most what a receipt may have, and one more."""
    try:
        with file.open("rb") as source:
            return source.read(MOST_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from error
