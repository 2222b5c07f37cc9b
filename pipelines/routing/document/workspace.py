"""Workspaces of the stations of a line: folders of their own, or a repository, each task on a branch (law
§15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.document.document_readers.reader import Reader
from pipelines.routing.document.fields.field import Field, ReadContext, declared_field
from pipelines.routing.document.fields.plain_fields import Choice, Text
from pipelines.routing.document.fields.record import Record

NONE, GIT = "none", "git"
INPUT: Final = "input."
VISIT, SQUASH = "visit", "squash"
COMMITS: Final = {
    VISIT: "A commit for each visit of a station",
    SQUASH: "One commit for the whole task",
    NONE: "No commits: nothing can be delivered",
}


@dataclass(frozen=True, kw_only=True)
class GitWorkspace:
    """`repository`: the name of one that is connected to the project, or `input.<key>`. `base`: the branch or tag that
    a task starts from, "" is the repository's default branch. `head`: a branch whose changes are there from the start,
    "" is none. `branch`: a template, "" is the usual name."""

    repository: str = declared_field(
        Text(
            required=True,
            longest=200,
            label="Repository",
            help="Tasks change the files of this repository, each on a branch of its own.",
        ),
        required=True,
    )
    base: str = declared_field(
        Text(
            longest=200,
            label="Start from",
            help="A branch or a tag. Leave empty for the default branch.",
            placeholder="main",
            code=True,
        )
    )
    head: str = declared_field(
        Text(
            longest=200,
            label="Look at the changes of",
            help="A branch whose changes since the base are there from the start. Leave empty for none.",
            placeholder="{{input.branch}}",
            code=True,
        )
    )
    branch: str = declared_field(
        Text(
            longest=200,
            label="Branch of a task",
            help="A template. Leave empty for gateline/ with the number and the title of the task.",
            placeholder="gateline/{{input.ticket}}",
            code=True,
        )
    )
    commit: str = declared_field(Choice(COMMITS, default=VISIT, label="Commits"))

    @property
    def input_key(self) -> str:
        """The key of the input that names the repository; "" where the line does."""
        return self.repository.removeprefix(INPUT) if self.repository.startswith(INPUT) else ""


GIT_WORKSPACE: Final[Record[GitWorkspace]] = Record.of(GitWorkspace)


@dataclass(frozen=True, kw_only=True)
class WorkspaceField(Field):
    """`none`, or {git: …}."""

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        value = reader.raw(key)
        if value == NONE:
            return None
        if type(value) is not dict:
            reader.note(key, "has to be none, or an object with git")
            return None
        inner = Reader(value, reader.path_of(key), reader.problems)
        if not inner.has(GIT):
            inner.note(GIT, "is missing")
        workspace = inner.read_object_or_none(GIT, lambda git_reader: GIT_WORKSPACE.read(git_reader, context))
        inner.note_unknown_keys()
        return workspace

    def write(self, value: Any) -> Any:
        return None if value is None else {GIT: GIT_WORKSPACE.write(value)}

    def schema(self) -> Schema:
        git = schema_parts.object_schema((GIT,), **{GIT: GIT_WORKSPACE.schema()})
        about = "Where its stations work: folders of their own, or a repository."
        return {"anyOf": [schema_parts.enum_schema((NONE,)), git], "description": about}
