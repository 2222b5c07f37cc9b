"""The git repositories of a workspace: where they stand before a station works, and what it changed (dialects C31).

Where they stand is read as plain files, no link followed. What changed is read by `git_changes`, a process of its own,
with the rights of the station and no more: a repository may start programs when git reads it."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog

from pipelines.routing.basics import jsontext
from pipelines.work.processes.isolation import CannotIsolate
from pipelines.work.processes.process import CannotStart, Launch, Process
from pipelines.work.results.files import FileRefused, open_plain_file, restore_folder
from pipelines.work.results.strict_json import Unreadable, parse_storable_json
from pipelines.work.spec.handler_io import Spec

SCRIPT = Path(__file__).with_name("git_changes.py")
MOST = 8
MOST_BYTES = 4 * 1024 * 1024
SECONDS = 30.0
# SHA-1, or SHA-256
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
BRANCH = re.compile(r"refs/heads/[^\s\x00]+")
log = structlog.get_logger(__name__)


def repository_heads(workspace: Path) -> dict[str, str]:
    """{folder: commit} of the repositories in the workspace: itself (""), its folders, and theirs. "" is no commit."""
    commits = {}
    for folder in _repository_folders(workspace):
        if (workspace / folder / ".git").is_dir() and not (workspace / folder / ".git").is_symlink():
            commits[folder] = head_commit_or_empty(workspace, f"{folder}/.git" if folder else ".git")
        if len(commits) >= MOST:
            break
    return commits


def _repository_folders(workspace: Path) -> Iterator[str]:
    yield ""
    # Level by level: at most MOST repositories count, the outer ones first
    for name in _subfolder_names(workspace):
        yield name
    for name in _subfolder_names(workspace):
        yield from (f"{name}/{inner}" for inner in _subfolder_names(workspace / name))


def _subfolder_names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(name for name in names if name != ".git" and name.isprintable())[:200]


def head_commit_or_empty(workspace: Path, git: str) -> str:
    """The commit that a `.git` below the workspace is at, "" where it says none."""
    head = _text_or_empty(workspace, f"{git}/HEAD")
    if head.startswith("ref: "):
        name = head.removeprefix("ref: ")
        if not BRANCH.fullmatch(name):
            return ""
        # A branch is a file of its own or, once git packed it, a line among others
        head = _text_or_empty(workspace, f"{git}/{name}") or _packed_ref(
            _text_or_empty(workspace, f"{git}/packed-refs"), name
        )
    return head if COMMIT.fullmatch(head) else ""


def _text_or_empty(workspace: Path, path: str) -> str:
    try:
        with open_plain_file(workspace, path) as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace").strip()
    except FileRefused:
        return ""


def _packed_ref(text: str, name: str) -> str:
    lines = (line.partition(" ") for line in text.splitlines())
    return next((commit for commit, _, ref in lines if ref == name), "")


async def station_changes(spec: Spec, before: Mapping[str, str]) -> dict[str, Any]:
    """Return the changes of the station as `git_changes.read_changes` has them; {} if there are none, or they cannot be
    read."""
    now = await asyncio.to_thread(repository_heads, spec.attempt.workspace)
    if not now:
        return {}
    heads_json = jsontext.dumps({folder: before.get(folder, "") for folder in now})
    workspace = str(spec.attempt.workspace.resolve())
    argv = (sys.executable, "-I", str(SCRIPT), workspace, heads_json)
    try:
        async with asyncio.timeout(SECONDS):
            text = await _git_output(spec, argv)
        return dict(parse_storable_json(text, "git"))
    except (TimeoutError, CannotStart, CannotIsolate, Unreadable) as error:
        log.warning("repositories_unread", why=str(error) or type(error).__name__)
        return {}


async def _git_output(spec: Spec, argv: tuple[str, ...]) -> str:
    # To read takes none, and programs that a repository starts then get none
    access = replace(spec.access, network=False)
    wrapped = spec.isolation.isolated_command(argv, spec.attempt.root, spec.attempt.workspace, access)
    # None of the station's secrets: a repository may start programs when it is read
    env = {name: spec.env[name] for name in ("PATH", "HOME", "TMPDIR", "LANG") if name in spec.env}
    limits = spec.resources.limits_for_supervisor(spec.attempt.root)
    launch = Launch(
        wrapped.argv,
        env,
        spec.attempt.workspace,
        wrapped.levels,
        wrapped.no_new_privileges,
        limits=limits,
    )
    try:
        async with Process(launch) as process:
            async with asyncio.TaskGroup() as streams:
                out = streams.create_task(_read_limited(process.stdout))
                streams.create_task(_read_limited(process.stderr))
            ended = await process.wait()
    finally:
        # A program that it started may have put a link there, as the station itself may
        await asyncio.shield(asyncio.to_thread(restore_folder, spec.attempt.workspace))
    if ended.code != 0:
        raise Unreadable(f"the repositories could not be read: exit code {ended.code}")
    return out.result().decode()


async def _read_limited(stream: asyncio.StreamReader) -> bytes:
    """Read the stream to its end, so that nothing waits; keep only as much as is of use."""
    buffer = bytearray()
    while data := await stream.read(64 * 1024):
        # Read on without keeping it: a program that cannot write would wait for ever
        buffer += data[: MOST_BYTES - len(buffer)]
    return bytes(buffer)
