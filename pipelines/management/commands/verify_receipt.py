"""Verify the receipt of a delivery with a public key, without the database."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from dulwich.errors import NotGitRepository

from pipelines.formats.receipts import MOST_BYTES, LandedChange, ReceiptInvalid, read_key, verified
from pipelines.management import printing
from pipelines.queries.receipts import look_up


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
            change = verified(_read(options["receipt"]), read_key(_read(options["key"])))
            if options["repository"]:
                look_up(change, options["repository"])
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
            by = f" by {change.approval.by}" if change.approval.by else ""
            tree = change.approval.tree or "not known"
            say(f"Approved {change.approval.at} at {change.approval.gate}{by}, tree {tree}")
            say(_compared(change))
        if change.requester:
            say(
                f"Requested by {change.requester}, produced by {', '.join(change.producers) or 'nobody by hand'}."
            )
        if change.protection:
            say(_protected(change.protection))
        if amount := change.too_large_to_read:
            say(f"No person can have read all of it: {amount['files']} files, {amount['bytes']} bytes.")
        if repository is not None:
            say("The commit is in the repository, with this tree.")


def _protected(rules: Mapping[str, Any]) -> str:
    named = [f"the {kind[:-1]} {key}" for kind in ("groups", "gates") for key in rules[kind]]
    needed = ", ".join([f"{rules['approvals']} approvals", *named])
    return f"The repository is protected: {needed}, none of it by them."


def _compared(change: LandedChange) -> str:
    if change.exact:
        return "Exactly what was approved."
    if change.same_patch:
        return f"The approved change, hunk by hunk, on a base that moved: tree {change.tree}, checked again."
    if change.host:
        return f"Merged by {change.host} together with what else landed there: tree {change.tree}."
    return "NOT the tree that was approved."


def _read(file: Path) -> bytes:
    """At most what a receipt may have, and one byte."""
    try:
        with file.open("rb") as source:
            return source.read(MOST_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from error
