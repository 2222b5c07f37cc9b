"""Input of an attempt in its folder, and what it leaves there: artifacts, the result document, the workspace."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from pipelines.formats.evidence.claims.agent_claims import OTHER, agent_claims
from pipelines.formats.evidence.claims.claim_checks import CONTRADICTED, ObservedWork, check_claims
from pipelines.formats.evidence.readers import cobertura, junit, lcov, lint, sarif
from pipelines.formats.evidence.readers.reader_table import READERS, merged_facts_with_lowest_coverage
from pipelines.formats.evidence.readers.report import MOST_BYTES as MOST_REPORT
from pipelines.formats.evidence.readers.report import UnreadableReport
from pipelines.formats.evidence.trees.file_kinds import TESTS, sensitivity_or_empty
from pipelines.formats.evidence.trees.tree_diff import DELETED, MODIFIED, file_changes
from pipelines.routing.basics.facts import facts_with_source
from pipelines.work.file_measure import TooLarge, measure_file
from pipelines.work.orders.order import ARTIFACTS, CONTEXT, HANDOFF, INPUTS
from pipelines.work.results.document import read_document
from pipelines.work.results.files import FileRefused, open_plain_file
from pipelines.work.results.text import escaped_for_storage
from pipelines.work.spec.handler_io import Attempt, Outcome, Spec
from pipelines.work.spec.repository import GitLeft
from pipelines.work.transport.protocol import (
    MEDIA_TYPE,
    AttemptResults,
    Entry,
    FileSources,
    HandedOver,
    Material,
    StartingWorkspace,
    Workspace,
)
from pipelines.work.worker.prepared_files import EnvironmentFiles
from pipelines.work.workspaces import (
    Picture,
    ReusableFolder,
    Stamp,
    WorkspaceTooLarge,
    file_stamp,
    manifest_digest,
    picture_of_workspace,
)

MOST_ARTIFACTS = 200
MOST_BYTES = 1024**3
DOCUMENT = "result-document.json"
AGENT = "agent"
COUNTED = frozenset({junit.KIND, sarif.KIND, lint.KIND, cobertura.KIND, lcov.KIND})
"""The kinds of reports that are counted."""
COUNTED_GROUPS = frozenset({"tests", "findings", "coverage"})
"""The facts that they give."""
GIT = "git"
NOTHING_THERE = manifest_digest(())
"""The workspace with which the first station begins."""


def write_input_files(
    attempt: Attempt,
    context: Mapping[str, Any],
    material: Material,
    fetch: Callable[[str, Path], None],
    handoff: Any = None,
) -> None:
    """Lay down what the work may read: the context of the task as JSON, what stations before handed over as
    `artifacts/<station>/<name>`, and what was uploaded for inputs as `inputs/<key>/<name>`. In a thread, before the
    work starts."""
    folder = attempt.inputs_folder / ARTIFACTS
    folder.mkdir(parents=True)
    (attempt.inputs_folder / CONTEXT).write_text(json.dumps(dict(context), ensure_ascii=False))
    if handoff is not None:
        (attempt.inputs_folder / HANDOFF).write_text(json.dumps(handoff, ensure_ascii=False))
    (attempt.inputs_folder / INPUTS).mkdir()
    for file in material.files:
        place = attempt.inputs_folder / INPUTS / file.key / file_name_of_label(file.name)
        place.parent.mkdir()
        fetch(file.stored, place)
    for earlier in material.earlier:
        place = folder / earlier.station / file_name_of_label(earlier.name)
        # Two labels may come to one name of a file (`file_name`): the first is kept
        if not place.exists():
            place.parent.mkdir(exist_ok=True)
            fetch(earlier.stored, place)


def file_name_of_label(label: str) -> str:
    """The last part of a path that a label may be: labels are data (house §4)."""
    plain = label.replace("/", "_").replace("\x00", "_")
    # In bytes, of which file systems take 255; a character that is cut in two goes
    plain = plain.encode(errors="replace")[:200].decode(errors="ignore")
    return f"_{plain}" if plain in ("", ".", "..") else plain


@dataclass(frozen=True)
class Declared:
    """A file that the station declares, whether its work names it or not."""

    path: str
    required: bool

    def is_absent_optional(self, attempt: Attempt) -> bool:
        """Return whether the artifact is not required, and missing."""
        place = attempt.workspace / self.path
        return not self.required and not place.is_symlink() and not place.exists()


def declared_artifacts(spec: Spec, outcome: Outcome) -> Iterator[Declared]:
    """Yield the declared artifacts that the outcome does not name itself."""
    entries = outcome.get("artifacts") or ()
    paths = {
        entry if isinstance(entry, str) else entry.get("path")
        for entry in entries
        if isinstance(entry, str | dict)
    }
    for artifact in spec.artifacts:
        if artifact["path"] not in paths:
            yield Declared(artifact["path"], artifact["required"])


def read_named_artifacts_and_sources(
    attempt: Attempt, entries: Iterable[Any]
) -> tuple[tuple[HandedOver, ...], FileSources]:
    """Read the artifacts that an outcome names: a path, or {path, name, media_type}, inside the workspace."""
    artifacts: dict[str, HandedOver] = {}
    sources: FileSources = {}
    room = MOST_BYTES
    for index, entry in enumerate(entries):
        if isinstance(entry, Declared) and entry.is_absent_optional(attempt):
            continue
        fields = {"path": entry} if isinstance(entry, str) else entry if isinstance(entry, dict) else {}
        if isinstance(entry, Declared):
            fields = {"path": entry.path, "name": entry.path}
        name, path = artifact_label(fields, index), str(fields.get("path") or fields.get("name") or "")
        try:
            if index >= MOST_ARTIFACTS:
                raise FileRefused(f"more than {MOST_ARTIFACTS} artifacts")
            with open_plain_file(attempt.workspace, path) as file:
                measured = measure_file(file, room)
        # One faulty file is told by its name, and the others are handed over
        except (FileRefused, TooLarge) as error:
            artifacts[name] = HandedOver(name, error=escaped_for_storage(str(error)))
            continue
        room -= measured.size
        sources[measured.digest] = (f"{attempt.relative_to_root(attempt.workspace)}/{path}", measured.size)
        kind = fields.get("media_type")
        media_type = escaped_for_storage(kind)[:100] if isinstance(kind, str) and kind else MEDIA_TYPE
        artifacts[name] = HandedOver(name, media_type, measured.digest, measured.size)
    return tuple(artifacts.values()), sources


def paths_of_counted_reports(spec: Spec) -> list[str]:
    """The paths of the reports whose counts are facts. What an agent's station leaves counts nothing: its own program
    wrote it."""
    return report_paths(spec) if spec.kind != AGENT else []


def report_paths(spec: Spec) -> list[str]:
    return [artifact["path"] for artifact in spec.artifacts if artifact.get("kind") in COUNTED]


def report_stamps_before_work(spec: Spec) -> dict[str, Stamp]:
    """Reports that lie there before the work starts: of another visit, or of the repository."""
    stamps = {}
    for path in paths_of_counted_reports(spec):
        with suppress(FileRefused), open_plain_file(spec.attempt.workspace, path) as file:
            stamps[path] = file_stamp(os.fstat(file.fileno()))
    return stamps


def artifacts_and_counted_facts(
    spec: Spec, artifacts: tuple[HandedOver, ...], stood: Mapping[str, Stamp]
) -> tuple[tuple[HandedOver, ...], dict[str, dict[str, float]]]:
    """Return the artifacts, and the facts counted from the reports that the station declares (law §13). A
    report that cannot be read, or that lies there unchanged since before the work (`stood`), counts as not
    handed over."""
    errors: dict[str, str] = {}
    reports = []
    for artifact in spec.artifacts if spec.kind != AGENT else ():
        path, reader = artifact["path"], READERS.get(artifact.get("kind", ""))
        if reader is None:
            continue
        try:
            with open_plain_file(spec.attempt.workspace, path) as file:
                if stood.get(path) == file_stamp(os.fstat(file.fileno())):
                    raise FileRefused("It lay there before this visit, which did not write it.")
                # One byte more than allowed: the reader refuses it
                reports.append(reader(file.read(MOST_REPORT + 1)))
        except FileRefused as error:  # One that is not there is told of by its own entry.
            if path in stood:
                errors |= dict.fromkeys((path, PurePosixPath(path).name), escaped_for_storage(str(error)))
        except UnreadableReport as error:
            why = f"Not readable as {artifact['kind']}: {escaped_for_storage(str(error))}"
            errors |= dict.fromkeys((path, PurePosixPath(path).name), why)
    handed_over = (
        HandedOver(one.name, error=errors[one.name]) if one.name in errors else one for one in artifacts
    )
    return tuple(handed_over), merged_facts_with_lowest_coverage(reports)


def outcome_with_claims(
    outcome: Outcome, starting_workspace: StartingWorkspace | None, picture: Picture | None
) -> Outcome:
    """Add to the outcome what the agent says it did, of the closed list, and what of it this visit
    contradicts (law §13). Only what one visit can tell: tests that a later station counts are compared
    with it in the review."""
    text = "\n".join(str(outcome.get(key) or "") for key in ("summary", "comment"))
    made = [claim for claim in agent_claims(text) if claim.kind != OTHER]
    if picture is None:
        return outcome
    facts = outcome.get("facts", {})
    if not made:
        # Who claims nothing contradicts nothing: without the list a gate's check of it would fail
        claims = {"contradicted": [], **facts.get("claims", {})}
        return {**outcome, "facts": {**facts, "claims": claims}}
    present = frozenset(str(entry["path"]) for entry in picture.manifest)
    if "git" in facts:
        paths = facts["git"].get("paths", ())
        changed = {path: MODIFIED if path in present else DELETED for path in paths}
    else:
        differences = file_changes(
            starting_workspace.manifest if starting_workspace else (), picture.manifest
        )
        changed = {difference.path: difference.change for difference in differences}
    observed = ObservedWork(
        changed=changed,
        present=present,
        commands_run=facts.get("commands", {}).get("run"),
    )
    lies = [claim.to_dict() for claim in check_claims(made, observed) if claim.verdict == CONTRADICTED]
    group = facts.get("claims", {})
    made_claims = [*group.get("made", ()), *({"kind": claim.kind, "text": claim.text} for claim in made)]
    return {**outcome, "facts": {**facts, "claims": {**group, "made": made_claims, "contradicted": lies}}}


def result_document_artifacts_and_sources(
    attempt: Attempt, limit: int
) -> tuple[tuple[HandedOver, ...], FileSources]:
    """The result document itself, if it says more than an outcome has room for."""
    if not read_document(attempt, limit).more:
        return (), {}
    path = attempt.relative_to_root(attempt.result)
    with open_plain_file(attempt.root, path) as file:
        measured = measure_file(file)
    artifact = HandedOver(DOCUMENT, "application/json", measured.digest, measured.size)
    return (artifact,), {measured.digest: (path, measured.size)}


def artifact_label(entry: Mapping[str, Any], index: int) -> str:
    """Return the name of the artifact: data, never a path of ours."""
    name = entry.get("name") or PurePosixPath(str(entry.get("path") or "")).name or f"artifact {index + 1}"
    return escaped_for_storage(str(name))[:300]


@dataclass(frozen=True)
class Packed:
    """Results of an attempt, as present in its folder; `picture` is None where it is too large to be stored."""

    artifacts: tuple[HandedOver, ...]
    wanted: FileSources
    picture: Picture | None
    git: GitLeft | None = None
    stood: str = ""
    """The git tree before the work, of a line that works in a repository."""
    apart: tuple[str, ...] = ()
    """Paths of the workspace that no station after this one finds there."""
    environment: EnvironmentFiles = field(default_factory=EnvironmentFiles)
    """What was prepared, which goes on to no station after this one either."""
    prepared: Mapping[str, Any] = field(default_factory=dict)
    """How the environment of its repository came about."""

    def results_to_store(self, root: Path, starting_workspace: StartingWorkspace | None) -> AttemptResults:
        """Return what of it is to be stored: the workspace only where it changed."""
        picture = self.picture
        same = picture is None or (
            starting_workspace is not None and picture.digest == starting_workspace.digest
        )
        workspace = (
            None if picture is None or same else Workspace(picture.digest, picture.manifest, picture.size)
        )
        return AttemptResults(root, self.wanted, self.artifacts, workspace, self.git)

    def with_observed_trees(
        self, outcome: Outcome, starting_workspace: StartingWorkspace | None, expects: str
    ) -> Outcome:
        """Return the outcome with the digests of the workspace before and after the work, on which its facts
        were observed (law §13)."""
        facts = outcome.get("facts") or {}
        if expects:
            facts = {**_command_facts(outcome), **facts}
        facts = {**facts, "prepare": dict(self.prepared)} if self.prepared else facts
        if not facts or self.picture is None:
            return outcome
        began, now = starting_workspace.digest if starting_workspace else NOTHING_THERE, self.picture.digest
        if starting_workspace and _manifest_without_git_folders(
            starting_workspace.manifest
        ) == _manifest_without_git_folders(self.picture.manifest):
            began = now  # looking at a repository writes into its `.git`, and is no change
        pictures = {"before": self.stood or began, "tree": self.git.tree if self.git else now}
        return {**outcome, "facts": facts_with_source(facts, pictures)}


def _manifest_without_git_folders(manifest: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in manifest if ".git" not in PurePosixPath(entry["path"]).parts]


def _command_facts(outcome: Outcome) -> dict[str, Any]:
    code = outcome.get("exit_code")
    return {} if code is None else {"commands": {"run": 1, "failed": int(code != 0), "last_exit_code": code}}


def complete_outcome_and_packed_results(
    spec: Spec,
    outcome: Outcome,
    reused_folder: ReusableFolder | None,
    but: Collection[str] = (),
    reports: Mapping[str, Stamp] | None = None,
) -> tuple[Outcome, Packed]:
    """Look at the artifacts and at the workspace, `but` for these paths. `reports`: those that stood
    there before the work. In a thread."""
    attempt = spec.attempt
    entries = [*(outcome.get("artifacts") or ()), *declared_artifacts(spec, outcome)]
    artifacts, sources = read_named_artifacts_and_sources(attempt, entries)
    # What the work itself hands over under this name stays what it is
    if DOCUMENT not in {one.name for one in artifacts}:
        document, its = result_document_artifacts_and_sources(attempt, spec.limits.document_bytes)
        artifacts, sources = (*artifacts, *document), {**sources, **its}
    artifacts, facts = artifacts_and_counted_facts(spec, artifacts, reports or {})
    if facts:
        outcome = {**outcome, "facts": {**outcome.get("facts", {}), **facts}}
    if artifacts:
        outcome = {**outcome, "artifacts": [one.to_dict() for one in artifacts]}
    try:
        picture = picture_of_workspace(
            attempt.workspace, reused_folder.stamps if reused_folder else None, but
        )
    except WorkspaceTooLarge as error:
        why = f"The workspace is too large to be kept: {error}."
        return {**outcome, **failed_outcome("workspace_too_large", why)}, Packed(artifacts, sources, None)
    below = attempt.relative_to_root(attempt.workspace)
    files = {digest: (f"{below}/{path}", size) for digest, (path, size) in picture.files.items()}
    return outcome, Packed(artifacts, {**files, **sources}, picture)


def packed_without_reports(spec: Spec, packed: Packed, tracked: Container[str]) -> Packed:
    """Remove a station's reports from the change: in a repository they are handed over, and are no part of
    it: counts are of the tree that was checked (law §13). One that is `tracked`, committed before, is a
    file like others."""
    full_picture = packed.picture
    if full_picture is None:
        return packed
    present = {str(entry["path"]) for entry in full_picture.manifest}
    apart = tuple(path for path in report_paths(spec) if path in present and path not in tracked)
    if not apart:
        return packed
    manifest = tuple(entry for entry in full_picture.manifest if entry["path"] not in apart)
    stamps = {path: stamp for path, stamp in full_picture.stamps.items() if path not in apart}
    picture = replace(full_picture, manifest=manifest, stamps=stamps)
    return replace(packed, picture=picture, apart=(*packed.apart, *apart))


def outcome_with_git_changes(spec: Spec, outcome: Outcome, git: dict[str, Any]) -> Outcome:
    """Add what changed in git as `git` of the outcome; and to its output, where the station wants the key,
    along with what follows from it under keys of its own (C31)."""
    if not git:
        return outcome
    outcome, output = {**outcome, GIT: git}, outcome.get("output", {})
    values = {key: made(git) for key, made in OF_A_CHANGE.items() if key in spec.output_keys}
    wants = values and not outcome.get("output_error") and isinstance(output, dict)
    # Where only a document counts, a change alone is no output (docs/workers.md)
    if not wants or ("output" not in outcome and spec.result_document == "required"):
        return outcome
    # What the work said under such a key counts before what follows from the change
    return {**outcome, "output": {**values, **output}}


def _did_station_change_tests(git: dict[str, Any]) -> bool:
    return any(
        file["change"] != "deleted" and sensitivity_or_empty(file["path"]) == TESTS for file in git["files"]
    )


OF_A_CHANGE: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    GIT: lambda git: git,
    "tests_written": _did_station_change_tests,
    "files_changed": lambda git: [file["path"] for file in git["files"]],
}
"""Output that follows from a change, by its key."""


def failed_outcome(failure_type: str, summary: str) -> Outcome:
    return {"result": "failure", "failure_type": failure_type, "summary": summary}
