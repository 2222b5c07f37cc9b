"""What an attempt is given in its folder, and what it left there: artifacts, the result document, the workspace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pipelines.routing.basics.facts import witnessed
from pipelines.work.measuring import TooLarge, measure
from pipelines.work.orders.order import ARTIFACTS, CONTEXT, HANDOFF, INPUTS
from pipelines.work.results.document import read_document
from pipelines.work.results.files import FileRefused, opened
from pipelines.work.results.text import escaped
from pipelines.work.spec.base import Attempt, Outcome, Spec
from pipelines.work.transport.protocol import (
    MEDIA_TYPE,
    Before,
    HandedOver,
    Leavings,
    Material,
    Wanted,
    Workspace,
)
from pipelines.work.workspaces import KeptFolder, Picture, WorkspaceTooLarge, take_picture

MOST_ARTIFACTS = 200
MOST_BYTES = 1024**3
DOCUMENT = "result-document.json"
GIT = "git"


def give(
    attempt: Attempt,
    context: Mapping[str, Any],
    material: Material,
    fetch: Callable[[str, Path], None],
    handoff: Any = None,
) -> None:
    """Lay down what the work may read: the context of the task as JSON, what stations before handed over as
    `artifacts/<station>/<name>`, and what was uploaded for inputs as `inputs/<key>/<name>`. In a thread, before the
    work starts."""
    folder = attempt.given / ARTIFACTS
    folder.mkdir(parents=True)
    (attempt.given / CONTEXT).write_text(json.dumps(dict(context), ensure_ascii=False))
    if handoff is not None:
        (attempt.given / HANDOFF).write_text(json.dumps(handoff, ensure_ascii=False))
    (attempt.given / INPUTS).mkdir()
    for file in material.files:
        place = attempt.given / INPUTS / file.key / file_name(file.name)
        place.parent.mkdir()
        fetch(file.stored, place)
    for each in material.earlier:
        place = folder / each.station / file_name(each.name)
        if not place.exists():
            place.parent.mkdir(exist_ok=True)
            fetch(each.stored, place)


def file_name(label: str) -> str:
    """The last part of a path that a label may be: labels are data (house §4)."""
    plain = label.replace("/", "_").replace("\x00", "_")
    plain = plain.encode(errors="replace")[:200].decode(errors="ignore")
    return f"_{plain}" if plain in ("", ".", "..") else plain


def collect(attempt: Attempt, named: Iterable[Any]) -> tuple[tuple[HandedOver, ...], Wanted]:
    """Read the artifacts that an outcome names: a path, or {path, name, media_type}, inside the workspace."""
    found: dict[str, HandedOver] = {}
    wanted: Wanted = {}
    room = MOST_BYTES
    for index, entry in enumerate(named):
        said = {"path": entry} if isinstance(entry, str) else entry if isinstance(entry, dict) else {}
        name, path = label(said, index), str(said.get("path") or said.get("name") or "")
        try:
            if index >= MOST_ARTIFACTS:
                raise FileRefused(f"more than {MOST_ARTIFACTS} artifacts")
            with opened(attempt.workspace, path) as file:
                measured = measure(file, room)
        except (FileRefused, TooLarge) as error:
            found[name] = HandedOver(name, error=escaped(str(error)))
            continue
        room -= measured.size
        wanted[measured.digest] = (f"{attempt.below(attempt.workspace)}/{path}", measured.size)
        kind = said.get("media_type")
        media_type = escaped(kind)[:100] if isinstance(kind, str) and kind else MEDIA_TYPE
        found[name] = HandedOver(name, media_type, measured.digest, measured.size)
    return tuple(found.values()), wanted


def whole_document(attempt: Attempt, limit: int) -> tuple[tuple[HandedOver, ...], Wanted]:
    """The result document itself, if it says more than an outcome has room for."""
    if not read_document(attempt, limit).more:
        return (), {}
    path = attempt.below(attempt.result)
    with opened(attempt.root, path) as file:
        measured = measure(file)
    kept = HandedOver(DOCUMENT, "application/json", measured.digest, measured.size)
    return (kept,), {measured.digest: (path, measured.size)}


def label(wanted: Mapping[str, Any], index: int) -> str:
    """What the artifact is called: data, never a path of ours."""
    name = wanted.get("name") or PurePosixPath(str(wanted.get("path") or "")).name or f"artifact {index + 1}"
    return escaped(str(name))[:300]


@dataclass(frozen=True)
class Packed:
    """What an attempt left, as found in its folder; `picture` is None where it is too large to be kept."""

    artifacts: tuple[HandedOver, ...]
    wanted: Wanted
    picture: Picture | None

    def left(self, root: Path, before: Before | None) -> Leavings:
        """What of it is to be stored: the workspace only where it changed."""
        found = self.picture
        same = found is None or (before is not None and found.digest == before.digest)
        workspace = None if found is None or same else Workspace(found.digest, found.manifest, found.size)
        return Leavings(root, self.wanted, self.artifacts, workspace)

    def seen_on(self, outcome: Outcome) -> Outcome:
        """With the picture on which its facts were observed, where there is no git tree that says it (law §13)."""
        if not outcome.get("facts") or self.picture is None:
            return outcome
        return {**outcome, "facts": witnessed(outcome["facts"], {"tree": self.picture.digest})}


def pack(spec: Spec, outcome: Outcome, kept: KeptFolder | None) -> tuple[Outcome, Packed]:
    """Look at the artifacts and at the workspace. In a thread."""
    attempt = spec.attempt
    artifacts, wanted = collect(attempt, outcome.get("artifacts") or ())
    if DOCUMENT not in {one.name for one in artifacts}:
        document, its = whole_document(attempt, spec.limits.document_bytes)
        artifacts, wanted = (*artifacts, *document), {**wanted, **its}
    if artifacts:
        outcome = {**outcome, "artifacts": [one.to_dict() for one in artifacts]}
    try:
        picture = take_picture(attempt.workspace, kept.stamps if kept else None)
    except WorkspaceTooLarge as error:
        why = f"The workspace is too large to be kept: {error}."
        return {**outcome, **failed("workspace_too_large", why)}, Packed(artifacts, wanted, None)
    below = attempt.below(attempt.workspace)
    files = {digest: (f"{below}/{path}", size) for digest, (path, size) in picture.files.items()}
    return outcome, Packed(artifacts, {**files, **wanted}, picture)


def with_changes(spec: Spec, outcome: Outcome, git: dict[str, Any]) -> Outcome:
    """What changed in git is `git` of the outcome; and of its output, where the station wants the key (C31)."""
    if not git:
        return outcome
    output = outcome.get("output", {})
    wants = GIT in spec.output_keys and not outcome.get("output_error") and isinstance(output, dict)
    if not wants or ("output" not in outcome and spec.result_document == "required"):
        return {**outcome, GIT: git}
    return {**outcome, GIT: git, "output": {GIT: git, **output}}


def failed(failure_type: str, summary: str) -> Outcome:
    return {"result": "failure", "failure_type": failure_type, "summary": summary}
