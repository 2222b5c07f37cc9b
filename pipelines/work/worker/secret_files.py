"""Files of a visit that hold a registered secret: nothing of them is stored, committed or pushed (house §3
I16)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pipelines.work.results.secrets import SecretFinder
from pipelines.work.spec.handler_io import Attempt, Outcome
from pipelines.work.transport.protocol import HandedOver
from pipelines.work.worker.attempt_io import COUNTED_GROUPS, DOCUMENT, Packed, failed_outcome
from pipelines.work.workspaces import Stamp, entries_below, file_stamp

FAILURE_TYPE = "secret_in_file"
MAX_NAMES = 3
"""Files that the outcome names."""


def file_stamp_by_path(workspace: Path, but: Collection[str] = ()) -> dict[str, Stamp]:
    """The files that lie there before the work starts, `but` for these paths, which are not packed. In a thread."""
    return {
        str(path.relative_to(workspace)): file_stamp(info) for path, info in entries_below(workspace, but)
    }


def outcome_and_packed_without_secret_files(
    attempt: Attempt, outcome: Outcome, packed: Packed, finder: SecretFinder, stood: Mapping[str, Stamp]
) -> tuple[Outcome, Packed]:
    """The outcome as a failure, with nothing to keep, where the visit wrote a secret into a file, or into the name of
    one. What `stood` there before and was not written is not looked at. In a thread."""
    outcome, packed = _outcome_and_packed_without_document(attempt, outcome, packed, finder)
    paths = list(dict.fromkeys(_files_with_secrets(attempt, packed, finder, stood)))
    if not paths:
        return outcome, packed
    facts = {
        group: members for group, members in outcome.get("facts", {}).items() if group not in COUNTED_GROUPS
    }
    left = {key: value for key, value in outcome.items() if key not in ("artifacts", "facts")}
    why = failed_outcome(FAILURE_TYPE, _secret_files_sentence(paths))
    return {**left, **({"facts": facts} if facts else {}), **why}, Packed((), {}, None)


def _outcome_and_packed_without_document(
    attempt: Attempt, outcome: Outcome, packed: Packed, finder: SecretFinder
) -> tuple[Outcome, Packed]:
    """Leave out a result document that holds a secret: what it says is masked in the outcome, and storing it
    whole beside that is our doing."""
    path = attempt.relative_to_root(attempt.result)
    sources = {digest: entry for digest, entry in packed.wanted.items() if entry[0] != path}
    if len(sources) == len(packed.wanted) or not finder.holds(attempt.root, path):
        return outcome, packed
    artifacts = tuple(
        HandedOver(DOCUMENT, error="It holds a secret.") if artifact.name == DOCUMENT else artifact
        for artifact in packed.artifacts
    )
    reported = {**outcome, "artifacts": [artifact.to_dict() for artifact in artifacts]}
    return reported, replace(packed, artifacts=artifacts, wanted=sources)


def _files_with_secrets(
    attempt: Attempt, packed: Packed, finder: SecretFinder, stood: Mapping[str, Stamp]
) -> Iterator[str]:
    below = f"{attempt.relative_to_root(attempt.workspace)}/"
    stamps = packed.picture.stamps if packed.picture else {}
    manifest = packed.picture.manifest if packed.picture else ()
    for entry in manifest:
        path = str(entry["path"])
        # A link that stood there may have been pointed elsewhere, and its target carries text out
        if (path not in stood and finder.text_holds(path)) or (
            "link" in entry and finder.text_holds(entry["link"]) and _was_written(attempt, path, stood)
        ):
            yield path
    for path, (stamp, _digest) in stamps.items():
        if stood.get(path) != stamp and finder.holds(attempt.workspace, path):
            yield path
    for path, _size in packed.wanted.values():  # artifacts that no picture holds
        if path.removeprefix(below) not in stamps and finder.holds(attempt.root, path):
            yield path.removeprefix(below)


def _was_written(attempt: Attempt, path: str, stood: Mapping[str, Stamp]) -> bool:
    return stood.get(path) != file_stamp((attempt.workspace / path).lstat())


def _secret_files_sentence(paths: list[str]) -> str:
    path_list, more = ", ".join(paths[:MAX_NAMES]), len(paths) - MAX_NAMES
    files = f"{path_list} and {more} more" if more > 0 else path_list
    holds = "holds" if len(paths) == 1 else "hold"
    return (
        f"{files} {holds} a secret, so nothing that this run left was kept. "
        "Read secrets from the environment, and write them into no file."
    )
