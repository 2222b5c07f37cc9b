"""Messages between a runner and its server, as JSON: one form for both sides (docs/runners.md).

`stored`, wherever it stands, is an opaque name of the server's: `fetch` gives it back.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from pipelines.work.orders.order import Orders
from pipelines.work.spec.repository import GitBranch, GitLeft, GitState
from pipelines.work.transport.protocol import (
    AttemptResults,
    EarlierFile,
    InputFile,
    Material,
    ReportAnswer,
    Started,
    StartingWorkspace,
    StationValues,
)

PROTOCOL: Final = 3
"""Of what passes. A server refuses a runner that speaks another one, and says which of the two is older."""
LEASE: Final = "Gateline-Lease"
"""The header of a call about one job: the key of its lease."""
DIRECT: Final = "Gateline-Direct"
"""The header of a call for a file by a runner that can fetch it from the artifact store itself."""
DIGEST: Final = "Gateline-Digest"
"""The header of the answer that leads there: SHA-256 of the file."""
MOST_DOCUMENT: Final = 64 * 1024**2
"""Bytes of one JSON document: a manifest of 100,000 files has 20 MB."""
MOST_PART: Final = 8 * 1024**2
"""Bytes of one upload: a larger file is sent in parts, so that the server holds little of what it has not looked at."""

Json = dict[str, Any]


def started_json(started: Started) -> Json:
    """A host's credential stays with the server: no runner delivers or opens requests."""
    values = started.values
    return {
        "orders": started.orders.to_json(),
        "lease": str(started.lease),
        "request_id": started.request_id,
        "values": {
            "secrets": dict(values.secrets),
            "variables": dict(values.variables),
            "masked": list(values.masked),
            "withheld": dict(values.withheld),
            "credential": values.credential,
        },
    }


def started_from_json(plain: Mapping[str, Any]) -> Started:
    values = plain["values"]
    return Started(
        Orders.of_json(plain["orders"]),
        uuid.UUID(plain["lease"]),
        StationValues(
            values["secrets"],
            values["variables"],
            tuple(values["masked"]),
            withheld=values.get("withheld", {}),
            credential=values["credential"],
        ),
        # A server of before does not say it.
        plain.get("request_id", ""),
    )


def material_json(material: Material, name: Callable[[str], str]) -> Json:
    """`name` makes of a place in the storage what a runner may ask for."""
    git = material.git
    return {
        "before": starting_workspace_json_or_none(material.before, name),
        "earlier": [{**asdict(earlier), "stored": name(earlier.stored)} for earlier in material.earlier],
        "files": [{**asdict(file), "stored": name(file.stored)} for file in material.files],
        "git": None if git is None else {**asdict(git), "packs": [name(pack) for pack in git.packs]},
    }


def starting_workspace_json_or_none(
    starting_workspace: StartingWorkspace | None, name: Callable[[str], str]
) -> Json | None:
    if starting_workspace is None:
        return None
    stored = {digest: name(place) for digest, place in starting_workspace.stored.items()}
    return {
        "digest": starting_workspace.digest,
        "manifest": list(starting_workspace.manifest),
        "stored": stored,
    }


def material_from_json(plain: Mapping[str, Any]) -> Material:
    git = plain["git"]
    return Material(
        starting_workspace_from_json_or_none(plain["before"]),
        tuple(EarlierFile(**fields) for fields in plain["earlier"]),
        tuple(InputFile(**fields) for fields in plain["files"]),
        None if git is None else _git_state_from_json(git),
    )


def starting_workspace_from_json_or_none(plain: Mapping[str, Any] | None) -> StartingWorkspace | None:
    return (
        None
        if plain is None
        else StartingWorkspace(plain["digest"], tuple(plain["manifest"]), plain["stored"])
    )


def _git_state_from_json(plain: Mapping[str, Any]) -> GitState:
    state = GitState(**{**plain, "packs": tuple(plain["packs"])})
    return replace(state, branches=tuple(GitBranch(**fields) for fields in plain["branches"]))


def attempt_results_json(attempt_results: AttemptResults) -> Json:
    """Return what an attempt left, without the bytes, which are sent by themselves. Of git only where the
    branch stands: the server finds out the rest."""
    return {
        "artifacts": [artifact.to_dict() for artifact in attempt_results.artifacts if not artifact.error],
        "workspace": None
        if attempt_results.workspace is None
        else {
            "digest": attempt_results.workspace.digest,
            "manifest": list(attempt_results.workspace.manifest),
        },
        "git": None if attempt_results.git is None else _git_left_json(attempt_results.git),
    }


def _git_left_json(git_results: GitLeft) -> Json:
    return {name: getattr(git_results, name) for name in ("branch", "base_branch", "base", "head", "pack")}


def answer_json(answer: ReportAnswer) -> Json:
    following = answer.following
    return {
        "status": answer.status,
        "decision": answer.decision,
        "path": answer.path,
        "detail": answer.detail,
        "following": started_json(following) if following else None,
    }


def report_answer_from_json(plain: Mapping[str, Any]) -> ReportAnswer:
    following = plain["following"]
    return ReportAnswer(
        plain["status"],
        plain["decision"],
        plain["path"],
        plain["detail"],
        started_from_json(following) if following else None,
    )
