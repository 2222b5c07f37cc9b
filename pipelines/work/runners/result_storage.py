"""Storing of what an attempt left on another machine: read, checked and counted here, then written as a
worker's own would be (law §15)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from django.db import transaction

from pipelines.models import Job, RunnerResult
from pipelines.work.git.refusals import GitRefused
from pipelines.work.results.text import escaped_for_storage
from pipelines.work.runners import files, uploaded_commits
from pipelines.work.transport.local import stored_results
from pipelines.work.transport.local.orders import job_orders
from pipelines.work.transport.protocol import (
    MEDIA_TYPE,
    AttemptResults,
    Entry,
    HandedOver,
    NotStored,
    StartingWorkspace,
    Workspace,
)
from pipelines.work.worker.attempt_io import MOST_ARTIFACTS, MOST_BYTES, NOTHING_THERE
from pipelines.work.workspaces import MOST_BYTES as MOST_WORKSPACE
from pipelines.work.workspaces import MOST_FILES, WorkspaceTooLarge, check_path_length, manifest_digest

LONGEST_PATH: Final = 4096
LONGEST_NAME: Final = 255
MODES: Final = 0o777


def store_results(job: Job, lease: uuid.UUID, attempt_results: Mapping[str, Any]) -> None:
    """Keep what `attempt_results_json` names, and the facts that are found in it.

    :raises NotStored: it is not what a station can leave; LeaseLost: nothing is kept"""
    before = stored_results.last_snapshot_or_none(job.pk)
    artifacts, workspace = attempt_results.get("artifacts") or [], attempt_results.get("workspace")
    manifest = None if workspace is None else checked_manifest(workspace)
    known = _stored_sizes(job, lease, artifacts, manifest, attempt_results.get("git"))
    stored_artifacts = checked_artifacts(artifacts, known)
    picture = None if manifest is None else _checked_workspace_or_none(manifest, known, before)
    orders = job_orders(job)
    if not isinstance(attempt_results.get("git") or {}, dict):
        raise NotStored("What is said of the commit cannot be read.")
    if (orders.git is None or orders.git.problem) and attempt_results.get("git"):
        raise NotStored("This line works in no repository.")
    began = now = before.digest if before else NOTHING_THERE
    now = picture.digest if picture else now
    facts: dict[str, Any] = {}
    left = AttemptResults(Path(), {}, stored_artifacts, picture)
    if orders.git is not None and attempt_results.get("git"):
        current_manifest = manifest if manifest is not None else (before.manifest if before else ())
        try:
            commit = uploaded_commits.checked_commit(
                job, lease, orders, attempt_results["git"], current_manifest
            )
        except GitRefused as error:
            raise NotStored(str(error)) from error
        left = AttemptResults(Path(), {}, stored_artifacts, picture, commit.left)
        facts, began, now = {"git": commit.facts}, commit.before, commit.left.tree
    elif orders.git is not None and picture is not None and not is_unchanged_workspace(picture, before):
        # What is no commit is never shown as the change (law §15).
        raise NotStored("Files of a repository come with the commit that holds them.")
    with transaction.atomic():
        stored_results.write_results(job.pk, job.task_id, lease, left, {})
        RunnerResult.objects.update_or_create(
            job=job,
            defaults={
                "lease": lease,
                "facts": facts,
                "before": began,
                "tree": now,
                # `write` holds the lease already: asked again for the database's clock (house §4)
                "at": stored_results.lock_lease_and_read_time(job.pk, lease),
            },
        )


def is_unchanged_workspace(picture: Workspace, starting_workspace: StartingWorkspace | None) -> bool:
    return starting_workspace is not None and picture.digest == starting_workspace.digest


def checked_manifest(workspace: Any) -> tuple[Entry, ...]:
    """The manifest, if one folder can have it: plain relative paths, each once and in a folder that is there.

    :raises NotStored"""
    entries = workspace.get("manifest") if isinstance(workspace, dict) else None
    if not isinstance(entries, list) or len(entries) > MOST_FILES:
        raise NotStored(f"A workspace has at most {MOST_FILES} files.")
    folders = {""}
    paths = {
        _checked_path(entry.get("path") if isinstance(entry, dict) else None): entry for entry in entries
    }
    ordered = tuple(paths[path] for path in sorted(paths))
    # A folder sorts before all that lies in it
    for path, entry in sorted(paths.items()):
        if path.rpartition("/")[0] not in folders or len(paths) != len(entries):
            raise NotStored(
                f"{escaped_for_storage(path)[:200]} does not lie in a folder of the workspace, or is there twice."
            )
        if not _is_entry(entry):
            raise NotStored(f"{escaped_for_storage(path)[:200]} is neither a file nor a folder nor a link.")
        if entry.get("folder"):
            folders.add(path)
    if sum(entry.get("size", 0) for entry in entries) > MOST_WORKSPACE:
        raise NotStored(f"A workspace has at most {MOST_WORKSPACE // 1024**2} MB.")
    if workspace.get("digest") != manifest_digest(ordered):
        raise NotStored("The workspace is not what its digest says.")
    return ordered


def _checked_path(value: Any) -> str:
    plain = isinstance(value, str) and 0 < len(value) <= LONGEST_PATH and "\x00" not in value
    path = str(value)
    if not plain or path.startswith("/") or any(part in ("", ".", "..") for part in path.split("/")):
        raise NotStored(f"{escaped_for_storage(path)[:200]} is no path inside the workspace.")
    try:
        # A lone surrogate cannot be stored, and a longer name can be made on no machine
        if any(len(part.encode()) > LONGEST_NAME for part in path.split("/")):
            raise NotStored(
                f"{escaped_for_storage(path)[:200]} has a name of more than {LONGEST_NAME} bytes."
            )
        check_path_length(path)
    except WorkspaceTooLarge as error:
        raise NotStored(f"A workspace has no {str(error).removeprefix('a ')}.") from error
    except UnicodeEncodeError as error:
        raise NotStored(f"{escaped_for_storage(path)[:200]} is no path inside the workspace.") from error
    return path


def _is_entry(entry: Entry) -> bool:
    mode = entry.get("mode")
    has_mode = type(mode) is int and 0 <= mode <= MODES
    keys = set(entry)
    if keys == {"path", "link"}:
        return (
            isinstance(entry["link"], str)
            and len(entry["link"]) <= LONGEST_PATH
            and "\x00" not in entry["link"]
        )
    if keys == {"path", "mode", "folder"}:
        return has_mode and entry["folder"] is True
    return (
        keys == {"path", "mode", "digest", "size"}
        and has_mode
        and type(entry["size"]) is int
        and entry["size"] >= 0
    )


def checked_artifacts(entries: Sequence[Any], known: Mapping[str, int]) -> tuple[HandedOver, ...]:
    """:raises NotStored"""
    if len(entries) > MOST_ARTIFACTS:
        raise NotStored(f"A run hands over at most {MOST_ARTIFACTS} files.")
    by_name: dict[str, HandedOver] = {}
    for entry in entries:
        name, kind = str(entry.get("name") or "")[:300], str(entry.get("media_type") or MEDIA_TYPE)[:100]
        if not name or escaped_for_storage(name) != name or escaped_for_storage(kind) != kind:
            raise NotStored("An artifact has no name that can be shown.")
        by_name[name] = HandedOver(name, kind, entry["digest"], known[entry["digest"]])
    if sum(artifact.size for artifact in by_name.values()) > MOST_BYTES:
        raise NotStored(f"A run hands over at most {MOST_BYTES // 1024**2} MB.")
    return tuple(by_name.values())


def _stored_sizes(
    job: Job,
    lease: uuid.UUID,
    artifacts: Any,
    manifest: Sequence[Entry] | None,
    git: Any,
) -> dict[str, int]:
    """{digest: size} of all that is named, as stored here. :raises NotStored: a file that this attempt never sent"""
    if not isinstance(artifacts, list) or not all(isinstance(entry, dict) for entry in artifacts):
        raise NotStored("The list of artifacts cannot be read.")
    digests = {str(entry.get("digest")) for entry in artifacts}
    digests |= {str(entry["digest"]) for entry in manifest or () if "digest" in entry}
    if isinstance(git, dict) and git.get("pack"):
        digests.add(str(git["pack"]))
    # A digest is no secret: to name one must not open what another task has stored
    missing = digests - files.allowed_digests(job, lease, digests)
    if missing:
        raise NotStored(
            f"{len(missing)} files were named that this run never sent, "
            f"{escaped_for_storage(min(missing))[:12]} among them."
        )
    return files.stored_size_by_digest(digests)


def _checked_workspace_or_none(
    manifest: tuple[Entry, ...], known: Mapping[str, int], starting_workspace: StartingWorkspace | None
) -> Workspace | None:
    for entry in manifest:
        if "digest" in entry and known[entry["digest"]] != entry["size"]:
            raise NotStored(
                f"{escaped_for_storage(PurePosixPath(entry['path']).name)[:200]} has not the size that was told."
            )
    digest = manifest_digest(manifest)
    if starting_workspace is not None and starting_workspace.digest == digest:
        return None
    return Workspace(digest, manifest, sum(entry.get("size", 0) for entry in manifest))
