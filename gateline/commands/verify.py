"""`verify`: whether a commit is exactly what was approved, by its signed receipt."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.client import url_path
from gateline.failures import CommandFailure, ExitCode, UsageFailure
from gateline.output import Json, print_text, unstyled
from gateline.session import signed_in_client


class NotApproved(CommandFailure):
    """The receipt, or the commit, is not what it has to be."""

    code = ExitCode.NO


def verify(
    ctx: typer.Context,
    key: Annotated[
        Path,
        typer.Option(
            "--key", help="The installation's public key in PEM, got once and not with the receipt."
        ),
    ],
    receipt: Annotated[
        Path | None, typer.Argument(help="The file; left out, the server is asked for it.", metavar="RECEIPT")
    ] = None,
    commit: Annotated[
        str, typer.Option("--commit", help="It has to be the receipt of this commit, such as HEAD.")
    ] = "",
    repository: Annotated[
        Path | None, typer.Option("--repository", help="A clone in which git looks the commit up.")
    ] = None,
    approved: Annotated[
        bool, typer.Option("--approved", help="End with 1 unless it is exactly what a gate approved.")
    ] = False,
    events: Annotated[
        Path | None,
        typer.Option(
            "--events",
            help="RECEIPT is the tombstone of a purged task; these are its events, as they were exported.",
        ),
    ] = None,
    project: Annotated[
        str,
        typer.Option(
            "--project", help="Whose receipt to ask for.", autocompletion=completion.complete_project
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Verify the signed receipt of what a task delivered, without believing the server.

    Example: gateline verify --key gateline.pem --commit HEAD --repository . --approved"""
    receipts = _import_receipts_module()
    if events:
        _verify_events(receipts, receipt, key, events)
        return
    # What HEAD means is for git to say, and not for the receipt
    sha = (
        _git_line_or_refuse(repository or Path(), "rev-parse", "--verify", f"{commit}^{{commit}}")
        if commit
        else ""
    )
    data = (
        _bytes_up_to_one_more(receipt, receipts.MOST_BYTES)
        if receipt
        else _fetched_receipt(ctx, project, sha)
    )
    try:
        verified = receipts.verified_receipt(
            data, receipts.read_public_key(_bytes_up_to_one_more(key, receipts.MOST_BYTES))
        )
    except receipts.UnverifiableReceipt as fault:
        raise NotApproved(f"Not valid: {fault}") from fault
    # The server may answer with another receipt that is signed as well
    if sha and verified.commit != sha:
        raise NotApproved(f"Not valid: it is the receipt of {verified.commit}, and not of {sha}.")
    if (
        repository
        and _git_line_or_refuse(repository, "rev-parse", "--verify", f"{verified.commit}^{{tree}}")
        != verified.tree
    ):
        raise NotApproved(f"Not valid: {verified.commit} has another tree in the repository.")
    if json:
        output.print_json({**verified.fields, "commit": verified.commit, "tree": verified.tree,
                           "exact": verified.is_exact, "same_patch": verified.is_same_patch})  # fmt: skip
    else:
        for sentence in receipt_sentences(verified, repository is not None):
            print_text(unstyled(sentence), soft_wrap=True)
    # After all was told: whoever is refused sees why
    if approved and not (verified.is_exact or verified.is_same_patch):
        raise NotApproved(
            "It is not what a gate approved.", "Send the change through the gate again, and deliver it."
        )


def _verify_events(receipts: Any, tombstone: Path | None, key: Path, events: Path) -> None:
    """Compare exported events of a purged task with its tombstone."""
    if tombstone is None:
        raise UsageFailure("Name the tombstone of the purged task.", "gateline verify TOMBSTONE --key …")
    public = receipts.read_public_key(_bytes_up_to_one_more(key, receipts.MOST_BYTES))
    try:
        verified = receipts.verified_tombstone(_bytes_up_to_one_more(tombstone, receipts.MOST_BYTES), public)
        with events.open("rb") as lines:
            number = verified.check_and_count_events(lines)
    except receipts.UnverifiableReceipt as fault:
        raise NotApproved(f"Not valid: {fault}") from fault
    except OSError as error:
        raise UsageFailure(f"{events} cannot be read: {error.strerror}") from error
    fields = verified.fields
    print_text(
        unstyled(f"Valid: signed by this key. {fields['task']} was purged {fields['purged']}."),
        soft_wrap=True,
    )
    # Each event in the file is checked by its digest; that none was left out only their number says
    if number < len(fields["events"]):
        raise NotApproved(f"{events.name} lacks events: it has {number} of {len(fields['events'])}.")
    print_text(unstyled(f"All of its events are those that were purged: {number}."), soft_wrap=True)


def receipt_sentences(verified: Any, is_looked_up: bool) -> list[str]:
    """Say what a verified receipt means."""
    fields, approval = verified.fields, verified.approval
    sentences = [
        f"Valid: signed by this key. {fields['task']} of {fields['project']}, line {fields['line']} "
        f"v{fields['version']}",
        f"Landed {fields['at']}: {verified.commit} on {fields['branch']} of {fields['repository']}",
    ]
    if approval is None:
        sentences.append("The delivery named no gate.")
    else:
        sentences += [_approval_sentence(approval), _tree_sentence(verified)]
    if fields.get("requester"):
        producers = ", ".join(fields.get("producers", ())) or "nobody by hand"
        sentences.append(f"Requested by {fields['requester']}, produced by {producers}.")
    if fields.get("protection"):
        sentences.append(_protection_sentence(fields["protection"], fields["to"]))
    if amount := fields.get("too_large_to_read"):
        sentences.append(
            f"No person can have read all of it: {output.counted(amount['files'], 'file', 'files')}, "
            f"{output.counted(amount['bytes'], 'byte', 'bytes')}."
        )
    if is_looked_up:
        sentences.append("The commit is in the repository, with this tree.")
    return sentences


def _approval_sentence(approval: Mapping[str, Any]) -> str:
    tree, at = approval["tree"] or "not known", f"{approval['at']} at {approval['gate']}"
    # First: an override stands for votes that never came, whoever else has voted
    if any(vote["word"] == "override" for vote in approval["votes"]):
        return f"Approved {at} by {approval['by']} instead of the people that the gate asks, tree {tree}"
    if not approval["by"]:
        return f"Approved {at}; who approved is not recorded, tree {tree}"
    return f"Approved {at} by {approval['by']}, tree {tree}"


def _protection_sentence(rules: Mapping[str, Any], to: str) -> str:
    count = rules["approvals"]
    votes = [f"{count} approval{'' if count == 1 else 's'}"] if count else []
    subjects = [f"the {kind[:-1]} {name}" for kind in ("groups", "gates") for name in rules[kind]]
    needed = ", ".join([*votes, *subjects])
    rest = [f"{needed}, none of it by them"] if needed else []
    rest += ["a line that two people published"] if rules.get("four_eyes") else []
    # A request is opened without any of it, and brings nothing to where it counts
    asks = "asks, before anything is merged, for" if to == "request" else "is protected:"
    return f"The repository {asks} {'; '.join(rest)}."


def _tree_sentence(verified: Any) -> str:
    if verified.is_exact:
        return "Exactly what was approved."
    if verified.is_same_patch:
        return (
            f"The approved change, hunk by hunk, on a base that moved: tree {verified.tree}, checked again."
        )
    if verified.fields.get("host"):
        host = verified.fields["host"]
        return f"Merged by {host} together with what else landed there: tree {verified.tree}."
    return "NOT the tree that was approved."


def _fetched_receipt(ctx: typer.Context, project: str, commit: str) -> bytes:
    if not commit:
        raise UsageFailure(
            "Name a receipt, or a commit.", "gateline verify RECEIPT --key …, or --commit HEAD"
        )
    server = signed_in_client(ctx)
    owner, key = lookup.find_owner_and_key_of_project(server, project)
    return server.get_text(url_path("owners", owner, "projects", key, "receipts", commit)).encode()


def _import_receipts_module() -> Any:
    try:
        return import_module("gateline.receipts")
    except ModuleNotFoundError as fault:
        # Of these two alone the command line works without: any other missing module is a fault of ours
        if (fault.name or "").partition(".")[0] not in ("cryptography", "rfc8785"):
            raise
        raise UsageFailure(
            "What verifies a signature is not installed.",
            "Install the wheel of your release with the extra: pip install 'gateline-….whl[verify]'",
        ) from fault


def _bytes_up_to_one_more(file: Path, most: int) -> bytes:
    try:
        with file.open("rb") as source:
            # One byte more than is taken, by which the reader knows that the file is too large
            return source.read(most + 1)
    except OSError as error:
        raise UsageFailure(f"{file} cannot be read: {error.strerror}") from error


def _git_line_or_refuse(folder: Path, *words: str) -> str:
    """Return one line of git's answer. Raises Usage, NotApproved."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise UsageFailure(
            "git cannot be started.", "Install git, or leave --commit and --repository out."
        ) from error
    if done.returncode:
        raise NotApproved(f"git found no {words[-1]} in {folder}: {done.stderr.strip()[:200]}")
    return done.stdout.strip()
