"""A job's repository, reached from this worker: its remote, and its mirror with the objects of the task."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.work.git.addresses import parsed_repository_address
from pipelines.work.git.mirror import Mirror, Mirrors
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.remote import ProgressCallback, Remote
from pipelines.work.spec.repository import RepositoryAccess


def access_remote(access: RepositoryAccess) -> Remote:
    """:raises GitRefused: the address is not taken"""
    address = parsed_repository_address(access.order.address, access.folders)
    known_hosts = Mirrors(access.mirrors).known_hosts
    return Remote(address, access.guard, access.credential, known_hosts, folders=access.folders)


@contextmanager
def open_task_mirror(access: RepositoryAccess, report: ProgressCallback) -> Iterator[tuple[Mirror, Remote]]:
    """Open the mirror with all that the task committed so far. In a thread. :raises GitRefused"""
    remote = access_remote(access)
    with Mirrors(access.mirrors).open_mirror(access.order.address) as mirror:
        # A task that committed nothing needs no objects of its own.
        if access.state.heads:
            _fetch_missing(mirror, remote, access, report)
        yield mirror, remote


def _fetch_missing(
    mirror: Mirror, remote: Remote, access: RepositoryAccess, report: ProgressCallback
) -> None:
    """Fetch what another worker committed, or this one before its mirror expired."""
    state = access.state
    for base in dict.fromkeys((state.base, *(branch.base for branch in state.branches))):
        if not mirror.has_commit(base):
            # Brings its history, and so the base, unless it was rewritten.
            mirror.fetch_branch_or_tag(remote, state.base_branch, report)
        if not mirror.has_commit(base):
            raise GitRefused(
                f"{state.base_branch} was rewritten: the commit {base[:7]} that this task started from "
                "is gone. Start the task anew."
            )
    if all(mirror.has_commit(sha) for sha in state.heads):
        return
    with tempfile.TemporaryDirectory(prefix="packs-", dir=Mirrors(access.mirrors).base) as folder:
        for number, stored in enumerate(state.packs):
            place = Path(folder) / str(number)
            access.fetch(stored, place)
            mirror.add_pack(place)
    for head in state.heads:
        if not mirror.has_commit(head):
            raise GitRefused(f"The commit {head[:7]} of this task was not kept. Start the task anew.")
